//! The numbers of a run, computed from its rounds.

use std::collections::BTreeMap;

use hoptax_checks::thresholds::Limits;
use hoptax_load::encoded::decode;
use hoptax_plan::plan::{CONFIDENCE, ServiceGraph};
use hoptax_result::{
    AddedTime, CountedTime, Environment, GraphCondition, GraphRound, GraphRunBody, GraphRunProxy,
    GraphRunResponse, GraphRunResult, GraphSlice, Interval,
};
use hoptax_stats::{RoundTimes, mean_over_rounds, quantile_cost, quantile_level};

use crate::graph::findings;
use crate::graph::run::{CONNECTIONS, RunSpec, WARMUP};

/// The reported tail quantile.
const TAIL: f64 = 0.99;

/// The result of the rounds of a graph, judged with `limits`.
///
/// **Method.** In each round, CPU time and requests are summed over the slices that count, and response times are pooled. The cost of
/// proxies is the difference between slices with and without them. Intervals of means are computed over rounds ([`mean_over_rounds`]),
/// intervals of the tail by leaving out each round in turn ([`quantile_cost`]). Requests to a proxy are the requests answered at the entry,
/// times the calls that the graph states; a finding reports a proxy that counted another number.
pub(crate) fn result(
    graph: &ServiceGraph,
    spec: &RunSpec,
    rounds: Vec<GraphRound>,
    environment: Environment,
    limits: &Limits,
) -> GraphRunResult {
    let proxies = graph.proxies().map(|one| GraphRunProxy {
        service: one.service.name.clone(),
        workers: one.proxy.workers,
        per_request: one.proxy.per_request,
        ..GraphRunProxy::default()
    });
    let body = GraphRunBody {
        graph: graph.name.clone(),
        rate: spec.rate,
        slice_s: spec.slice.as_secs_f64(),
        seed: spec.seed,
        proxies: proxies.collect(),
        ..of_rounds(rounds)
    };
    let mut result = GraphRunResult::new(environment, body);
    fill(&mut result);
    findings::judge(&mut result, limits);
    result
}

/// A body with these rounds and the values that all runs share, without the plan and the numbers.
fn of_rounds(rounds: Vec<GraphRound>) -> GraphRunBody {
    GraphRunBody {
        connections: CONNECTIONS as u32,
        warmup_s: WARMUP.as_secs_f64(),
        confidence: CONFIDENCE,
        rounds,
        ..GraphRunBody::default()
    }
}

/// Computes all numbers from the rounds.
fn fill(result: &mut GraphRunResult) {
    let confidence = result.confidence;
    let over_rounds = |number: &dyn Fn(&GraphRound) -> Option<f64>| -> Option<Interval> {
        let numbers: Vec<f64> = result.rounds.iter().filter_map(number).collect();
        mean_over_rounds(&numbers, confidence)
    };
    let all_slices = || result.rounds.iter().flat_map(|round| counting(round, GraphCondition::Proxied));
    let answered: u64 = all_slices().map(|slice| slice.answered).sum();
    let recorded_s: f64 = all_slices().map(|slice| slice.recorded_s).sum();
    let rate = if recorded_s > 0.0 { answered as f64 / recorded_s } else { 0.0 };
    let mut proxies = result.proxies.clone();
    for (number, proxy) in proxies.iter_mut().enumerate() {
        let workers = f64::from(proxy.workers);
        proxy.requests_per_second = rate * proxy.per_request;
        proxy.cpu_us_per_request =
            over_rounds(&|round| Some(cpu_us(round, number)?.per_request / proxy.per_request));
        proxy.busy_share = over_rounds(&|round| Some(cpu_us(round, number)?.per_second / 1e6 / workers));
        proxy.memory_bytes = over_rounds(&|round| Some(round.proxies[number].memory_bytes as f64));
    }
    let count = proxies.len();
    let all_cpu_us = over_rounds(&|round| {
        (0..count).map(|number| Some(cpu_us(round, number)?.per_request)).sum::<Option<f64>>()
    });
    // Decode once, for the levels and for the difference.
    let [proxied_times, direct_times] = [GraphCondition::Proxied, GraphCondition::Direct].map(|condition| {
        let by_round = result.rounds.iter().map(|round| times(round, condition));
        by_round.collect::<Option<Vec<Times>>>()
    });
    let (proxied_times, direct_times) = (proxied_times.as_ref(), direct_times.as_ref());
    let response = |condition: GraphCondition, times: Option<&Vec<Times>>| {
        let tail = times.and_then(|times| {
            let rounds: Vec<&[CountedTime]> = times.iter().map(Vec::as_slice).collect();
            quantile_level(&rounds, TAIL, confidence)
        });
        GraphRunResponse { mean_us: over_rounds(&|round| mean_us(round, condition)), p99_us: tail.map(in_us) }
    };
    let proxied = response(GraphCondition::Proxied, proxied_times);
    let direct = response(GraphCondition::Direct, direct_times);
    let difference = |round: &GraphRound| {
        Some(mean_us(round, GraphCondition::Proxied)? - mean_us(round, GraphCondition::Direct)?)
    };
    let tail = proxied_times.zip(direct_times).and_then(|(proxied, direct)| {
        let both = proxied.iter().zip(direct);
        let tails: Vec<RoundTimes<'_>> =
            both.map(|(proxied, direct)| RoundTimes { arm: proxied, other: direct }).collect();
        quantile_cost(&tails, TAIL, confidence)
    });
    let added =
        over_rounds(&difference).map(|mean_us| AddedTime { mean_us: Some(mean_us), p99_us: tail.map(in_us) });
    (result.proxies, result.all_cpu_us) = (proxies, all_cpu_us);
    (result.proxied, result.direct, result.added) = (proxied, direct, added);
}

