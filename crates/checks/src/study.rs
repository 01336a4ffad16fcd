//! The checks of a study.

mod answers;
mod arms;
pub(crate) mod bounds;
mod connections;
mod counters;
pub(crate) mod derived;
mod external;
mod generator;
mod host;
mod known;
mod missing;
pub mod proxy_build;
mod quiet;
mod rounds;
mod same;
mod samples;
mod sittings;
mod throttled;
mod timeline;
mod utilisation;

use hoptax_result::{ArmKind, ArmResult, CostMeasure, StudyResult};

use crate::check::Check;
use crate::remedy::{Remedies, Remedy};

/// All checks.
pub const ALL: &[Check<StudyResult>] = &[
    arms::BOOK,
    arms::OFFERED,
    arms::ERRORS,
    arms::SENT_AGAIN,
    missing::MISSING,
    known::RESPONSE_TIME,
    known::CPU_TIME,
    answers::DIFFERENT_ANSWERS,
    arms::UNPROVEN,
    arms::ADMITTED,
    arms::NOT_SATURATED,
    arms::UNEQUALLY_BUSY,
    arms::CAPACITY,
    utilisation::UNEQUAL,
    connections::UNEQUAL,
    quiet::QUIET,
    samples::TOO_FEW,
    samples::VAGUE,
    samples::VAGUE_LEVEL,
    same::SAME,
    generator::SEND_LAG,
    generator::SATURATED,
    generator::RUN_DELAY,
    generator::CALLERS,
    host::STEAL,
    host::PROXY_RUN_DELAY,
    throttled::THROTTLED,
    host::SET_ASIDE,
    host::TOO_FEW_SLICES,
    host::SHARED_PROCESSOR,
    host::DRIFT,
    rounds::TOO_FEW_ROUNDS,
    rounds::ENDED_EARLY,
    external::NOT_RESTARTED,
    external::NO_ACCOUNT,
    proxy_build::PROXY_BUILD,
    counters::TOP_DOWN_ABSENT,
];

/// The checks of a timeline, whose slices have no costs.
pub const OF_TIMELINES: &[Check<StudyResult>] = &[
    arms::BOOK,
    timeline::SEND_LAG,
    timeline::SATURATED,
    timeline::LATE_EVENT,
    timeline::UNFINISHED_EVENT,
    timeline::FAILS_BEFORE,
    rounds::TOO_FEW_ROUNDS,
    rounds::ENDED_EARLY,
    external::NOT_RESTARTED,
    proxy_build::PROXY_BUILD,
];

/// Checks that read only numbers with their intervals, and so judge combined numbers of several sittings as well. The
/// others read evidence that each sitting has of its own.
pub const OF_NUMBERS: &[Check<StudyResult>] =
    &[known::RESPONSE_TIME, known::CPU_TIME, samples::VAGUE, samples::VAGUE_LEVEL, same::SAME];

/// The checks of several sittings together, beside those of their numbers.
pub const OF_SITTINGS: &[Check<StudyResult>] = &[sittings::CLOSE];

/// What helps against the findings of these checks. Costs are paired, so a drift of the machine is no reason against more rounds, which
/// also replace slices that were set aside. That identical arms differ is mostly chance: who measures anew until they do not selects
/// results.
pub const REMEDIES: &Remedies = &[
    (Remedy::QuietMachine, &[host::STEAL.id, host::PROXY_RUN_DELAY.id, throttled::THROTTLED.id]),
    (
        Remedy::Longer,
        &[
            samples::TOO_FEW.id,
            samples::VAGUE.id,
            same::SAME.id,
            host::SET_ASIDE.id,
            host::TOO_FEW_SLICES.id,
            host::DRIFT.id,
            rounds::TOO_FEW_ROUNDS.id,
            rounds::ENDED_EARLY.id,
        ],
    ),
];

/// Returns true if the main question of a study has a number left: of a timeline, how long it hurts; of another study, a cost in CPU time
/// of an arm with proxies; if no arm has proxies, a cost in response time or a ratio of rates.
pub(crate) fn is_answered(result: &StudyResult) -> bool {
    if result.plan.timeline.is_some() {
        return result.timelines.iter().any(|timeline| timeline.whole.hurt_s.is_some());
    }
    let of_cpu_time = |arm: &ArmResult| arm.cost.cpu_us_per_request.is_some();
    let of_times = |arm: &ArmResult| {
        arm.cost.response_us.p50.is_some() || arm.loads.iter().any(|load| load.rate_ratio.is_some())
    };
    has_answer(result, of_cpu_time, of_times)
}

