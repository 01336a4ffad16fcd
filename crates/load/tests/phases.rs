//! The phases of requests over the record.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_load::encoded::decode;
use hoptax_load::{Arrivals, Pace, Protocol, RequestSpec};
use hoptax_result::{LoadResult, RequestPhase};

use crate::secure::{Peer, server_tls, spec_of};
use crate::support::{OK, answering, few, read_request, run, server, spec};

/// The times of a phase by batch, as histograms.
fn times(result: &LoadResult, phase: RequestPhase) -> Vec<Option<hdrhistogram::Histogram<u32>>> {
    let phases = &result.histograms.as_ref().unwrap().phases;
    let decoded = |one: &Option<_>| one.as_ref().map(|one| decode(one).unwrap());
    phases.get(&phase).map(|all| all.iter().map(decoded).collect()).unwrap_or_default()
}

/// The number of times of a phase.
fn count(result: &LoadResult, phase: RequestPhase) -> u64 {
    times(result, phase).iter().flatten().map(hdrhistogram::Histogram::len).sum()
}

#[test]
fn a_phase_that_grows_does_so_over_the_record() {
    const LATER: Duration = Duration::from_millis(20);
    let asked = AtomicUsize::new(0);
    // The first byte is late in the second half of the requests, and the last one in all of them.
    let address = server(move |mut stream| {
        while read_request(&mut stream) {
            if asked.fetch_add(1, Ordering::Relaxed) >= 200 {
                thread::sleep(LATER);
            }
            let (first, rest) = OK.split_at(OK.len() - 1);
            let is_sent = stream.write_all(first).is_ok();
            thread::sleep(LATER);
            if !is_sent || stream.write_all(rest).is_err() {
                return;
            }
        }
    });
    let mut spec = spec(address);
    (spec.connections, spec.duration) = (32, Duration::from_secs(2));
    spec.open = Some((Pace::Constant(200.0), Arrivals::Uniform));
    let result = run(&spec);
    let first_byte = times(&result, RequestPhase::FirstByte);
    assert_eq!((first_byte.len(), count(&result, RequestPhase::FirstByte)), (20, result.book.answered));
    let ends_ns = |times: &Option<hdrhistogram::Histogram<u32>>| {
        let times = times.as_ref().unwrap();
        (times.min(), times.max())
    };
    // Two digits are kept.
    let is_late = |ns: u64| ns as f64 >= 0.99 * LATER.as_nanos() as f64;
    let (shortest, _) = ends_ns(&first_byte[0]);
    assert!(!is_late(shortest) && is_late(ends_ns(&first_byte[19]).0), "{first_byte:?}");
    // A generator that is stopped for longer reads both at once.
    let last_byte = times(&result, RequestPhase::LastByte);
    assert!(last_byte.iter().all(|times| is_late(ends_ns(times).1)), "{last_byte:?}");
    assert_eq!(count(&result, RequestPhase::SendLag), result.book.answered);
    assert!(times(&result, RequestPhase::Connect).is_empty(), "no connection was opened");
}

#[test]
fn connects_and_handshakes_are_those_of_connections_that_were_opened_within_the_record() {
    let tls = server_tls(Vec::new());
    let address = server(move |stream| {
        let mut peer = Peer::new(stream, &tls);
        if peer.read(|request| request.ends_with(b"\r\n\r\n")).is_some() {
            peer.close(OK);
        }
    });
    let url = format!("https://{address}/");
    let asked = RequestSpec { url: &url, protocol: Some(Protocol::Http1), ..RequestSpec::default() };
    let mut spec = spec_of(address, &asked);
    spec.open = Some((Pace::Constant(100.0), Arrivals::Uniform));
    let result = run(&spec);
    let tls = result.tls.as_ref().unwrap();
    let ahead = spec.connections as u64;
    assert_eq!(count(&result, RequestPhase::Handshake) + ahead, tls.full_handshakes, "{tls:?}");
    assert_eq!(count(&result, RequestPhase::Connect), result.latency.connect.count);
    assert!(result.latency.connect.count > 0, "{:?}", result.latency.connect);
}

#[test]
fn a_load_that_ends_in_its_first_twentieth_has_no_phases() {
    let result = run(&few(answering(OK), 10));
    let histograms = result.body.histograms.unwrap();
    assert!(histograms.phases.is_empty() && histograms.first_byte.is_some());
}
