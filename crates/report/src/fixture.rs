//! Sample results for the tests of all outputs.

mod timeline;

use std::collections::BTreeMap;

use hoptax_load::encoded::encode;
use hoptax_result::{
    ArmKind, ArmLoad, ArmResult, BodyBytes, Book, Calibrated, CheckedTime, Cost, CostMeasure, CostShares,
    Disturbance, Environment, Finding, FloorAt, GeneratorUse, Histogram, HopUse, HostUse, Interval,
    KernelStamps, KnownAnswer, LatencySet, Lateness, LoadBounds, LoadRate, LoadResult, LoadSpec, Loop,
    Loosened, MachineProbe, Measure, Measured, Mode, ProxyUse, ResponseCost, RoundMeasure, RoundNumbers,
    Sample, Severity, Slices, Stage, StudyBody, StudyPlan, StudyResult, StudyRound, UsedByOthers, Verdict,
    Waiting, WakeUps, sample,
};

use crate::Style;
use crate::chart::{Chart, IntervalRow};
use crate::document::{Block, Document, Section};
use crate::render::{csv, html, markdown, terminal};
use crate::rows::MIB;

pub(crate) use timeline::timeline;

/// A terminal that first screens are tested on.
pub(crate) const STYLE: Style = Style { width: 100, colour: false };

/// Every output of a document that has all of it.
pub(crate) fn outputs(document: &Document, style: Style) -> [String; 4] {
    [
        terminal::details(document, style),
        markdown::text(document),
        html::page(document).unwrap(),
        csv::text(document),
    ]
}

fn arm(id: &str, kind: ArmKind, compared_with: Option<&str>, cpu_us: f64, p50_us: f64) -> ArmResult {
    let has_proxy = kind != ArmKind::Direct;
    let is_compared = compared_with.is_some();
    let rate = 1e6 / (46.0 + cpu_us);
    ArmResult {
        id: id.to_owned(),
        kind,
        function: (kind == ArmKind::Function).then(|| id.to_owned()),
        summary: format!("What {id} does"),
        compared_with: compared_with.map(str::to_owned),
        rounds: 10,
        slices: Slices {
            used: 87,
            set_aside: 3,
            set_aside_by: [(Disturbance::Steal, 1), (Disturbance::RunDelay, 3)].into(),
            lost: 1,
            delayed: 2,
        },
        copies: if compared_with.is_none() { 2 } else { 1 },
        cpu_us_per_request: has_proxy.then(|| Interval::around(46.0 + cpu_us, 0.52)),
        max_rate: has_proxy.then(|| Interval::around(rate, 210.0)),
        response_us: ResponseCost {
            p50: Some(Interval::around(95.0 + p50_us, 1.3)),
            p90: Some(Interval::around(140.0 + p50_us, 6.0)),
            p99: Some(Interval::around(240.0 + p50_us, 22.0)),
            quiet_p99: None,
        },
        cost: if is_compared {
            Cost {
                cpu_us_per_request: has_proxy.then(|| Interval::around(cpu_us, 0.4 + cpu_us.abs() / 50.0)),
                cpu_share: has_proxy.then(|| Interval::around(cpu_us / 46.0, 0.008 + cpu_us.abs() / 4_600.0)),
                response_us: ResponseCost {
                    p50: Some(Interval::around(p50_us, 1.1)),
                    p90: Some(Interval::around(p50_us * 1.1, 5.0)),
                    p99: Some(Interval::around(p50_us * 1.3, 14.0)),
                    quiet_p99: None,
                },
                over_1_ms_share: Some(Interval::around(0.0, 0.001)),
                max_rate: has_proxy.then(|| Interval::around(rate - 1e6 / 46.0, 190.0)),
                shares: CostShares::default(),
                // About as wide as many costs together need.
                uncertain_signs: if has_proxy && cpu_us.abs() < 0.6 {
                    vec![CostMeasure::CpuUs, CostMeasure::CpuShare, CostMeasure::ResponseP50Us]
                } else {
                    Vec::new()
                },
                of_rounds: [
                    (RoundMeasure::MEMORY, Interval::around(cpu_us / 5.0 * MIB, 0.57 * MIB)),
                    (RoundMeasure::MEMORY_PER_CONNECTION, Interval::around(cpu_us * 50.0, 900.0)),
                    (RoundMeasure::START_CPU, Interval::around(cpu_us * 100.0, 450.0)),
                ]
                .map(|(measure, cost)| (measure, has_proxy.then_some(cost)))
                .into_iter()
                .collect(),
            }
        } else {
            Cost::default()
        },
        responses: 32_000,
        hops: if has_proxy {
            vec![HopUse {
                name: "gateway".to_owned(),
                cpu_us_per_request: None,
                of_rounds: [
                    (RoundMeasure::MEMORY, Interval::around((67.7 + cpu_us / 5.0) * MIB, 0.4 * MIB)),
                    (RoundMeasure::MEMORY_PER_CONNECTION, Interval::around(21_600.0 + cpu_us * 50.0, 800.0)),
                    (RoundMeasure::START_CPU, Interval::around(61_000.0 + cpu_us * 100.0, 600.0)),
                ]
                .map(|(measure, level)| (measure, Some(level)))
                .into_iter()
                .collect(),
            }]
        } else {
            Vec::new()
        },
        proxy_use: has_proxy.then_some(ProxyUse { core_share: 0.98, processors_busy_share: None }),
        book: Book { planned: 200_000, sent: 200_000, answered: 200_000, ..Book::default() },
        ..ArmResult::default()
    }
}