/// Returns true if the main question of a study that observed costs has a bound left.
pub(crate) fn is_bounded(result: &StudyResult) -> bool {
    let has = |arm: &ArmResult, measure| arm.bounds.cost(measure).is_some();
    has_answer(result, |arm| has(arm, CostMeasure::CpuUs), |arm| has(arm, CostMeasure::ResponseP50Us))
}

/// The measure of the main question of a study that observed costs: CPU time if an arm has proxies, otherwise response time.
pub(crate) fn main_measure(result: &StudyResult) -> CostMeasure {
    let mut compared = result.arms.iter().filter(|arm| arm.compared_with.is_some());
    if compared.any(|arm| !arm.hops.is_empty()) { CostMeasure::CpuUs } else { CostMeasure::ResponseP50Us }
}

/// Returns true if an arm has an answer: in CPU time if an arm has proxies, otherwise in times.
fn has_answer(
    result: &StudyResult,
    of_cpu_time: impl Fn(&ArmResult) -> bool,
    of_times: impl Fn(&ArmResult) -> bool,
) -> bool {
    let compared = || result.arms.iter().filter(|arm| arm.compared_with.is_some());
    if main_measure(result) == CostMeasure::CpuUs {
        // The A/A arm does not count, unless it is the only one.
        let has_others = compared().any(|arm| arm.kind != ArmKind::Same && !arm.hops.is_empty());
        return compared().filter(|arm| arm.kind != ArmKind::Same || !has_others).any(of_cpu_time);
    }
    compared().any(of_times)
}

#[cfg(test)]
pub(crate) mod tests {
    use hoptax_result::{
        ArmKind, ArmLoad, ArmResult, Book, Cost, Environment, Finding, GeneratorUse, HopUse, HostUse,
        Interval, LoadSpec, Loop, Loosened, Measure, Measured, ProxyUse, ResponseCost, Severity, Slices,
        StudyBody, StudyPlan, StudyResult, Verdict, sample,
    };

    use crate::thresholds::Limits;
    use crate::{judge_sittings, judge_study};

    fn arm(id: &str, kind: ArmKind, cost_us: f64) -> ArmResult {
        let response = |us: f64| ResponseCost {
            p50: Some(Interval::around(us, 2.0)),
            p90: Some(Interval::around(us * 1.5, 4.0)),
            p99: Some(Interval::around(us * 2.0, 9.0)),
            quiet_p99: Some(Interval::around(us * 1.8, 6.0)),
        };
        let cost = Cost {
            cpu_us_per_request: Some(Interval::around(cost_us, 0.5)),
            cpu_share: Some(Interval::around(cost_us / 40.0, 0.01)),
            response_us: response(cost_us),
            over_1_ms_share: Some(Interval::around(0.0, 0.001)),
            max_rate: Some(Interval::around(-cost_us * 100.0, 50.0)),
            ..Cost::default()
        };
        let load = |name: &str| ArmLoad {
            load: name.to_owned(),
            rate: Some(Interval::around(4000.0, 10.0)),
            response_us: response(100.0),
            cost: Cost { max_rate: None, ..cost.clone() },
            responses: 40_000,
            quiet_share: Some(0.8),
            book: Book { planned: 45_000, sent: 45_000, answered: 45_000, ..Book::default() },
            ..ArmLoad::default()
        };
        ArmResult {
            id: id.to_owned(),
            kind,
            function: (kind == ArmKind::Function).then(|| id.to_owned()),
            compared_with: (kind != ArmKind::Baseline).then(|| "baseline".to_owned()),
            rounds: 10,
            slices: Slices { used: 90, set_aside: 10, lost: 10, ..Slices::default() },
            copies: 1,
            cpu_us_per_request: Some(Interval::around(40.0 + cost_us, 0.5)),
            max_rate: Some(Interval::around(20_000.0, 300.0)),
            loads: vec![load("saturation"), load("fixed-rate")],
            response_us: response(100.0),
            cost,
            responses: 40_000,
            hops: vec![HopUse { name: "gateway".to_owned(), ..HopUse::default() }],
            proxy_use: Some(ProxyUse { core_share: 0.97, processors_busy_share: None }),
            book: Book { planned: 90_000, sent: 90_000, answered: 90_000, ..Book::default() },
            ..ArmResult::default()
        }
    }

