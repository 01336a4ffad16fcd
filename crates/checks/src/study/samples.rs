//! Numbers with too little data, or with intervals too wide to be useful.

use hoptax_result::{ArmResult, Finding, Interval, Loop, Measure, ResponseCost, Severity, StudyResult};

use hoptax_stats::rounds_needed;

use crate::thresholds::{self, Limits};
use crate::{Check, Measured, finding};

/// Too few responses for the 99th percentile.
pub(super) const TOO_FEW: Check<StudyResult> = Check {
    id: "too-few-samples",
    protects_from: "a tail quantile determined by a few requests",
    source: "own: n (1 - p) of at least 100",
    judge: |result, limits| {
        let needed = responses_needed(limits);
        let advice = rounds_advice(result, limits);
        let judge_arm = |arm: &ArmResult| -> Vec<Finding> {
            let open = |name: &String| {
                result.plan.loads.iter().any(|load| load.name == *name && load.loop_ == Loop::Open)
            };
            let few = arm.loads.iter().filter(|load| open(&load.load) && (load.responses as f64) < needed);
            few.map(|load| {
                let message = format!("{} responses are too few for p99", load.responses);
                let measured = Measured::count(load.responses as f64, needed, "requests");
                Finding {
                    arm: Some(arm.id.clone()),
                    load: Some(load.load.clone()),
                    measures: vec![Measure::ResponseP99],
                    withholds: true,
                    ..finding("too-few-samples", Severity::Warn, measured, message, &advice)
                }
            })
            .collect()
        };
        result.arms.iter().flat_map(judge_arm).collect()
    },
    withhold: None,
};

/// A cost whose interval is wider than the level that it is compared with carries no information.
pub(super) const VAGUE: Check<StudyResult> = Check {
    id: "vague-cost",
    protects_from: "a cost whose interval is too wide to be useful",
    source: "own: half-width of the interval against the level of the arm compared with",
    judge: |result, limits| {
        let limit = limits.of(&thresholds::INTERVAL_FAIL_SHARE);
        let of_p99 = rounds_advice(result, limits);
        let mut found = Vec::new();
        for arm in &result.arms {
            let Some(other) = result.arms.iter().find(|other| Some(&other.id) == arm.compared_with.as_ref())
            else {
                continue;
            };
            let mut judge =
                |load: Option<&str>, measure: Measure, cost: Option<Interval>, level: Option<Interval>| {
                    let Some(share) = cost.zip(level).map(|(cost, level)| cost.half_width() / level.estimate)
                    else {
                        return;
                    };
                    if share <= limit {
                        return;
                    }
                    let message = format!(
                        "the interval of its {} cost is ±{:.0} % of the baseline's {}",
                        measure.as_str(),
                        share * 100.0,
                        measure.as_str()
                    );
                    let advice = match measure {
                        Measure::ResponseP99 => of_p99.as_str(),
                        _ => "add rounds, or blocks of this load",
                    };
                    let measured = Measured::percent(share, limit);
                    let one = finding("vague-cost", Severity::Info, measured, message, advice);
                    let (arm, load) = (Some(arm.id.clone()), load.map(str::to_owned));
                    found.push(Finding {
                        arm,
                        load,
                        measures: vec![measure],
                        withholds: true,
                        costs_alone: true,
                        ..one
                    });
                };
            let cpu_load = result.plan.cpu_load().map(|load| load.name.as_str());
            judge(cpu_load, Measure::Cpu, arm.cost.cpu_us_per_request, other.cpu_us_per_request);
            for load in &arm.loads {
                let Some(others) = other.loads.iter().find(|one| one.load == load.load) else { continue };
                let name = Some(load.load.as_str());
                if name != cpu_load {
                    judge(name, Measure::Cpu, load.cost.cpu_us_per_request, others.cpu_us_per_request);
                }
                let quantile = |of: fn(&ResponseCost) -> Option<Interval>| {
                    (of(&load.cost.response_us), of(&others.response_us))
                };
                for (measure, (cost, level)) in Measure::RESPONSES.into_iter().zip([
                    quantile(|response| response.p50),
                    quantile(|response| response.p90),
                    quantile(|response| response.p99),
                ]) {
                    judge(name, measure, cost, level);
                }
            }
        }
        found
    },
    withhold: None,
};

/// Number of responses that p99 needs.
fn responses_needed(limits: &Limits) -> f64 {
    (limits.of(&thresholds::SAMPLES_ABOVE) / 0.01).round()
}

