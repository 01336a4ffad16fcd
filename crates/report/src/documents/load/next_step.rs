//! The next step after a load: a command that sends it again without what limited it, or that searches the highest rate.

use hoptax_checks::load::REMEDIES;
use hoptax_checks::remedy::{self, Remedy};
use hoptax_load::Arrivals;
use hoptax_load::options::{ARRIVALS, ARRIVALS_OF_SEARCH, LONGEST};
use hoptax_result::{EndedBy, Finding, Known, LoadResult, Loop, TimeOf};
use hoptax_text::command_line::{option, quoted};

use crate::next::{Next, after_remedy};
use crate::same_load::{self, GivenOptions};

/// What helps against the finding that limits the result most and has a command: the same load after its advice, a calibration, more
/// connections or a longer load. Without such a finding, a search. A load that ended before a request was due is to last until one is. None
/// if a short command cannot repeat the requests, such as those of agents.
pub(super) fn next(result: &LoadResult, given: GivenOptions<'_>) -> Option<Next> {
    let (plan, book) = (&result.plan, &result.book);
    let is_of_agents = result.agents.is_some();
    let is_other = result.imported.is_some() || (result.merged.is_some() && !is_of_agents);
    let is_idle = plan.loop_ == Loop::Open && book.planned == 0;
    if is_other || (book.answered == 0 && !is_idle) || result.ended_by == EndedBy::Interrupt {
        return None;
    }
    // Those that the first screen shows.
    let limiting = remedy::limiting(&result.findings, REMEDIES);
    let is_repeatable = !is_of_agents && plan.is_plain();
    let url = quoted(&plan.url);
    let options = same_load::options_without_connections(plan);
    let GivenOptions { of_both, of_itself } = given;
    // Unless they are usual.
    let arrivals = |usual: &[&str]| {
        option("--arrivals", plan.arrivals.as_deref().filter(|given| !usual.contains(given)))
    };
    // A trace has its own rate and its own end, so a load of it cannot be longer.
    let is_trace = plan.arrivals.as_deref().is_some_and(|arrivals| arrivals.starts_with("trace="));
    let times = if is_trace { 1 } else { times_longer(limiting.iter().map(|(_, finding)| *finding)) };
    let until_due_s = if is_idle { until_due_s(result) } else { None };
    let again = |connections: u32, purpose: &str| {
        let rate = result.rate.target.filter(|_| !is_trace);
        let rate = rate.map_or_else(String::new, |rate| format!(" -q {rate}"));
        // With a limit of requests, the duration is that of a load which never reaches it.
        let length = match plan.request_limit {
            Some(limit) => format!("-n {}", limit.saturating_mul(times.into())),
            None => {
                format!("-d {}s", until_due_s.unwrap_or_else(|| times_as_long_s(plan.duration_s, times)))
            }
        };
        let arrivals = arrivals(&[ARRIVALS]);
        let all = format!("{arrivals} -c {connections} {length}{options}{of_itself}{of_both}");
        let command = format!("hoptax load{rate}{all} {url}");
        Some(Next::new(command, same_load::purpose(plan, purpose)))
    };
    if is_idle {
        let is_longer = is_repeatable && plan.request_limit.is_none() && until_due_s.is_some();
        return if is_longer { again(plan.connections, "lasts until requests are due") } else { None };
    }
    let (place, machine) =
        if is_of_agents { ("on the machine of each agent: ", "it") } else { ("", "this machine") };
    let step = |(remedy, finding): &(Remedy, &Finding)| match remedy {
        Remedy::Calibration => {
            let purpose = format!("{place}finds the rate up to which {machine} sends on time");
            Some(Next::new("hoptax trust calibrate", purpose))
        }
        _ if !is_repeatable => None,
        Remedy::QuietMachine | Remedy::Advice => again(plan.connections, &after_remedy(Some(*finding))),
        Remedy::MoreConnections => {
            let connections = plan.connections.saturating_mul(4).max(connections_in_use(result));
            again(connections, "has more connections for the rate")
        }
        Remedy::Longer if is_trace => None,
        Remedy::Longer => again(plan.connections, "narrows the intervals"),
    };
    if let Some((most, finding)) = limiting.first() {
        let doctor = || {
            let purpose = format!("{place}says what disturbs {machine}; {}", finding.advice);
            (*most == Remedy::QuietMachine).then(|| Next::new("hoptax trust doctor", purpose))
        };
        return limiting.iter().find_map(step).or_else(doctor);
    }
    // A search has no trace.
    if !is_repeatable || is_trace {
        return None;
    }
    let Known::Measured(p99_us) = result.response(TimeOf::Percentile(99.0)) else { return None };
    let command = format!(
        "hoptax find --slo 'p99<{}'{}{}{of_both} {url}",
        objective(2.0 * p99_us),
        // A search has independent arrivals, as those of many callers.
        arrivals(&[ARRIVALS, ARRIVALS_OF_SEARCH]),
        same_load::options(plan)
    );
    Some(Next::new(command, same_load::purpose(plan, "finds the highest rate that holds this p99")))
}

