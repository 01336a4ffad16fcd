//! Numbers in words.

use hoptax_result::{count, counted, grouped, percent, signed};

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
    assert_eq!(count(1_234_567), "1,234,567");
}

#[test]
fn differences_have_a_sign_and_shares_are_percentages() {
    assert_eq!([signed(1_500.04, 1), signed(-12.0, 0), signed(-0.001, 2)], ["+1,500.0", "-12", "+0.00"]);
    assert_eq!([percent(0.1234, 1), percent(12.0, 0)], ["12.3 %", "1,200 %"]);
}
