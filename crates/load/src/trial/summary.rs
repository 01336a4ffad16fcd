//! Builds the result of a trial from the recordings of its workers.

use std::collections::BTreeMap;
use std::time::Duration;

use hoptax_result::{
    EndedBy, Environment, Generator, LoadBody, LoadHistograms, LoadPlan, LoadRate, LoadResult, Loop,
    NamedRequests, NetworkPlan, Pacing, PlanShare, RequestHistograms, Stage, Waiting, Window, Within,
};
use hoptax_stats::{exponential_distance, serial_correlation};
use hoptax_wire::ERROR_CODES;

use super::spec::TrialSpec;
use crate::by_connection::by_connection;
use crate::by_request::{ByRequest, Row};
use crate::connection::Closing;
use crate::course::Course;
use crate::distribution::Distribution;
use crate::encoded::encode;
use crate::failure::Failure;
use crate::named_requests::Named;
use crate::outliers::outliers;
use crate::pace::Pace;
use crate::phases::Phases;
use crate::recording::{Recording, Unsent};
use crate::schedule::Arrivals;
use crate::times::{Times, median_us, unexpectedly_failed};

/// The result of a trial. `recordings` has the parts of each worker.
pub(super) fn result(
    spec: &TrialSpec,
    mut recordings: Vec<Vec<Recording>>,
    recorded: Recorded,
    generator: Generator,
    environment: Environment,
) -> LoadResult {
    let course = joined(&mut recordings, |first| first.course.take(), |all: &mut Course, one| all.merge(one));
    let phases =
        joined(&mut recordings, |first| first.phases.take(), |all: &mut Phases, one| all.merge(&one));
    let by_request =
        joined(&mut recordings, |first| first.by_request.take(), |all: &mut ByRequest, one| all.merge(&one));
    let complete = course.as_deref().map_or(0, Course::complete_batches);
    let mut all = Recording::default();
    recordings.iter().flatten().for_each(|recording| all.merge(recording));
    let times = times(&all, course.as_deref(), spec.max_error_share);
    let latency = all.latencies();
    let without_generator = all.without_generator.as_ref().map(|times| times.summary());
    let bounds = times.bounds(&latency.response, without_generator.as_ref(), &latency.service);
    let target = spec.open.as_ref().map(|(pace, _)| {
        spec.share.of_rate(match recorded.ended_by {
            EndedBy::Plan => pace.mean_rate(),
            EndedBy::Interrupt | EndedBy::Backlog | EndedBy::Requests => pace.mean_rate_in(recorded.time),
        })
    });
    let (by_request, of_names) = by_name(by_request.as_deref(), complete, spec.max_error_share);
    let histograms = LoadHistograms {
        phases: phases.map(|phases| phases.encoded(complete)).unwrap_or_default(),
        by_request: of_names,
        ..histograms(&all, &times)
    };
    let body = LoadBody {
        plan: plan(spec, generator.workers.len()),
        loads_beside: None,
        recorded_from_unix_s: Some(recorded.from_unix_s),
        recorded_s: recorded.time.as_secs_f64(),
        ended_by: recorded.ended_by,
        book: all.book,
        unsent: by_word(&all.unsent, Unsent::as_str),
        waiting: Waiting { most: all.max_waiting, total_s: all.waited_ns as f64 / 1e9 },
        failures: by_word(&all.failures, Failure::as_str),
        reasons: all.reasons.clone(),
        statuses: all.statuses.clone(),
        deviations: all.deviations.clone(),
        closed: by_word(&all.closed, Closing::as_str),
        body_bytes: all.body_bytes,
        bytes_over_time: course.as_deref().and_then(Course::bytes_over_time),
        rate: rate(&all, target, recorded.time.as_secs_f64()),
        sustained_rate: sustained_rate(&all, spec.warmup + recorded.time),
        latency,
        without_generator,
        bounds,
        percentiles: times.percentiles(spec.percentiles.clone()),
        within: within(spec, &times, course.as_deref()),
        fail_on: Vec::new(),
        response_intervals: times.intervals(),
        outcomes: outcomes(&all),
        messages: all.messages.as_ref().map(|messages| messages.summary()),
        by_request,
        modes: times.modes(),
        windows: course.as_ref().map(|course| windows(course)).unwrap_or_default(),
        window_s: course.as_deref().and_then(Course::expected_window_s),
        pacing: course.as_ref().and_then(|course| pacing(course, spec)),
        serial_correlation: course.as_ref().and_then(|course| correlation(course)),
        in_flight: course.as_deref().and_then(Course::in_flight),
        in_flight_over_time: course.as_deref().and_then(Course::in_flight_over_time),
        apart: course.as_ref().map(|course| outliers(course, &recordings)).unwrap_or_default(),
        by_connection: course.as_deref().and_then(by_connection),
        kernel: all.stamps.as_ref().map(|stamps| stamps.summary()),
        kernel_absent: kernel_absent(spec, &all),
        tls: all.handshakes.summary(),
        drained: by_word(&all.drained, |code| ERROR_CODES.get(code as usize).copied().unwrap_or("unknown")),
        stream_limit: all.stream_limit,
        lookups: None,
        stages: stages(spec, &recordings, recorded.time),
        drift: times.drift(),
        generator,
        account: None,
        imported: None,
        agents: None,
        merged: None,
        loosened: Vec::new(),
        histograms: Some(histograms),
    };
    LoadResult::new(environment, body)
}

