//! The checks of one study.

mod arms;
mod generator;
mod host;
mod rounds;
mod same;

use hoptax_result::{ArmResult, Cost, ResponseCost, StudyResult};

use crate::Check;

/// All of them.
pub const ALL: &[Check<StudyResult>] = &[
    arms::BOOK,
    arms::OFFERED,
    arms::ERRORS,
    arms::KNOWN_ANSWER,
    arms::UNPROVEN,
    arms::ADMITTED,
    arms::TOO_FEW,
    arms::NOT_SATURATED,
    same::SAME,
    generator::SEND_LAG,
    generator::SATURATED,
    generator::RUN_DELAY,
    host::STEAL,
    host::PROXY_RUN_DELAY,
    host::SET_ASIDE,
    host::TOO_FEW_SLICES,
    host::SHARED_PROCESSOR,
    host::DRIFT,
    rounds::TOO_FEW_ROUNDS,
    rounds::ENDED_EARLY,
];

/// Withholds the numbers of one arm, and the costs that were taken against it.
pub(crate) fn withhold_arm(result: &mut StudyResult, id: &str) {
    for arm in &mut result.arms {
        if arm.id == id {
            withhold_numbers(arm);
        } else if arm.compared_with.as_deref() == Some(id) {
            arm.cost = Cost::default();
            arm.loads.iter_mut().for_each(|load| load.rate_ratio = None);
        }
    }
}

/// Withholds the numbers of all arms. The evidence (books, slices, generator, host) stays.
pub(crate) fn withhold_all(result: &mut StudyResult) {
    result.arms.iter_mut().for_each(withhold_numbers);
}

