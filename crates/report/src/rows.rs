//! The rows of a study, for all outputs: one per compared arm, in descending order of cost.

use hoptax_result::{ArmKind, ArmResult, HopUse, Interval, Measure, Place, RoundMeasure, StudyResult};

use crate::findings::listed;
use crate::numbers::{difference, percent_of};

/// Bytes of a MiB, the unit of memory of processes.
pub(crate) const MIB: f64 = 1_048_576.0;
/// One percent as a share.
const PERCENT: f64 = 0.01;

/// One compared arm.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) arm: &'a ArmResult,
    pub(crate) name: String,
    /// CPU time that it adds, percent of that of the arm compared with.
    pub(crate) cpu_share: Cell,
    /// The same in us.
    pub(crate) cpu: Cell,
    pub(crate) p50: Cell,
    pub(crate) p90: Cell,
    pub(crate) p99: Cell,
    pub(crate) max_rate: Cell,
    pub(crate) max_rate_percent: String,
    /// What it adds in each of the main measures that arms have once per round, in their order.
    of_rounds: Vec<(RoundMeasure, Cell)>,
    /// Whether its CPU cost is indistinguishable from zero.
    pub(crate) is_near_zero: bool,
}

/// One number of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Whether the number is present.
    is_present: bool,
    /// The checks that withheld it.
    withheld_by: Vec<String>,
}

/// The columns of the main table.
fn measures() -> impl Iterator<Item = Measure> {
    let of_slices =
        [Measure::Cpu, Measure::ResponseP50, Measure::ResponseP90, Measure::ResponseP99, Measure::MaxRate];
    of_slices.into_iter().chain(RoundMeasure::compared().map(Measure::OfRounds))
}

impl Row<'_> {
    /// What stands before its cost in CPU time.
    pub(crate) fn mark(&self) -> &'static str {
        if self.is_near_zero { "~ " } else { "" }
    }

    /// The text of what it adds in a measure that arms have once per round.
    pub(crate) fn of_rounds(&self, measure: RoundMeasure) -> String {
        self.cell(Measure::OfRounds(measure)).map(|cell| cell.text.clone()).unwrap_or_default()
    }

    fn cell(&self, measure: Measure) -> Option<&Cell> {
        match measure {
            Measure::Cpu => Some(&self.cpu),
            Measure::ResponseP50 => Some(&self.p50),
            Measure::ResponseP90 => Some(&self.p90),
            Measure::ResponseP99 => Some(&self.p99),
            Measure::MaxRate => Some(&self.max_rate),
            Measure::OfRounds(measure) => {
                self.of_rounds.iter().find(|(other, _)| *other == measure).map(|(_, cell)| cell)
            }
            Measure::OtherCpu
            | Measure::Rate
            | Measure::NewConnections
            | Measure::LinkBytes
            | Measure::Admitted
            | Measure::Timeline => None,
        }
    }
}

/// The columns of the main table that have a number, and why others are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    shown: Vec<Measure>,
    /// Whether CPU time has a column in percent. There is none if nothing has a share: beside an arm without a proxy.
    pub(crate) has_share: bool,
    /// A note if columns were left out because all of their cells are withheld.
    pub(crate) left_out: Option<String>,
}

