//! Levels of arms with several proxies.

use hoptax_result::{ArmResult, CostMeasure, HopUse, Interval, RoundMeasure};

#[test]
fn a_level_is_the_sum_of_all_proxies_or_that_of_the_first() {
    let proxy = |numbers: &[(RoundMeasure, f64)]| {
        let of =
            |(measure, estimate): &(RoundMeasure, f64)| (*measure, Some(Interval::around(*estimate, 3.0)));
        HopUse { of_rounds: numbers.iter().map(of).collect(), ..HopUse::default() }
    };
    let (memory, per_connection) = (RoundMeasure::MEMORY, RoundMeasure::MEMORY_PER_CONNECTION);
    let level = |hops: &[HopUse], measure| {
        ArmResult { hops: hops.to_vec(), ..ArmResult::default() }.level(CostMeasure::OfRounds(measure))
    };
    let (first, second) = (proxy(&[(memory, 100.0), (per_connection, 20.0)]), proxy(&[(memory, 50.0)]));
    let both = [first, second];
    assert_eq!(level(&both, memory), Some(Interval::around(150.0, 6.0)));
    // The generator opens connections to the first proxy only.
    assert_eq!(level(&both, per_connection), Some(Interval::around(20.0, 3.0)));
    assert_eq!(level(&both[1..], per_connection), None);
    assert_eq!(level(&[both[0].clone(), proxy(&[])], memory), None, "one of them is not known");
    assert_eq!(level(&[], memory), None);
}