fn plan(spec: &TrialSpec, workers: usize) -> LoadPlan {
    let first = spec.traffic.first();
    let lifetime = spec.pooling.lifetime;
    LoadPlan {
        url: first.map(|target| target.url.clone()).unwrap_or_default(),
        protocol: spec.traffic.protocol().to_string(),
        method: first.map(|target| target.method.clone()).unwrap_or_default(),
        requests: spec.traffic.len() as u32,
        data: spec.traffic.data.clone(),
        cookies: spec.traffic.keeps_cookies,
        grpc_stream: spec.traffic.messages.map(|messages| messages.to_string()),
        loop_: if spec.open.is_some() { Loop::Open } else { Loop::Closed },
        arrivals: spec.open.as_ref().map(|(_, arrivals)| arrivals.to_string()),
        connections: spec.connections as u32,
        streams: spec.traffic.streams(),
        network: network(spec),
        http2: spec.traffic.http2(),
        pool: spec.pooling.order.to_string(),
        when_busy: spec.pooling.when_busy.to_string(),
        when_late: spec.pooling.when_late.to_string(),
        connect: lifetime.connect.to_string(),
        requests_per_connection: lifetime.requests.map(|requests| requests.to_string()),
        connection_age_s: lifetime.age.map(|age| age.as_secs_f64()),
        think: spec.think.map(|think| think.to_string()),
        stages: spec
            .open
            .as_ref()
            .filter(|(pace, _)| matches!(pace, Pace::Stages(_)))
            .map(|(pace, _)| pace.to_string()),
        expect: spec.traffic.expectation.to_string(),
        workers: workers as u32,
        duration_s: spec.duration.as_secs_f64(),
        request_limit: spec.requests,
        warmup_s: spec.warmup.as_secs_f64(),
        timeout_s: spec.timeout.as_secs_f64(),
        seed: spec.seed,
        share: (!spec.share.is_whole())
            .then(|| PlanShare { index: spec.share.index(), of: spec.share.generators() }),
        never_halted: spec.never_halted,
        max_error_share: spec.max_error_share,
        unstated: spec.traffic.unstated.clone(),
    }
}

fn network(spec: &TrialSpec) -> NetworkPlan {
    let dial = &spec.traffic.dial;
    let unix_socket = dial.unix_socket.as_ref().map(|path| path.display().to_string());
    let addresses = spec.traffic.addresses().filter(|_| unix_socket.is_none());
    let mut servers: Vec<String> = addresses.map(|address| address.to_string()).collect();
    // Several names may have the same address.
    servers.sort_unstable();
    servers.dedup();
    NetworkPlan {
        servers,
        unix_socket,
        source_addresses: dial.sources.given().iter().map(ToString::to_string).collect(),
        proxy_protocol: dial.proxy_protocol.map(|version| version.as_str().to_owned()),
        ramp_up_s: spec.ramp_up.as_secs_f64(),
        resolve_every_s: spec
            .traffic
            .refresh
            .as_ref()
            .filter(|_| spec.traffic.has_refreshed_names())
            .map(|refresh| refresh.every.as_secs_f64()),
    }
}

fn rate(recording: &Recording, target: Option<f64>, recorded_s: f64) -> LoadRate {
    let per_second = |count: u64| if recorded_s > 0.0 { count as f64 / recorded_s } else { 0.0 };
    LoadRate {
        target,
        offered: per_second(recording.book.sent),
        achieved: Some(per_second(recording.book.answered)),
    }
}

/// Requests answered per second over warm-up and record; None without time.
fn sustained_rate(recording: &Recording, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| recording.answered_by_end as f64 / time.as_secs_f64())
}

/// Counts by the name of each key.
fn by_word<K: Copy>(counts: &BTreeMap<K, u64>, word: impl Fn(K) -> &'static str) -> BTreeMap<String, u64> {
    counts.iter().map(|(key, count)| (word(*key).to_owned(), *count)).collect()
}

