//! A server that is slower than the planned rate.

use crate::support::{checked, origin, run};

#[test]
fn a_backlog_of_the_warm_up_does_not_hide_the_sustained_rate() {
    let (_origin, url) = origin(&["--default", "delay=50ms"]);
    // Two connections carry at most 40 requests per second.
    let load = ["load", "-q", "400", "-c", "2", "--warmup", "1s", "-d", "1s", "--json", "-", &url];
    let result = checked("load", &run(load).stdout);
    let book = &result["book"];
    assert_eq!(
        (&book["planned"], &book["sent"], &result["verdict"]),
        (&400.into(), &0.into(), &"void".into())
    );
    let sustained = result["sustained_rate"].as_f64().unwrap();
    assert!(sustained > 0.0 && sustained <= 41.0, "{sustained}");
    let findings = result["findings"].as_array().unwrap();
    let offered = findings.iter().find(|finding| finding["id"] == "offered").unwrap();
    let (message, advice) = (offered["message"].as_str().unwrap(), offered["advice"].as_str().unwrap());
    assert!(message.contains("/s from the start of the warm-up on"), "{message}");
    assert!(advice.contains("lower the rate to below "), "{advice}");
    let summary =
        run(["load", "--details", "-q", "400", "-c", "2", "--warmup", "1s", "-d", "1s", &url]).stdout;
    assert!(summary.contains("/s from the start of the warm-up on\n"), "{summary}");
}
