use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

use hoptax_result::Book;
use proptest::prelude::*;

use super::*;
use crate::batches::BATCHES;
use crate::by_key::add_by_key;
use crate::by_request::ByRequest;
use crate::course::Course;
use crate::distribution::Distribution;
use crate::division::Division;
use crate::failure::Failure;
use crate::request_names::RequestNames;
use crate::schedule::{Arrivals, Schedule};
use crate::target::Target;

proptest! {
    #[test]
    fn every_sample_and_every_interval_that_is_due_is_taken(
        steps in prop::collection::vec((0_u64..400_000, 0_usize..9), 1..50),
    ) {
        let (from_ns, end_ns, length_ns) = (1_000_000, 9_000_000, 700_000);
        let mut course = Course::new(from_ns, end_ns, 1, 7);
        let (sender, parts) = channel();
        let sink = IntervalSink { length: Duration::from_nanos(length_ns), sender };
        let mut recording = Recording::default().with_course(course.clone());
        let run = Run {
            intervals: vec![sink],
            ..Run::new(Release::Closed, from_ns, end_ns, 0)
        };
        let mut current = Current::new(run, &mut recording, &mut []);
        let (mut now_ns, mut ended) = (0, 0);
        for (gap_ns, in_flight) in steps {
            now_ns += gap_ns;
            course.sample(now_ns, in_flight, in_flight);
            current.sample(now_ns, in_flight, in_flight);
            let complete = now_ns.saturating_sub(from_ns) / length_ns;
            ended += parts.try_iter().count() as u64;
            prop_assert_eq!(ended, complete);
        }
        let sampled = current.first().course.as_ref().unwrap();
        prop_assert_eq!(sampled.in_flight(), course.in_flight());
        prop_assert_eq!(sampled.in_flight_over_time(), course.in_flight_over_time());
        prop_assert_eq!(&sampled.windows, &course.windows);
    }
}

/// The recording of a run from 1,000 to 3,000 that records from 2,000.
fn recorded(book: impl FnOnce(&mut Current)) -> Recording {
    let mut recording = Recording::default();
    let run = Run { record_from_ns: 2_000, ..Run::new(Release::Closed, 1_000, 3_000, 0) };
    book(&mut Current::new(run, &mut recording, &mut []));
    recording
}

#[test]
fn events_of_the_warm_up_are_not_recorded() {
    let recording = recorded(|current| {
        current.record_goaway(1_999, 0);
        current.record_goaway(2_000, 2);
        current.record_waiting(1_999, 50);
        current.record_waiting(2_000, 3);
    });
    assert_eq!((recording.drained, recording.max_waiting), ([(2, 1)].into(), 3));
}

#[test]
fn the_longest_turn_is_that_within_the_record() {
    let turns = |times_ns: &[u64]| {
        recorded(|current| times_ns.iter().for_each(|now_ns| current.begin_turn(*now_ns))).longest_turn_ns
    };
    assert_eq!(turns(&[1_000, 1_900, 2_050, 2_250, 2_300]), 200);
    // A stop of which only the end lies within the record, and one beyond its end.
    assert_eq!(turns(&[1_000, 2_900]), 900);
    assert_eq!(turns(&[2_900, 9_900]), 7_000);
}

/// End of the record of requests by name.
const END_NS: u64 = 20_000;

/// A request of the traffic that was due at `intended_ns`.
#[derive(Clone, Copy, Debug)]
struct Played {
    target: usize,
    intended_ns: u64,
    /// Its outcome.
    end: u8,
    took_ns: u64,
}

/// Records a request to its end.
fn play(current: &mut Current<'_>, played: Played) {
    let Played { target, intended_ns, end, took_ns } = played;
    let request = InFlight {
        intended_ns,
        offered_ns: intended_ns + 1,
        picked: Picked { target, ..Picked::default() },
        started_ns: intended_ns + 2,
        written_ns: intended_ns + 3,
        first_byte_ns: intended_ns + 4,
        recorded: true,
        blocked: took_ns.is_multiple_of(2),
        ..InFlight::default()
    };
    let response =
        Response { status: 200, grpc_status: None, body_bytes: 1, keep_alive: true, is_as_expected: true };
    let ended_ns = intended_ns + 4 + took_ns;
    if let Some(reason) = [Unsent::Busy, Unsent::Late, Unsent::End].get(usize::from(end)) {
        return current.record_unsent(intended_ns, request.picked, *reason);
    }
    current.record_start(&request);
    match end {
        3 => {
            let failed = FailedResponse { failure: Failure::Status5xx, reason: None };
            current.record_response(&request, 0, response, Some(failed), ended_ns);
        }
        4 => {
            current.record_sent_again(&request);
            current.record_end(&request, 0, Outcome::Failed(Failure::Reset), None, ended_ns);
        }
        5 => current.record_end(&request, 0, Outcome::TimedOut, None, ended_ns),
        6 => current.record_end(&request, 0, Outcome::Unfinished, None, ended_ns),
        _ => current.record_response(&request, 0, response, None, ended_ns),
    }
}