fn load_spec(name: &str, loop_: Loop, rate: Option<f64>) -> LoadSpec {
    let arrivals = rate.map(|_| "uniform".to_owned());
    LoadSpec { loop_, rate, arrivals, blocks: 5, ..sample::closed_loop(name, 16) }
}

/// A study with every kind of content.
pub(crate) fn study() -> StudyResult {
    let function =
        |id: &str, cpu_us: f64, p50_us: f64| arm(id, ArmKind::Function, Some("baseline"), cpu_us, p50_us);
    let mut delay = arm("control/delay", ArmKind::Function, Some("baseline"), 13.1, 5009.8);
    delay.max_rate = None;
    delay.cost.max_rate = None;
    delay.known_answer = Some(KnownAnswer {
        response_p50_low_us: Some(4_900.0),
        response_p50_high_us: Some(5_700.0),
        cpu_us: None,
    });
    let burn = |cpu_us: f64, cost_us: f64| {
        let mut burn = function(&format!("control/burn{{us={cpu_us}}}"), cost_us, cost_us);
        burn.function = Some("control/burn".to_owned());
        burn.known_answer = Some(KnownAnswer { cpu_us: Some(cpu_us), ..KnownAnswer::default() });
        burn
    };
    let body = StudyBody {
        summary: "What does each of Envoy's functions cost?".to_owned(),
        plan: StudyPlan {
            rounds_planned: 10,
            rounds_completed: 10,
            set_aside_rule: "a slice is set aside when the host took a tick".to_owned(),
            loads: vec![
                load_spec("saturation", Loop::Closed, None),
                load_spec("fixed-rate", Loop::Open, Some(4000.0)),
            ],
            wall_seconds: 431.2,
            ..sample::study_plan()
        },
        generator: vec![GeneratorUse {
            load: "saturation".to_owned(),
            own_lag_p50_us: None,
            own_lag_p90_us: None,
            own_lag_p99_us: None,
            quiet_own_lag_p99_us: None,
            core_share: 0.12,
            processors_share: 0.3,
            run_delay_share: 0.05,
        }],
        host: HostUse {
            steal_share: 0.006,
            handover_ns: Some(60.0),
            waited_s: 12.0,
            proxy_run_delay_share: 0.004,
            drift_share: Some(0.01),
            neighbour_weight: Some(0.85),
        },
        arms: vec![
            arm("direct", ArmKind::Direct, Some("baseline"), 0.0, -62.0),
            arm("baseline", ArmKind::Baseline, None, 0.0, 0.0),
            arm("same", ArmKind::Same, Some("baseline"), 0.08, 0.2),
            function("route/path{routes=200}", 8.91, 9.4),
            function("lua", 4.95, 5.1),
            function("rbac", 0.21, 0.3),
            function("jwt", 34.7, 36.2),
            arm("baseline{size=4096}", ArmKind::Baseline, None, 2.4, 3.0),
            arm("compress/gzip", ArmKind::Function, Some("baseline{size=4096}"), 61.3, 64.0),
            delay,
            burn(0.0, 2.3),
            burn(10.0, 12.32),
            function("stats/per-route", -0.31, -0.2),
        ],
        machine: Some(machine(4.2, 3.1)),
        rounds: vec![round()],
        ..sample::study("quick", "", 0.0).body
    };
    let result = StudyResult::new(environment(), body).judged(Verdict::Caution, findings());
    StudyResult { program: sample::program(), ..result }
}

