//! Tests of the requests that are sent, of their connections, and of their records.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hoptax_load::{Arrivals, Connect, Pace, PoolOrder, Target, Traffic};

use crate::support::{
    OK, answering, answering_after, counting, few, read_head, read_request, run, server, slow, spec,
};

/// A server that stores the heads of the requests that it responds.
fn keeping() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let ours = Arc::clone(&kept);
    let address = server(move |mut stream| {
        while let Some(head) = read_head(&mut stream) {
            ours.lock().unwrap().push(head);
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    (address, kept)
}

fn get(url: &str) -> Target {
    Target::get(url).unwrap()
}

#[test]
fn every_request_has_its_own_placeholder_values() {
    let (address, kept) = keeping();
    let url = format!("http://{address}/{{counter}}?id={{random}}");
    let mut spec = spec(address);
    spec.traffic = get(&url).into();
    (spec.workers, spec.open) = (2, Some((Pace::Constant(200.0), Arrivals::Uniform)));
    let result = run(&spec);
    let kept = kept.lock().unwrap();
    assert_eq!(kept.len() as u64, result.book.answered);
    let word = |head: &String| head.split(' ').nth(1).unwrap().to_owned();
    let targets: BTreeSet<String> = kept.iter().map(word).collect();
    assert_eq!(targets.len(), kept.len(), "targets are distinct");
    assert!(
        targets.contains(
            &targets.iter().find(|target| target.starts_with("/000000000007?id=")).unwrap().clone()
        )
    );
}

#[test]
fn requests_and_connections_are_divided_by_weight_and_host() {
    let ((first, one), (second, two)) = (counting(), counting());
    let addresses = [first, second];
    let targets = addresses.iter().map(|address| get(&format!("http://{address}/"))).collect();
    let mut spec = spec(addresses[0]);
    spec.traffic = Traffic::by_weight(targets, &[3.0, 1.0]);
    (spec.connections, spec.open) = (8, Some((Pace::Constant(1_000.0), Arrivals::Uniform)));
    let result = run(&spec);
    assert_eq!(result.book.answered, 300);
    assert_eq!((one.load(Ordering::Relaxed), two.load(Ordering::Relaxed)), (6, 2));
}

#[test]
fn a_closed_loop_sends_each_host_its_own_requests() {
    let (one, two) = (keeping(), keeping());
    let targets = [(one.0, "/a"), (two.0, "/b"), (one.0, "/c")];
    let targets = targets.map(|(address, path)| get(&format!("http://{address}{path}"))).to_vec();
    let mut spec = few(one.0, 200);
    // As many workers as hosts: each worker must send requests to both.
    (spec.traffic, spec.workers) = (Traffic::in_turn(targets), 2);
    run(&spec);
    let paths = |kept: &Mutex<Vec<String>>| -> BTreeSet<String> {
        kept.lock().unwrap().iter().map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(paths(&one.1), BTreeSet::from(["/a".to_owned(), "/c".to_owned()]));
    assert_eq!(paths(&two.1), BTreeSet::from(["/b".to_owned()]));
}

#[test]
fn connections_on_demand_are_opened_when_they_are_needed() {
    let (address, accepted) = counting();
    let mut spec = spec(address);
    (spec.connections, spec.open) = (50, Some((Pace::Constant(50.0), Arrivals::Uniform)));
    (spec.pooling.order, spec.pooling.lifetime.connect) = (PoolOrder::MostRecent, Connect::OnDemand);
    let result = run(&spec);
    assert_eq!(result.book.answered, 15);
    let opened = accepted.load(Ordering::Relaxed);
    // One is enough, unless a request took more than 20 ms on a busy machine.
    assert!((1..=5).contains(&opened), "{opened}");
    assert_eq!(result.latency.connect.count, opened as u64);
}

#[test]
fn a_connection_closes_at_its_maximum_age() {
    let (address, accepted) = counting();
    let mut spec = spec(address);
    (spec.connections, spec.open) = (1, Some((Pace::Constant(100.0), Arrivals::Uniform)));
    spec.pooling.lifetime.age = Some(Duration::from_millis(100));
    assert_eq!(run(&spec).book.answered, 30);
    // 300 ms, with connections a little older than 100 ms.
    assert!((2..=3).contains(&accepted.load(Ordering::Relaxed)), "{accepted:?}");
}

#[test]
fn connect_time_is_not_own_lag() {
    let (address, accepted) = counting();
    let mut spec = spec(address);
    (spec.connections, spec.open) = (4, Some((Pace::Constant(200.0), Arrivals::Uniform)));
    spec.pooling.lifetime.requests = Some("1".parse().unwrap());
    let result = run(&spec);
    assert_eq!(accepted.load(Ordering::Relaxed), 60);
    // The first four connections were opened before the run.
    assert_eq!(result.latency.connect.count, 56);
    assert!(result.latency.send_lag.max_us >= result.latency.own_lag.max_us);
    assert!(result.latency.send_lag.mean_us > result.latency.own_lag.mean_us);
}

#[test]
fn each_stage_is_recorded_separately() {
    let mut spec = spec(answering(OK));
    let pace: Pace = "100@200ms,100:300@200ms,300@200ms".parse().unwrap();
    spec.duration = pace.length().unwrap();
    spec.open = Some((pace, Arrivals::Uniform));
    let result = run(&spec);
    let planned: Vec<u64> = result.stages.iter().map(|stage| stage.book.planned).collect();
    assert_eq!(planned.iter().sum::<u64>(), result.book.planned);
    for (planned, expected) in planned.iter().zip([20, 40, 60]) {
        assert!(planned.abs_diff(expected) <= 1, "{planned} of {expected}");
    }
    assert!(result.stages.iter().all(|stage| stage.latency.response.count == stage.book.answered));
    assert_eq!(result.drift, None, "stages differ by design");
}

#[test]
fn think_time_limits_the_rate_of_a_closed_loop() {
    let mut spec = spec(answering(OK));
    (spec.connections, spec.think) = (10, Some("20ms".parse().unwrap()));
    let result = run(&spec);
    // Ten connections for 300 ms, with 20 ms between requests: at most 15 requests each.
    assert!(result.book.answered <= 150 && result.book.answered > 20, "{:?}", result.book);
    assert!(result.book.balances() && result.plan.think.as_deref() == Some("0.02s"));
}

#[test]
fn missing_responses_turn_a_quantile_into_a_lower_bound() {
    // One request in 25 is never answered.
    let asked = AtomicUsize::new(1);
    let address = server(move |mut stream| {
        while read_request(&mut stream) {
            if asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(25) {
                thread::sleep(Duration::from_secs(2));
                return;
            }
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let mut spec = spec(address);
    spec.connections = 32;
    (spec.timeout, spec.open) =
        (Duration::from_millis(100), Some((Pace::Constant(400.0), Arrivals::Uniform)));
    let result = run(&spec);
    assert!(result.book.timed_out + result.book.unfinished > 0, "{:?}", result.book);
    let response = result.latency.response;
    assert!(response.p50_us.is_some() && response.p99_us.is_none(), "{response:?}");
    // The lowest time of the bin of 100 ms, which is 66 us wide.
    assert!(response.at_least.p99_us.unwrap() >= 99_930.0, "{response:?}");
    assert_eq!(result.outcomes.get("timed-out").map_or(0, |one| one.count), result.book.timed_out);
}

#[test]
fn slow_connections_are_detected() {
    let address = answering_after(|connection| {
        thread::sleep(Duration::from_millis(if connection.is_multiple_of(4) { 4 } else { 1 }));
    });
    let mut spec = spec(address);
    (spec.connections, spec.duration) = (8, Duration::from_secs(1));
    let result = run(&spec);
    let [slow] = result.apart.as_slice() else { panic!("{:?}", result.apart) };
    assert_eq!((slow.of.as_str(), slow.numbers.len(), slow.total), ("connection", 2, 8), "{slow:?}");
    assert!(slow.p50_us > 2.0 * slow.others_p50_us, "{slow:?}");
    let all = result.by_connection.as_ref().unwrap();
    assert_eq!((all.total, all.requests.len()), (8, 8));
    assert!((all.requests.iter().sum::<f64>() - result.book.answered as f64).abs() < 0.5, "{all:?}");
    assert!(all.p50_us[7] > 2.0 * all.p50_us[0] && all.requests[7] > 2.0 * all.requests[0], "{all:?}");
}

#[test]
fn kernel_timestamps_separate_time_on_the_wire() {
    let mut spec = spec(answering(OK));
    // Each connection has half of the requests, and the first one is sampled.
    (spec.connections, spec.kernel_stamps, spec.pooling.order) = (2, true, PoolOrder::Pinned);
    // The kernel starts to timestamp received packets some time after it is enabled; the warm-up covers that time.
    spec.warmup = Duration::from_millis(500);
    spec.open = Some((Pace::Constant(200.0), Arrivals::Uniform));
    let result = run(&spec);
    assert_eq!(result.book.answered, 60);
    let kernel = result.kernel.unwrap();
    assert!((25..=30).contains(&kernel.on_wire.count), "{kernel:?}");
    assert!(kernel.on_wire.p50_us < result.latency.service.max_us, "{kernel:?}");
}

#[test]
fn the_time_to_the_first_byte_ends_with_the_final_response() {
    let address = server(|mut stream| {
        while read_request(&mut stream) {
            if stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n").is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(30));
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let result = run(&spec(address));
    assert_eq!(result.book.answered, result.book.planned);
    assert!(result.latency.first_byte.min_us.unwrap() >= 29_000.0, "{:?}", result.latency.first_byte);
}

#[test]
fn sampled_and_computed_requests_in_flight_agree() {
    let mut spec = spec(slow(Duration::from_millis(10)));
    (spec.connections, spec.duration) = (4, Duration::from_secs(1));
    let result = run(&spec);
    let in_flight = result.in_flight.unwrap();
    assert!((in_flight.seen - 4.0).abs() < 0.2 && (in_flight.computed - 4.0).abs() < 0.2, "{in_flight:?}");
    let over_time = result.in_flight_over_time.as_ref().unwrap();
    assert_eq!(over_time.means.len(), result.windows.len());
    let known: Vec<f64> = over_time.means.iter().copied().flatten().collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    assert!((mean - 4.0).abs() < 0.2, "{over_time:?}");
}
