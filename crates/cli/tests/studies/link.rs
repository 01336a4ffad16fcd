//! Loads and studies over a link. Skipped without the privilege to create namespaces.

use std::time::Duration;

use hoptax_host::link::{FAR, Link, LinkSpec};

use crate::support::study::{StudyFolder, smallest_study};
use crate::support::{checked, origin, run};

/// One-way delay of the link, and the round trip of two of them.
const DELAY: Duration = Duration::from_micros(17_500);
const ROUND_TRIP_US: f64 = 35_000.0;

/// Minimum times over a link with this one-way delay, microseconds: from a request on a new connection to its response, of the
/// TLS handshake in it, and on an open connection, in loads of this duration. None without the privilege to create a link, or if the times
/// are withheld.
fn min_us(delay: Duration, duration: &str) -> Option<[f64; 3]> {
    let spec = LinkSpec { delay, jitter: Duration::ZERO, rate: None, loss: 0.0, seed: 1 };
    let Ok(link) = Link::create(&spec) else {
        assert!(!rustix::process::geteuid().is_root(), "root may make a link");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let (lab, name) = (folder.path().join("lab"), FAR.to_string());
    assert_eq!(run(["lab", "certs", lab.to_str().unwrap(), &name]).code, Some(0));
    let file = |name: &str| lab.join(name).display().to_string();
    let (certificate, key) = (file(&format!("{name}.pem")), file(&format!("{name}.key")));
    let listen = format!("{name}:0");
    let flags = ["--listen", listen.as_str(), "--cert", &certificate, "--key", &key];
    let (_origin, url) = link.far.within(|| origin(&flags)).unwrap();
    let load = |url: &str, more: &[&str]| {
        let ca = file("ca.pem");
        let flags = "load -c 1 --warmup 0s --protocol http1 --tls-resumption off --json -".split(' ');
        let flags = flags.chain(["-d", duration, "--ca", &ca]).chain(more.iter().copied()).chain([url]);
        checked("load", &link.near.within(|| run(flags)).unwrap().stdout)
    };
    let url = url.replace("http://", "https://");
    let fresh = load(&url, &["--requests-per-connection", "1", "--connect", "on-demand"]);
    assert!(fresh["book"]["answered"].as_u64().unwrap() > 10, "{fresh}");
    let open = load(&url, &[]);
    let least = [
        &fresh["outcomes"]["answered"]["min_us"],
        &fresh["tls"]["handshake"]["min_us"],
        &open["outcomes"]["answered"]["min_us"],
    ];
    // On a busy machine, a late generator withholds its times.
    let [fresh, handshake, open] = least.map(serde_json::Value::as_f64);
    Some([fresh?, handshake?, open?])
}

#[test]
fn a_new_tls_connection_needs_two_more_round_trips_than_an_open_one() {
    // The machine's own time without a delay: there, requests follow each other, and their handshakes keep the processors busy.
    let Some(own_us) = min_us(Duration::ZERO, "1s") else { return };
    let Some(us) = min_us(DELAY, "2s") else { return };
    for ((us, own_us), trips) in us.into_iter().zip(own_us).zip([3.0, 1.0, 1.0]) {
        // A busy machine adds to each time; half a round trip decides between one number of round trips and the next.
        let counted = (us - own_us) / ROUND_TRIP_US;
        assert!(
            us >= trips * ROUND_TRIP_US && counted < trips + 0.5,
            "{us} us, {own_us} us without a delay: {counted:.2} round trips instead of {trips}"
        );
    }
}

/// The proofs are read from the admin interface of an Envoy at the far end, which listens on the loopback interface there.
#[test]
fn functions_behind_a_link_prove_that_they_ran_and_are_unloaded() {
    let spec =
        LinkSpec { delay: Duration::from_millis(2), jitter: Duration::ZERO, rate: None, loss: 0.0, seed: 1 };
    if Link::create(&spec).is_err() {
        assert!(!rustix::process::geteuid().is_root(), "root may make a link");
        return;
    }
    let text = smallest_study("baseline, lua, outlier-detection, {unloaded: lua}", 2);
    let result = StudyFolder::new(&format!("{text}link: {{delay: 2ms}}\n")).short_form();
    for arm in result["arms"].as_array().unwrap() {
        assert_eq!(arm["unproven"], serde_json::json!([]), "{}", arm["id"]);
        assert!(arm["book"]["answered"].as_u64() > Some(0), "{}", arm["id"]);
    }
}
