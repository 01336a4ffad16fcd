//! The headline numbers of a study: the CPU time of plain proxying, the highest cost of an arm, the number of clear costs, and the width of
//! the intervals.

use hoptax_result::{ArmResult, CostMeasure, Place, StudyResult};

use super::{functions, is_above_zero, stated_and_clear};
use crate::findings::{self, FindingGroup, checks};
use crate::headline::{Headline, unless_void};
use crate::load_rate::at_load;
use crate::numbers::counted;
use crate::quantity::{Basis, Form, Quantity};
use crate::rows::{Row, arm_level, baselines, bounded, unit_name};
use crate::sittings;
use crate::table::Cell;

/// The headlines. Empty without a compared arm, as in a timeline, whose first table is about the phases of each arm.
pub(super) fn headlines(result: &StudyResult, rows: &[Row<'_>]) -> Vec<Headline> {
    unless_void(result.verdict, of_costs(result, rows), || {
        let failed = findings::failed(result);
        failed.first().map_or_else(|| "the study is void".to_owned(), FindingGroup::message)
    })
}

fn of_costs(result: &StudyResult, rows: &[Row<'_>]) -> Vec<Headline> {
    let p50 = CostMeasure::ResponseP50Us;
    let is_stated = |measure: &CostMeasure| functions(rows).any(|row| row.cost(*measure).is_stated());
    let is_asked = |measure: &CostMeasure| functions(rows).any(|row| row.cost(*measure) != &Cell::Empty);
    let of_cpu = [CostMeasure::CpuShare, CostMeasure::CpuUs];
    // Arms are compared by the share. If its level is withheld, the time replaces the share.
    let cpu = of_cpu.into_iter().find(is_stated).or_else(|| of_cpu.into_iter().find(is_asked));
    let times = Some(p50).filter(is_asked);
    let reference = baselines(result).first().copied();
    let plain = |measure: CostMeasure| reference.map(|arm| plain(result, arm, measure));
    // Without a proxy, there is no CPU time to state.
    let has_proxy = reference.is_some_and(|arm| !arm.hops.is_empty());
    let of_reference = if has_proxy || times.is_none() { CostMeasure::CpuUs } else { p50 };
    let mut all = Vec::new();
    if let Some(measure) = cpu {
        all.extend(plain(of_reference));
        all.push(most(rows, measure));
    } else if times.is_some() {
        all.extend(plain(p50));
    }
    all.extend(times.map(|measure| most(rows, measure)));
    if let Some(measure) = cpu.or(times) {
        all.push(clear(rows, measure));
        all.extend(half_width(rows, measure));
    }
    all
}

/// The level of the reference arm in a measure.
fn plain(result: &StudyResult, arm: &ArmResult, measure: CostMeasure) -> Headline {
    let is_of_cpu = measure == CostMeasure::CpuUs;
    let (load, per) = if is_of_cpu {
        (result.plan.cpu_load_of(&arm.id), "per request, ")
    } else {
        (result.plan.response_load_of(&arm.id), "")
    };
    let unit = unit_name(measure);
    let number = match (arm_level(arm, measure), arm.bounds.level(measure)) {
        (Some(level), _) => Quantity::level(&level, unit),
        (None, Some(bound)) => bounded(bound),
        (None, None) => Quantity::unknown(withheld_by(result, arm, measure), unit),
    };
    let who = if arm.id == super::PLAIN { "plain proxying".to_owned() } else { format!("`{}`", arm.id) };
    let note = load.map(|load| format!("{per}{}", at_load(load)));
    Headline::number(format!("{} of {who}", measure.measure().as_str()), number, note)
}

/// Returns the reason why the level of an arm is unknown.
fn withheld_by(result: &StudyResult, arm: &ArmResult, measure: CostMeasure) -> String {
    let load = result.plan.usual_load_name(&arm.id, measure);
    let place = Place { arm: &arm.id, compared_with: None, load, measure: measure.measure() };
    let findings = result.findings.iter().filter(|one| one.withholds_number_or_vague_level(&place));
    let checks = checks(findings.map(|finding| finding.id.as_str()));
    checks.map_or_else(|| "not measured".to_owned(), |checks| format!("withheld by {checks}"))
}

/// The highest cost of an arm in a measure. If no cost has an interval, the bounds of one arm, or the checks that withhold its cost.
fn most(rows: &[Row<'_>], measure: CostMeasure) -> Headline {
    let most = if functions(rows).count() > 1 { "most " } else { "" };
    let name = format!("{most}added {}", measure.measure().as_str());
    let estimate = |row: &Row<'_>| measure.interval(&row.arm.cost).map(|cost| cost.estimate);
    let known = functions(rows).filter_map(|row| Some((row, estimate(row)?)));
    let most = known.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(row, _)| row);
    let others = functions(rows).filter(|row| row.cost(measure).is_faint()).count();
    let Some(row) = most.or_else(|| functions(rows).find(|row| row.cost(measure).is_faint())) else {
        return Headline::number(name, Quantity::unknown("not measured", unit_name(measure)), None);
    };
    let value = match row.cost(measure) {
        Cell::Quantity(Quantity { basis: Basis::Unknown(checks), .. }) => {
            Quantity::unknown(format!("withheld by {checks}"), unit_name(measure))
        }
        Cell::Quantity(quantity) => quantity.clone(),
        Cell::Empty | Cell::Text(_) => Quantity::unknown("not measured", unit_name(measure)),
    };
    // Any of the arms without an interval may add more.
    let lacking = match (most, others) {
        (None, _) | (_, 0) => String::new(),
        (Some(_), others) => format!("; without an interval: {}", counted(others as u64, "arm")),
    };
    Headline::number(name, value, Some(format!("`{}`{lacking}", row.marked())))
}

/// The number of stated costs that are above zero.
fn clear(rows: &[Row<'_>], measure: CostMeasure) -> Headline {
    let (stated, clear) = if measure == CostMeasure::ResponseP50Us {
        let stated = functions(rows).filter(|row| row.cost(measure).is_stated()).count();
        (stated, functions(rows).filter(|row| is_above_zero(row, measure)).count())
    } else {
        stated_and_clear(rows)
    };
    let is_withheld = |row: &&Row<'_>| row.cost(measure).is_faint() && !row.cost(measure).is_stated();
    let withheld = functions(rows).filter(is_withheld).count();
    let note = (withheld > 0).then(|| format!("{} withheld", counted(withheld as u64, "more cost")));
    let name = "costs above zero";
    if stated == 0 {
        return Headline::number(name, Quantity::unknown("no cost is known", ""), note);
    }
    Headline::new(name, Cell::words(format!("{clear} of {stated}")), note)
}

/// Minimum number of intervals whose half-widths have a median that says more than they do.
const FEWEST_WIDTHS: usize = 3;

/// The median of the half-widths of all costs in a measure; none of few.
fn half_width(rows: &[Row<'_>], measure: CostMeasure) -> Option<Headline> {
    let width = |row: &Row<'_>| Some(measure.interval(&row.arm.cost)?.half_width() * sittings::unit(measure));
    let mut widths: Vec<f64> = functions(rows).filter_map(width).collect();
    widths.sort_by(f64::total_cmp);
    let width = *widths.get(widths.len() / 2).filter(|_| widths.len() >= FEWEST_WIDTHS)?;
    let note = format!("median of {}", counted(widths.len() as u64, "interval"));
    let width = Quantity::point(width, unit_name(measure), Form::Level);
    Some(Headline::number("typical half-width", width, Some(note)))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Finding, Interval, Measure, Measured, Severity, Verdict};

    use super::super::study;
    use super::*;
    use crate::fixture;
    use crate::headline::tests::texts;

    #[test]
    fn a_study_has_plain_proxying_the_most_that_an_arm_adds_and_how_sure_it_is() {
        let document = study(&fixture::study());
        let texts = texts(&document);
        let [plain, cpu, p50, clear, width] = &texts[..] else { panic!("{texts:?}") };
        assert!(plain.starts_with("CPU time of plain proxying: 46.00 ±0.52 us (per request, "), "{plain}");
        assert!(cpu.starts_with("most added CPU time: +133.3 ±2.1 % (`compress/gzip"), "{cpu}");
        assert!(p50.starts_with("most added p50: +64.0 ±1.1 us (`compress/gzip"), "{p50}");
        assert!(width.starts_with("typical half-width: ") && width.ends_with(" intervals)"), "{width}");
        // The sentence says the same.
        let counts = clear.trim_start_matches("costs above zero: ");
        assert!(document.answer.concat().contains(&format!("{counts} costs are above zero")), "{clear}");
        let mut of_one = fixture::study();
        of_one.arms.retain(|arm| ["baseline", "lua"].contains(&arm.id.as_str()));
        let cpu = self::texts(&study(&of_one)).remove(1);
        assert!(cpu.starts_with("added CPU time: +10.76 ±0.91 % (`lua`"), "{cpu}");
    }

    #[test]
    fn the_level_of_the_reference_is_never_left_out_if_it_is_withheld() {
        let mut result = fixture::study();
        let plain = |result: &StudyResult| texts(&study(result)).remove(0);
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "baseline") {
            arm.cpu_us_per_request = None;
        }
        assert!(plain(&result).contains("not known: not measured"), "{}", plain(&result));
        let why = "too few slices".to_owned();
        let finding = Finding::new("too-few-slices", Severity::Fail, Measured::us(1.0, 0.0), why, "");
        let arm = Some("baseline".to_owned());
        result.findings.push(Finding { arm, measures: vec![Measure::Cpu], withholds: true, ..finding });
        assert!(plain(&result).contains("not known: withheld by too-few-slices"), "{}", plain(&result));
    }

    #[test]
    fn an_arm_without_an_interval_may_add_more_than_the_most() {
        let mut result = fixture::study();
        let most = |result: &StudyResult| texts(&study(result)).remove(1);
        assert!(!most(&result).contains("without an interval"), "{}", most(&result));
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "lua") {
            (arm.cost.cpu_us_per_request, arm.cost.cpu_share) = (None, None);
        }
        let finding = Finding::new("vague", Severity::Info, Measured::us(1.0, 0.0), String::new(), "");
        result.findings.push(Finding { arm: Some("lua".to_owned()), withholds: true, ..finding });
        assert!(most(&result).ends_with("; without an interval: 1 arm)"), "{}", most(&result));
    }

    #[test]
    fn a_void_study_has_no_number_though_its_result_has_some() {
        let mut result = fixture::study();
        result.verdict = Verdict::Void;
        let why = "the proxy waited".to_owned();
        result.findings = vec![Finding::new("x", Severity::Fail, Measured::us(1.0, 0.0), why, "")];
        let texts = texts(&study(&result));
        assert_eq!(texts.len(), 5);
        assert!(texts.iter().all(|text| text.ends_with(": not known: the proxy waited")), "{texts:?}");
    }

    #[test]
    fn a_timeline_compares_no_costs() {
        assert!(study(&fixture::timeline()).headlines.is_empty());
    }

    #[test]
    fn the_half_width_is_the_median_and_not_the_mean() {
        let mut result = fixture::study();
        result.arms.retain(|arm| ["baseline", "lua", "rbac", "jwt"].contains(&arm.id.as_str()));
        for (arm, half) in result.arms.iter_mut().skip(1).zip([0.01, 0.02, 0.5]) {
            arm.cost.cpu_share = Some(Interval::around(0.6, half));
        }
        let width = texts(&study(&result)).remove(4);
        assert_eq!(width, "typical half-width: 2.00 % (median of 3 intervals)");
        result.arms.retain(|arm| arm.id != "jwt");
        let texts = texts(&study(&result));
        assert!(texts.len() == 4 && !texts.concat().contains("half-width"), "two have no median: {texts:?}");
    }
}
