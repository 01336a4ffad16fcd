//! Findings for human readers: one group per check that fired, with the numbers that the check withholds.

use std::collections::BTreeSet;

use hoptax_result::{Finding, Severity, StudyResult, Verdict};
use hoptax_text::list::{listed, named};

use crate::numbers::{Piece, grouped, pieces};

/// Findings of one check and severity, reported together: a check that fires on every arm would bury the others.
#[derive(Clone, Debug)]
pub(crate) struct FindingGroup<'a> {
    /// The first finding, whose text represents the group.
    pub(crate) finding: &'a Finding,
    /// The arms in their scope; empty for all.
    arms: Vec<&'a str>,
    /// The loads in their scope; empty for all.
    loads: Vec<&'a str>,
    /// The sittings whose checks fired; empty for checks of the result itself.
    sittings: Vec<u32>,
    /// All findings, including the first.
    all: Vec<&'a Finding>,
}

/// Maximum number of named arms; further ones are only counted.
const NAMED: usize = 3;

/// Groups findings that have the same check, severity and withheld numbers, in their order: findings about arms, and findings of several
/// sittings about the same subject.
pub(crate) fn groups(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for finding in findings {
        let same = |group: &&mut FindingGroup<'_>| {
            let kind = |finding: &Finding| {
                let taken = (finding.withholds, finding.costs_alone, finding.measures.clone());
                let scope = (finding.arm.is_some(), finding.sitting.is_some());
                (finding.id.clone(), finding.severity, taken, scope)
            };
            let is_elsewhere = finding.sitting.is_some() && finding.load == group.finding.load;
            (finding.arm.is_some() || is_elsewhere) && kind(group.finding) == kind(finding)
        };
        let (arm, load) = (finding.arm.as_deref(), finding.load.as_deref());
        if let Some(group) = groups.iter_mut().find(same) {
            extend(&mut group.arms, arm);
            extend(&mut group.loads, load);
            extend(&mut group.sittings, finding.sitting);
            group.all.push(finding);
        } else {
            groups.push(FindingGroup {
                finding,
                arms: arm.into_iter().collect(),
                loads: load.into_iter().collect(),
                sittings: finding.sitting.into_iter().collect(),
                all: vec![finding],
            });
        }
    }
    groups
}

/// Adds an item unless the list already contains it.
fn extend<T: PartialEq>(list: &mut Vec<T>, item: Option<T>) {
    list.extend(item.filter(|item| !list.contains(item)));
}

impl FindingGroup<'_> {
    /// Their scope: ` [lua, rbac under fixed-rate, sittings 1 and 3]`; empty for the whole result.
    pub(crate) fn scope(&self) -> String {
        let loads = self.loads.join(", ");
        let arms = named(&self.arms, NAMED);
        let place = match (arms.is_empty(), self.loads.is_empty()) {
            (true, _) => loads,
            (false, true) => arms,
            (false, false) => format!("{arms} under {loads}"),
        };
        let mut sittings = self.sittings.clone();
        sittings.sort_unstable();
        let numbers: Vec<String> = sittings.iter().map(u32::to_string).collect();
        let sittings = match numbers.len() {
            0 => String::new(),
            1 => format!("sitting {}", listed(&numbers)),
            _ => format!("sittings {}", listed(&numbers)),
        };
        let parts: Vec<String> = [place, sittings].into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join(", ")) }
    }

    /// Their message, with each number as a range: `4,320 to 8,640 responses`. If the messages differ in more than numbers, the message of
    /// the first finding, after the name of its arm.
    pub(crate) fn message(&self) -> String {
        let first = pieces(&self.finding.message);
        let others: Vec<Vec<Piece<'_>>> = self.all.iter().map(|finding| pieces(&finding.message)).collect();
        let is_alike = |other: &Vec<Piece<'_>>| {
            let same = |pair: (&Piece<'_>, &Piece<'_>)| match pair {
                (Piece::Number(..), Piece::Number(..)) => true,
                (one, other) => one == other,
            };
            other.len() == first.len() && first.iter().zip(other).all(same)
        };
        let is_one_text = others.iter().all(is_alike);
        let text = first.iter().enumerate().map(|(place, piece)| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Number(value, decimals) if !is_one_text => grouped(*value, *decimals),
            Piece::Number(..) => {
                let there = others.iter().filter_map(|other| match other.get(place) {
                    Some(Piece::Number(value, decimals)) => {
                        Some(Rounded { value: *value, decimals: *decimals })
                    }
                    _ => None,
                });
                range(there)
            }
        });
        let text: String = text.collect();
        match self.finding.arm.as_deref().filter(|_| !is_one_text) {
            Some(arm) => format!("{arm}: {text}"),
            None => text,
        }
    }

    /// Value and limit: `212 us, limit 200 us`, with values as a range. A number that every message already states is left out:
    /// `limit 200 us`. None if the messages state both, or if value and limit are zero.
    pub(crate) fn measured(&self) -> Option<String> {
        let finding = self.finding;
        let all_state = |number: fn(&Finding) -> f64| self.all.iter().all(|one| states(one, number(one)));
        let (states_value, states_limit) =
            (all_state(|one| one.value), finding.threshold == 0.0 || all_state(|one| one.threshold));
        if states_value && states_limit {
            return None;
        }
        let is_whole = |value: f64| value.fract() == 0.0;
        let is_all_whole =
            is_whole(finding.threshold) && self.all.iter().all(|finding| is_whole(finding.value));
        let decimals = |value: f64| match value.abs() {
            _ if is_all_whole => 0,
            tiny if tiny > 0.0 && tiny < 0.01 => 3,
            small if small < 10.0 => 2,
            _ => 0,
        };
        let unit = if finding.unit.is_empty() { String::new() } else { format!(" {}", finding.unit) };
        let rounded = |value: f64| Rounded { value, decimals: decimals(value) };
        let values = range(self.all.iter().map(|finding| rounded(finding.value)));
        let threshold = grouped(finding.threshold, decimals(finding.threshold));
        let limit = format!("limit {threshold}{unit}");
        Some(if states_value { limit } else { format!("{values}{unit}, {limit}") })
    }

    /// The numbers that they withhold: `withheld: p50 and p99 under fixed-rate`; none if they withhold nothing. A number that is missing in
    /// one sitting is combined from the others.
    pub(crate) fn withheld(&self) -> Option<String> {
        let finding = self.finding;
        if !finding.withholds {
            return None;
        }
        let words: Vec<&str> = finding.measures.iter().map(|measure| measure.as_str()).collect();
        let what = match (words.is_empty(), finding.costs_alone) {
            (true, false) => "all results".to_owned(),
            (true, true) => "all costs".to_owned(),
            (false, false) => listed(&words),
            (false, true) => format!("cost in {}", listed(&words)),
        };
        let under =
            if self.loads.is_empty() { String::new() } else { format!(" under {}", listed(&self.loads)) };
        let there = if self.sittings.is_empty() { "" } else { " there" };
        Some(format!("withheld{there}: {what}{under}"))
    }
}

