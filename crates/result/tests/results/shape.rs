//! The shape of a load.

use hoptax_result::{LoadResult, Loop, NamedRequests, sample};

fn shape(change: impl FnOnce(&mut LoadResult)) -> String {
    let mut load = sample::load();
    load.rate.target = Some(2_000.5);
    change(&mut load);
    load.shape()
}

#[test]
fn it_is_the_pace_the_connections_the_protocol_and_the_request() {
    assert_eq!(shape(|_| {}), "2000.5/s, uniform arrivals, 16 connections, http1, GET");
    let closed = shape(|load| {
        (load.plan.loop_, load.plan.arrivals, load.rate.target) = (Loop::Closed, None, None);
        (load.plan.connections, load.plan.streams) = (1, 4);
    });
    assert_eq!(closed, "closed loop, 1 connection, 4 streams each, http1, GET");
}

#[test]
fn loads_that_stress_a_server_differently_have_other_shapes() {
    let named = |name: &str| NamedRequests { name: name.to_owned(), ..NamedRequests::default() };
    let mut shapes = vec![
        shape(|_| {}),
        shape(|load| load.rate.target = Some(2_000.0)),
        shape(|load| load.plan.loop_ = Loop::Closed),
        shape(|load| load.plan.arrivals = Some("poisson".to_owned())),
        shape(|load| load.plan.stages = Some("1000:10s".to_owned())),
        shape(|load| load.plan.connections = 17),
        shape(|load| load.plan.streams = 2),
        shape(|load| load.plan.protocol = "http2".to_owned()),
        shape(|load| load.plan.method = "POST".to_owned()),
        shape(|load| load.plan.requests = 2),
        shape(|load| load.by_request = vec![named("GET /a"), named("GET /b")]),
        shape(|load| load.plan.cookies = true),
        shape(|load| load.plan.when_busy = "skip".to_owned()),
        shape(|load| load.plan.connect = "on-demand".to_owned()),
        shape(|load| load.plan.requests_per_connection = Some("1".to_owned())),
        shape(|load| load.plan.expect = "status=200".to_owned()),
    ];
    let all = shapes.len();
    shapes.sort_unstable();
    shapes.dedup();
    assert_eq!(shapes.len(), all, "{shapes:#?}");
}

#[test]
fn length_seed_and_threads_are_no_part_of_it() {
    let other = shape(|load| {
        (load.plan.duration_s, load.plan.warmup_s, load.plan.seed, load.plan.workers) = (60.0, 5.0, 7, 4);
    });
    assert_eq!(other, shape(|_| {}));
}
