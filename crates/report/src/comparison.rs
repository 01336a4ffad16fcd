//! Comparison of the arms of a study with a reference: one sentence per arm, and a table of all measures.

use hoptax_result::{ComparedMeasure, ComparedSubject, ComparisonResult, CostMeasure, Decision, Interval};

use crate::numbers::{difference, grouped, percent_difference};
use crate::side::SideTable;
use crate::sittings::{scaled, unit};
use crate::words;

/// One sentence per arm: which one uses less CPU time, by how much, and the decision.
pub(crate) fn sentences(result: &ComparisonResult) -> Vec<String> {
    result.subjects.iter().map(|subject| sentence(result, subject)).collect()
}

fn sentence(result: &ComparisonResult, subject: &ComparedSubject) -> String {
    let reference = &result.reference;
    let name = if subject.is_same {
        format!("{}, the A/A arm, identical to {reference}", subject.arm)
    } else {
        subject.arm.clone()
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
            format!(
                "about {} rounds decide it, {} are measured",
                grouped(f64::from(rounds), 0),
                result.rounds
            )
        }
        None => "more rounds are out of reach: use a quieter machine or a wider margin".to_owned(),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// All measures of all arms.
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
            (subject.arm.clone(), cells)
        })
    });
    let header = ["arm", "measure", &result.reference, "difference", "", "decision", "rounds until decided"];
    SideTable {
        title: format!("differences from {}", result.reference),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
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
    use hoptax_result::Verdict;

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

    /// A dearer arm, an undecided one, and an A/A arm.
    pub(crate) fn comparison() -> ComparisonResult {
        let subject = |arm: &str, measures: Vec<ComparedMeasure>| ComparedSubject {
            arm: arm.to_owned(),
            is_same: arm == "same",
            measures,
        };
        let cpu = |share, decision| measure(CostMeasure::CpuUs, 48.2, share, decision);
        ComparisonResult {
            format: ComparisonResult::FORMAT.to_owned(),
            study: "comparison".to_owned(),
            verdict: Verdict::Caution,
            reference: "current.yaml".to_owned(),
            margin_share: 0.02,
            confidence: 0.95,
            rounds: 24,
            subjects: vec![
                subject("same", vec![cpu(interval(0.001, 0.008), Decision::Equivalent)]),
                subject(
                    "next.yaml",
                    vec![
                        cpu(interval(-0.071, 0.009), Decision::Different),
                        measure(CostMeasure::MaxRate, 20_450.0, interval(0.076, 0.012), Decision::Different),
                        measure(CostMeasure::ResponseP50Us, 212.0, interval(0.01, 0.04), Decision::Undecided),
                        measure(
                            CostMeasure::MemoryBytes,
                            7.5e7,
                            interval(0.001, 0.002),
                            Decision::Equivalent,
                        ),
                    ],
                ),
                subject("other.yaml", vec![cpu(interval(0.012, 0.031), Decision::Undecided)]),
                subject("withheld.yaml", Vec::new()),
            ],
        }
    }
}
