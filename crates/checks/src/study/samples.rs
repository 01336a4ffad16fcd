//! Numbers with too little data, or with intervals too wide to be useful.

mod forecast;
mod numbers;

use hoptax_result::{
    ArmLoad, ArmResult, Finding, Loop, Measure, Measured, Number, Severity, StudyResult, count, grouped,
    percent,
};

use forecast::{TAILS, quiet_effective, quiet_responses, responses_needed, rounds_advice};
use numbers::{cost_widths, levels};

use super::main_measure;
use crate::check::Check;
use crate::thresholds;
use crate::vague::{Width, WidthDivisor, vague_level};

/// Too few responses for the 99th percentile.
pub(super) const TOO_FEW: Check<StudyResult> = Check {
    id: "too-few-samples",
    protects_from: "a tail quantile determined by a few requests",
    source: "own: n (1 - p) of at least 100",
    judge: |result, limits| {
        let needed = responses_needed(limits);
        let [of_all, of_quiet] = TAILS.map(|tail| rounds_advice(result, &tail, limits));
        let judge_arm = |arm: &ArmResult| -> Vec<Finding> {
            let open = |name: &String| {
                result.plan.loads.iter().any(|load| load.name == *name && load.loop_ == Loop::Open)
            };
            let few = |load: &ArmLoad| {
                let quiet = load.quiet_share.map(|_| quiet_effective(load));
                let all = load.responses as f64;
                // Quiet slices have a part of the responses.
                let (responses, message, measures, advice) = if all < needed {
                    let also = quiet.map(|_| Measure::ResponseQuietP99);
                    let measures: Vec<Measure> = std::iter::once(Measure::ResponseP99).chain(also).collect();
                    let advice = if quiet.is_some() { &of_quiet } else { &of_all };
                    (
                        all,
                        format!("{} responses are too few for p99", count(load.responses)),
                        measures,
                        advice,
                    )
                } else {
                    let quiet = quiet.filter(|quiet| *quiet < needed)?;
                    let raw = quiet_responses(load);
                    let responses = if quiet < raw {
                        format!(
                            "{quiet} effective responses in quiet slices ({raw} in all, unevenly over rounds)",
                            quiet = grouped(quiet, 0),
                            raw = grouped(raw, 0)
                        )
                    } else {
                        format!("{quiet} responses in quiet slices", quiet = grouped(quiet, 0))
                    };
                    let message = format!("{responses} are too few for their p99");
                    (quiet, message, vec![Measure::ResponseQuietP99], &of_quiet)
                };
                let measured = Measured::count(responses, needed, "requests");
                Some(Finding {
                    arm: Some(arm.id.clone()),
                    load: Some(load.load.clone()),
                    measures,
                    withholds: true,
                    ..Finding::new("too-few-samples", Severity::Warn, measured, message, advice)
                })
            };
            arm.loads.iter().filter(|load| open(&load.load)).filter_map(few).collect()
        };
        result.arms.iter().flat_map(judge_arm).collect()
    },
    withhold: None,
};

