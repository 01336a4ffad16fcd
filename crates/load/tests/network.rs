//! Network paths of connections: source addresses, several addresses of a server, Unix sockets, headers of the PROXY protocol, and
//! opening them over time.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::namespace::Namespace;
use hoptax_load::trial::{self, TrialSpec};
use hoptax_load::{
    Connect, ProxyProtocol, Recording, Release, RequestSpec, Resolver, Run, Sources, Target, Worker,
    WorkerSpec, now_ns,
};
use hoptax_result::{EndedBy, Environment};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::time::Timespec;

use crate::support;
use crate::support::{OK, answering, failed, few, numbered, read_request, run, server, spec};

/// Observations of a server, one for each connection.
type Seen<T> = Arc<Mutex<Vec<T>>>;

fn sources(given: &[&str]) -> Sources {
    Sources::new(given.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
}

fn counted<T: Ord + Copy>(seen: &Seen<T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for one in &*seen.lock().unwrap() {
        *counts.entry(*one).or_default() += 1;
    }
    counts
}

/// A server that responds, and where its connections come from.
fn witness() -> (SocketAddr, Seen<IpAddr>) {
    let seen = Seen::default();
    let clients = Arc::clone(&seen);
    let address = server(move |mut stream| {
        clients.lock().unwrap().push(stream.peer_addr().unwrap().ip());
        while read_request(&mut stream) && stream.write_all(OK).is_ok() {}
    });
    (address, seen)
}

#[test]
fn connections_of_all_workers_take_turns_among_source_addresses() {
    let (address, seen) = witness();
    let mut spec = few(address, 60);
    spec.traffic.dial.sources = sources(&["127.0.1.0/30", "127.0.2.1"]);
    (spec.connections, spec.workers) = (6, 2);
    let result = run(&spec);
    assert!(result.book.answered > 0);
    assert_eq!(result.plan.network.source_addresses, ["127.0.1.0/30", "127.0.2.1"]);
    let expected = ["127.0.1.1", "127.0.1.2", "127.0.2.1"].map(|address| (address.parse().unwrap(), 2));
    assert_eq!(counted(&seen), BTreeMap::from(expected));
}

#[test]
fn a_single_connection_that_is_opened_again_and_again_takes_turns_too() {
    let (address, seen) = witness();
    let mut spec = few(address, 40);
    spec.traffic.dial.sources = sources(&["127.0.1.1", "127.0.1.2"]);
    spec.connections = 1;
    spec.pooling.lifetime.requests = Some("1".parse().unwrap());
    assert!(run(&spec).book.answered > 4);
    let counts = counted(&seen);
    // One may be opened and not seen before the end.
    assert!(counts.len() == 2 && counts.values().max().unwrap() - counts.values().min().unwrap() <= 2);
}

#[test]
fn a_source_address_of_another_machine_is_an_error_before_the_load() {
    let (address, seen) = witness();
    let mut spec = spec(address);
    for (given, expected) in [("192.0.2.1", "from 192.0.2.1"), ("::1", "from the source addresses")] {
        spec.traffic.dial.sources = sources(&[given]);
        let error = failed(&spec);
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn ports_of_several_sources_and_of_several_servers_add_up() {
    let Ok(namespace) = Namespace::create() else {
        assert!(!rustix::process::geteuid().is_root(), "root may make a namespace");
        return;
    };
    namespace
        .within(|| {
            let servers = [answering(OK), answering(OK)];
            fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40009").unwrap();
            let mut one = few(servers[0], 100);
            one.connections = 25;
            let error = failed(&one);
            assert!(error.to_string().contains("several with --source-address"), "{error}");
            one.traffic.dial.sources = sources(&["127.0.1.0/29"]);
            assert!(run(&one).book.answered > 0);
            let mut two = TrialSpec::new(hoptax_load::Traffic::in_turn(servers.map(support::target).into()));
            two.traffic.dial.sources = sources(&["127.0.2.1"]);
            (two.connections, two.duration) = (16, Duration::from_millis(100));
            (two.warmup, two.requests) = (Duration::ZERO, Some(100));
            assert!(run(&two).book.answered > 0);
        })
        .unwrap();
}

#[test]
fn with_resolve_all_connections_use_all_addresses_in_turn() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Seen::default();
    let servers: Seen<IpAddr> = Arc::clone(&seen);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            servers.lock().unwrap().push(stream.local_addr().unwrap().ip());
            thread::spawn(move || while read_request(&mut stream) && stream.write_all(OK).is_ok() {});
        }
    });
    let given: Vec<_> =
        (1..4).map(|last| format!("shop.test:{port}:127.0.0.{last}").parse().unwrap()).collect();
    let url = format!("http://shop.test:{port}/");
    for (resolver, expected) in [
        (Resolver::new(given.clone(), None), vec![6]),
        (Resolver::new(given, None).with_all(), vec![2, 2, 2]),
    ] {
        seen.lock().unwrap().clear();
        let asked = RequestSpec { url: &url, resolver: Some(&resolver), ..RequestSpec::default() };
        let mut spec = TrialSpec::new(Target::from_spec(&asked).unwrap());
        (spec.connections, spec.warmup) = (6, Duration::ZERO);
        (spec.requests, spec.duration) = (Some(60), Duration::from_millis(200));
        let result = run(&spec);
        assert_eq!(counted(&seen).into_values().collect::<Vec<_>>(), expected);
        assert_eq!(result.plan.network.servers.len(), expected.len());
    }
}