    /// A result without findings; each test invalidates one aspect of it.
    pub(crate) fn sound() -> StudyResult {
        let load = |name: &str, loop_: Loop| LoadSpec {
            loop_,
            rate: (loop_ == Loop::Open).then_some(4000.0),
            arrivals: (loop_ == Loop::Open).then(|| "uniform".to_owned()),
            blocks: 5,
            ..sample::closed_loop(name, 16)
        };
        let used = |name: &str, own_lag_p99_us: Option<f64>| GeneratorUse {
            load: name.to_owned(),
            own_lag_p50_us: own_lag_p99_us.map(|us| us / 10.0),
            own_lag_p99_us,
            core_share: 0.2,
            processors_share: 0.4,
            run_delay_share: 0.05,
            ..GeneratorUse::default()
        };
        let environment =
            Environment { proxy_cpus: vec![1], generator_cpus: vec![0], ..Environment::default() };
        let body = StudyBody {
            plan: StudyPlan {
                rounds_planned: 10,
                rounds_completed: 10,
                loads: vec![load("saturation", Loop::Closed), load("fixed-rate", Loop::Open)],
                wall_seconds: 300.0,
                ..sample::study_plan()
            },
            generator: vec![used("saturation", None), used("fixed-rate", Some(40.0))],
            host: HostUse {
                steal_share: 0.001,
                handover_ns: Some(60.0),
                waited_s: 12.0,
                proxy_run_delay_share: 0.004,
                drift_share: Some(0.01),
                neighbour_weight: Some(0.85),
            },
            arms: vec![
                arm("baseline", ArmKind::Baseline, 0.0),
                arm("same", ArmKind::Same, 0.1),
                arm("lua", ArmKind::Function, 5.0),
            ],
            ..sample::study("test", "", 0.0).body
        };
        StudyResult::new(environment, body)
    }

    /// Leaves only the closed loop, from which CPU time is then taken.
    pub(crate) fn only_closed(result: &mut StudyResult) {
        result.plan.loads.truncate(1);
        result.generator.truncate(1);
        for arm in &mut result.arms {
            arm.loads.truncate(1);
        }
    }

    /// The numbers that are present, as `arm load measure`, with `+` before differences.
    pub(crate) fn left(result: &mut StudyResult) -> Vec<String> {
        let mut left = Vec::new();
        result.for_each_number(&mut |place, number| {
            if number.is_some() {
                let sign = if place.compared_with.is_some() { "+" } else { "" };
                left.push(format!("{sign}{} {} {:?}", place.arm, place.load.unwrap_or("-"), place.measure));
            }
        });
        left
    }

    /// Judges an invalidated result. Returns the numbers that were withheld.
    pub(crate) fn withheld(invalidate: impl FnOnce(&mut StudyResult)) -> Vec<String> {
        let mut result = sound();
        invalidate(&mut result);
        let before = left(&mut result);
        judge_study(&mut result, &Limits::default());
        let after = left(&mut result);
        let mut withheld: Vec<String> = before.into_iter().filter(|place| !after.contains(place)).collect();
        withheld.sort();
        withheld.dedup();
        withheld
    }

    /// Judges an invalidated result. Returns the worst severity of the findings with this `id`, if any.
    pub(crate) fn fired(
        id: &str,
        invalidate: impl FnOnce(&mut StudyResult),
    ) -> (Option<Severity>, StudyResult) {
        let mut result = sound();
        invalidate(&mut result);
        judge_study(&mut result, &Limits::default());
        let severity =
            result.findings.iter().filter(|finding| finding.id == id).map(|found| found.severity).max();
        (severity, result)
    }

    #[test]
    fn a_clean_study_is_sound() {
        let mut result = sound();
        judge_study(&mut result, &Limits::default());
        assert_eq!(result, sound());
    }

