use std::collections::BTreeSet;
use std::path::Path;

use hoptax_load::{Connect, Protocol, Think, WhenBusy};

use super::*;
use crate::message::VERSION;

fn stated() -> Sending<'static> {
    let requests = Requests {
        urls: vec![GivenUrl::from("https://joe:secret@shop.test/a?b".to_owned())],
        protocol: Some(Protocol::Http2),
        method: "POST".to_owned(),
        headers: vec![("authorization".to_owned(), "Bearer hidden".to_owned())],
        body: Body::Text("quiet".to_owned()),
        expect: vec!["status=200".parse().unwrap(), "contains=ok, all".parse().unwrap()],
        timeout: Duration::from_millis(1_500),
        ..Requests::default()
    };
    let lifetime = Lifetime {
        connect: Connect::OnDemand,
        requests: Some("5-9".parse().unwrap()),
        age: Some(Duration::from_secs(3)),
    };
    let connections =
        Connections { number: 7, streams: 3, order: "random".parse().unwrap(), lifetime, workers: 2 };
    let tls = ClientTls { trusts_all: true, resumes: Some(false), ..ClientTls::default() };
    let load = Load { requests, connections, tls, seed: 9, ..Load::default() };
    let schedule = Schedule {
        pace: Some(Pace::Constant(1234.5)),
        arrivals: "jitter=10%".parse().unwrap(),
        think: Some("exp:40ms".parse::<Think>().unwrap()),
        when_busy: "queue=100".parse::<WhenBusy>().unwrap(),
        when_late: "skip".parse().unwrap(),
        ramp_up: Some(Duration::from_millis(7)),
        duration: Some(Duration::from_secs(2)),
        count: Some(99),
        warmup: Some(Duration::ZERO),
    };
    Sending { load, schedule, percentiles: &[95.0], ..Sending::default() }
}

#[test]
fn agents_get_the_load_that_was_stated() {
    let sending = stated();
    let text = serde_json::to_string(&SentLoad::from_sending(&sending).unwrap()).unwrap();
    let planned: SentLoad = serde_json::from_str(&text).unwrap();
    assert_eq!(format!("{:?}", planned.load(Vec::new()).unwrap()), format!("{:?}", sending.load));
    assert_eq!(format!("{:?}", planned.schedule().unwrap()), format!("{:?}", sending.schedule));
    assert_eq!(planned.percentiles, [95.0]);
    // User information is not in the debug output above.
    assert_eq!(planned.urls, ["https://joe:secret@shop.test/a?b"]);
}

/// An agent or a controller of another build would misread another form: such a change needs another version, which they refuse with what to
/// do.
#[test]
fn the_form_of_a_plan_is_that_of_its_version() {
    let load = serde_json::to_value(SentLoad::default()).unwrap();
    let keys: BTreeSet<&str> = load.as_object().unwrap().keys().map(String::as_str).collect();
    let of_version_2 = [
        "arrivals",
        "body",
        "connect",
        "connection_age_ns",
        "connections",
        "count",
        "duration_ns",
        "expect",
        "headers",
        "keeps_cookies",
        "max_error_share",
        "method",
        "never_halt",
        "order",
        "percentiles",
        "protocol",
        "ramp_up_ns",
        "rate",
        "requests_per_connection",
        "response_bytes",
        "resumes",
        "seed",
        "streams",
        "think",
        "timeout_ns",
        "trusts_all",
        "urls",
        "warmup_ns",
        "weights",
        "when_busy",
        "when_late",
        "workers",
    ];
    assert_eq!((VERSION, keys), (2, BTreeSet::from(of_version_2)));
    assert_eq!(load["never_halt"], "auto");
}

#[test]
fn a_plan_is_shown_without_secrets() {
    let planned = SentLoad::from_sending(&stated()).unwrap();
    let shown = format!("{:?}", PlannedShare { index: 0, of: 1, load: planned });
    assert!(shown.contains("shop.test"), "{shown}");
    for secret in ["joe", "secret", "hidden", "quiet"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn options_of_this_machine_are_named_all_together() {
    let mut sending = stated();
    sending.files = Files { log: Some(Path::new("log")), hlog: None };
    sending.load.requests.messages = 2;
    sending.schedule.pace = Some("1:2@1s".parse().unwrap());
    let refused = SentLoad::from_sending(&sending).unwrap_err().to_string();
    assert!(refused.contains("does not support --messages, --stages, --log, "), "{refused}");
}

#[test]
fn numbers_out_of_their_bounds_are_refused() {
    let stated = SentLoad::from_sending(&stated()).unwrap();
    assert_eq!(stated.check_bounds(), Ok(()));
    for (planned, name) in [
        (SentLoad { rate: Some(1e300), ..stated.clone() }, "rate"),
        (SentLoad { rate: Some(0.0), ..stated.clone() }, "rate"),
        (SentLoad { workers: u32::MAX, ..stated.clone() }, "workers"),
        (SentLoad { streams: 0, ..stated.clone() }, "streams"),
        (SentLoad { urls: Vec::new(), ..stated.clone() }, "urls"),
        (SentLoad { percentiles: vec![100.0], ..stated.clone() }, "percentiles"),
    ] {
        assert!(planned.check_bounds().unwrap_err().contains(name), "{name}");
    }
}

#[test]
fn a_text_that_no_load_knows_is_refused() {
    let planned = SentLoad { order: "sorted".to_owned(), ..SentLoad::from_sending(&stated()).unwrap() };
    assert!(planned.load(Vec::new()).unwrap_err().contains("sorted"));
    let planned = SentLoad { arrivals: "trace=/etc/passwd".to_owned(), ..planned };
    assert!(planned.schedule().is_err());
}