/// Returns the reason why there are no kernel timestamps, if they were requested.
fn kernel_absent(spec: &TrialSpec, recording: &Recording) -> Option<String> {
    let is_absent = spec.kernel_stamps && recording.stamps.is_none();
    is_absent.then(|| match recording.no_stamps {
        Some(error) => format!("the kernel refuses them on these sockets: {error}"),
        None if spec.traffic.streams() > 1 => {
            "a connection carries several requests at once, so a timestamp cannot be assigned to one of them"
                .to_owned()
        }
        None => "no sampled connection carried a request with a response".to_owned(),
    })
}

fn outcomes(recording: &Recording) -> BTreeMap<String, hoptax_result::Latency> {
    let failed = recording.outcomes.iter().map(|(word, one)| ((*word).to_owned(), one.summary()));
    let answered =
        (!recording.response.is_empty()).then(|| ("answered".to_owned(), recording.response.summary()));
    failed.chain(answered).collect()
}

fn times(all: &Recording, course: Option<&Course>, max_error_share: f64) -> Times {
    let [pending_response, pending_service] =
        all.censored.as_deref().cloned().map_or([None, None], |both| both.map(Some));
    Times {
        response: all.response.histogram(),
        without_generator: all.without_generator.as_ref().map(|times| times.histogram()),
        service: all.service.histogram(),
        pending_response,
        pending_service,
        batches: course.map(Course::batches).unwrap_or_default(),
        failed: unexpectedly_failed(&all.book, max_error_share),
    }
}

fn histograms(all: &Recording, times: &Times) -> LoadHistograms {
    let of = |distribution: &Distribution| encode(&distribution.histogram());
    LoadHistograms {
        response: encode(&times.response),
        pending_response: times.pending_response.as_ref().and_then(encode),
        without_generator: times.without_generator.as_ref().and_then(encode),
        service: encode(&times.service),
        pending_service: times.pending_service.as_ref().and_then(encode),
        send_lag: of(&all.send_lag),
        own_lag: of(&all.own_lag),
        first_byte: of(&all.first_byte),
        last_byte: of(&all.last_byte),
        connect: of(&all.connect),
        messages: all.messages.as_deref().and_then(of),
        handshake: of(all.handshakes.durations()),
        outcomes: all
            .outcomes
            .iter()
            .filter_map(|(word, one)| Some(((*word).to_owned(), of(one)?)))
            .collect(),
        batches: times.batches.iter().map(encode).collect(),
        ..LoadHistograms::default()
    }
}

/// A part of the first recordings of all workers, taken from them and merged; None if they do not have it.
fn joined<T>(
    recordings: &mut [Vec<Recording>],
    take: impl Fn(&mut Recording) -> Option<Box<T>>,
    merge: impl Fn(&mut T, T),
) -> Option<Box<T>> {
    recordings.iter_mut().filter_map(|parts| take(parts.first_mut()?)).reduce(|mut all, one| {
        merge(&mut all, *one);
        all
    })
}

/// The row and the histograms of the requests of each name. Their response times are in this number of complete batches.
fn by_name(
    all: Option<&ByRequest>,
    complete: usize,
    max_error_share: f64,
) -> (Vec<NamedRequests>, BTreeMap<String, RequestHistograms>) {
    let (mut rows, mut histograms) = (Vec::new(), BTreeMap::new());
    for (name, row) in all.into_iter().flat_map(ByRequest::rows) {
        let (stated, of_name) = named(name, row, complete).with_tolerance(max_error_share).stated();
        rows.push(stated);
        histograms.insert(name.to_owned(), of_name);
    }
    (rows, histograms)
}

/// The requests of one name.
fn named(name: &str, row: &Row, complete: usize) -> Named {
    let mut named = Named {
        book: row.book,
        unsent: by_word(&row.unsent, |word| word),
        failures: by_word(&row.failures, |word| word),
        response: row.response.moments(),
        without_generator: row.without_generator.moments(),
        ..Named::new(name)
    };
    named.times.response = row.response.histogram();
    named.times.without_generator = Some(row.without_generator.histogram());
    named.times.pending_response = row.pending.as_deref().cloned();
    named.times.batches = row.batches.histograms(complete);
    named
}

/// The responses within the requested limits.
fn within(spec: &TrialSpec, times: &Times, course: Option<&Course>) -> Vec<Within> {
    let limit_ns = |limit_us: f64| (limit_us * 1e3) as u64;
    let answered = |limit_us: f64| times.response.count_between(0, limit_ns(limit_us));
    let by_window = |limit_us: f64| {
        let windows = course.map(Course::complete_windows).unwrap_or_default();
        windows
            .iter()
            .map(|window| window.response.histogram().count_between(0, limit_ns(limit_us)))
            .collect()
    };
    let of = |limit_us| Within { limit_us, answered: answered(limit_us), by_window: by_window(limit_us) };
    spec.limits_us.iter().copied().map(of).collect()
}