/// The recording of a worker that sent these requests, with the requests by name.
fn recorded_by_name(names: &Arc<RequestNames>, requests: &[Played]) -> (Recording, ByRequest) {
    let mut recording = Recording::default().with_bounds();
    let record = Division::new(0, END_NS, BATCHES);
    recording.by_request = Some(Box::new(ByRequest::new(Arc::clone(names), Some(record))));
    let mut current = Current::new(Run::new(Release::Closed, 0, END_NS, 0), &mut recording, &mut []);
    current.account_for_delays(0);
    for request in requests {
        play(&mut current, *request);
    }
    current.end_turn();
    drop(current);
    let by_request = *recording.by_request.take().unwrap();
    (recording, by_request)
}

/// The numbers of responses in the batches of worker `worker` of `workers` at 15 requests per second. It ends with its `requests`, long
/// before its time limit.
fn batches_of_open_loop(arrivals: Arrivals, requests: u64, worker: u32, workers: u32) -> Vec<u64> {
    let end_ns = 600_000_000_000;
    let mut recording = Recording::default().with_course(Course::new(0, end_ns, 1, 1));
    let release = Release::Open(Schedule::new(arrivals, 15.0, 1, worker, workers));
    let run = Run { requests: Some(requests), ..Run::new(release, 0, end_ns, 0) };
    let mut current = Current::new(run, &mut recording, &mut []);
    current.begin_record();
    current.plan_next(Picked::default());
    while current.next_ns < u64::MAX {
        let intended_ns = current.next_ns;
        play(&mut current, Played { target: 0, intended_ns, end: 7, took_ns: 50_000_000 });
        current.plan_next(Picked::default());
    }
    current.end_when_sent(0, || 0);
    drop(current);
    assert_eq!(recording.book.answered, requests);
    recording.course.unwrap().batches().iter().map(hdrhistogram::Histogram::len).collect()
}

#[test]
fn an_open_loop_that_ends_with_its_requests_has_batches() {
    let batches = batches_of_open_loop(Arrivals::Uniform, 300, 0, 1);
    assert!(batches.len() == 19 && batches.iter().all(|count| (14..=16).contains(count)), "{batches:?}");
    // Generators of one load have equally many, so that their batches add up.
    for worker in 0..3 {
        assert_eq!(batches_of_open_loop(Arrivals::Uniform, 100, worker, 3).len(), 19, "{worker}");
    }
    let random = batches_of_open_loop(Arrivals::Poisson, 300, 0, 1);
    assert!(random.len() >= 10 && random.iter().sum::<u64>() > 250, "{random:?}");
}

proptest! {
    // Each case has the histograms of up to 51 rows of two workers.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn rows_add_up_to_the_load_whatever_becomes_of_its_requests(
        names in 2_usize..60,
        requests in prop::collection::vec((0_usize..60, 0..END_NS, 0_u8..10, 0_u64..1_000_000), 0..200),
    ) {
        let targets: Vec<Target> = (0..names)
            .map(|name| Target::get(&format!("http://127.0.0.1:1/{name}")).unwrap())
            .collect();
        let all_names = Arc::new(RequestNames::new(&targets, &vec![1.0; names]).unwrap());
        let requests: Vec<Played> = requests
            .into_iter()
            .map(|(target, intended_ns, end, took_ns)| {
                Played { target: target % names, intended_ns, end, took_ns }
            })
            .collect();
        let (one, other) = requests.split_at(requests.len() / 2);
        let (mut all, mut by_request) = recorded_by_name(&all_names, one);
        let (more, more_by_request) = recorded_by_name(&all_names, other);
        all.merge(&more);
        by_request.merge(&more_by_request);

        let mut book = Book::default();
        let (mut response, mut without) = (Distribution::default(), Distribution::default());
        let (mut unsent, mut failures) = (BTreeMap::<&str, u64>::new(), BTreeMap::<&str, u64>::new());
        let (mut pending, mut batched) = (0, 0);
        for (name, row) in by_request.rows() {
            book.add(&row.book);
            response += &row.response;
            without += &row.without_generator;
            add_by_key(&mut unsent, &row.unsent);
            add_by_key(&mut failures, &row.failures);
            pending += row.pending.as_ref().map_or(0, |times| times.len());
            batched += row.batches.histograms(BATCHES).iter().map(hdrhistogram::Histogram::len).sum::<u64>();
            let is_planned = |one: &&Played| {
                name == format!("GET /{}", one.target) || (name == "others" && one.target >= 50)
            };
            prop_assert_eq!(row.book.planned, requests.iter().filter(is_planned).count() as u64);
            prop_assert!(row.book.balances());
        }
        prop_assert_eq!(book, all.book);
        prop_assert_eq!(&response, &all.response);
        prop_assert_eq!(&without, all.without_generator.as_deref().unwrap());
        prop_assert_eq!((batched, pending), (book.answered, all.censored.map_or(0, |both| both[0].len())));
        let of_all: BTreeMap<&str, u64> =
            all.unsent.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
        prop_assert_eq!(unsent, of_all);
        let of_all: BTreeMap<&str, u64> =
            all.failures.iter().map(|(failure, count)| (failure.as_str(), *count)).collect();
        prop_assert_eq!(failures, of_all);
    }
}
