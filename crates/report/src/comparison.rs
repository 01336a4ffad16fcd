//! Comparison of the arms of a study with a reference: one sentence per subject, what differs between configurations, and a table of all measures.

use hoptax_result::{
    ComparedMeasure, ComparedSubject, ComparisonResult, CostMeasure, Decision, Interval, PartDifference,
    SubjectName,
};

use crate::numbers::{difference, grouped, percent_difference};
use crate::side::SideTable;
use crate::sittings::{scaled, unit};
use crate::words;

/// One sentence per subject: which one uses less CPU time, by how much, and the decision.
pub(crate) fn sentences(result: &ComparisonResult) -> Vec<String> {
    result.subjects.iter().map(|subject| sentence(result, subject)).collect()
}

/// What the short names stand for, a line each, where they differ from what the user gave.
pub(crate) fn legend(result: &ComparisonResult) -> Vec<String> {
    let others = result.subjects.iter().map(|one| &one.subject);
    let all = std::iter::once(&result.reference).chain(others);
    all.filter(|one| one.name != one.given).map(|one| format!("{}: {}", one.name, one.given)).collect()
}

/// Paths listed for a part, and for the rest.
const PATHS: usize = 6;

/// What differs between the configurations, for each subject with a configuration: a heading, then a line for each
/// difference.
pub(crate) fn differences(result: &ComparisonResult) -> Vec<(String, Vec<String>)> {
    let reference = &result.reference.name;
    let of = |subject: &ComparedSubject| {
        let found = subject.differences.as_ref()?;
        let name = &subject.subject.name;
        let mut lines: Vec<String> =
            found.parts.iter().map(|part| part_in_words(part, reference, name)).collect();
        if found.is_order_different {
            lines.push("a request meets them in another order".to_owned());
        }
        if !found.rest.is_empty() {
            lines.push(format!("elsewhere: {}", paths(&found.rest)));
        }
        let heading = if lines.is_empty() {
            format!("the configurations of {reference} and {name} do not differ")
        } else {
            format!("the configurations of {reference} and {name} differ:")
        };
        Some((heading, lines))
    };
    result.subjects.iter().filter_map(of).collect()
}

fn part_in_words(part: &PartDifference, reference: &str, name: &str) -> String {
    let PartDifference { kind, name: part_name, .. } = part;
    match (&part.reference_place, &part.place) {
        (Some(first), Some(second)) => {
            format!("{kind} `{part_name}`: {} ({first}, {second})", paths(&part.fields))
        }
        (Some(place), None) => format!("{kind} `{part_name}`: only in {reference} ({place})"),
        (None, Some(place)) => format!("{kind} `{part_name}`: only in {name} ({place})"),
        (None, None) => format!("{kind} `{part_name}`"),
    }
}