fn windows(course: &Course) -> Vec<Window> {
    course
        .complete_windows()
        .iter()
        .map(|window| Window {
            planned: window.planned,
            sent: window.sent,
            answered: window.response.len(),
            median_response_us: median_us(&window.response.histogram()),
            connections: window.connections,
        })
        .collect()
}

fn pacing(course: &Course, spec: &TrialSpec) -> Option<Pacing> {
    let (pace, arrivals) = spec.open.as_ref()?;
    // Merge all workers, over the time for which every worker has recorded its releases.
    let known_until_ns =
        course.releases_ns.iter().filter_map(|releases_ns| releases_ns.last()).min().copied()?;
    let mut releases_ns: Vec<u64> =
        course.releases_ns.iter().flatten().copied().filter(|at_ns| *at_ns <= known_until_ns).collect();
    releases_ns.sort_unstable();
    let gaps: Vec<f64> =
        releases_ns.windows(2).filter_map(|pair| Some((pair.get(1)? - pair.first()?) as f64 / 1e9)).collect();
    // While the rate changes, the gaps do not follow a single exponential distribution.
    let is_poisson = matches!((pace, arrivals), (Pace::Constant(_), Arrivals::Poisson));
    Some(Pacing {
        gap_error: course.gap_error.summary(),
        exponential_distance: is_poisson
            .then(|| exponential_distance(&gaps, spec.share.of_rate(pace.mean_rate())))
            .flatten(),
        gaps: gaps.len() as u64,
    })
}

fn correlation(course: &Course) -> Option<f64> {
    let mut responses = course.responses.clone();
    responses.sort_unstable();
    serial_correlation(&responses.iter().map(|one| one.response_ns as f64).collect::<Vec<f64>>())
}

/// The stages that began, each with the time that it ran.
fn stages(spec: &TrialSpec, recordings: &[Vec<Recording>], recorded: Duration) -> Vec<Stage> {
    let Some((Pace::Stages(stages), _)) = &spec.open else { return Vec::new() };
    let part = |number: usize| {
        let mut all = Recording::default();
        recordings.iter().filter_map(|parts| parts.get(number)).for_each(|recording| all.merge(recording));
        all
    };
    let starts = stages.iter().scan(Duration::ZERO, |end, stage| {
        let start = *end;
        *end += stage.length;
        Some(start)
    });
    stages
        .iter()
        .zip(starts)
        .enumerate()
        .filter(|(_, (_, start))| *start < recorded)
        .map(|(number, (stage, start))| {
            let recording = part(number);
            let time = stage.length.min(recorded.saturating_sub(start));
            let duration_s = time.as_secs_f64();
            let target = spec.share.of_rate(stage.mean_rate_in(time));
            let latency = recording.latencies();
            let without_generator = recording.without_generator.as_ref().map(|times| times.summary());
            let times = times(&recording, None, spec.max_error_share);
            Stage {
                from_rate: spec.share.of_rate(stage.from_rate),
                to_rate: spec.share.of_rate(stage.to_rate),
                duration_s,
                book: recording.book,
                unsent: by_word(&recording.unsent, Unsent::as_str),
                failures: by_word(&recording.failures, Failure::as_str),
                rate: rate(&recording, Some(target), duration_s),
                bounds: times.bounds(&latency.response, without_generator.as_ref(), &latency.service),
                latency,
                without_generator,
            }
        })
        .collect()
}

/// The recorded part of a trial.
#[derive(Clone, Copy)]
pub(super) struct Recorded {
    /// Its start, seconds since 1970.
    pub(super) from_unix_s: f64,
    /// Its length.
    pub(super) time: Duration,
    pub(super) ended_by: EndedBy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use crate::target::Target;

    /// The distance from a Poisson process of two workers with the given numbers.
    fn distance(workers: [u32; 2]) -> f64 {
        let mut spec = TrialSpec::new(Target::get("http://127.0.0.1:1/").unwrap());
        spec.open = Some((Pace::Constant(1_000.0), Arrivals::Poisson));
        let course = |worker: u32| {
            let mut course = Course::new(0, 10_000_000_000, 1, 1);
            let mut schedule = Schedule::new(Arrivals::Poisson, 1_000.0, 1, worker, 2);
            for _ in 0..5_000 {
                course.send(schedule.peek_ns(), schedule.peek_ns());
                schedule.advance();
            }
            course
        };
        let mut all = course(workers[0]);
        all.merge(course(workers[1]));
        pacing(&all, &spec).unwrap().exponential_distance.unwrap()
    }

    #[test]
    fn workers_with_the_same_seed_are_detected() {
        assert!(distance([0, 1]) < 0.02, "{}", distance([0, 1]));
        // Every other gap is zero.
        assert!(distance([0, 0]) > 0.4, "{}", distance([0, 0]));
    }
}
