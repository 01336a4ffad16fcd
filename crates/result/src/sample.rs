//! Results without findings, for tests of other crates.

mod rates;

use crate::{
    ArmKind, ArmResult, BodyBytes, Book, Cost, Drift, Environment, Generator, GeneratorWorker, HostUse,
    InFlight, Interval, Latency, LatencyBounds, LatencySet, LoadBody, LoadBounds, LoadPlan, LoadRate,
    LoadResult, Loop, LowerBounds, Mode, Pacing, Program, QuantileIntervals, Range, SittingRecord, StudyBody,
    StudyPlan, StudyResult, TimeBounds, Verdict, Window,
};

pub use rates::{arm, closed_loop, study_of_rates};

/// A distribution of 200,000 times around a median.
pub fn latency(p50_us: f64) -> Latency {
    Latency {
        count: 200_000,
        overflow: 0,
        min_us: Some(p50_us / 2.0),
        mean_us: Some(p50_us),
        standard_deviation_us: Some(p50_us / 4.0),
        p50_us: Some(p50_us),
        p90_us: Some(p50_us * 1.5),
        p99_us: Some(p50_us * 2.0),
        p99_9_us: Some(p50_us * 3.0),
        max_us: Some(p50_us * 5.0),
        at_least: LowerBounds::default(),
    }
}

/// Bounds around a distribution with medians from `low_us` to `high_us`.
fn bounds(low_us: f64, high_us: f64) -> LatencyBounds {
    let (low, high) = (latency(low_us), latency(high_us));
    let between = |of: fn(&Latency) -> Option<f64>| Some(TimeBounds { low_us: of(&low), high_us: of(&high) });
    LatencyBounds {
        min_us: between(|one| one.min_us),
        mean_us: between(|one| one.mean_us),
        p50_us: between(|one| one.p50_us),
        p90_us: between(|one| one.p90_us),
        p99_us: between(|one| one.p99_us),
        p99_9_us: between(|one| one.p99_9_us),
        max_us: between(|one| one.max_us),
    }
}

/// Ten seconds at 20,000 requests per second.
pub fn load() -> LoadResult {
    let range = |us: f64| Some(Range { low: us * 0.99, high: us * 1.01 });
    // A hundred windows with small variation and no trend.
    let window = |number: u32| Window {
        planned: 2_000,
        sent: 2_000,
        answered: 2_000,
        median_response_us: Some(100.0 + f64::from(number * 7 % 5)),
        connections: Some(16),
    };
    let body = LoadBody {
        plan: plan(),
        recorded_from_unix_s: Some(1_767_323_045.0),
        recorded_s: 10.0,
        book: Book { planned: 200_000, sent: 200_000, answered: 200_000, ..Book::default() },
        statuses: [(200, 200_000)].into(),
        body_bytes: Some(BodyBytes { total: 12_800_000, ..BodyBytes::new(64) }),
        rate: LoadRate { target: Some(20_000.0), offered: 20_000.0, achieved: Some(20_000.0) },
        sustained_rate: Some(20_000.0),
        latency: LatencySet {
            response: latency(100.0),
            service: latency(95.0),
            send_lag: latency(5.0),
            own_lag: latency(5.0),
            first_byte: latency(94.0),
            last_byte: latency(1.0),
            connect: Latency::default(),
        },
        without_generator: Some(latency(96.0)),
        bounds: LoadBounds { response: bounds(96.0, 102.0), service: bounds(94.0, 97.0) },
        response_intervals: QuantileIntervals {
            p50_us: range(100.0),
            p90_us: range(150.0),
            p99_us: range(200.0),
            p99_9_us: range(300.0),
        },
        outcomes: [("answered".to_owned(), latency(100.0))].into(),
        modes: vec![Mode { low_us: 50.0, peak_us: 100.0, high_us: 500.0, share: 1.0 }],
        windows: (0..100).map(window).collect(),
        pacing: Some(Pacing { gap_error: latency(2.0), exponential_distance: None, gaps: 16_383 }),
        serial_correlation: Some(0.01),
        in_flight: Some(InFlight { seen: 2.0, looks: 50_000, computed: 2.0 }),
        drift: Some(Drift { first_third_p50_us: 100.0, last_third_p50_us: 101.0 }),
        generator: Generator {
            cpu_seconds: 2.0,
            run_delay_us: 1000.0,
            wall_seconds: 10.0,
            steal_share: 0.0,
            pressure_share: Some(0.01),
            throttled: Some(0),
            clock_read_ns: 30.0,
            clock_step_back_ns: 0,
            workers: vec![GeneratorWorker {
                cpu_seconds: 2.0,
                run_delay_us: 1000.0,
                response: latency(100.0),
            }],
        },
        ..LoadBody::default()
    };
    LoadResult { program: program(), ..LoadResult::new(Environment::default(), body) }
}