#[test]
fn addresses_that_a_name_has_later_are_used_and_those_that_it_lost_are_drained() {
    /// The address of the name.
    static NOW: AtomicUsize = AtomicUsize::new(1);
    let lookup = |_: &str| Ok(vec![IpAddr::from([127, 0, 0, NOW.load(Ordering::Relaxed) as u8]).into()]);
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Open connections and answered requests of each server address.
    let servers: Arc<[[AtomicUsize; 2]; 3]> = Arc::default();
    let seen = Arc::clone(&servers);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            let IpAddr::V4(own) = stream.local_addr().unwrap().ip() else { panic!() };
            thread::spawn(move || {
                let [open, answered] = &seen[usize::from(own.octets()[3])];
                open.fetch_add(1, Ordering::Relaxed);
                while read_request(&mut stream) && stream.write_all(OK).is_ok() {
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    let count = |server: usize, what: usize| servers[server][what].load(Ordering::Relaxed);
    let resolver = Resolver::default().with_lookup(lookup).refreshed_every(Duration::from_millis(20));
    let url = format!("http://shop.test:{port}/");
    let asked = RequestSpec { url: &url, resolver: Some(&resolver), ..RequestSpec::default() };
    let mut spec = TrialSpec::new(Target::from_spec(&asked).unwrap());
    spec.traffic.refresh = resolver.refresh();
    (spec.connections, spec.workers, spec.warmup) = (4, 2, Duration::ZERO);
    spec.duration = Duration::from_hours(1);
    let stop = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        let trial = scope.spawn(|| trial::run(&spec, Environment::default(), &stop, None).unwrap());
        support::wait_until("requests to the first address", || count(1, 1) > 20);
        assert_eq!(count(2, 0), 0);
        NOW.store(2, Ordering::Relaxed);
        support::wait_until("requests to the second address alone", || {
            count(2, 1) > 20 && count(2, 0) == 4 && count(1, 0) == 0
        });
        stop.store(true, Ordering::Relaxed);
        trial.join().unwrap()
    });
    assert!(result.book.balances() && result.book.failed == 0, "{:?} {:?}", result.book, result.failures);
    let lookups = result.lookups.clone().unwrap();
    assert!(lookups.done > 1 && lookups.failed == 0 && lookups.changes == 1, "{lookups:?}");
    assert_eq!(lookups.servers, [format!("127.0.0.2:{port}")]);
    assert_eq!(result.plan.network.servers, [format!("127.0.0.1:{port}")]);
    assert_eq!(result.plan.network.resolve_every_s, Some(0.02));
}

/// A Unix socket that listens. The kernel queues one connection more than `backlog`.
fn unix_listener(path: &Path, backlog: i32) -> OwnedFd {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    rustix::net::listen(&socket, backlog).unwrap();
    socket
}

/// A Unix socket that responds, with a queue of two connections, and accepts slowly.
fn unix_server(path: &Path) -> Arc<AtomicUsize> {
    let socket = unix_listener(path, 1);
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    thread::spawn(move || {
        for mut stream in UnixListener::from(socket).incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(2));
            thread::spawn(move || {
                let mut request = [0; 512];
                while matches!(stream.read(&mut request), Ok(1..)) && stream.write_all(OK).is_ok() {}
            });
        }
    });
    accepted
}

