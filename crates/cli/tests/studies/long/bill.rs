//! A bill whose parts interact, with its second study.
//!
//! `make test` guards such bills by other tests: `price_secrets::a_bill_is_in_its_files_and_on_the_first_screen_without_secrets`, the bills
//! of recorded results (`crates/judge/src/bill`, `crates/report/src/documents`), and simulated sums (`crates/stats/tests/coverage.rs`).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::price::shop;
use crate::support::{Ran, checked, run};

/// Runs of a study of which one must have numbers.
const ATTEMPTS: usize = 3;
/// Width of the interval of the interaction, which is above 100 us, in a study that tests look at. A wider one is precise if it
/// excludes zero by as much as the test expects.
const PRECISE_US: f64 = 150.0;
const CLEAR_US: f64 = 20.0;

/// The parts that interact, in the order of the configuration: removing either one saves the work that the script does for the header.
const BOTH: [&str; 2] = ["HTTP filter header", "HTTP filter script"];

/// One part costs most, and two of them interact: a script that does more if the filter before it adds a header.
#[test]
#[ignore = "takes minutes: run by `make test-long`"]
fn a_part_that_costs_much_leads_the_bill_and_parts_that_interact_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let measured = |flag: &str, out: &Path| {
        let request =
            ["--request", "GET http://shop.example/cart/1", "--header", "x-own: secret-of-the-user"];
        let parts = ["script", "header", "cors"].map(|part| ["--without", part]).concat();
        let changes = ["script -> add-header/lua", "header -> nothing"];
        let changes = changes.map(|change| ["--what-if", change]).concat();
        let length = ["--rate", "1000", "--rounds", "3", "--json", "-", flag, out.to_str().unwrap()];
        run([&["price", &shop()][..], &request, parts.as_slice(), changes.as_slice(), &length].concat())
    };
    // Other work on the machine can spoil numbers of a study of three rounds, or widen their intervals.
    let mut attempts = (0..ATTEMPTS).map(|attempt| {
        let out = folder.path().join(attempt.to_string());
        (measured("--out", &out), out)
    });
    let is_precise = |ran: &Ran| {
        let bill: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        let says_enough = |sum: &Value| {
            let of_parts = &sum["interaction_us"];
            let ends_us = of_parts["low"].as_f64().zip(of_parts["high"].as_f64());
            ends_us.is_some_and(|(low, high)| high - low < PRECISE_US || low > CLEAR_US)
        };
        // The second study may withhold numbers too.
        let pairs = bill["second_study"]["pairs"].as_array();
        let is_known = |pair: &Value| pair["parts"] == json!(BOTH) && !pair["sum"].is_null();
        pairs.is_some_and(|pairs| pairs.iter().any(is_known))
            && says_enough(&bill["sum"])
            && says_enough(&bill["second_study"]["sum"])
    };
    let (ran, out) =
        attempts.find(|(ran, _)| is_precise(ran)).expect("precise numbers in one of the attempts");
    let bill = checked("bill", &ran.stdout);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let kept: Value = serde_json::from_str(&fs::read_to_string(out.join("bill.json")).unwrap()).unwrap();
    assert_eq!(bill, kept);
    assert!(!ran.stdout.contains("secret-of-the-user") && ran.stdout.contains("x-own"));
    assert_eq!(bill["request"]["url"], "http://shop.example/cart/1");
    assert_eq!(bill["request"]["statuses"], json!([200]));
    assert_eq!(bill["rate"], 1_000.0);
    let parts = bill["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
    // Thousands of conversions of numbers cost more than anything else that a proxy does for a request.
    assert_eq!((names.len(), names[0]), (3, "script"), "{names:?}");
    let part = |name: &str| parts.iter().find(|part| part["name"] == name).unwrap();
    let cpu_us = |name: &str, end: &str| part(name)["cost"]["cpu_us_per_request"][end].as_f64();
    assert!(cpu_us("script", "low") > Some(50.0), "{:?}", part("script"));
    assert!(cpu_us("script", "low") > cpu_us("cors", "high"), "{:?}", part("cors"));
    for (name, state) in [("script", "exercised"), ("cors", "not-exercised"), ("header", "unknown")] {
        assert_eq!(part(name)["activity"]["state"], state, "{name}");
    }
    // Removing either one saves the work that the script does for the header.
    assert!(bill["sum"]["interaction_us"]["low"].as_f64() > Some(0.0), "{}", bill["sum"]);
    let pairs = bill["second_study"]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3, "{pairs:?}");
    // The second study measures all parts again, so it says whether the first is confirmed.
    let again = &bill["second_study"]["sum"];
    assert!(again["interaction_us"]["low"].as_f64() > Some(0.0), "{again}");
    let both = pairs.iter().find(|pair| pair["parts"] == json!(BOTH));
    assert_eq!(both.unwrap()["sum"]["decision"], "different", "{both:?}");
    assert!(both.unwrap()["sum"]["interaction_us"]["low"].as_f64() > Some(CLEAR_US), "{both:?}");
    // The proxy passes requests and responses on, and adds headers to them.
    let bytes =
        |direction: &str| bill["whole"][format!("{direction}_bytes_per_request")]["estimate"].as_f64();
    assert!(bytes("received") > Some(100.0) && bytes("sent") > bytes("received"), "{}", bill["whole"]);
    let cors = &part("cors")["cost"]["sent_bytes_per_request"];
    assert!(cors["low"].as_f64() < Some(0.0) && cors["high"].as_f64() > Some(0.0), "{cors}");
    // A script that adds a header costs a part of one that calculates, and no header is as cheap as no filter that adds it.
    let changes = bill["changes"].as_array().unwrap();
    let saved_us =
        |index: usize, end: &str| -changes[index]["difference"]["cpu_us_per_request"][end].as_f64().unwrap();
    assert!(saved_us(0, "high") > 50.0, "{changes:?}");
    assert_eq!(changes[0]["activity"]["state"], "exercised", "{changes:?}");
    assert!((saved_us(1, "estimate") - cpu_us("header", "estimate").unwrap()).abs() < 1e-9, "{changes:?}");
    let markdown = fs::read_to_string(out.join("bill.md")).unwrap();
    assert!(markdown.contains("The most expensive part is HTTP filter script"), "{markdown}");
    assert!(fs::read_to_string(out.join("bill.html")).unwrap().contains("\"title\":\"What if"));

    // A killed bill is continued where it was: here, both of its studies are complete.
    fs::remove_file(out.join("bill.json")).unwrap();
    let resumed = measured("--resume", &out);
    assert_eq!(
        resumed.stderr.matches("the study is complete with 3 rounds").count(),
        2,
        "{}",
        resumed.stderr
    );
    // The servers that stand in for the user's have other ports.
    let numbers = |mut bill: Value| bill.as_object_mut().unwrap().remove("replacements").map(|_| bill.take());
    assert_eq!(numbers(serde_json::from_str(&resumed.stdout).unwrap()), numbers(bill));
    run(["price", &shop(), "--without", "cors", "--resume", out.to_str().unwrap()])
        .fails(2, "the study of another bill");
}