/// The program that made the samples, whatever the version of this one.
pub fn program() -> Program {
    Program { version: "0.1.0".to_owned(), commit: None }
}

fn plan() -> LoadPlan {
    LoadPlan {
        url: "http://127.0.0.1:1/".to_owned(),
        protocol: "http1".to_owned(),
        method: "GET".to_owned(),
        requests: 1,
        loop_: Loop::Open,
        arrivals: Some("uniform".to_owned()),
        connections: 16,
        streams: 1,
        pool: "least-recent".to_owned(),
        when_busy: "wait".to_owned(),
        when_late: "send".to_owned(),
        connect: "ahead".to_owned(),
        workers: 1,
        duration_s: 10.0,
        warmup_s: 1.0,
        timeout_s: 5.0,
        seed: 1,
        max_error_share: 0.001,
        ..LoadPlan::default()
    }
}

/// A study of four rounds, of plain proxying and one function, `lua`, that adds `cost_us` of CPU time per request.
pub fn study(name: &str, started_at: &str, cost_us: f64) -> StudyResult {
    let around = |estimate: f64| Some(Interval::around(estimate, 0.5));
    let baseline = ArmResult {
        id: "baseline".to_owned(),
        kind: ArmKind::Baseline,
        cpu_us_per_request: around(50.0),
        ..ArmResult::default()
    };
    let lua = ArmResult {
        id: "lua".to_owned(),
        kind: ArmKind::Function,
        compared_with: Some("baseline".to_owned()),
        cpu_us_per_request: around(50.0 + cost_us),
        cost: Cost { cpu_us_per_request: around(cost_us), ..Cost::default() },
        ..ArmResult::default()
    };
    let environment = Environment {
        started_at: started_at.to_owned(),
        proxy_version: Some("1.40.0".to_owned()),
        cpu_model: "Test CPU".to_owned(),
        cpus: 2,
        memory_bytes: 1 << 32,
        ..Environment::default()
    };
    let body = StudyBody {
        name: name.to_owned(),
        summary: "What does it cost?".to_owned(),
        loosened: Vec::new(),
        plan: study_plan(),
        published: Vec::new(),
        generator: Vec::new(),
        host: HostUse::default(),
        arms: vec![baseline, lua],
        timelines: Vec::new(),
        machine: None,
        speeds: None,
        rule_costs: Vec::new(),
        rounds: Vec::new(),
        sittings: Vec::new(),
    };
    StudyResult { program: program(), ..StudyResult::new(environment, body) }
}

/// A sitting of so many rounds.
pub fn sitting(rounds: u32) -> SittingRecord {
    SittingRecord {
        started_at: String::new(),
        ended_at: None,
        folder: String::new(),
        rounds,
        verdict: Verdict::Sound,
        program: program(),
    }
}

/// A plan with one closed loop.
pub fn study_plan() -> StudyPlan {
    StudyPlan {
        seed: 1,
        baseline: "baseline".to_owned(),
        rounds_planned: 4,
        rounds_completed: 4,
        confidence: 0.95,
        budget_s: None,
        sequential: None,
        set_aside_rule: String::new(),
        quiet_rule: None,
        link: None,
        never_halted: false,
        loads: vec![closed_loop("saturation", 16)],
        wall_seconds: 60.0,
        ended_early: None,
        resumed_after_rounds: Vec::new(),
        max_error_share: 0.001,
        timeline: None,
    }
}