#[test]
fn a_unix_socket_takes_the_place_of_every_host_also_while_its_queue_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let accepted = unix_server(&path);
    // No name of this domain has an address.
    let targets = ["http://a.invalid/", "http://b.invalid:81/"].map(|url| {
        let resolver = Resolver::unused();
        Target::from_spec(&RequestSpec { url, resolver: Some(&resolver), ..RequestSpec::default() }).unwrap()
    });
    let mut spec = TrialSpec::new(hoptax_load::Traffic::in_turn(targets.into()));
    spec.traffic.dial.unix_socket = Some(path.clone());
    (spec.connections, spec.duration, spec.warmup) = (20, Duration::from_millis(300), Duration::ZERO);
    let result = run(&spec);
    assert!(result.book.answered > 0 && result.book.failed == 0, "{:?}", result.failures);
    assert_eq!(accepted.load(Ordering::Relaxed), 20);
    let network = result.body.plan.network;
    assert_eq!((network.servers, network.unix_socket), (Vec::new(), Some(path.display().to_string())));
    spec.traffic.dial.unix_socket = Some(folder.path().join("nobody.sock"));
    let error = failed(&spec);
    assert!(error.to_string().contains("nobody.sock`"), "{error}");
}

#[test]
fn an_interrupt_while_the_queue_of_a_unix_socket_is_full_ends_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    // Its queue holds one connection, and nobody accepts.
    let socket = unix_listener(&path, 0);
    let mut traffic = spec(SocketAddr::from(([127, 0, 0, 1], 1))).traffic;
    traffic.dial.unix_socket = Some(path);
    let spec = WorkerSpec::single(traffic, 2, Duration::from_mins(1), 1);
    let stop = AtomicBool::new(false);
    let mut worker = thread::scope(|scope| {
        let connecting = scope.spawn(|| Worker::connect_until(&spec, &stop).unwrap());
        // The worker tries the second connection, which is held up, before it looks at the interrupt.
        support::wait_until("a connection in the queue", || {
            poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&Timespec::default())).unwrap() == 1
        });
        stop.store(true, Ordering::Relaxed);
        connecting.join().unwrap()
    });
    // Several workers go on for a moment after an interrupt, so that they end together. No request is due in it.
    let end_ns = now_ns() + 50_000_000;
    let run = Run::new(Release::Closed, end_ns, end_ns, 0);
    let mut recording = Recording::default();
    worker.run(run, &mut recording, &AtomicBool::new(false)).unwrap();
    assert_eq!(recording.book.planned, 0);
}

#[test]
fn every_connection_begins_with_one_header_that_names_its_own_addresses() {
    for version in [ProxyProtocol::V1, ProxyProtocol::V2] {
        let seen: Seen<(Vec<u8>, SocketAddr, SocketAddr)> = Seen::default();
        let headers = Arc::clone(&seen);
        let address = server(move |mut stream| {
            let ends = |stream: &TcpStream| (stream.peer_addr().unwrap(), stream.local_addr().unwrap());
            let mut header = Vec::new();
            let mut byte = [0];
            let is_whole = |header: &[u8]| match version {
                ProxyProtocol::V1 => header.ends_with(b"\r\n"),
                ProxyProtocol::V2 => header.len() == 28,
            };
            while !is_whole(&header) && stream.read_exact(&mut byte).is_ok() {
                header.extend_from_slice(&byte);
            }
            let (client, own) = ends(&stream);
            headers.lock().unwrap().push((header, client, own));
            while read_request(&mut stream) && stream.write_all(OK).is_ok() {}
        });
        let mut spec = few(address, 40);
        spec.traffic.dial.proxy_protocol = Some(version);
        spec.traffic.dial.sources = sources(&["127.0.1.0/30"]);
        let result = run(&spec);
        assert!(result.book.answered > 0 && result.book.failed == 0, "{:?}", result.failures);
        assert_eq!(result.plan.network.proxy_protocol.as_deref(), Some(version.as_str()));
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 4);
        for (header, client, own) in &*seen {
            let expected = match version {
                ProxyProtocol::V1 => {
                    format!("PROXY TCP4 {} {} {} {}\r\n", client.ip(), own.ip(), client.port(), own.port())
                        .into_bytes()
                }
                ProxyProtocol::V2 => {
                    let (IpAddr::V4(from), IpAddr::V4(to)) = (client.ip(), own.ip()) else { panic!() };
                    let ports = [client.port().to_be_bytes(), own.port().to_be_bytes()].concat();
                    let start = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c";
                    [&start[..], &from.octets(), &to.octets(), &ports].concat()
                }
            };
            assert_eq!(header, &expected);
        }
    }
}

