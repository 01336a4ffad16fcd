//! Checks the rounds of a run: sets findings and the verdict, withholds the numbers of a void run, and marks those that are only bounds.

use std::collections::BTreeMap;

use hoptax_checks::study::proxy_build;
use hoptax_checks::thresholds::{self, Limits};
use hoptax_checks::vague::{Width, vague_level};
use hoptax_result::{
    Finding, GraphRunNumber, GraphRunResponse, GraphRunResult, GraphSlice, Interval, Measured, Severity,
    Verdict, grouped, percent,
};

use crate::graph::run::IDLE;

/// Maximum relative deviation between the requests that a proxy counted and those that the graph states. Above it, another graph ran.
const COUNT_DEVIATION: f64 = 0.02;
/// Absolute slack of a count, in requests per connection and round. Each connection of a service rounds fractional calls by itself.
const COUNT_SLACK: f64 = 0.5;

/// Sets findings and verdict, and withholds all numbers of a run that failed a check.
pub(crate) fn judge(result: &mut GraphRunResult, limits: &Limits) {
    let mut findings: Vec<Finding> =
        [rounds(result, limits), set_aside(result, limits)].into_iter().flatten().collect();
    findings.extend(processors(result, limits));
    findings.extend(counts(result));
    findings.extend(unproven(result));
    let (version, build) = (&result.environment.proxy_version, &result.environment.proxy_build);
    findings.extend(proxy_build::finding(version.as_deref().zip(build.as_deref())));
    let is_void = findings.iter().any(|finding| finding.severity == Severity::Fail);
    if !is_void {
        findings.extend(wide(result, limits));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    result.verdict = Verdict::from_findings(&findings, is_void);
    result.findings = findings;
    if is_void {
        for proxy in &mut result.proxies {
            (proxy.cpu_us_per_request, proxy.busy_share, proxy.memory_bytes) = (None, None, None);
        }
        (result.all_cpu_us, result.added) = (None, None);
        (result.proxied, result.direct) = (GraphRunResponse::default(), GraphRunResponse::default());
    }
}

/// Too few rounds to know how much restarts differ.
fn rounds(result: &GraphRunResult, limits: &Limits) -> Option<Finding> {
    let count = result.rounds.len() as f64;
    let (warn, fail) = (limits.value(&thresholds::ROUNDS), limits.value(&thresholds::ROUNDS_FAIL));
    let (severity, least) = if count < fail {
        (Severity::Fail, fail)
    } else if count < warn {
        (Severity::Warn, warn)
    } else {
        return None;
    };
    let message =
        format!("{count} rounds are too few to estimate the variation between starts of the processes");
    Some(Finding::new(
        "rounds",
        severity,
        Measured::count(count, least, "rounds"),
        message,
        "raise `--rounds`",
    ))
}

/// The checks that fail when proxies and services are overloaded: requests fail, wait or are not sent.
const OVERLOADED: [&str; 6] =
    ["errors", "offered", "hopeless-backlog", "unfinished", "connections-busy", "connections-lost"];

/// Slices whose load failed a check.
fn set_aside(result: &GraphRunResult, limits: &Limits) -> Option<Finding> {
    let slices = || result.rounds.iter().flat_map(|round| &round.slices);
    let all = slices().count();
    let mut reasons: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for reason in slices().filter_map(|slice: &GraphSlice| slice.set_aside.as_deref()) {
        let (id, _) = reason.split_once(':').unwrap_or((reason, ""));
        let (count, _) = reasons.entry(id).or_insert((0, reason));
        *count += 1;
    }
    let count: usize = reasons.values().map(|(count, _)| count).sum();
    if all == 0 || count == 0 {
        return None;
    }
    let share = count as f64 / all as f64;
    let (warn, fail) = (limits.value(&thresholds::SET_ASIDE), limits.value(&thresholds::SET_ASIDE_FAIL));
    let (severity, threshold) = if share > fail {
        (Severity::Fail, fail)
    } else if share > warn {
        (Severity::Warn, warn)
    } else {
        (Severity::Info, warn)
    };
    let (id, (_, most)) = reasons.iter().max_by_key(|(_, (count, _))| *count)?;
    let message = format!("{count} of {all} slices do not count, most because of {most}");
    let advice = if *id == IDLE {
        "the rate is too low for the length of slices: raise `--rate` or `--slice`"
    } else if OVERLOADED.contains(id) {
        "the machine has too little CPU time for the rate: lower `--rate`"
    } else {
        "stop other work on the machine"
    };
    Some(Finding::new("set-aside", severity, Measured::percent(share, threshold), message, advice))
}

/// Proxies that had no processor time left.
fn processors(result: &GraphRunResult, limits: &Limits) -> Option<Finding> {
    let cores: f64 = result
        .proxies
        .iter()
        .filter_map(|proxy| Some(proxy.busy_share?.estimate * f64::from(proxy.workers)))
        .sum();
    let processors = result.environment.proxy_cpus.len().max(1) as f64;
    let (share, most) = (cores / processors, limits.value(&thresholds::PROCESSORS_BUSY));
    (share > most).then(|| {
        let message = format!(
            "the proxies used {} of the time of their {processors} processors: queues grew without limit",
            percent(share, 0)
        );
        let measured = Measured::percent(share, most);
        Finding::new(
            "processors-busy",
            Severity::Fail,
            measured,
            message,
            "lower `--rate`, or use a machine with more processors",
        )
    })
}

/// Proxies whose number of requests differs from the graph; none if no request was answered.
fn counts(result: &GraphRunResult) -> Vec<Finding> {
    let counted = |number: usize| -> f64 {
        result.rounds.iter().map(|round| round.proxies[number].requests as f64).sum()
    };
    if result.rounds.iter().flat_map(|round| &round.slices).all(|slice| slice.answered == 0) {
        return Vec::new();
    }
    let all: f64 = (0..result.proxies.len()).map(counted).sum();
    let stated: f64 = result.proxies.iter().map(|proxy| proxy.per_request).sum();
    let mut found = Vec::new();
    for (number, proxy) in result.proxies.iter().enumerate() {
        let expected = all * proxy.per_request / stated;
        let deviation = if expected > 0.0 { counted(number) / expected - 1.0 } else { f64::INFINITY };
        let slack = COUNT_SLACK * f64::from(result.connections) * result.rounds.len() as f64;
        let most = COUNT_DEVIATION.max(slack / expected.max(1.0));
        if deviation.abs() > most {
            let message = format!(
                "the proxy of `{}` handled {} requests instead of the {expected} that follow from the graph",
                proxy.service,
                grouped(counted(number), 0),
                expected = grouped(expected, 0)
            );
            let measured = Measured::percent(deviation.abs(), most);
            let advice =
                "a function that retries, mirrors or answers requests changes the number of calls: remove it";
            found.push(Finding::new("calls", Severity::Fail, measured, message, advice));
        }
    }
    found
}

/// Functions that were not at work.
fn unproven(result: &GraphRunResult) -> Option<Finding> {
    let first = result.rounds.iter().flat_map(|round| &round.unproven).next()?;
    let rounds = result.rounds.iter().filter(|round| !round.unproven.is_empty()).count();
    let message = format!("in {rounds} rounds, a function was not active: {first}");
    let advice = "the requests of the graph do not exercise the function: remove it";
    Some(Finding::new(
        "functions",
        Severity::Fail,
        Measured::count(rounds as f64, 0.0, "rounds"),
        message,
        advice,
    ))
}

/// A width, from the interval of a cost and the level that the cost adds to.
type WidthOf = fn(&Interval, f64) -> Width;

/// The half-width of a number as a share, if it is too wide by the rules for levels and costs of studies. A cost has the level that it adds
/// to, with its width.
fn wide_share(
    number: Option<Interval>,
    adds_to: Option<(Interval, WidthOf)>,
    limits: &Limits,
) -> Option<f64> {
    let number = number?;
    let Some((level, width)) = adds_to else { return vague_level(&number, limits) };
    let share = width(&number, level.estimate).share;
    (share > limits.value(&thresholds::INTERVAL_FAIL_SHARE)).then_some(share)
}

/// Marks the numbers whose intervals are too wide for their estimates to be used. The intervals are kept: they hold the true values.
fn wide(result: &mut GraphRunResult, limits: &Limits) -> Option<Finding> {
    let mut found: Vec<(f64, String)> = Vec::new();
    for proxy in &mut result.proxies {
        let share = wide_share(proxy.cpu_us_per_request, None, limits);
        proxy.is_wide = share.is_some();
        found.extend(share.map(|share| (share, format!("the CPU time of the proxy of `{}`", proxy.service))));
    }
    let of_mean = result.direct.mean_us.map(|direct| (direct, Width::new as WidthOf));
    let of_p99 = result.direct.p99_us.map(|direct| (direct, Width::of_tail as WidthOf));
    let of_graph = [
        (GraphRunNumber::AllCpu, "the CPU time of all proxies", None),
        (GraphRunNumber::AddedMean, "the mean that is added", of_mean),
        (GraphRunNumber::AddedP99, "the p99 that is added", of_p99),
        (GraphRunNumber::ProxiedMean, "the mean with proxies", None),
        (GraphRunNumber::ProxiedP99, "the p99 with proxies", None),
        (GraphRunNumber::DirectMean, "the mean without proxies", None),
        (GraphRunNumber::DirectP99, "the p99 without proxies", None),
    ];
    for (number, what, adds_to) in of_graph {
        let Some(share) = wide_share(result.number(number), adds_to, limits) else { continue };
        result.wide.push(number);
        found.push((share, what.to_owned()));
    }
    let worst = found.iter().map(|(share, _)| *share).reduce(f64::max)?;
    let names: Vec<&str> = found.iter().map(|(_, what)| what.as_str()).collect();
    let message = format!(
        "stated by their ends, because their intervals are too wide for an estimate: {}",
        names.join(", ")
    );
    let measured = Measured::percent(worst, limits.value(&thresholds::INTERVAL_FAIL_SHARE));
    let advice = "raise `--rounds`, or stop other work on the machine";
    Some(Finding::new("wide", Severity::Info, measured, message, advice))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{AddedTime, GraphRound};

    use super::*;
    use crate::graph::summary::tests::{result_of, round};

    /// The findings about rounds after a change, and the result.
    fn judged(change: impl FnOnce(&mut Vec<GraphRound>)) -> (Vec<(String, Severity)>, GraphRunResult) {
        let mut rounds: Vec<GraphRound> = [0.0, 1.0, -1.0, 0.5, -0.5].map(round).to_vec();
        change(&mut rounds);
        let mut result = result_of(rounds);
        judge(&mut result, &Limits::default());
        (result.findings.iter().map(|one| (one.id.clone(), one.severity)).collect(), result)
    }

    fn fires(id: &str, severity: Severity, change: impl FnOnce(&mut Vec<GraphRound>)) {
        let (findings, result) = judged(change);
        assert_eq!(findings, [(id.to_owned(), severity)], "{:?}", result.findings);
        let is_void = severity == Severity::Fail;
        assert_eq!(result.verdict == Verdict::Void, is_void);
        assert_eq!(result.added.is_none() && result.all_cpu_us.is_none(), is_void);
        assert_eq!(result.proxies.iter().all(|proxy| proxy.cpu_us_per_request.is_none()), is_void);
        assert!(result.findings.iter().all(|finding| !finding.advice.is_empty()));
    }

    #[test]
    fn a_clean_run_is_sound() {
        let (findings, result) = judged(|_| {});
        assert!(
            findings.is_empty() && result.verdict == Verdict::Sound && result.added.is_some(),
            "{findings:?}"
        );
    }

    #[test]
    fn too_few_rounds_are_said() {
        fires("rounds", Severity::Warn, |rounds| rounds.truncate(4));
        fires("rounds", Severity::Fail, |rounds| rounds.truncate(1));
    }

    #[test]
    fn slices_that_do_not_count_are_said_with_their_reason() {
        let aside = |count: usize| {
            move |rounds: &mut Vec<GraphRound>| {
                for slice in rounds.iter_mut().flat_map(|round| &mut round.slices).take(count) {
                    slice.set_aside = Some("offered: only 90 % of the requests were sent".to_owned());
                }
            }
        };
        fires("set-aside", Severity::Info, aside(1));
        fires("set-aside", Severity::Warn, aside(6));
        fires("set-aside", Severity::Fail, aside(11));
        let (_, result) = judged(aside(11));
        let message = &result.findings[0].message;
        assert!(message.starts_with("11 of 20 slices") && message.contains("only 90 %"), "{message}");
        assert!(result.findings[0].advice.ends_with("lower `--rate`"), "{}", result.findings[0].advice);
        let late = |rounds: &mut Vec<GraphRound>| {
            aside(11)(rounds);
            for reason in
                rounds.iter_mut().flat_map(|round| &mut round.slices).filter_map(|one| one.set_aside.as_mut())
            {
                *reason = "send-lag: p99 was 3,756 us".to_owned();
            }
        };
        let (_, result) = judged(late);
        assert_eq!(result.findings[0].advice, "stop other work on the machine");
        let idle = |rounds: &mut Vec<GraphRound>| {
            for round in rounds {
                round.proxies.iter_mut().for_each(|proxy| proxy.requests = 0);
                for slice in &mut round.slices {
                    (slice.answered, slice.mean_us, slice.response) = (0, None, None);
                    slice.set_aside = Some(format!("{IDLE}: no request was planned in the recorded time"));
                }
            }
        };
        fires("set-aside", Severity::Fail, idle);
        let (_, result) = judged(idle);
        assert!(result.findings[0].advice.ends_with("raise `--rate` or `--slice`"), "{:?}", result.findings);
    }

    #[test]
    fn proxies_without_processor_time_left_void_a_run() {
        fires("processors-busy", Severity::Fail, |rounds| {
            for slice in rounds.iter_mut().flat_map(|round| &mut round.slices) {
                slice.cpu_us.iter_mut().flatten().for_each(|us| *us *= 12.0);
            }
        });
    }

    #[test]
    fn another_number_of_calls_voids_a_run() {
        fires("calls", Severity::Fail, |rounds| {
            // The other proxy's part is then wrong by less than the limit.
            for round in rounds {
                round.proxies[0].requests = 1_930;
            }
        });
        let (_, result) =
            judged(|rounds| rounds.iter_mut().for_each(|round| round.proxies[1].requests = 2_000));
        assert!(result.findings.iter().any(|finding| finding.message.contains("`back` handled 10,000")));
        // Few requests differ by chance.
        let (findings, _) = judged(|rounds| {
            for round in rounds {
                (round.proxies[0].requests, round.proxies[1].requests) = (20, 42);
            }
        });
        assert!(findings.is_empty(), "{findings:?}");
    }

    #[test]
    fn numbers_with_wide_intervals_keep_them_and_are_marked() {
        // The CPU time of one proxy varies by much more than the rest.
        let (findings, result) = judged(|rounds| {
            for (number, round) in rounds.iter_mut().enumerate() {
                let factor = if number % 2 == 0 { 0.2 } else { 1.8 };
                for slice in &mut round.slices {
                    if let Some(Some(us)) = slice.cpu_us.first_mut() {
                        *us *= factor;
                    }
                }
            }
        });
        assert_eq!(findings, [("wide".to_owned(), Severity::Info)], "{:?}", result.findings);
        let message = &result.findings[0].message;
        assert!(message.contains("CPU time of the proxy of `front`, the CPU time of all"), "{message}");
        let [front, back] = [&result.proxies[0], &result.proxies[1]];
        let (of_front, all) = (front.cpu_us_per_request.unwrap(), result.all_cpu_us.unwrap());
        // The truth is 100 us, and 220 us in all.
        assert!(of_front.contains(100.0) && of_front.half_width() > 50.0, "{of_front:?}");
        assert!(all.contains(220.0), "{all:?}");
        assert!(front.is_wide && !back.is_wide && back.cpu_us_per_request.is_some());
        assert_eq!(result.wide, [GraphRunNumber::AllCpu]);
        assert!(result.added.is_some() && !result.findings[0].withholds);
        assert_eq!(result.verdict, Verdict::Sound);
    }

    #[test]
    fn an_added_time_is_wide_beside_the_response_time_without_proxies() {
        let mut result = result_of([0.0, 1.0, -1.0, 0.5, -0.5].map(round).to_vec());
        let mut with_added = |half_width_us: f64| {
            let added = AddedTime { mean_us: Some(Interval::around(10.0, half_width_us)), p99_us: None };
            (result.added, result.wide) = (Some(added), Vec::new());
            judge(&mut result, &Limits::default());
            (result.wide.clone(), result.added.unwrap().mean_us.unwrap().half_width())
        };
        // Requests take 200 us without proxies, so half of that is the limit, however small the added time is.
        assert_eq!(with_added(90.0), (Vec::new(), 90.0));
        assert_eq!(with_added(110.0), (vec![GraphRunNumber::AddedMean], 110.0));
    }

    #[test]
    fn a_void_run_has_no_wide_numbers() {
        let (_, result) = judged(|rounds| {
            for (number, round) in rounds.iter_mut().enumerate() {
                round.unproven.push("`jwt` at the proxy of `front`: it did not change".to_owned());
                let factor = if number % 2 == 0 { 0.2 } else { 1.8 };
                for us in round.slices.iter_mut().filter_map(|slice| slice.cpu_us.first_mut()).flatten() {
                    *us *= factor;
                }
            }
        });
        assert_eq!(result.verdict, Verdict::Void);
        assert!(result.findings.iter().all(|finding| finding.id != "wide"), "{:?}", result.findings);
        assert!(result.wide.is_empty() && result.proxies.iter().all(|proxy| !proxy.is_wide));
    }

    #[test]
    fn a_debug_build_is_warned_of_and_keeps_the_numbers() {
        let judged_with = |build: Option<&str>| {
            let mut result = result_of([0.0, 1.0, -1.0, 0.5, -0.5].map(round).to_vec());
            result.environment.proxy_version = Some("1.40.0".to_owned());
            result.environment.proxy_build = build.map(str::to_owned);
            judge(&mut result, &Limits::default());
            result
        };
        let result = judged_with(Some("Clean/DEBUG"));
        let [one] = result.findings.as_slice() else { panic!("{:?}", result.findings) };
        assert_eq!((one.id.as_str(), one.severity), ("proxy-build", Severity::Warn));
        assert!(result.verdict == Verdict::Caution && result.added.is_some() && result.all_cpu_us.is_some());
        for build in [Some("Clean/RELEASE"), None] {
            assert_eq!(judged_with(build).findings, []);
        }
    }

    #[test]
    fn a_function_without_work_voids_a_run() {
        fires("functions", Severity::Fail, |rounds| {
            rounds[2].unproven.push("`jwt` at the proxy of `front`: it did not change".to_owned());
        });
    }
}