/// Response times with their counts, ascending.
type Times = Vec<CountedTime>;

/// Converts an interval from nanoseconds to us.
fn in_us(interval: Interval) -> Interval {
    interval.times(1e-3)
}

/// The slices of a condition that count.
fn counting(round: &GraphRound, condition: GraphCondition) -> impl Iterator<Item = &GraphSlice> {
    let counts = move |slice: &&GraphSlice| slice.condition == condition && slice.set_aside.is_none();
    round.slices.iter().filter(counts)
}

/// CPU time of a proxy, us.
struct CpuTime {
    /// CPU time per request to the entry, us.
    per_request: f64,
    per_second: f64,
}

/// The CPU time of the proxy with this index in a round; none if it is unknown for a slice that counts. A slice with proxies has an entry
/// for each.
fn cpu_us(round: &GraphRound, number: usize) -> Option<CpuTime> {
    let (mut cpu_us, mut answered, mut recorded_s) = (0.0, 0, 0.0);
    for slice in counting(round, GraphCondition::Proxied) {
        cpu_us += slice.cpu_us[number]?;
        answered += slice.answered;
        recorded_s += slice.recorded_s;
    }
    let is_known = answered > 0 && recorded_s > 0.0;
    is_known.then(|| CpuTime { per_request: cpu_us / answered as f64, per_second: cpu_us / recorded_s })
}

/// The mean response time of a condition in a round, us; none if it is unknown for a slice with responses.
fn mean_us(round: &GraphRound, condition: GraphCondition) -> Option<f64> {
    let (mut sum, mut answered) = (0.0, 0);
    for slice in counting(round, condition).filter(|slice| slice.answered > 0) {
        sum += slice.mean_us? * slice.answered as f64;
        answered += slice.answered;
    }
    (answered > 0).then(|| sum / answered as f64)
}