/// The rows of each chart of intervals of these sections, which have no other chart.
pub(crate) fn interval_rows<'a>(sections: impl IntoIterator<Item = &'a Section>) -> Vec<Vec<IntervalRow>> {
    let of = |block: &Block| match block {
        Block::Chart(chart) => match chart.as_ref() {
            Chart::Intervals(of) => Some(of.rows.clone()),
            other => panic!("{other:?}"),
        },
        _ => None,
    };
    sections.into_iter().flat_map(|section| &section.blocks).filter_map(of).collect()
}

/// A histogram of so many times of these microseconds.
pub(crate) fn times(us: u64, count: u64) -> Option<Histogram> {
    let mut times = hoptax_load::histogram();
    times.record_n(us * 1_000, count).unwrap();
    encode(&times)
}

/// An interval of this share around an estimate.
pub(crate) fn about(estimate: f64, share: f64) -> Interval {
    Interval::new(estimate, estimate * (1.0 - share), estimate * (1.0 + share))
}

/// A time beside its prediction, us. The interval of their difference reaches 9 us to either side.
pub(crate) fn checked_time(measured: f64, predicted: f64) -> CheckedTime {
    let difference = measured - predicted;
    let difference_us = Interval::around(difference, 9.0);
    CheckedTime {
        measured_us: about(measured, 0.02),
        predicted_us: about(predicted, 0.03),
        difference_us,
        error_share: -difference / measured,
        is_interaction: !difference_us.contains(0.0),
        is_wide: false,
    }
}

fn findings() -> Vec<Finding> {
    vec![
        Finding::new(
            "steal",
            Severity::Warn,
            Measured::count(0.61, 0.5, "%"),
            "steal was 0.61 % of CPU time".to_owned(),
            "costs are valid, since disturbed slices are set aside",
        ),
        Finding {
            arm: Some("control/delay".to_owned()),
            measures: vec![Measure::MaxRate],
            withholds: true,
            ..Finding::new(
                "not-saturated",
                Severity::Info,
                Measured::count(12.0, 90.0, "%"),
                "its processors were busy 12 % of the time under the closed loop".to_owned(),
                "raise the connections",
            )
        },
    ]
}

/// A round of three slices, one of them disturbed.
fn round() -> StudyRound {
    let sample = |arm: &str, began_s: Vec<f64>, cpu_us: Vec<f64>| Sample {
        arm: arm.to_owned(),
        load: "saturation".to_owned(),
        block: (0..began_s.len() as u32).collect(),
        copy: vec![0; began_s.len()],
        set_aside: began_s
            .iter()
            .map(|at| if *at > 1.0 { vec![Disturbance::Steal, Disturbance::RunDelay] } else { Vec::new() })
            .collect(),
        slowdown: began_s.iter().map(|at| (*at <= 1.0).then_some(1.03125)).collect(),
        values: [
            ("cpu_us_per_request".to_owned(), cpu_us.into_iter().map(Some).collect()),
            ("rate".to_owned(), began_s.iter().map(|at| (*at < 0.5).then_some(21_500.5)).collect()),
        ]
        .into(),
        began_s,
        ..Sample::default()
    };
    StudyRound {
        samples: vec![
            sample("baseline", vec![0.75, 1.5], vec![46.5, 61.25]),
            sample("route/path{routes=200}", vec![0.25], vec![54.875]),
        ],
        ..StudyRound::default()
    }
}

