//! The data plane of the image registry judges arbitrary requests, none of which has a valid token.
#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_tasks::plans::{Count, Refusal, Rules, Verdict};

fuzz_target!(|request: (Vec<u8>, Vec<u8>, Option<Vec<u8>>, u64)| {
    let (method, path, header, number) = request;
    if let Ok(settings) = std::str::from_utf8(&path) {
        let _ = Rules::read(settings);
    }
    let rules =
        Rules::read(r#"{"key": "aG9wdGF4LXRlc3Qta2V5LW9mLTMyLWJ5dGVzLS0tLS0"}"#).expect("valid settings");
    let verdict = rules.judge(&method, &path, header.as_deref(), number);
    let is_guarded = path.starts_with(b"/images/");
    let expected = if is_guarded { Verdict::Refuse(Refusal::unauthorized()) } else { Verdict::Pass };
    assert_eq!(verdict, expected);
    // Arbitrary counts.
    let (after, admission) = Count::from_bits(number).take(10, number.rotate_left(32));
    assert!(!admission.admitted || after.pulls <= 10);
});