/// The response times of a condition in a round; none if they are unknown for a slice with responses.
fn times(round: &GraphRound, condition: GraphCondition) -> Option<Times> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for slice in counting(round, condition).filter(|slice| slice.answered > 0) {
        let histogram = slice.response.as_ref().and_then(decode::<u64>)?;
        for value in histogram.iter_recorded() {
            *counts.entry(value.value_iterated_to()).or_default() += value.count_at_value();
        }
    }
    Some(counts.into_iter().map(|(ns, count)| CountedTime { ns, count }).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use hoptax_load::encoded::encode;
    use hoptax_result::GraphRoundProxy;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;
    use rand_distr::{Distribution, Exp1, StandardNormal};

    use super::*;

    /// A slice with these response times and CPU times, us.
    fn slice(condition: GraphCondition, times_us: &[f64], cpu_us: &[f64]) -> GraphSlice {
        let mut histogram = hoptax_load::histogram();
        for us in times_us {
            histogram.record((us * 1e3) as u64).unwrap();
        }
        GraphSlice {
            condition,
            set_aside: None,
            answered: times_us.len() as u64,
            recorded_s: 2.0,
            mean_us: Some(times_us.iter().sum::<f64>() / times_us.len() as f64),
            response: encode(&histogram),
            cpu_us: cpu_us.iter().copied().map(Some).collect(),
        }
    }

    /// A result of rounds of a graph with a proxy for each request and one for two calls.
    pub(crate) fn result_of(rounds: Vec<GraphRound>) -> GraphRunResult {
        let proxy = |service: &str, workers: u32, per_request: f64| GraphRunProxy {
            service: service.to_owned(),
            workers,
            per_request,
            ..GraphRunProxy::default()
        };
        let proxies = vec![proxy("front", 1, 1.0), proxy("back", 2, 2.0)];
        let body = GraphRunBody { graph: "pair".to_owned(), proxies, ..of_rounds(rounds) };
        let environment = Environment { proxy_cpus: vec![1], ..Environment::default() };
        let mut result = GraphRunResult::new(environment, body);
        fill(&mut result);
        result
    }

    /// A round of constant times. `level` shifts CPU time and response times of the proxies, us.
    pub(crate) fn round(level: f64) -> GraphRound {
        let proxied =
            || slice(GraphCondition::Proxied, &[500.0 + level; 800], &[80_000.0 + 800.0 * level, 96_000.0]);
        let direct = || slice(GraphCondition::Direct, &[200.0; 800], &[]);
        let proxy = |requests| GraphRoundProxy { requests, memory_bytes: 60 << 20 };
        GraphRound {
            slices: vec![proxied(), direct(), direct(), proxied()],
            proxies: vec![proxy(2_000), proxy(4_000)],
            unproven: Vec::new(),
        }
    }

    #[test]
    fn numbers_are_those_worked_by_hand() {
        let result = result_of([0.0, 3.0, -3.0, 0.0, 0.0, 0.0, 0.0].map(round).to_vec());
        let near = |interval: Option<Interval>, estimate: f64| {
            let interval = interval.unwrap();
            assert!((interval.estimate / estimate - 1.0).abs() < 2e-3, "{interval:?} {estimate}");
            interval
        };
        let [front, back] = [&result.proxies[0], &result.proxies[1]];
        assert!(
            (front.requests_per_second - 400.0).abs() < 1e-9
                && (back.requests_per_second - 800.0).abs() < 1e-9
        );
        // 80 ms for 800 requests; 96 ms for 1,600.
        assert!(near(front.cpu_us_per_request, 100.0).half_width() > 1.0);
        assert!(near(back.cpu_us_per_request, 60.0).half_width() < 1e-9);
        near(result.all_cpu_us, 220.0);
        near(front.busy_share, 0.04);
        near(back.busy_share, 0.024);
        near(back.memory_bytes, f64::from(60 << 20));
        near(result.proxied.mean_us, 500.0);
        near(result.direct.mean_us, 200.0);
        let added = result.added.unwrap();
        assert!(near(added.mean_us, 300.0).half_width() > 1.0);
        // One round of seven has 503 us.
        near(added.p99_us, 303.0);
    }

    #[test]
    fn slices_that_are_set_aside_do_not_count() {
        let mut rounds = [0.0, 1.0, -1.0].map(round).to_vec();
        let clean = result_of(rounds.clone());
        for round in &mut rounds {
            let mut spoilt = slice(GraphCondition::Proxied, &[90_000.0; 800], &[5e6, 5e6]);
            spoilt.set_aside = Some("send-lag: late".to_owned());
            round.slices.push(spoilt);
        }
        let result = result_of(rounds);
        assert_eq!((&result.proxies, result.added), (&clean.proxies, clean.added));
    }

    #[test]
    fn a_proxy_whose_use_is_unknown_has_no_number() {
        let mut rounds = [0.0, 1.0, -1.0].map(round).to_vec();
        for slice in rounds.iter_mut().flat_map(|round| &mut round.slices) {
            slice.cpu_us.iter_mut().skip(1).for_each(|of_back| *of_back = None);
        }
        let result = result_of(rounds);
        assert!(result.proxies[0].cpu_us_per_request.is_some());
        assert_eq!((result.proxies[1].cpu_us_per_request, result.all_cpu_us), (None, None));
        assert_eq!(result_of(vec![round(0.0)]).added, None, "one round has no interval");
    }

    #[test]
    fn a_slice_that_counts_and_whose_numbers_are_unknown_leaves_its_round_without_them() {
        let with = |change: fn(&mut GraphSlice)| {
            let mut rounds = [0.0, 3.0, -3.0, 0.0, 0.0, 0.0, 0.0].map(round).to_vec();
            for round in &mut rounds {
                // The other slice with proxies has all its numbers.
                change(&mut round.slices[0]);
            }
            result_of(rounds)
        };
        let without_cpu_time = with(|slice| slice.cpu_us[0] = None);
        assert_eq!(without_cpu_time.proxies[0].cpu_us_per_request, None);
        assert!(without_cpu_time.proxies[1].cpu_us_per_request.is_some());
        assert_eq!(with(|slice| slice.mean_us = None).proxied.mean_us, None);
        let without_times = with(|slice| slice.response = None);
        assert_eq!((without_times.proxied.p99_us, without_times.added.unwrap().p99_us), (None, None));
        assert!(without_times.direct.p99_us.is_some());
    }

    /// A round in which processes and the machine have levels, and response times are exponential.
    fn simulated(random: &mut SmallRng) -> GraphRound {
        let mut normal = |share: f64| -> f64 {
            let normal: f64 = StandardNormal.sample(random);
            1.0 + share * normal
        };
        let (machine, front, back) = (normal(0.05), normal(0.03), normal(0.03));
        let mut times = |mean_us: f64, least_us: f64| -> Vec<f64> {
            let drawn = |_| -> f64 {
                let beyond: f64 = Exp1.sample(random);
                machine * (least_us + mean_us * beyond)
            };
            (0..450).map(drawn).collect()
        };
        let mut slices = Vec::new();
        for _ in 0..4 {
            let proxied = times(150.0 * front, 300.0);
            let cpu_us = [450.0 * 100.0 * machine * front, 900.0 * 60.0 * machine * back];
            slices.push(slice(GraphCondition::Proxied, &proxied, &cpu_us));
            slices.push(slice(GraphCondition::Direct, &times(50.0, 100.0), &[]));
        }
        GraphRound { slices, proxies: vec![GraphRoundProxy::default(); 2], unproven: Vec::new() }
    }

    /// Shares of `runs` of a graph whose intervals cover the truth. The difference at the tail is that of `many` rounds.
    fn coverage(runs: usize, many: usize) -> [f64; 5] {
        let mut random = SmallRng::seed_from_u64(41);
        // The means of exponential times and levels are known.
        let many = result_of((0..many).map(|_| simulated(&mut random)).collect());
        let tail_us = many.added.unwrap().p99_us.unwrap().estimate;
        let truths = [100.0, 60.0, 220.0, 300.0, tail_us];
        let mut covered = [0; 5];
        for _ in 0..runs {
            let result = result_of((0..6).map(|_| simulated(&mut random)).collect());
            let added = result.added.unwrap();
            let [front, back] =
                [0, 1].map(|number: usize| result.proxies[number].cpu_us_per_request.unwrap());
            let intervals =
                [front, back, result.all_cpu_us.unwrap(), added.mean_us.unwrap(), added.p99_us.unwrap()];
            for (covered, (interval, truth)) in covered.iter_mut().zip(intervals.iter().zip(truths)) {
                *covered += usize::from(interval.contains(truth));
            }
        }
        covered.map(|covered| covered as f64 / runs as f64)
    }

    #[test]
    fn intervals_cover_the_truth_in_most_of_a_few_runs() {
        // The tail of so many rounds varies a third as much as that of the six of a run.
        let shares = coverage(10, 60);
        assert!(shares.iter().all(|share| *share > 0.6), "{shares:?}");
    }

    mod long {
        #[test]
        #[ignore = "takes minutes: run by `make test-long`"]
        fn intervals_cover_the_truth_as_often_as_they_state() {
            const RUNS: usize = 400;
            let shares = super::coverage(RUNS, 300);
            // Four standard errors of a share of 95 % in so many runs are 4.4 %.
            assert!(shares.iter().all(|share| (0.905..=0.995).contains(share)), "{shares:?}");
        }
    }
}