impl Columns {
    pub(crate) fn of(rows: &[Row<'_>]) -> Self {
        let has_share = rows.iter().any(|row| row.cpu_share.is_present);
        let mut columns = Self { has_share, ..Self::default() };
        let mut is_of_most = false;
        // The columns left out, by the checks that withheld them.
        let mut left_out: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for measure in measures() {
            let cells = || rows.iter().filter_map(|row| row.cell(measure));
            let stated = cells().filter(|cell| cell.is_present).count();
            let withheld = cells().filter(|cell| !cell.withheld_by.is_empty()).count();
            // Most arms share the reason why a tail is withheld: it is given once instead of in each cell.
            let is_tail = matches!(measure, Measure::ResponseP90 | Measure::ResponseP99);
            if stated > 0 && (!is_tail || stated >= withheld) {
                columns.shown.push(measure);
                continue;
            }
            is_of_most |= stated > 0;
            let mut checks: Vec<&str> =
                cells().flat_map(|cell| &cell.withheld_by).map(String::as_str).collect();
            checks.sort_unstable();
            checks.dedup();
            match left_out.iter_mut().find(|(withholding, _)| *withholding == checks) {
                _ if checks.is_empty() => {}
                Some((_, words)) => words.push(measure.as_str()),
                None => left_out.push((checks, vec![measure.as_str()])),
            }
        }
        let by =
            |(checks, words): &(Vec<&str>, Vec<&str>)| format!("{} (by {})", listed(words), listed(checks));
        if !left_out.is_empty() {
            let left_out = left_out.iter().map(by).collect::<Vec<_>>().join("; ");
            let arms = if is_of_most { "most or all arms" } else { "all arms" };
            columns.left_out = Some(format!("not shown, withheld for {arms}: {left_out}"));
        } else if columns.is_empty() && !rows.is_empty() {
            columns.left_out = Some("no arm has a cost".to_owned());
        }
        columns
    }

    /// Whether the measure has a column.
    pub(crate) fn has(&self, measure: Measure) -> bool {
        self.shown.contains(&measure)
    }

    /// Whether the table has no columns.
    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }
}

/// The rows in descending order of cost, followed by arms without a CPU cost. Costs are in order of their shares, if all
/// of them have one, and otherwise in order of their CPU time.
pub(crate) fn rows(result: &StudyResult) -> Vec<Row<'_>> {
    // In a timeline, no arm is compared with another.
    let compared = result.arms.iter().filter(|_| result.plan.timeline.is_none());
    let mut rows: Vec<Row<'_>> =
        compared.filter(|arm| arm.kind != ArmKind::Baseline).map(|arm| row(result, arm)).collect();
    let has_shares = rows.iter().all(|row| row.cpu_share.is_present || !row.cpu.is_present);
    let cost = |row: &Row<'_>| {
        let cost = &row.arm.cost;
        let cost = if has_shares { cost.cpu_share } else { cost.cpu_us_per_request };
        cost.map_or(f64::NEG_INFINITY, |interval| interval.estimate)
    };
    rows.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    rows
}

/// The arms that others are compared with, the main one first.
pub(crate) fn baselines(result: &StudyResult) -> Vec<&ArmResult> {
    let mut baselines: Vec<&ArmResult> =
        result.arms.iter().filter(|arm| arm.kind == ArmKind::Baseline).collect();
    baselines.sort_by_key(|arm| arm.id != result.plan.baseline);
    baselines
}

/// The arm that `arm` is compared with.
pub(crate) fn compared_with<'a>(result: &'a StudyResult, arm: &ArmResult) -> Option<&'a ArmResult> {
    result.arms.iter().find(|other| Some(&other.id) == arm.compared_with.as_ref())
}

/// What an arm has in a measure of rounds, in the unit of tables: the sum over its proxies, or that of the first if the measure
/// describes it alone; none without proxies, or if that of one of them is not known.
pub(crate) fn arm_level(arm: &ArmResult, measure: RoundMeasure) -> Option<Interval> {
    if measure.definition().is_of_first_proxy {
        return hop_level(arm.hops.first()?, measure);
    }
    sum(arm.hops.iter().map(|hop| hop_level(hop, measure)))
}