/// Returns true if the message of a finding states this number, rounded or not, with either sign.
fn states(finding: &Finding, number: f64) -> bool {
    let is_it = |value: f64, decimals: usize| {
        (value - number.abs()).abs() <= 0.5 / 10_f64.powi(decimals as i32) + f64::EPSILON * number.abs()
    };
    pieces(&finding.message).into_iter().any(|piece| match piece {
        Piece::Number(value, decimals) => is_it(value, decimals),
        // A number after a hyphen is part of a word.
        Piece::Text(text) => text.strip_prefix('-').is_some_and(|text| {
            let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            text.replace(',', "").parse().is_ok_and(|value| is_it(value, decimals))
        }),
    })
}

/// The checks with these ids as text, each once; none if there are none.
pub(crate) fn checks<'c>(ids: impl Iterator<Item = &'c str>) -> Option<String> {
    let ids: BTreeSet<&str> = ids.collect();
    (!ids.is_empty()).then(|| listed(&Vec::from_iter(ids)))
}

/// A value with the number of decimals that it is printed with.
struct Rounded {
    value: f64,
    decimals: usize,
}

/// Formats values as `least to greatest`, or as one if they print alike.
fn range(values: impl Iterator<Item = Rounded>) -> String {
    let mut sorted: Vec<Rounded> = values.collect();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    let printed = |one: Option<&Rounded>| {
        one.map_or_else(String::new, |Rounded { value, decimals }| grouped(*value, *decimals))
    };
    let (least, greatest) = (printed(sorted.first()), printed(sorted.last()));
    if least == greatest { least } else { format!("{least} to {greatest}") }
}

/// Returns when and why the study ended before its last round; none if it is complete.
pub(crate) fn cut(result: &StudyResult) -> Option<String> {
    let plan = &result.plan;
    plan.ended_early.as_ref().map(|why| format!("The study ended after {}: {why}", plan.progress()))
}

/// The checks that made a study void; none if it is not void.
pub(crate) fn failed(result: &StudyResult) -> Vec<FindingGroup<'_>> {
    if result.verdict != Verdict::Void {
        return Vec::new();
    }
    let pick = |is_it: fn(&Finding) -> bool| {
        groups(&result.findings).into_iter().filter(|group| is_it(group.finding)).collect::<Vec<_>>()
    };
    let failed = pick(|finding| finding.severity == Severity::Fail);
    if failed.is_empty() { pick(|finding| finding.withholds) } else { failed }
}

#[cfg(test)]
mod tests {
    use hoptax_result::Measure;

    use super::*;
    use crate::fixture;

    #[test]
    fn a_check_that_fires_on_many_arms_is_reported_once() {
        let mut finding = fixture::study().findings[1].clone();
        let mut findings = vec![fixture::study().findings[0].clone()];
        for arm in ["a", "b", "c", "d", "e"] {
            finding.arm = Some(arm.to_owned());
            finding.load = Some("fixed-rate".to_owned());
            findings.push(finding.clone());
        }
        // Findings that withhold different numbers form groups of their own.
        findings.push(Finding { measures: vec![Measure::Cpu], ..finding });
        let scopes: Vec<String> = groups(&findings).iter().map(FindingGroup::scope).collect();
        assert_eq!(scopes, ["", " [a, b, c and 2 more under fixed-rate]", " [e under fixed-rate]"]);
    }

