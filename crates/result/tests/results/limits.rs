//! Periods of CPU limits.

use hoptax_result::LimitPeriods;

fn limit(periods: u64, throttled: u64, throttled_s: f64) -> LimitPeriods {
    LimitPeriods { periods, throttled, throttled_s }
}

#[test]
fn periods_are_counted_between_two_readings_unless_the_counters_began_again() {
    let earlier = limit(100, 10, 1.5);
    assert_eq!(limit(150, 30, 4.0).since(earlier), Some(limit(50, 20, 2.5)));
    assert_eq!(earlier.since(earlier), Some(LimitPeriods::default()));
    for later in [limit(99, 10, 1.5), limit(150, 9, 4.0)] {
        assert_eq!(later.since(earlier), None, "{later:?}");
    }
}

#[test]
fn the_share_of_throttled_periods_is_that_of_all_limits_together() {
    let both = limit(50, 20, 2.0) + limit(50, 0, 0.0);
    assert_eq!(both, limit(100, 20, 2.0));
    let share = |one: LimitPeriods| one.throttled_share();
    assert!((share(both) - 0.2).abs() < 1e-12);
    assert!(share(LimitPeriods::default()).abs() < 1e-12, "without a limit");
    // Counters are read one after the other.
    assert!((share(limit(0, 1, 0.1)) - 1.0).abs() < 1e-12);
}
