//! Numbers in words.

use hoptax_result::{counted, grouped};

#[test]
fn one_thing_is_no_plural() {
    let workers = [0, 1, 2, 1_500].map(|count| counted(count, "worker"));
    assert_eq!(workers, ["0 workers", "1 worker", "2 workers", "1,500 workers"]);
}

#[test]
fn thousands_are_apart_and_zero_has_no_sign() {
    assert_eq!(
        [grouped(1_500.0, 0), grouped(999.6, 0), grouped(-1_234_567.125, 1)],
        ["1,500", "1,000", "-1,234,567.1"]
    );
    assert_eq!([grouped(-0.4, 0), grouped(0.0, 2), grouped(-12.0, 0)], ["0", "0.00", "-12"]);
}