    #[test]
    fn a_group_reports_the_numbers_of_all_its_arms() {
        let of = |arm: &str, responses: u32| Finding {
            arm: Some(arm.to_owned()),
            message: format!("{responses} responses are too few for p99"),
            value: f64::from(responses),
            threshold: 10_000.0,
            unit: "requests".to_owned(),
            ..fixture::study().findings[1].clone()
        };
        let both = [of("baseline", 8_640), of("lua", 4_320)];
        let found = &groups(&both)[0];
        assert_eq!(found.message(), "4,320 to 8,640 responses are too few for p99");
        assert_eq!(found.measured().as_deref(), Some("limit 10,000 requests"));
        let elsewhere = [Finding { value: 9_999.0, ..both[0].clone() }, both[1].clone()];
        assert_eq!(
            groups(&elsewhere)[0].measured().as_deref(),
            Some("4,320 to 9,999 requests, limit 10,000 requests"),
            "a value that a message does not state"
        );
        let stated = Finding {
            message: "ended after 2.1 s of 10 s".to_owned(),
            value: 2.06,
            threshold: 10.0,
            ..both[0].clone()
        };
        assert_eq!(groups(&[stated])[0].measured(), None);
        let negative = Finding {
            message: "the correlation is -0.11".to_owned(),
            value: -0.112,
            threshold: 0.05,
            ..both[0].clone()
        };
        assert_eq!(groups(&[negative])[0].measured().as_deref(), Some("limit 0.05 requests"));
        let alone = &groups(&both[..1])[0];
        assert_eq!(alone.message(), "8,640 responses are too few for p99");
        let other = Finding { message: "`lua` did nothing".to_owned(), ..of("lua", 1) };
        let differing = [both[0].clone(), other];
        let found = &groups(&differing)[0];
        assert_eq!(found.message(), "baseline: 8,640 responses are too few for p99");
    }

    #[test]
    fn findings_of_sittings_name_them_and_are_reported_once() {
        let of = |sitting: Option<u32>, arm: Option<&str>, share: f64| Finding {
            sitting,
            arm: arm.map(str::to_owned),
            message: format!("steal was {share} % of CPU time"),
            value: share,
            withholds: true,
            measures: vec![Measure::ResponseP99],
            ..fixture::study().findings[0].clone()
        };
        let findings = [
            of(Some(1), None, 0.7),
            of(Some(3), None, 0.9),
            of(None, None, 0.8),
            of(Some(2), Some("lua"), 0.6),
            of(Some(1), Some("rbac"), 0.6),
        ];
        let groups = groups(&findings);
        let scopes: Vec<String> = groups.iter().map(FindingGroup::scope).collect();
        assert_eq!(scopes, [" [sittings 1 and 3]", "", " [lua, rbac, sittings 1 and 2]"]);
        assert_eq!(groups[0].message(), "steal was 0.7 to 0.9 % of CPU time");
        assert_eq!(groups[0].withheld().as_deref(), Some("withheld there: p99"));
        assert_eq!(groups[1].withheld().as_deref(), Some("withheld: p99"));
    }

    #[test]
    fn a_finding_lists_the_numbers_that_it_withholds() {
        let withheld = |measures: &[Measure], costs_alone: bool, load: Option<&str>, withholds: bool| {
            let finding = Finding {
                measures: measures.to_vec(),
                costs_alone,
                withholds,
                load: load.map(str::to_owned),
                ..fixture::study().findings[0].clone()
            };
            groups(std::slice::from_ref(&finding))[0].withheld().unwrap_or_default()
        };
        let tail = [Measure::ResponseP99];
        assert_eq!(withheld(&tail, false, Some("fixed-rate"), true), "withheld: p99 under fixed-rate");
        assert_eq!(withheld(&Measure::RESPONSES, false, None, true), "withheld: p50, p90, p99 and quiet p99");
        assert_eq!(withheld(&[Measure::Cpu], true, None, true), "withheld: cost in CPU time");
        assert_eq!(withheld(&[], false, None, true), "withheld: all results");
        assert_eq!(withheld(&[], true, None, true), "withheld: all costs");
        assert_eq!(withheld(&tail, false, None, false), "");
    }

    #[test]
    fn a_void_study_names_the_failed_checks() {
        assert!(failed(&fixture::study()).is_empty());
        assert_eq!(failed(&fixture::void())[0].finding.id, "steal");
    }

    #[test]
    fn a_study_that_was_cut_short_says_how_far_it_came() {
        let mut result = fixture::cut();
        assert_eq!(cut(&result).as_deref(), Some("The study ended after 4 of 10 rounds: it was interrupted"));
        // The number of missing rounds is unknown for a study that ends with its time budget.
        result.plan.budget_s = Some(600.0);
        assert_eq!(cut(&result).as_deref(), Some("The study ended after 4 rounds: it was interrupted"));
    }
}