fn withhold_numbers(arm: &mut ArmResult) {
    arm.cpu_us_per_request = None;
    arm.max_rate = None;
    arm.loads.clear();
    arm.companion_cpu_us_per_request = None;
    for hop in &mut arm.hops {
        hop.cpu_us_per_request = None;
        hop.memory_bytes = None;
    }
    arm.response_us = ResponseCost::default();
    arm.cost = Cost::default();
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use hoptax_result::{
        ArmKind, ArmLoad, ArmResult, Book, Cost, Environment, GeneratorUse, HopUse, HostUse, Interval,
        LoadSpec, Loop, ProxyUse, ResponseCost, Severity, Slices, StudyPlan, StudyResult, Verdict,
    };

    use crate::judge_study;

    pub(crate) fn interval(estimate: f64, half_width: f64) -> Interval {
        Interval { estimate, low: estimate - half_width, high: estimate + half_width }
    }

    fn arm(id: &str, kind: ArmKind, cost_us: f64) -> ArmResult {
        let response =
            |us: f64| ResponseCost { p50: Some(interval(us, 2.0)), p99: Some(interval(us * 2.0, 9.0)) };
        ArmResult {
            id: id.to_owned(),
            kind,
            function: (kind == ArmKind::Function).then(|| id.to_owned()),
            knobs: BTreeMap::new(),
            summary: String::new(),
            compared_with: (kind != ArmKind::Baseline).then(|| "baseline".to_owned()),
            rounds: 10,
            slices: Slices { used: 90, set_aside: 10, lost: 10 },
            copies: 1,
            cpu_us_per_request: Some(interval(40.0 + cost_us, 0.5)),
            max_rate: Some(interval(20_000.0, 300.0)),
            loads: Vec::new(),
            companion_cpu_us_per_request: None,
            unproven: Vec::new(),
            response_us: response(100.0),
            cost: Cost {
                cpu_us_per_request: Some(interval(cost_us, 0.5)),
                cpu_share: Some(interval(cost_us / 40.0, 0.01)),
                response_us: response(cost_us),
                max_rate: Some(interval(-cost_us * 100.0, 50.0)),
            },
            responses: 40_000,
            known_answer: None,
            hops: Vec::new(),
            proxy_use: Some(ProxyUse { core_share: 0.97, idle_us_per_second: 400.0 }),
            book: Book { planned: 90_000, sent: 90_000, answered: 90_000, ..Book::default() },
            failures: BTreeMap::new(),
        }
    }

    /// A result that no check objects to; each test spoils one thing.
    pub(crate) fn sound() -> StudyResult {
        let load = |name: &str, loop_: Loop| LoadSpec {
            name: name.to_owned(),
            loop_,
            rate: (loop_ == Loop::Open).then_some(4000.0),
            arrivals: (loop_ == Loop::Open).then(|| "uniform".to_owned()),
            connections: 16,
            requests_per_connection: None,
            caller: "hoptax".to_owned(),
            blocks: 5,
            slice_s: 0.2,
        };
        let used = |name: &str, own_lag_p99_us| GeneratorUse {
            load: name.to_owned(),
            own_lag_p99_us,
            core_share: 0.2,
            processors_share: 0.4,
            run_delay_share: 0.05,
        };
        StudyResult {
            format: "hoptax.study/1".to_owned(),
            name: "test".to_owned(),
            summary: String::new(),
            verdict: Verdict::Sound,
            findings: Vec::new(),
            environment: Environment {
                proxy_cpus: vec![1],
                generator_cpus: vec![0],
                ..Environment::default()
            },
            plan: StudyPlan {
                seed: 1,
                baseline: "baseline".to_owned(),
                rounds_planned: 10,
                rounds_completed: 10,
                confidence: 0.95,
                set_aside_rule: String::new(),
                link: None,
                loads: vec![load("saturation", Loop::Closed), load("fixed-rate", Loop::Open)],
                wall_seconds: 300.0,
                ended_early: None,
                resumed_after_rounds: Vec::new(),
                max_error_share: 0.001,
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
        }
    }

    #[test]
    fn nothing_that_was_measured_is_left_of_an_arm_that_is_withheld() {
        let mut result = sound();
        let some = Some(Interval { estimate: 7.5, low: 7.0, high: 8.0 });
        for arm in &mut result.arms {
            let shares = (Some(0.75), Some(0.75));
            arm.loads = vec![ArmLoad {
                rate: some,
                rate_ratio: some,
                link_bytes_per_request: some,
                within_1_ms_share: shares.0,
                over_10_ms_share: shares.1,
                ..ArmLoad::default()
            }];
            let (name, cpu_us_per_request, memory_bytes) = ("gateway".to_owned(), some, some);
            arm.hops = vec![HopUse { name, cpu_us_per_request, memory_bytes }];
        }
        super::withhold_arm(&mut result, "baseline");
        assert!(result.arms[0].loads.is_empty() && result.arms[2].loads[0].rate.is_some());
        assert!(result.arms[2].loads[0].rate_ratio.is_none(), "what it was compared with is not there");
        super::withhold_all(&mut result);
        let arms = format!("{:?}", result.arms);
        assert!(!arms.contains("7.5") && !arms.contains("0.75"), "{arms}");
    }

    /// Judges a spoilt result; the worst severity of the findings called `id`, if it fired.
    pub(crate) fn fired(id: &str, spoil: impl FnOnce(&mut StudyResult)) -> (Option<Severity>, StudyResult) {
        let mut result = sound();
        spoil(&mut result);
        judge_study(&mut result);
        let severity =
            result.findings.iter().filter(|finding| finding.id == id).map(|found| found.severity).max();
        (severity, result)
    }

    #[test]
    fn a_clean_study_is_sound() {
        let mut result = sound();
        judge_study(&mut result);
        assert_eq!(result, sound());
    }

    #[test]
    fn a_failed_arm_loses_its_own_numbers_only() {
        let (_, result) = fired("errors", |result| {
            result.arms[2].book.answered -= 9_000;
            result.arms[2].book.failed += 9_000;
        });
        assert_eq!(result.verdict, Verdict::Caution);
        assert_eq!(result.arms[2].cost, Cost::default());
        assert!(result.arms[1].cost.cpu_us_per_request.is_some());
    }

    #[test]
    fn a_failed_baseline_takes_every_cost_with_it() {
        let (_, result) = fired("errors", |result| {
            result.arms[0].book.answered -= 9_000;
            result.arms[0].book.failed += 9_000;
        });
        assert_eq!(result.verdict, Verdict::Void);
        assert!(result.arms.iter().all(|arm| arm.cost == Cost::default()));
    }

    #[test]
    fn every_check_has_an_id_of_its_own() {
        let mut ids: Vec<_> = super::ALL.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), super::ALL.len());
    }
}