/// What makes p99 costs printable, with the number of rounds if it can be forecast.
fn rounds_advice(result: &StudyResult, limits: &Limits) -> String {
    let open = result.plan.loads.iter().filter(|load| load.loop_ == Loop::Open);
    let fewest = open
        .filter_map(|load| Some((rounds_for_p99(result, &load.name, limits)?, load.name.as_str())))
        .min_by_key(|(rounds, _)| *rounds);
    match fewest {
        Some((rounds, load)) => format!(
            "p99 needs about {rounds} rounds (`--rounds {rounds}`) for nine arms in ten under `{load}`, which needs the fewest; more or \
             longer blocks of a load reduce that number"
        ),
        None => "add rounds, or more or longer blocks of this load".to_owned(),
    }
}

/// Share of the arms whose costs in p99 a forecast is about.
const NEARLY_ALL: f64 = 0.9;

/// The number of rounds after which costs in p99 of nine arms in ten have enough responses and intervals that are not
/// vague. It is an order of magnitude: widths vary, and with few responses the jackknife does not know them well. None if
/// it cannot be forecast for so many arms.
fn rounds_for_p99(result: &StudyResult, load: &str, limits: &Limits) -> Option<u32> {
    let measured = result.plan.rounds_completed;
    let under = |arm: &'_ ArmResult| arm.loads.iter().find(|one| one.load == load).cloned();
    let of_arm = |arm: &ArmResult| -> Option<u32> {
        let own = under(arm)?;
        let other = result.arms.iter().find(|other| Some(&other.id) == arm.compared_with.as_ref())?;
        let others = under(other)?;
        let fewest = own.responses.min(others.responses).max(1) as f64;
        let by_responses = (responses_needed(limits) * f64::from(measured) / fewest).ceil() as u32;
        // A lower quantile is a lower limit of p99, so the forecast errs towards more rounds.
        let level = others.response_us.p99.or(others.response_us.p90).or(others.response_us.p50)?.estimate;
        let target = limits.of(&thresholds::INTERVAL_FAIL_SHARE) * level;
        let by_width = rounds_needed(own.cost_p99_half_width_us?, measured, target)?;
        Some(by_responses.max(by_width))
    };
    let compared: Vec<&ArmResult> =
        result.arms.iter().filter(|arm| arm.compared_with.is_some() && under(arm).is_some()).collect();
    let mut rounds: Vec<u32> = compared.iter().filter_map(|arm| of_arm(arm)).collect();
    rounds.sort_unstable();
    let wanted = (NEARLY_ALL * compared.len() as f64).ceil() as usize;
    rounds.get(wanted.checked_sub(1)?).copied()
}

/// A response time whose interval is as wide as the response time. Differences from other arms are judged by their
/// own intervals ([`VAGUE`]), since variation common to all arms cancels in them.
pub(super) const VAGUE_QUANTILE: Check<StudyResult> = Check {
    id: "vague-quantile",
    protects_from: "a response time that the next study does not reproduce",
    source: "own: half-width of the interval of a quantile against the quantile",
    judge: |result, limits| {
        let mut found = Vec::new();
        for arm in &result.arms {
            for load in &arm.loads {
                // One finding per quantile, since findings are reported together for all arms with the same quantile.
                for (measure, share) in vague(&load.response_us, limits) {
                    let message = format!(
                        "the interval of {} is ±{:.0} % of the response time, which is withheld",
                        measure.as_str(),
                        share * 100.0
                    );
                    let measured = Measured::percent(share, limits.of(&thresholds::INTERVAL_FAIL_SHARE));
                    let advice = "costs are judged by their own intervals; add rounds or use a quieter machine; do not \
                                  compare response times with other studies";
                    let one = finding("vague-quantile", Severity::Info, measured, message, advice);
                    found.push(Finding {
                        arm: Some(arm.id.clone()),
                        load: Some(load.load.clone()),
                        measures: vec![measure],
                        ..one
                    });
                }
            }
        }
        found
    },
    withhold: Some(|result, finding, limits| {
        let response_load = result.plan.response_load().map(|load| load.name.clone());
        let is_usual = finding.load == response_load;
        for arm in result.arms.iter_mut().filter(|arm| finding.arm.as_ref() == Some(&arm.id)) {
            let of_load = arm.loads.iter_mut().filter(|load| finding.load.as_ref() == Some(&load.load));
            of_load.for_each(|load| withhold_vague(&mut load.response_us, limits));
            if is_usual {
                withhold_vague(&mut arm.response_us, limits);
            }
        }
    }),
};

