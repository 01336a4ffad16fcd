//! Memory per connection.

use hoptax_result::{ArmRound, Opened, RoundMeasure};

#[test]
fn memory_per_connection_is_the_growth_of_the_first_proxy() {
    let measure = RoundMeasure::MEMORY_PER_CONNECTION.definition();
    let opened = Opened { connections: 50, before_bytes: 59_000_000, after_bytes: 59_500_000 };
    let of = |opened| ArmRound { opened, memory_bytes: vec![60_000_000; 2], ..ArmRound::default() };
    let round = of(Some(opened));
    assert_eq!(((measure.values)(&round), (measure.resolution)(&round)), (vec![10_000.0], Some(409.6)));
    for round in [of(None), of(Some(Opened { connections: 0, ..opened }))] {
        assert_eq!(((measure.values)(&round), (measure.resolution)(&round)), (Vec::new(), None));
    }
}
