//! The checks of one load trial.

mod book;
mod errors;
mod generator;
mod host;
mod lag;
mod offered;
mod samples;

use hoptax_result::{Latency, LoadResult};

use crate::Check;

/// All of them.
pub const ALL: &[Check<LoadResult>] = &[
    book::BALANCES,
    offered::OFFERED,
    lag::SEND_LAG,
    lag::CONNECTIONS_BUSY,
    errors::ERRORS,
    generator::SATURATED,
    generator::RUN_DELAY,
    host::STEAL,
    host::DRIFT,
    samples::UNFINISHED,
    samples::TOO_FEW,
];

/// Withholds everything that describes the subject. The evidence (book, send lag, generator) stays.
pub(crate) fn withhold_all(result: &mut LoadResult) {
    result.rate.achieved = None;
    for latency in [&mut result.latency.response, &mut result.latency.service, &mut result.latency.first_byte]
    {
        *latency = Latency { count: latency.count, ..Latency::default() };
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use hoptax_result::{
        Book, Environment, Generator, GeneratorWorker, Latency, LatencySet, LoadPlan, LoadRate, LoadResult,
        Loop, Severity, Verdict, Waiting,
    };

    use crate::judge_load;

    /// A result that no check objects to; each test spoils one thing.
    pub(crate) fn sound() -> LoadResult {
        let latency = |p50_us: f64| Latency {
            count: 200_000,
            min_us: Some(p50_us / 2.0),
            mean_us: Some(p50_us),
            p50_us: Some(p50_us),
            p90_us: Some(p50_us * 1.5),
            p99_us: Some(p50_us * 2.0),
            p99_9_us: Some(p50_us * 3.0),
            max_us: Some(p50_us * 5.0),
        };
        LoadResult {
            format: "hoptax.load/1".to_owned(),
            verdict: Verdict::Sound,
            findings: Vec::new(),
            plan: LoadPlan {
                url: "http://127.0.0.1:1/".to_owned(),
                method: "GET".to_owned(),
                loop_: Loop::Open,
                arrivals: Some("uniform".to_owned()),
                connections: 16,
                pool: "least-recent".to_owned(),
                when_busy: "wait".to_owned(),
                when_late: "send".to_owned(),
                requests_per_connection: None,
                expect: String::new(),
                workers: 1,
                duration_s: 10.0,
                warmup_s: 1.0,
                timeout_s: 5.0,
                seed: 1,
                max_error_share: 0.001,
            },
            book: Book { planned: 200_000, sent: 200_000, answered: 200_000, ..Book::default() },
            unsent: BTreeMap::new(),
            waiting: Waiting::default(),
            failures: BTreeMap::new(),
            statuses: [(200, 200_000)].into(),
            rate: LoadRate { target: Some(20_000.0), offered: 20_000.0, achieved: Some(20_000.0) },
            latency: LatencySet {
                response: latency(100.0),
                service: latency(95.0),
                send_lag: latency(5.0),
                own_lag: latency(5.0),
                first_byte: latency(94.0),
            },
            drift: Some(hoptax_result::Drift { first_third_p50_us: 100.0, last_third_p50_us: 101.0 }),
            generator: Generator {
                cpu_seconds: 2.0,
                run_delay_us: 1000.0,
                wall_seconds: 10.0,
                steal_share: 0.0,
                workers: vec![GeneratorWorker { cpu_seconds: 2.0, run_delay_us: 1000.0 }],
            },
            environment: Environment::default(),
        }
    }

    /// Judges a spoilt result; the worst severity of the findings called `id`, if it fired.
    pub(crate) fn fired(id: &str, spoil: impl FnOnce(&mut LoadResult)) -> (Option<Severity>, LoadResult) {
        let mut result = sound();
        spoil(&mut result);
        judge_load(&mut result);
        let severity =
            result.findings.iter().filter(|finding| finding.id == id).map(|found| found.severity).max();
        (severity, result)
    }

    #[test]
    fn a_clean_trial_is_sound() {
        let mut result = sound();
        judge_load(&mut result);
        assert_eq!(result, sound());
    }

    #[test]
    fn a_void_trial_keeps_its_evidence_and_withholds_its_numbers() {
        let (_, result) = fired("book", |result| result.book.answered -= 1);
        assert_eq!(result.verdict, Verdict::Void);
        assert_eq!((result.rate.achieved, result.latency.response.p50_us), (None, None));
        assert_eq!(result.latency.response.count, 200_000);
        assert!(result.latency.send_lag.p50_us.is_some());
    }

    #[test]
    fn every_check_has_an_id_of_its_own() {
        let mut ids: Vec<_> = super::ALL.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), super::ALL.len());
    }
}
