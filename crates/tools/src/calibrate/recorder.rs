//! Test of the recorder of distributions with known values.

use hoptax_load::Distribution;
use hoptax_result::Recorder;

/// Number of values.
const VALUES: u64 = 1_000_000;

/// Records values from 100 ns to about 40 s, evenly spaced in their logarithm, and compares every thousandth quantile
/// with its true value.
pub(crate) fn check() -> Recorder {
    let value_ns = |number: u64| (100.0 * 1.000_02_f64.powf(number as f64)) as u64;
    let (mut all, mut even, mut odd) =
        (Distribution::default(), Distribution::default(), Distribution::default());
    for number in 0..VALUES {
        all.record(value_ns(number));
        if number % 2 == 0 { even.record(value_ns(number)) } else { odd.record(value_ns(number)) }
    }
    even += &odd;
    let times = all.histogram();
    let (mut above, mut below) = (0.0_f64, 0.0_f64);
    for number in (0..VALUES).step_by(1_000) {
        let truth_us = value_ns(number) as f64 / 1e3;
        let read_us = times.value_at_quantile((number + 1) as f64 / VALUES as f64) as f64 / 1e3;
        above = above.max(read_us / truth_us - 1.0);
        below = below.max(1.0 - read_us / truth_us);
    }
    Recorder { values: VALUES, most_above_share: above, most_below_share: below, merges_exactly: even == all }
}