/// A machine with the given wake-up times, with and without halting.
pub(crate) fn machine(halting_us: f64, never_halted_us: f64) -> MachineProbe {
    let wakes = |p50_us: f64| {
        let lateness = Some(Lateness { p50_us, p99_us: 3.0 * p50_us, samples: 500 });
        vec![WakeUps { processor: 1, by_another: lateness, by_timer: lateness }]
    };
    MachineProbe {
        processors: 2,
        halting: wakes(halting_us),
        never_halted: Some(wakes(never_halted_us)),
        handover_ns: Some(125.0),
        steal_share: 0.001,
        clock_source: "tsc".to_owned(),
        clock_read_ns: 25.0,
        used_by_others: vec![UsedByOthers { processor: 1, share: 0.03 }],
        seconds: 4.0,
        ..MachineProbe::default()
    }
}

/// The sample study with two rates besides the closed loop, and costs under each.
pub(crate) fn loaded() -> StudyResult {
    let mut result = study();
    let half = LoadSpec { name: "half".to_owned(), rate: Some(10_000.0), ..result.plan.loads[1].clone() };
    result.plan.loads.push(half);
    // CPU time per request falls as the rate rises; the tail grows.
    for (load, cpu, tail) in [("saturation", 1.0, 9.0), ("fixed-rate", 1.5, 1.0), ("half", 1.2, 1.6)] {
        for arm in &mut result.arms {
            let times = |one: Option<Interval>, factor: f64| {
                one.map(|one| Interval::around(one.estimate * factor, one.half_width() * factor))
            };
            let under = ArmLoad {
                load: load.to_owned(),
                cpu_us_per_request: times(arm.cpu_us_per_request, cpu),
                response_us: ResponseCost {
                    p99: times(arm.response_us.p99, tail),
                    ..arm.response_us.clone()
                },
                cost: Cost {
                    cpu_us_per_request: times(arm.cost.cpu_us_per_request, cpu),
                    cpu_share: arm.cost.cpu_share,
                    ..Cost::default()
                },
                ..ArmLoad::default()
            };
            arm.loads.push(under);
        }
    }
    result
}

/// The loaded study, with loads that are shares of the capacity of each arm.
pub(crate) fn shares() -> StudyResult {
    let mut result = loaded();
    for (load, share) in result.plan.loads.iter_mut().skip(1).zip([0.25, 0.5]) {
        (load.rate, load.utilisation) = (None, Some(share));
    }
    for arm in result.arms.iter_mut().filter(|arm| !arm.hops.is_empty()) {
        for (load, busy) in arm.loads.iter_mut().zip([0.98, 0.39, 0.62]) {
            load.proxy_core_share = Some(busy);
        }
    }
    result
}

/// The sample study, interrupted after its fourth round.
pub(crate) fn cut() -> StudyResult {
    let mut result = study();
    result.plan.rounds_completed = 4;
    result.plan.ended_early = Some("it was interrupted".to_owned());
    let ended = Finding {
        id: "ended-early".to_owned(),
        message: "the study ended after 4 of 10 rounds: it was interrupted".to_owned(),
        value: 4.0,
        threshold: 10.0,
        unit: "rounds".to_owned(),
        advice: "run it again for narrower intervals".to_owned(),
        ..result.findings[0].clone()
    };
    result.findings.insert(0, ended);
    result
}