/// The first paths, and the number of the others.
fn paths(all: &[String]) -> String {
    let shown = all.iter().take(PATHS).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(PATHS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn sentence(result: &ComparisonResult, subject: &ComparedSubject) -> String {
    let reference = &result.reference.name;
    let name = if subject.is_same {
        format!("{}, the A/A arm, identical to {reference}", subject.subject.name)
    } else {
        subject.subject.name.clone()
    };
    let Some(cpu) = subject.measures.iter().find(|one| one.measure == CostMeasure::CpuUs) else {
        return format!("{name}: CPU time is not available, see the findings of the study");
    };
    let share = percent_difference(&cpu.difference_share);
    let margin = percent(result.margin_share);
    match cpu.decision {
        Decision::Equivalent => {
            format!(
                "{name}: CPU time per request is equivalent to that of {reference} within {margin} ({share})"
            )
        }
        Decision::Different => {
            let word = if cpu.difference.estimate < 0.0 { "less" } else { "more" };
            let size = Interval {
                estimate: cpu.difference_share.estimate.abs(),
                low: cpu.difference_share.estimate.abs() - cpu.difference_share.half_width(),
                high: cpu.difference_share.estimate.abs() + cpu.difference_share.half_width(),
            };
            let size = percent_difference(&size);
            let size = size.trim_start_matches('+');
            format!(
                "{name}: {size} {word} CPU time per request than {reference}, different (margin {margin})"
            )
        }
        Decision::Undecided => format!(
            "{name}: CPU time per request undecided within {margin} of {reference} ({share}); {}",
            remedy(cpu, result)
        ),
    }
}

/// What decides an undecided measure.
fn remedy(measure: &ComparedMeasure, result: &ComparisonResult) -> String {
    match measure.rounds_until_decided {
        Some(rounds) => {
            let more = f64::from(rounds.saturating_sub(result.rounds));
            let of_one_s = result.wall_seconds / f64::from(result.rounds.max(1));
            format!(
                "about {} rounds decide it, {} are measured: {} s more",
                grouped(f64::from(rounds), 0),
                result.rounds,
                grouped(more * of_one_s, 0)
            )
        }
        None => "more rounds are out of reach: use a quieter machine or a wider margin".to_owned(),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// All measures of all subjects.
pub(crate) fn table(result: &ComparisonResult) -> SideTable {
    let rows = result.subjects.iter().flat_map(|subject| {
        subject.measures.iter().map(|one| {
            let in_unit = scaled(one.difference, one.measure);
            let reference = one.reference * unit(one.measure);
            let rounds =
                one.rounds_until_decided.map_or_else(String::new, |rounds| grouped(f64::from(rounds), 0));
            let cells = vec![
                one.measure.words().to_owned(),
                grouped(reference, crate::numbers::decimals(in_unit.half_width())),
                difference(&in_unit),
                percent_difference(&one.difference_share),
                one.decision.as_str().to_owned(),
                rounds,
            ];
            (subject.subject.name.clone(), cells)
        })
    });
    let reference = &result.reference.name;
    let header = ["subject", "measure", reference, "difference", "", "decision", "rounds until decided"];
    SideTable {
        title: format!("differences from {reference}"),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// The decisions of several comparisons of one study, a row for each arm and a column for each measure that one of them has.
pub(crate) fn decisions(comparisons: &[ComparisonResult]) -> SideTable {
    let subjects = || {
        comparisons.iter().flat_map(|one| one.subjects.iter().map(move |subject| (&one.reference, subject)))
    };
    let of = |subject: &ComparedSubject, measure: CostMeasure| {
        subject.measures.iter().find(|one| one.measure == measure).cloned()
    };
    let mut measures: Vec<CostMeasure> = Vec::new();
    for (_, subject) in subjects() {
        measures.extend(subject.measures.iter().map(|one| one.measure));
    }
    measures.sort();
    measures.dedup();
    let cell = |one: &ComparedMeasure| {
        format!("{} {}", percent_difference(&one.difference_share), one.decision.as_str())
    };
    let row = |(reference, subject): (&SubjectName, &ComparedSubject)| {
        let cells = measures
            .iter()
            .map(|measure| of(subject, *measure).as_ref().map_or_else(|| "-".to_owned(), cell));
        (subject.subject.name.clone(), std::iter::once(reference.name.clone()).chain(cells).collect())
    };
    // The unit is that of the level; differences are shares of it.
    let heading = |measure: &CostMeasure| measure.words().split(',').next().unwrap_or_default().to_owned();
    SideTable {
        title: "decisions".to_owned(),
        header: ["arm", "compared with"]
            .map(str::to_owned)
            .into_iter()
            .chain(measures.iter().map(heading))
            .collect(),
        rows: subjects().map(row).collect(),
    }
}

/// How decisions are made, and what they hold for.
pub(crate) fn method(result: &ComparisonResult) -> String {
    let confidence = 100.0 * result.confidence;
    format!(
        "equivalent: the difference is within the margin of {} of the reference (two one-sided tests at {:.0} %); different: \
         the {confidence:.0} % interval excludes zero; undecided: neither. {} rounds; decisions hold for this sitting",
        percent(result.margin_share),
        100.0 - confidence,
        result.rounds,
    )
}

/// That the numbers cannot be used, if so.
pub(crate) fn warning(result: &ComparisonResult) -> Option<&'static str> {
    words::warning(result.verdict, "the study is void: nothing can be decided")
}

#[cfg(test)]
pub(crate) mod fixture {
    use hoptax_result::{ConfigurationDifferences, Verdict};

    use super::*;

    fn interval(estimate: f64, half_width: f64) -> Interval {
        Interval { estimate, low: estimate - half_width, high: estimate + half_width }
    }

    fn measure(measure: CostMeasure, reference: f64, share: Interval, decision: Decision) -> ComparedMeasure {
        let of = |share: f64| share * reference;
        let rounds = (decision == Decision::Undecided).then_some(140);
        ComparedMeasure {
            measure,
            reference,
            difference: Interval { estimate: of(share.estimate), low: of(share.low), high: of(share.high) },
            difference_share: share,
            decision,
            rounds_until_decided: rounds,
        }
    }

    /// A cheaper subject, an undecided one, one without numbers, and the A/A arm.
    pub(crate) fn comparison() -> ComparisonResult {
        let names = |arm: &str, name: &str, given: &str| SubjectName {
            arm: arm.to_owned(),
            name: name.to_owned(),
            given: given.to_owned(),
        };
        let subject = |subject: SubjectName, measures: Vec<ComparedMeasure>| ComparedSubject {
            is_same: subject.arm == "A-again",
            subject,
            differences: None,
            measures,
        };
        let part = |name: &str, places: [Option<&str>; 2], fields: &[&str]| PartDifference {
            kind: "HTTP filter".to_owned(),
            name: name.to_owned(),
            reference_place: places[0].map(str::to_owned),
            place: places[1].map(str::to_owned),
            fields: fields.iter().map(ToString::to_string).collect(),
        };
        let differences = ConfigurationDifferences {
            parts: vec![
                part("jwt", [Some("old.yaml:31"), None], &[]),
                part(
                    "lua",
                    [Some("old.yaml:40"), Some("new.yaml:33")],
                    &["default_source_code.inline_string"],
                ),
                part("cors", [None, Some("new.yaml:52")], &[]),
            ],
            is_order_different: true,
            rest: (0..8).map(|number| format!("static_resources.clusters[c{number}].lb_policy")).collect(),
        };
        let cpu = |share, decision| measure(CostMeasure::CpuUs, 48.2, share, decision);
        ComparisonResult {
            format: ComparisonResult::FORMAT.to_owned(),
            study: "comparison".to_owned(),
            verdict: Verdict::Caution,
            reference: names("A", "old", "conf/old.yaml"),
            margin_share: 0.02,
            confidence: 0.95,
            rounds: 24,
            wall_seconds: 264.0,
            subjects: vec![
                ComparedSubject {
                    differences: Some(differences),
                    ..subject(
                        names("B", "new", "conf/new.yaml"),
                        vec![
                            cpu(interval(-0.071, 0.009), Decision::Different),
                            measure(
                                CostMeasure::MaxRate,
                                20_450.0,
                                interval(0.076, 0.012),
                                Decision::Different,
                            ),
                            measure(
                                CostMeasure::ResponseP50Us,
                                212.0,
                                interval(0.01, 0.04),
                                Decision::Undecided,
                            ),
                            measure(
                                CostMeasure::OfRounds(hoptax_result::RoundMeasure::MEMORY),
                                7.5e7,
                                interval(0.001, 0.002),
                                Decision::Equivalent,
                            ),
                        ],
                    )
                },
                ComparedSubject {
                    differences: Some(ConfigurationDifferences::default()),
                    ..subject(
                        names("C", "old+1.39.3", "conf/old.yaml+1.39.3"),
                        vec![cpu(interval(0.012, 0.031), Decision::Undecided)],
                    )
                },
                subject(names("D", "lua", "lua"), Vec::new()),
                subject(
                    names("A-again", "old again", "conf/old.yaml"),
                    vec![cpu(interval(0.001, 0.008), Decision::Equivalent)],
                ),
            ],
        }
    }
}