/// A cost whose interval is wide against both itself and the level that it is compared with. The interval of a mean over rounds holds the
/// true cost however wide it is, so the cost is stated. That of a tail is withheld: if a few stalls determine a tail, the interval of its
/// cost holds the true difference too rarely. It is judged beside the lower level of the two arms ([`Width::of_tail`]).
///
/// It is a caution if it is about the main question of the study.
pub(super) const VAGUE: Check<StudyResult> = Check {
    id: "vague-cost",
    protects_from: "a cost that is read without its wide interval, and a cost of a tail that a few stalls of the machine determine",
    source: "own: half-width of the interval as a share of the level of the arm compared with (0 without proxies); for p90 and p99, which \
             are then withheld, as a share of the lower level of the two arms; or of the smallest cost in the interval if that is larger",
    judge: |result, limits| {
        let limit = limits.value(&thresholds::INTERVAL_FAIL_SHARE);
        let main = main_measure(result);
        let [of_p99, of_quiet] = TAILS.map(|tail| rounds_advice(result, &tail, limits));
        let mut found = Vec::new();
        for arm in &result.arms {
            let Some(other) = result.reference_of(arm) else { continue };
            for (load, measure, Width { share, divisor }) in cost_widths(result, arm, other) {
                if share <= limit {
                    continue;
                }
                let name = measure.as_str();
                let base = match divisor {
                    WidthDivisor::LeastCost => "the smallest cost in the interval".to_owned(),
                    WidthDivisor::Lower => format!("the lower {name} of the two arms"),
                    WidthDivisor::Reference => format!("the {name} of `{}`", other.id),
                };
                let message = match divisor {
                    _ if share.is_finite() => {
                        format!("the interval of its {name} cost is wide: ±{} of {base}", percent(share, 0))
                    }
                    WidthDivisor::Reference => format!(
                        "the interval of its {name} cost is wide: it contains zero, and `{}` has no {name}",
                        other.id
                    ),
                    WidthDivisor::Lower | WidthDivisor::LeastCost => format!(
                        "the interval of its {name} cost is wide: it contains zero, and {base} is not above zero"
                    ),
                };
                let advice = match measure {
                    _ if result.sittings.len() > 1 => ANOTHER_SITTING,
                    Measure::ResponseP99 => of_p99.as_str(),
                    Measure::ResponseQuietP99 => of_quiet.as_str(),
                    _ => "add rounds, or more or longer slices of this load",
                };
                let is_main = measure == main.measure() && load == result.plan.usual_load_name(&arm.id, main);
                let severity = if is_main { Severity::Warn } else { Severity::Info };
                let measured = Measured::percent(share.min(WIDEST), limit);
                let one = Finding::new("vague-cost", severity, measured, message, advice);
                found.push(Finding {
                    arm: Some(arm.id.clone()),
                    load: load.map(str::to_owned),
                    measures: vec![measure],
                    withholds: TAIL_MEASURES.contains(&measure),
                    costs_alone: true,
                    ..one
                });
            }
        }
        found
    },
    withhold: None,
};

/// The measures whose intervals hold the true cost too rarely if they are wide.
const TAIL_MEASURES: [Measure; 3] = [Measure::ResponseP90, Measure::ResponseP99, Measure::ResponseQuietP99];

/// Value that stands for a wider interval, since JSON has no infinite numbers.
const WIDEST: f64 = 100.0;

/// Advice to narrow an interval over sittings.
pub(super) const ANOTHER_SITTING: &str = "measure another sitting (`hoptax study NAME --again`): the number of sittings limits the width more than the number of rounds";