/// The sample study, void, with every number withheld.
pub(crate) fn void() -> StudyResult {
    let mut result = study();
    result.verdict = Verdict::Void;
    result.findings.truncate(1);
    for finding in &mut result.findings {
        finding.severity = Severity::Fail;
        finding.withholds = true;
        finding.value = 12.5;
        finding.threshold = 5.0;
    }
    for arm in &mut result.arms {
        arm.cpu_us_per_request = None;
        arm.max_rate = None;
        arm.response_us = ResponseCost::default();
        arm.cost = Cost::default();
        for hop in &mut arm.hops {
            hop.of_rounds = RoundNumbers::default();
        }
    }
    result
}

/// A load with every kind of content.
pub(crate) fn load() -> LoadResult {
    let mut load = sample::load();
    load.verdict = Verdict::Caution;
    load.findings = vec![study().findings[0].clone()];
    load.plan.url = "http://127.0.0.1:8080/".to_owned();
    load.plan.requests = 3;
    load.book = Book {
        planned: 200_000,
        sent: 199_900,
        unsent: 100,
        blocked: 40,
        answered: 199_850,
        failed: 48,
        timed_out: 1,
        unfinished: 1,
        ..Book::default()
    };
    load.unsent.insert("busy".to_owned(), 100);
    load.waiting = Waiting { most: 7, total_s: 0.0123 };
    load.failures = [("reset".to_owned(), 8), ("status-5xx".to_owned(), 40)].into();
    load.reasons.add("reset", "Connection reset by peer", 5);
    load.reasons.add("reset", "Broken pipe", 2);
    load.deviations.insert("both lengths".to_owned(), 1_234);
    load.statuses = [(200, 199_850), (503, 40)].into();
    load.body_bytes = Some(BodyBytes { smallest: 19, largest: 1_024, total: 204_647_160 });
    let response = &mut load.latency.response;
    (response.p99_9_us, response.max_us) = (None, None);
    (response.at_least.max_us, response.mean_us) = (Some(5_000_000.0), None);
    load.response_intervals.p99_9_us = None;
    load.latency.connect = sample::latency(130.0);
    load.outcomes.insert("status-5xx".to_owned(), sample::latency(700.0));
    load.outcomes.insert("reset".to_owned(), sample::latency(40.0));
    load.modes.push(Mode { low_us: 500.0, peak_us: 41_000.0, high_us: 60_000.0, share: 0.02 });
    load.kernel = Some(KernelStamps {
        to_wire: sample::latency(3.0),
        on_wire: sample::latency(90.0),
        from_wire: sample::latency(4.0),
    });
    let stage = |from_rate: f64, to_rate: f64, us: f64| Stage {
        from_rate,
        to_rate,
        duration_s: 5.0,
        book: load.book,
        unsent: BTreeMap::new(),
        failures: BTreeMap::new(),
        rate: LoadRate { target: Some(to_rate), offered: to_rate, achieved: Some(to_rate) },
        latency: LatencySet { response: sample::latency(us), ..load.latency.clone() },
        without_generator: None,
        bounds: LoadBounds::default(),
    };
    load.stages = vec![stage(0.0, 10_000.0, 80.0), stage(10_000.0, 30_000.0, 120.0)];
    load.loosened = vec![Loosened { name: "steal".to_owned(), default: 0.005, value: 0.02 }];
    load.environment = environment();
    load
}

fn environment() -> Environment {
    Environment {
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        proxy_version: Some("1.40.0".to_owned()),
        kernel: "6.12.0".to_owned(),
        cpu_model: "A Processor".to_owned(),
        cpus: 2,
        virtual_machine: true,
        proxy_cpus: vec![1],
        generator_cpus: vec![0],
        calibration: Some(Calibrated {
            measured_at: "2026-01-01T00:00:00Z".to_owned(),
            floor_p50_us: 25.9,
            floor_p99_us: 131.5,
            floors: vec![FloorAt { rate: 20_000.0, connections: 64, p50_us: 25.9, p99_us: 131.5 }],
            ceiling: Some(80_000.0),
            tried: Vec::new(),
        }),
        ..Environment::default()
    }
}