/// The sum of what the proxies of an arm have; none without proxies, or if that of one of them is not known.
fn sum(proxies: impl Iterator<Item = Option<Interval>>) -> Option<Interval> {
    let proxies: Option<Vec<Interval>> = proxies.collect();
    let proxies = proxies.filter(|proxies| !proxies.is_empty())?;
    let estimate = proxies.iter().map(|proxy| proxy.estimate).sum::<f64>();
    let half = proxies.iter().fold(0.0, |half: f64, proxy| half.hypot(proxy.half_width()));
    Some(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// What one proxy has in a measure of rounds, in the unit of tables.
pub(crate) fn hop_level(hop: &HopUse, measure: RoundMeasure) -> Option<Interval> {
    hop.of_rounds.get(measure).map(|number| in_units(&number, measure.definition().unit))
}

/// A share in percent.
pub(crate) fn in_percent(share: &Interval) -> Interval {
    in_units(share, PERCENT)
}

pub(crate) fn in_units(interval: &Interval, unit: f64) -> Interval {
    Interval { estimate: interval.estimate / unit, low: interval.low / unit, high: interval.high / unit }
}

/// What an arm adds in a measure of rounds, in the unit of tables. If results of earlier versions only have both levels, it is their
/// difference: processes share nothing that varies from round to round, so the errors of both are treated as independent.
fn added(arm: &ArmResult, baseline: Option<&ArmResult>, measure: RoundMeasure) -> Option<Interval> {
    if let Some(cost) = arm.cost.of_rounds.get(measure) {
        return Some(in_units(&cost, measure.definition().unit));
    }
    let level = |arm| arm_level(arm, measure).filter(|_| measure.definition().is_original);
    let (own, other) = (level(arm)?, level(baseline?)?);
    let (estimate, half) = (own.estimate - other.estimate, own.half_width().hypot(other.half_width()));
    Some(Interval { estimate, low: estimate - half, high: estimate + half })
}

fn row<'a>(result: &'a StudyResult, arm: &'a ArmResult) -> Row<'a> {
    let cost = &arm.cost;
    let baseline = compared_with(result, arm);
    let share = |cost: Option<Interval>, whole: Option<Interval>| {
        cost.zip(whole)
            .and_then(|(cost, whole)| percent_of(cost.estimate, whole.estimate))
            .unwrap_or_default()
    };
    // Without a proxy there is neither its CPU time nor its rate to measure.
    let has_proxy = !arm.hops.is_empty();
    // Response times require an open loop.
    let has_schedule = result.plan.response_load().is_some();
    let response =
        |measure, cost| cell(result, arm, (measure, usual_load(result, measure)), cost, has_schedule);
    let of_proxy = |measure, cost, measurable| {
        cell(result, arm, (measure, usual_load(result, measure)), cost, has_proxy && measurable)
    };
    let is_compared = arm.kind != ArmKind::Position;
    Row {
        arm,
        name: match arm.kind {
            ArmKind::Same => format!("{} (A/A)", arm.id),
            ArmKind::Direct => format!("{} (no proxy)", arm.id),
            ArmKind::External => format!("{} (never restarted)", arm.id),
            ArmKind::Baseline | ArmKind::Function | ArmKind::Position => arm.id.clone(),
        },
        cpu_share: of_proxy(Measure::Cpu, cost.cpu_share.as_ref().map(in_percent), true),
        cpu: of_proxy(Measure::Cpu, cost.cpu_us_per_request, true),
        p50: response(Measure::ResponseP50, cost.response_us.p50),
        p90: response(Measure::ResponseP90, cost.response_us.p90),
        p99: response(Measure::ResponseP99, cost.response_us.p99),
        max_rate: of_proxy(Measure::MaxRate, cost.max_rate, is_compared),
        max_rate_percent: share(cost.max_rate, baseline.and_then(|other| other.max_rate)),
        of_rounds: RoundMeasure::compared()
            .map(|measure| {
                let cost = added(arm, baseline, measure);
                (measure, of_proxy(Measure::OfRounds(measure), cost, baseline.is_some()))
            })
            .collect(),
        is_near_zero: cost
            .cpu_share
            .or(cost.cpu_us_per_request)
            .is_some_and(|interval| interval.contains(0.0)),
    }
}

/// A formatted cost: with its interval, `withheld` if a finding withheld it, `-` if not measured.
pub(crate) fn cell(
    result: &StudyResult,
    arm: &ArmResult,
    (measure, load): (Measure, Option<&str>),
    cost: Option<Interval>,
    measurable: bool,
) -> Cell {
    if let Some(cost) = cost {
        return Cell { text: difference(&cost), is_present: true, withheld_by: Vec::new() };
    }
    let place = Place { arm: &arm.id, compared_with: arm.compared_with.as_deref(), load, measure };
    let withholding = result.findings.iter().filter(|finding| measurable && finding.withholds_number(&place));
    let withheld_by: Vec<String> = withholding.map(|finding| finding.id.clone()).collect();
    let text = if withheld_by.is_empty() { "-" } else { "withheld" };
    Cell { text: text.to_owned(), is_present: false, withheld_by }
}

/// The load that a cost is taken from by default.
fn usual_load(result: &StudyResult, measure: Measure) -> Option<&str> {
    let load = match measure {
        Measure::OfRounds(_) => None,
        Measure::MaxRate => result.plan.rate_load(),
        Measure::ResponseP50 | Measure::ResponseP90 | Measure::ResponseP99 => result.plan.response_load(),
        _ => result.plan.cpu_load(),
    };
    load.map(|load| load.name.as_str())
}

#[cfg(test)]
mod tests {
    use hoptax_result::RoundNumbers;

    use super::*;
    use crate::terminal::{self, Style};
    use crate::{csv, fixture, html, markdown, tables, words};

    #[test]
    fn every_compared_arm_has_one_row_and_the_most_expensive_comes_first() {
        let result = fixture::study();
        let rows = rows(&result);
        let compared = result.arms.iter().filter(|arm| arm.kind != ArmKind::Baseline);
        assert_eq!(rows.len(), compared.count());
        let costs: Vec<f64> =
            rows.iter().filter_map(|row| row.arm.cost.cpu_share).map(|cost| cost.estimate).collect();
        assert!(costs.windows(2).all(|pair| pair[0] >= pair[1]), "{costs:?}");
        assert_eq!(rows.last().unwrap().arm.kind, ArmKind::Direct);
        assert_eq!((rows.last().unwrap().cpu.text.as_str(), costs.len()), ("-", rows.len() - 1));
    }

    #[test]
    fn without_shares_the_order_is_that_of_cpu_time() {
        let mut result = fixture::study();
        let order = |result: &StudyResult| {
            super::rows(result).iter().map(|row| row.arm.id.clone()).collect::<Vec<String>>()
        };
        // `lua` costs more than `rbac` in us, and now less as a share.
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "lua") {
            arm.cost.cpu_share = Some(Interval { estimate: 0.001, low: 0.0, high: 0.002 });
        }
        let place = |order: &[String], id: &str| order.iter().position(|arm| arm == id).unwrap();
        let by_share = order(&result);
        assert!(place(&by_share, "rbac") < place(&by_share, "lua"), "{by_share:?}");
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "jwt") {
            arm.cost.cpu_share = None;
        }
        let by_us = order(&result);
        assert!(place(&by_us, "lua") < place(&by_us, "rbac"), "{by_us:?}");
        assert!(Columns::of(&super::rows(&result)).has_share);
        for arm in &mut result.arms {
            arm.cost.cpu_share = None;
        }
        let columns = Columns::of(&super::rows(&result));
        assert!(!columns.has_share && columns.has(Measure::Cpu));
    }

    #[test]
    fn withheld_numbers_are_marked() {
        let result = fixture::study();
        let rows = rows(&result);
        let delay = rows.iter().find(|row| row.arm.id == "fault/delay").unwrap();
        assert_eq!(delay.max_rate.text, "withheld");
        let void = fixture::void();
        assert!(super::rows(&void).iter().all(|row| row.p50.text == "withheld"));
    }

    #[test]
    fn a_column_that_is_withheld_for_all_arms_is_not_shown_and_its_reason_is() {
        let result = fixture::study();
        let columns = Columns::of(&super::rows(&result));
        assert!(measures().all(|measure| columns.has(measure)) && columns.left_out.is_none());
        let mut result = fixture::study();
        result.findings[0].withholds = true;
        result.findings[0].measures = vec![Measure::ResponseP99];
        for arm in &mut result.arms {
            arm.cost.response_us.p99 = None;
        }
        let columns = Columns::of(&super::rows(&result));
        assert!(!columns.has(Measure::ResponseP99) && columns.has(Measure::ResponseP50));
        assert_eq!(columns.left_out.as_deref(), Some("not shown, withheld for all arms: p99 (by steal)"));
        let void = Columns::of(&super::rows(&fixture::void()));
        let all = "not shown, withheld for all arms: CPU time, p50, p90, p99, maximum rate, memory and \
                   memory per connection (by steal)";
        assert!(void.is_empty());
        assert_eq!(void.left_out.as_deref(), Some(all));
    }

    #[test]
    fn a_tail_that_is_withheld_for_most_arms_is_not_shown() {
        let mut result = fixture::study();
        let count = result.arms.len();
        result.findings[0].withholds = true;
        result.findings[0].measures = vec![Measure::ResponseP90, Measure::ResponseP50];
        for arm in result.arms.iter_mut().take(count - 1) {
            (arm.cost.response_us.p90, arm.cost.response_us.p50) = (None, None);
        }
        let columns = Columns::of(&super::rows(&result));
        assert!(!columns.has(Measure::ResponseP90) && columns.has(Measure::ResponseP50));
        assert_eq!(
            columns.left_out.as_deref(),
            Some("not shown, withheld for most or all arms: p90 (by steal)")
        );
    }

    #[test]
    fn memory_is_that_of_all_proxies_above_the_baselines() {
        let result = fixture::study();
        let rows = rows(&result);
        let of = |id: &str, measure| rows.iter().find(|row| row.arm.id == id).unwrap().of_rounds(measure);
        assert_eq!(of("lua", RoundMeasure::MEMORY), "+0.99 ±0.57");
        assert_eq!(of("direct", RoundMeasure::MEMORY), "-");
        assert_eq!(of("lua", RoundMeasure::MEMORY_PER_CONNECTION), "+0.25 ±0.90");
    }

    #[test]
    fn every_measure_of_rounds_is_in_all_outputs() {
        let mut result = fixture::study();
        let number = Some(Interval { estimate: 8_192.0, low: 4_096.0, high: 12_288.0 });
        for arm in result.arms.iter_mut().filter(|arm| !arm.hops.is_empty()) {
            let all = RoundMeasure::ALL.into_iter().map(|measure| (measure, number));
            arm.hops[0].of_rounds = all.clone().collect();
            arm.cost.of_rounds = all.collect();
        }
        let terminal = terminal::study(&result, Style { width: 400, colour: false });
        let (markdown, page) = (markdown::study(&result), html::study(&result).unwrap());
        let numbers = csv::text(&tables::numbers(&result));
        for measure in RoundMeasure::ALL {
            let measure = measure.definition();
            for name in [measure.field.to_owned(), format!("cost_{}", measure.field)] {
                assert!(numbers.contains(&format!(",{name},")), "{name}: {numbers}");
            }
            let [on_terminal, in_markdown, on_page] = match (measure.own_table, measure.below) {
                // This table is left out on terminals.
                (Some(title), _) => ["", title, title],
                (None, Some(below)) => [measure.short_heading, measure.heading, below],
                (None, None) => [measure.short_heading, measure.heading, measure.heading],
            };
            assert!(terminal.contains(on_terminal), "{on_terminal}: {terminal}");
            assert!(markdown.contains(in_markdown), "{in_markdown}: {markdown}");
            let is_on_page = page.contains(on_page) || page.contains(&words::capitalised(on_page));
            assert!(is_on_page, "{on_page}: {page}");
        }
    }

    #[test]
    fn only_costs_that_earlier_versions_lack_are_differences_of_levels() {
        let mut result = fixture::study();
        for arm in &mut result.arms {
            arm.cost.of_rounds = RoundNumbers::default();
        }
        let rows = rows(&result);
        let lua = rows.iter().find(|row| row.arm.id == "lua").unwrap();
        assert_eq!(lua.of_rounds(RoundMeasure::MEMORY), "+0.99 ±0.57");
        assert_eq!(lua.of_rounds(RoundMeasure::MEMORY_PER_CONNECTION), "-");
    }
}