/// A level of an arm whose interval is as wide as half of it: its ends remain as a bound. The level itself is withheld because other runs
/// are compared with it by ratios, whose intervals are not right if the level is so uncertain. Differences from other arms are judged by
/// their own intervals ([`VAGUE`]), since variation common to all arms cancels in them.
pub(super) const VAGUE_LEVEL: Check<StudyResult> = Check {
    id: Finding::VAGUE_LEVEL,
    protects_from: "a CPU time, rate or response time that the next study does not reproduce",
    source: "own: half-width of the interval of a level against the level",
    judge: |result, limits| {
        let limit = limits.value(&thresholds::INTERVAL_FAIL_SHARE);
        let mut found = Vec::new();
        for arm in &result.arms {
            // One finding per measure, since findings are reported together for all arms with the same measure.
            for (load, measure, level) in levels(result, arm) {
                let Some(share) = vague_level(&level, limits) else { continue };
                let name = measure.as_str();
                let message = format!(
                    "the interval of its {name} is ±{} of the {name}, which is withheld",
                    percent(share, 0)
                );
                let measured = Measured::percent(share, limit);
                let advice = if result.sittings.len() > 1 {
                    ANOTHER_SITTING
                } else {
                    "costs are judged by their own intervals; add rounds or use a quieter machine; do not compare this number \
                     with other studies"
                };
                found.push(Finding {
                    arm: Some(arm.id.clone()),
                    load: load.map(str::to_owned),
                    measures: vec![measure],
                    ..Finding::new(Finding::VAGUE_LEVEL, Severity::Info, measured, message, advice)
                });
            }
        }
        found
    },
    // A finding that withholds would withhold costs, too.
    withhold: Some(|result, finding, limits| {
        result.for_each_number(&mut |place, number| {
            let is_level = place.compared_with.is_none() && finding.concerns(place);
            if let Number::Interval(interval) = number
                && is_level
                && interval.as_ref().is_some_and(|level| vague_level(level, limits).is_some())
            {
                *interval = None;
            }
        });
    }),
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Interval, Severity, StudyResult, Verdict};

    use crate::study::tests::{fired, withheld};

    #[test]
    fn too_few_responses_withhold_p99_and_keep_p50() {
        let few = |result: &mut StudyResult| result.arms[2].loads[1].responses = 9_999;
        assert_eq!(fired("too-few-samples", few).0, Some(Severity::Warn));
        let [cost, level] = ["+lua", "lua"].map(|arm| format!("{arm} fixed-rate"));
        let of = |place: &str| [format!("{place} ResponseP99"), format!("{place} ResponseQuietP99")];
        assert_eq!(withheld(few), [of(&cost), of(&level)].concat());
        // 12,000 responses, of which 9,600 are in quiet slices.
        let few_quiet = |result: &mut StudyResult| result.arms[2].loads[1].responses = 12_000;
        assert_eq!(fired("too-few-samples", few_quiet).0, Some(Severity::Warn));
        let quiet = [cost, level].map(|place| format!("{place} ResponseQuietP99"));
        assert_eq!(withheld(few_quiet), quiet);
        // 32,000 responses are in quiet slices, unevenly over rounds, and the interval counts these.
        let few_effective = |count: u64| {
            move |result: &mut StudyResult| result.arms[2].loads[1].quiet_effective_responses = Some(count)
        };
        assert_eq!(fired("too-few-samples", few_effective(10_000)).0, None);
        assert_eq!(withheld(few_effective(9_999)), quiet);
        let (_, result) = fired("too-few-samples", few_effective(9_999));
        let message = &result.findings[0].message;
        assert!(message.starts_with("9,999 effective responses in quiet slices (32,000 in all"), "{message}");
    }

    #[test]
    fn the_remedy_for_p99_states_the_rounds_that_nine_arms_in_ten_need() {
        let advice_of = |is_quiet: bool, responses: [u64; 2], half_widths_us: [Option<f64>; 2]| {
            let (_, result) = fired("too-few-samples", |result| {
                for (arm, (responses, half_width_us)) in
                    result.arms[1..].iter_mut().zip(responses.into_iter().zip(half_widths_us))
                {
                    arm.loads[1].responses = responses;
                    let load = &mut arm.loads[1];
                    load.cost_p99_half_width_us = half_width_us.filter(|_| !is_quiet);
                    load.cost_quiet_p99_half_width_us = half_width_us.filter(|_| is_quiet);
                    load.quiet_share = load.quiet_share.filter(|_| is_quiet);
                }
            });
            result.findings.into_iter().find(|finding| finding.id == "too-few-samples").unwrap().advice
        };
        let advice = |responses, half_widths_us| advice_of(false, responses, half_widths_us);
        // Four fifths of the responses are in quiet slices.
        let quiet = advice_of(true, [5_000, 8_000], [Some(50.0); 2]);
        assert!(quiet.starts_with("quiet p99 needs about 25 rounds"), "{quiet}");
        // 10 rounds measured. Of two arms, nine in ten are both: 5,000 responses need 20 rounds.
        assert!(advice([5_000, 8_000], [Some(50.0); 2]).contains("(`--rounds 20`)"));
        // The baseline's p99 is 200 us, so a half-width of 200 us must be halved: four times the rounds, and a little less for
        // Student's quantile.
        let rounds = advice([8_000, 8_000], [Some(50.0), Some(200.0)]);
        let rounds =
            rounds.split("`--rounds ").nth(1).unwrap().split('`').next().unwrap().parse::<u32>().unwrap();
        assert!((32..=40).contains(&rounds), "{rounds}");
        assert!(
            advice([8_000, 8_000], [Some(50.0), Some(5_000.0)])
                .starts_with("no number of rounds that fits into a day")
        );
        assert_eq!(
            advice([8_000, 8_000], [Some(50.0), None]),
            "add rounds, or more or longer blocks of this load"
        );
    }

    #[test]
    fn the_cost_of_a_tail_wider_than_half_of_the_baseline_is_withheld_and_others_are_kept() {
        let vague = |half_width: f64| {
            move |result: &mut StudyResult| {
                // The baseline's p99 is 200 us.
                let arm = &mut result.arms[2];
                let cost = Some(Interval::around(10.0, half_width));
                arm.loads[1].cost.response_us.p99 = cost;
                arm.cost.response_us.p99 = cost;
            }
        };
        assert_eq!(fired("vague-cost", vague(99.0)).0, None);
        assert_eq!(fired("vague-cost", vague(101.0)).0, Some(Severity::Info));
        assert_eq!(withheld(vague(101.0)), ["+lua fixed-rate ResponseP99"]);
    }

    #[test]
    fn the_cost_of_a_tail_is_withheld_whichever_of_the_two_arms_is_the_reference() {
        let judged = |level: f64, estimate: f64| {
            let change = move |result: &mut StudyResult| {
                for (place, level) in [(0, level), (2, level + estimate)] {
                    let arm = &mut result.arms[place];
                    for response_us in [&mut arm.loads[1].response_us, &mut arm.response_us] {
                        for time in [&mut response_us.p90, &mut response_us.p99, &mut response_us.quiet_p99] {
                            *time = Some(Interval::around(level, 1.0));
                        }
                    }
                }
                let arm = &mut result.arms[2];
                for response_us in [&mut arm.loads[1].cost.response_us, &mut arm.cost.response_us] {
                    for cost in [&mut response_us.p90, &mut response_us.p99, &mut response_us.quiet_p99] {
                        *cost = Some(Interval::around(estimate, 624.0));
                    }
                }
            };
            let (_, result) = fired("vague-cost", change);
            let of_arm = result
                .findings
                .into_iter()
                .filter(|finding| finding.id == "vague-cost" && finding.arm.as_deref() == Some("lua"));
            of_arm.map(|finding| finding.message).collect::<Vec<_>>()
        };
        let (one, mirrored) = (judged(1_357.0, -929.0), judged(428.0, 929.0));
        assert_eq!(one, mirrored);
        assert_eq!(one.len(), 3, "{one:?}");
        assert!(
            one.iter().any(|message| message.ends_with("±146 % of the lower p99 of the two arms")),
            "{one:?}"
        );
        // An arm with a level of zero.
        let none = judged(600.0, -600.0);
        assert!(
            none.iter().all(|message| message.ends_with("of the two arms is not above zero")),
            "{none:?}"
        );
        assert_eq!(none.len(), 3, "{none:?}");
    }

    #[test]
    fn a_vague_response_time_is_withheld_and_its_cost_is_kept() {
        let vague = |half_width: f64| {
            move |result: &mut StudyResult| {
                let arm = &mut result.arms[2];
                let level = Some(Interval::around(200.0, half_width));
                arm.loads[1].response_us.p99 = level;
                arm.response_us.p99 = level;
            }
        };
        assert_eq!(fired("vague-level", vague(99.0)).0, None);
        assert_eq!(fired("vague-level", vague(101.0)).0, Some(Severity::Info));
        assert_eq!(withheld(vague(101.0)), ["lua fixed-rate ResponseP99"]);
    }

    #[test]
    fn a_wide_cost_in_cpu_time_is_stated_with_a_caution_that_says_what_narrows_it() {
        let wide = |result: &mut StudyResult| {
            result.arms[2].cost.cpu_us_per_request = Some(Interval::around(30.0, 45.0));
        };
        let (severity, result) = fired("vague-cost", wide);
        assert_eq!((severity, result.verdict), (Some(Severity::Warn), Verdict::Caution));
        let finding = &result.findings[0];
        assert!(!finding.withholds && finding.message.contains("is wide: ±"), "{finding:?}");
        assert!(finding.message.ends_with(" % of the CPU time of `baseline`"), "{finding:?}");
        assert!(finding.advice.contains("rounds") && finding.advice.contains("longer slices"), "{finding:?}");
        assert_eq!(result.arms[2].cost.cpu_us_per_request, Some(Interval::around(30.0, 45.0)));
        assert!(withheld(wide).is_empty());
        let wide_share = |result: &mut StudyResult| {
            result.arms[2].cost.cpu_share = Some(Interval::around(0.9, 0.51));
        };
        assert_eq!(fired("vague-cost", wide_share).0, Some(Severity::Warn));
        assert!(withheld(wide_share).is_empty());
    }

    #[test]
    fn a_wide_cost_that_is_not_the_main_question_is_no_caution() {
        let of_times = |result: &mut StudyResult| {
            // The baseline's p50 is 100 us.
            let cost = Some(Interval::around(10.0, 60.0));
            result.arms[2].loads[1].cost.response_us.p50 = cost;
            result.arms[2].cost.response_us.p50 = cost;
        };
        let (severity, result) = fired("vague-cost", of_times);
        assert_eq!((severity, result.verdict), (Some(Severity::Info), Verdict::Sound));
        assert!(withheld(of_times).is_empty());
        // Without proxies, the times are the question.
        let without_proxies = |result: &mut StudyResult| {
            of_times(result);
            result.arms.iter_mut().for_each(|arm| arm.hops.clear());
        };
        assert_eq!(fired("vague-cost", without_proxies).0, Some(Severity::Warn));
        // CPU time under another load than that of the study's costs.
        let under_another_load = |result: &mut StudyResult| {
            result.arms[2].loads[0].cost.cpu_us_per_request = Some(Interval::around(30.0, 45.0));
            for arm in &mut result.arms {
                arm.loads[0].cpu_us_per_request = Some(Interval::around(40.0, 0.5));
            }
        };
        assert_eq!(fired("vague-cost", under_another_load).0, Some(Severity::Info));
    }

    #[test]
    fn a_cost_against_an_arm_without_proxies_is_judged_by_its_own_size() {
        let cost = |half_width: f64| {
            move |result: &mut StudyResult| {
                let direct = &mut result.arms[0];
                (direct.cpu_us_per_request, direct.max_rate, direct.proxy_use) = (None, None, None);
                direct.hops.clear();
                // It costs nothing, which would be vague.
                result.arms.remove(1);
                let arm = &mut result.arms[1];
                arm.cost.cpu_us_per_request = Some(Interval::around(60.0, half_width));
                arm.cost.cpu_share = None;
            }
        };
        assert_eq!(fired("vague-cost", cost(5.0)).0, None);
        assert_eq!(fired("vague-cost", cost(50.0)).0, Some(Severity::Warn));
        // An interval with zero in it is infinitely wide, which JSON cannot state. It is stated nevertheless.
        assert!([5.0, 50.0, 70.0].into_iter().all(|half_width| withheld(cost(half_width)).is_empty()));
        let (_, result) = fired("vague-cost", cost(70.0));
        let finding = result.findings.iter().find(|one| one.id == "vague-cost").unwrap();
        assert!(!finding.withholds && finding.value.is_finite(), "{finding:?}");
        assert!(finding.message.contains("contains zero, and `baseline` has no CPU time"), "{finding:?}");
    }

    #[test]
    fn a_cost_many_times_the_baseline_is_judged_by_its_own_size() {
        // The baseline takes 40 us: an interval of ±30 us is wide against it, and narrow against 1,000 us.
        let cost = |half_width: f64| {
            move |result: &mut StudyResult| {
                result.arms[2].cost.cpu_us_per_request = Some(Interval::around(1_000.0, half_width));
                result.arms[2].cost.cpu_share = Some(Interval::around(25.0, half_width / 40.0));
            }
        };
        assert_eq!(fired("vague-cost", cost(30.0)).0, None);
        assert_eq!(fired("vague-cost", cost(330.0)).0, None);
        let (severity, result) = fired("vague-cost", cost(340.0));
        assert_eq!(severity, Some(Severity::Warn));
        let message = &result.findings.iter().find(|one| one.id == "vague-cost").unwrap().message;
        assert!(message.ends_with("±52 % of the smallest cost in the interval"), "{message}");
    }

    #[test]
    fn a_wide_cost_in_rate_is_stated() {
        let vague = |half_width: f64| {
            // The baseline takes 20,000 requests per second.
            move |result: &mut StudyResult| {
                result.arms[2].cost.max_rate = Some(Interval::around(-600.0, half_width));
            }
        };
        assert_eq!(fired("vague-cost", vague(9_900.0)).0, None);
        assert_eq!(fired("vague-cost", vague(10_100.0)).0, Some(Severity::Info));
        assert!(withheld(vague(10_100.0)).is_empty());
    }

    #[test]
    fn a_vague_level_in_cpu_time_or_rate_is_withheld_and_its_cost_is_kept() {
        let cpu = |result: &mut StudyResult| {
            let vague = Some(Interval::around(40.0, 21.0));
            (result.arms[2].cpu_us_per_request, result.arms[2].loads[0].cpu_us_per_request) = (vague, vague);
        };
        assert_eq!(withheld(cpu), ["lua saturation Cpu"]);
        let rate =
            |result: &mut StudyResult| result.arms[2].max_rate = Some(Interval::around(20_000.0, 11_000.0));
        assert_eq!(withheld(rate), ["lua saturation MaxRate"]);
    }

    #[test]
    fn the_remedy_for_vague_numbers_of_several_sittings_is_another_sitting() {
        let advice = |sittings: usize| {
            let (_, result) = fired("vague-cost", |result| {
                result.sittings = vec![hoptax_result::sample::sitting(10); sittings];
                result.arms[2].cost.cpu_us_per_request = Some(Interval::around(30.0, 25.0));
            });
            result.findings[0].advice.clone()
        };
        assert!(advice(3).contains("--again"));
        assert!([advice(0), advice(1)].iter().all(|advice| advice.contains("add rounds")));
    }
}