/// A duration in which requests of an open loop are due, whole seconds: by chance, if arrivals are independent, but nearly always. None
/// without a rate, and for a trace.
fn until_due_s(result: &LoadResult) -> Option<f64> {
    let gaps = match result.plan.arrivals.as_deref()?.parse::<Arrivals>().ok()? {
        Arrivals::Uniform => 1.0,
        Arrivals::Jitter(_) => 2.0,
        Arrivals::Burst(requests) => f64::from(requests),
        Arrivals::Poisson => 10.0,
        Arrivals::Trace(_) => return None,
    };
    let rate = result.rate.target.filter(|rate| *rate > 0.0)?;
    Some((gaps / rate).ceil().min(LONGEST.as_secs_f64()))
}

/// The connections that requests of the rate keep in use, by the median of the time from their send to their response, or a lower bound of
/// it (Little's law). Response time would count the wait for a connection, too. Zero without a rate, or if nothing is known of that time.
fn connections_in_use(result: &LoadResult) -> u32 {
    let (service_us, _) = result.service(TimeOf::Percentile(50.0)).ends();
    let in_use = result.rate.target.zip(service_us).map(|(rate, us)| rate * us / 1e6);
    in_use.map_or(0, |connections| connections.ceil() as u32)
}

/// The check of quantiles that too few responses support, and that of quantiles with a wide interval.
const TOO_FEW: &str = "too-few-samples";
const VAGUE: &str = "vague-quantile";

/// How many times as long a load has to be that is not limited by these findings: four times, for intervals half as wide, or as long as
/// enough responses take.
fn times_longer<'a>(findings: impl Iterator<Item = &'a Finding>) -> u32 {
    /// More requests than necessary, since the next load may get fewer responses.
    const MARGIN: f64 = 1.1;
    let times = |finding: &Finding| match finding.id.as_str() {
        TOO_FEW => Some((MARGIN * responses_needed(finding) / finding.value.max(1.0)).max(4.0)),
        VAGUE => Some(4.0),
        _ => None,
    };
    findings.filter_map(times).reduce(f64::max).map_or(1, |times| times.ceil() as u32)
}

/// This many times a duration, seconds, and at most the longest one: in whole ones, since a command line takes no more than nine decimals.
fn times_as_long_s(duration_s: f64, times: u32) -> f64 {
    let product_s = if times == 1 { duration_s } else { (f64::from(times) * duration_s).ceil() };
    product_s.min(LONGEST.as_secs_f64())
}

/// The responses that suffice for all quantiles whose lack of responses is a warning. The threshold of the finding is for the first of its
/// quantiles, which needs the fewest; as many responses must lie beyond any other.
fn responses_needed(finding: &Finding) -> f64 {
    /// A rarer part of the responses than this is not expected of a short load.
    const RAREST: f64 = 0.001_5;
    let beyond = |name: &String| {
        let percentile: f64 = name.strip_prefix('p')?.parse().ok()?;
        Some((percentile / 100.0).min(1.0 - percentile / 100.0)).filter(|share| *share > RAREST)
    };
    let shares: Vec<f64> = finding.numbers.iter().filter_map(beyond).collect();
    let rarest = shares.iter().copied().reduce(f64::min);
    shares.first().zip(rarest).map_or(finding.threshold, |(first, rarest)| finding.threshold * first / rarest)
}

/// The smallest round time that is at least `least_us`: 1, 2 or 5 us, 10, 20 and so on.
fn objective(least_us: f64) -> String {
    let mut steps = (0..12).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10.0_f64.powi(power)));
    match steps.find(|us| *us >= least_us).unwrap_or(least_us) {
        us if us < 1e3 => format!("{us}us"),
        us if us < 1e6 => format!("{}ms", us / 1e3),
        us => format!("{}s", us / 1e6),
    }
}