    #[test]
    fn a_finding_names_the_threshold_that_was_set_for_it() {
        let judged = |set: &[(&str, f64)]| {
            let mut limits = Limits::default();
            for (name, value) in set {
                limits.set(name, *value).unwrap();
            }
            let mut result = sound();
            result.host.steal_share = 0.01;
            result.plan.rounds_completed = 4;
            judge_study(&mut result, &limits);
            result
        };
        let messages = |result: &StudyResult, id: &str| {
            let of = result.findings.iter().filter(|finding| finding.id == id);
            of.map(|finding| finding.message.clone()).collect::<Vec<_>>()
        };
        let usual = judged(&[]);
        assert_eq!(messages(&usual, "steal").len(), 1);
        assert!(usual.loosened.is_empty() && !messages(&usual, "steal")[0].contains("is set to"));
        // Loosened, so that the finding is gone, which only the list can tell.
        let loose = judged(&[("steal", 0.05)]);
        assert_eq!(loose.loosened.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["steal"]);
        assert!(messages(&loose, "steal").is_empty());
        // Tightened, so that a finding is there or worse, which is stated with it alone.
        let tight = judged(&[("steal-fail", 0.001)]);
        assert!(tight.loosened.is_empty());
        let [steal] = &messages(&tight, "steal")[..] else { panic!("one finding") };
        assert!(steal.contains("; `steal-fail` is set to 0.001, not "), "{steal}");
        let others = tight.findings.iter().filter(|finding| finding.id != "steal");
        assert!(
            others.clone().count() > 0 && others.into_iter().all(|one| !one.message.contains("is set to"))
        );
    }