#[test]
fn no_connection_of_a_ramp_up_is_opened_before_its_time_and_nothing_is_sent_before_the_last() {
    let opened: Seen<Duration> = Seen::default();
    let asked: Seen<Duration> = Seen::default();
    let (accepts, requests) = (Arc::clone(&opened), Arc::clone(&asked));
    let begin = Instant::now();
    let address = server(move |mut stream| {
        accepts.lock().unwrap().push(begin.elapsed());
        while read_request(&mut stream) {
            requests.lock().unwrap().push(begin.elapsed());
            // Else the load takes the processors from other tests.
            thread::sleep(Duration::from_millis(4));
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let mut spec = spec(address);
    (spec.connections, spec.workers, spec.ramp_up) = (8, 2, Duration::from_millis(800));
    let result = run(&spec);
    let mut opened = opened.lock().unwrap().clone();
    opened.sort_unstable();
    assert_eq!(opened.len(), 8);
    for (moment, number) in opened.iter().zip(0..) {
        assert!(*moment >= Duration::from_millis(100) * number, "{number}: {opened:?}");
    }
    assert!(*asked.lock().unwrap().iter().min().unwrap() >= Duration::from_millis(800));
    assert!((result.plan.network.ramp_up_s - 0.8).abs() < 1e-9);
    // The time of the ramp-up is no part of the record.
    assert!((result.recorded_s - 0.3).abs() < 1e-9, "{}", result.recorded_s);
}

#[test]
fn connections_that_are_ready_do_not_time_out_because_the_generator_is_slow_to_look() {
    // A server whose kernel accepts and which never reads.
    let silent = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&silent, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    rustix::net::listen(&silent, 2048).unwrap();
    let address = TcpListener::from(silent.try_clone().unwrap()).local_addr().unwrap();
    // More connections than one wait returns events for, and a time limit below the time to open them.
    let mut spec = WorkerSpec::single(support::target(address), 700, Duration::from_millis(3), 1);
    Worker::connect(&spec).unwrap();
    // A connection that does time out is still reported: the settings of HTTP/2 never arrive.
    spec.traffic = Arc::new(support::http2_spec(address, 1, 1).traffic);
    spec.connections = 2;
    let error = Worker::connect(&spec).unwrap_err().to_string();
    assert!(error.contains("was not ready for requests within 0.003 s"), "{error}");
}

#[test]
fn an_interrupt_ends_a_ramp_up() {
    let mut spec = spec(answering(OK));
    // Neither the ramp-up nor the load would end by itself.
    (spec.ramp_up, spec.duration) = (Duration::from_hours(10), Duration::from_hours(10));
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        asked.store(true, Ordering::Relaxed);
    });
    let result = trial::run(&spec, Environment::default(), &stop, None).unwrap();
    assert_eq!(result.ended_by, EndedBy::Interrupt);
}

#[test]
fn a_connection_that_the_server_closed_during_the_ramp_up_is_opened_again_and_loses_no_request() {
    let (address, _) = numbered(|number, mut stream| {
        if number > 0 {
            while read_request(&mut stream) && stream.write_all(OK).is_ok() {}
        }
    });
    let alone = WorkerSpec::single(support::target(address), 2, Duration::from_secs(5), 1);
    let spec = WorkerSpec { ramp_up: Duration::from_millis(400), ..alone };
    assert_eq!(spec.pooling.lifetime.connect, Connect::Ahead);
    let mut worker = Worker::connect(&spec).unwrap();
    // The worker reads bytes that arrive before the first request.
    let start_ns = now_ns() + 300_000_000;
    let run = Run::new(Release::Closed, start_ns, start_ns + 100_000_000, 5_000_000_000);
    let mut recording = Recording::default();
    worker.run(run, &mut recording, &AtomicBool::new(false)).unwrap();
    assert!(recording.book.answered > 0 && recording.book.failed == 0, "{:?}", recording.book);
}