/// The quantiles of response time with too wide intervals, each with its half-width as a share of it.
fn vague(responses: &ResponseCost, limits: &Limits) -> Vec<(Measure, f64)> {
    let all = Measure::RESPONSES.into_iter().zip([responses.p50, responses.p90, responses.p99]);
    let share = |(measure, level): (Measure, Option<Interval>)| {
        level.map(|level| (measure, level.half_width() / level.estimate))
    };
    let is_vague = |(_, share): &(Measure, f64)| *share > limits.of(&thresholds::INTERVAL_FAIL_SHARE);
    all.filter_map(share).filter(is_vague).collect()
}

fn withhold_vague(responses: &mut ResponseCost, limits: &Limits) {
    for (measure, _) in vague(responses, limits) {
        match measure {
            Measure::ResponseP50 => responses.p50 = None,
            Measure::ResponseP90 => responses.p90 = None,
            _ => responses.p99 = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Severity, StudyResult};

    use crate::study::tests::{fired, interval, withheld};

    #[test]
    fn too_few_responses_withhold_p99_and_keep_p50() {
        let few = |result: &mut StudyResult| result.arms[2].loads[1].responses = 9_999;
        assert_eq!(fired("too-few-samples", few).0, Some(Severity::Warn));
        assert_eq!(withheld(few), ["+lua fixed-rate ResponseP99", "lua fixed-rate ResponseP99"]);
    }

    #[test]
    fn the_remedy_for_p99_states_the_rounds_that_nine_arms_in_ten_need() {
        let advice = |responses: [u64; 2], half_widths_us: [Option<f64>; 2]| {
            let (_, result) = fired("too-few-samples", |result| {
                for (arm, (responses, half_width_us)) in
                    result.arms[1..].iter_mut().zip(responses.into_iter().zip(half_widths_us))
                {
                    arm.loads[1].responses = responses;
                    arm.loads[1].cost_p99_half_width_us = half_width_us;
                }
            });
            result.findings.into_iter().find(|finding| finding.id == "too-few-samples").unwrap().advice
        };
        // 10 rounds measured. Of two arms, nine in ten are both: 5,000 responses need 20 rounds.
        assert!(advice([5_000, 8_000], [Some(50.0); 2]).contains("(`--rounds 20`)"));
        // The baseline's p99 is 200 us, so a half-width of 200 us must be halved: four times the rounds, and a little less for
        // Student's quantile.
        let rounds = advice([8_000, 8_000], [Some(50.0), Some(200.0)]);
        let rounds =
            rounds.split("`--rounds ").nth(1).unwrap().split('`').next().unwrap().parse::<u32>().unwrap();
        assert!((32..=40).contains(&rounds), "{rounds}");
        assert_eq!(
            advice([8_000, 8_000], [Some(50.0), None]),
            "add rounds, or more or longer blocks of this load"
        );
    }

    #[test]
    fn a_cost_wider_than_half_of_the_baseline_is_withheld_and_others_are_kept() {
        let vague = |half_width: f64| {
            move |result: &mut StudyResult| {
                // The baseline's p99 is 200 us.
                let arm = &mut result.arms[2];
                let cost = Some(interval(10.0, half_width));
                arm.loads[1].cost.response_us.p99 = cost;
                arm.cost.response_us.p99 = cost;
            }
        };
        assert_eq!(fired("vague-cost", vague(99.0)).0, None);
        assert_eq!(fired("vague-cost", vague(101.0)).0, Some(Severity::Info));
        assert_eq!(withheld(vague(101.0)), ["+lua fixed-rate ResponseP99"]);
    }

    #[test]
    fn a_vague_response_time_is_withheld_and_its_cost_is_kept() {
        let vague = |half_width: f64| {
            move |result: &mut StudyResult| {
                let arm = &mut result.arms[2];
                let level = Some(interval(200.0, half_width));
                arm.loads[1].response_us.p99 = level;
                arm.response_us.p99 = level;
            }
        };
        assert_eq!(fired("vague-quantile", vague(99.0)).0, None);
        assert_eq!(fired("vague-quantile", vague(101.0)).0, Some(Severity::Info));
        assert_eq!(withheld(vague(101.0)), ["lua fixed-rate ResponseP99"]);
    }

    #[test]
    fn a_vague_cost_in_cpu_time_is_withheld() {
        let vague = |result: &mut StudyResult| {
            result.arms[2].cost.cpu_us_per_request = Some(interval(30.0, 25.0));
        };
        assert_eq!(fired("vague-cost", vague).0, Some(Severity::Info));
        assert!(withheld(vague).contains(&"+lua saturation Cpu".to_owned()));
    }
}