    #[test]
    fn an_arm_whose_function_did_nothing_loses_its_own_numbers_only() {
        let unproven = |result: &mut StudyResult| {
            result.arms[2].unproven = vec!["nothing moved".to_owned()];
            result.arms.push(arm("rbac", ArmKind::Function, 1.0));
        };
        let (severity, result) = fired("unproven", unproven);
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution));
        let lua = &result.arms[2];
        assert_eq!((&lua.cost, lua.cpu_us_per_request), (&Cost::default(), None));
        let withheld = withheld(unproven);
        assert!(withheld.iter().all(|place| place.contains("lua")), "{withheld:?}");
        assert!(withheld.contains(&"+lua saturation Cpu".to_owned()), "{withheld:?}");
    }

    #[test]
    fn a_failed_baseline_withholds_every_cost() {
        let (_, mut result) = fired("unproven", |result| {
            result.arms[0].unproven = vec!["nothing moved".to_owned()];
        });
        assert_eq!(result.verdict, Verdict::Void);
        let left = left(&mut result);
        assert!(!left.is_empty() && left.iter().all(|place| !place.starts_with('+')), "{left:?}");
    }

    #[test]
    fn a_study_is_void_only_when_no_cost_is_left() {
        let finding = |measures: Vec<Measure>| {
            let mut result = sound();
            let mut lag = result.generator[1].clone();
            (lag.own_lag_p50_us, lag.own_lag_p99_us) = (Some(5_000.0), Some(9_000.0));
            result.generator[1] = lag;
            judge_study(&mut result, &Limits::default());
            assert!(
                result.findings.iter().any(|finding| finding.measures == measures),
                "{:?}",
                result.findings
            );
            result.verdict
        };
        assert_eq!(finding(Measure::RESPONSES.to_vec()), Verdict::Caution);
        assert_eq!(fired("book", |result| result.arms[2].book.sent += 1).1.verdict, Verdict::Void);
    }

    /// Judges sound numbers of three sittings, one of them invalidated, with the findings of these sittings.
    fn combined(invalidate: impl FnOnce(&mut StudyResult), findings: Vec<Finding>) -> StudyResult {
        let mut result = sound();
        result.sittings = vec![sample::sitting(10); 3];
        result.findings = findings;
        invalidate(&mut result);
        judge_sittings(&mut result);
        result
    }

    fn of_sitting(id: &str, severity: Severity, withholds: bool) -> Finding {
        let measured = Measured::count(1.0, 0.0, "");
        Finding { withholds, sitting: Some(2), ..Finding::new(id, severity, measured, String::new(), "") }
    }

    #[test]
    fn a_vague_level_of_several_sittings_is_withheld_and_a_wide_cost_is_a_caution() {
        let before = left(&mut sound());
        let mut result = combined(
            |result| result.arms[2].cost.cpu_us_per_request = Some(Interval::around(30.0, 25.0)),
            Vec::new(),
        );
        assert_eq!((result.verdict, result.findings[0].sitting), (Verdict::Caution, None));
        assert_eq!(left(&mut result), before);
        let vague = Some(Interval::around(30.0, 25.0));
        let mut result = combined(
            |result| {
                let arm = &mut result.arms[2];
                (arm.cpu_us_per_request, arm.loads[1].cpu_us_per_request) = (vague, vague);
            },
            Vec::new(),
        );
        let left = left(&mut result);
        assert!(!left.contains(&"lua fixed-rate Cpu".to_owned()), "{left:?}");
        assert!(left.contains(&"+lua fixed-rate Cpu".to_owned()), "{left:?}");
    }

    #[test]
    fn that_a_cost_of_a_sitting_is_wide_says_nothing_about_that_of_all() {
        for severity in [Severity::Info, Severity::Warn] {
            assert_eq!(combined(|_| {}, vec![of_sitting("vague-cost", severity, false)]).findings, []);
        }
        let of_tail = vec![of_sitting("vague-cost", Severity::Info, true)];
        assert_eq!(combined(|_| {}, of_tail).findings.len(), 1, "it is why the sitting does not have it");
    }

    #[test]
    fn a_finding_of_a_sitting_stays_and_withholds_no_combined_number() {
        let before = left(&mut sound());
        let mut result = combined(|_| {}, vec![of_sitting("steal", Severity::Fail, true)]);
        assert_eq!(left(&mut result), before);
        assert_eq!((result.verdict, result.findings[0].sitting), (Verdict::Caution, Some(2)));
    }

    #[test]
    fn the_judgement_of_a_combined_number_replaces_the_warnings_of_sittings() {
        let warning = || vec![of_sitting("same-differs", Severity::Warn, false)];
        assert_eq!(combined(|_| {}, warning()).findings, []);
        let result = combined(
            |result| result.arms[1].cost.cpu_us_per_request = Some(Interval::around(-0.3, 0.2)),
            warning(),
        );
        assert_eq!(result.findings.iter().map(|one| one.sitting).collect::<Vec<_>>(), [None]);
    }

    #[test]
    fn a_known_answer_that_one_sitting_did_not_test_is_judged_by_the_combined_number() {
        assert_eq!(combined(|_| {}, vec![of_sitting("known-cpu", Severity::Info, false)]).findings, []);
        let reason = vec![of_sitting("vague-level", Severity::Info, false)];
        assert_eq!(combined(|_| {}, reason).findings.len(), 1);
    }

    #[test]
    fn combined_numbers_are_judged_by_the_thresholds_that_were_loosened_for_all_sittings() {
        let vague = |set: f64| {
            combined(
                |result| {
                    let loosened =
                        Loosened { name: "interval-fail-share".to_owned(), default: 0.5, value: set };
                    result.loosened = vec![loosened];
                    result.arms[2].cost.cpu_us_per_request = Some(Interval::around(30.0, 25.0));
                },
                Vec::new(),
            )
        };
        assert_eq!(vague(0.7).findings, []);
        assert_eq!(vague(0.6).findings.len(), 1);
    }

    /// An interval over three sittings has two degrees of freedom, however many rounds they have; that of one of them has those of its
    /// rounds.
    #[test]
    fn the_chance_of_a_difference_depends_on_the_number_of_sittings() {
        let differs = |result: &mut StudyResult| {
            result.arms[1].cost.cpu_us_per_request = Some(Interval::around(-0.9, 0.2));
        };
        let severity = |result: StudyResult| result.findings[0].severity;
        let (_, single) = fired("same-differs", differs);
        assert_eq!(severity(single), Severity::Fail);
        assert_eq!(severity(combined(differs, Vec::new())), Severity::Warn);
        // One sitting of ten rounds states it.
        let of_one = |result: &mut StudyResult| {
            let cost = Interval::around(-0.9, 0.2).with_freedom(9.0);
            result.arms[1].cost.cpu_us_per_request = Some(cost);
        };
        assert_eq!(severity(combined(of_one, Vec::new())), Severity::Fail);
    }

    #[test]
    fn checks_of_numbers_are_among_all_checks() {
        let is_known = |id: &str| super::ALL.iter().any(|check| check.id == id);
        assert!(super::OF_NUMBERS.iter().all(|check| is_known(check.id)));
    }

    #[test]
    fn every_check_has_a_unique_id() {
        let of_studies: Vec<_> = super::ALL.iter().chain(super::OF_SITTINGS).collect();
        for checks in [of_studies, super::OF_TIMELINES.iter().collect()] {
            let mut ids: Vec<_> = checks.iter().map(|check| check.id).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), checks.len());
        }
    }
}
