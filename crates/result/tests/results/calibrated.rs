//! Floors of the generator between the rates at which they were measured.

use hoptax_result::{Calibrated, FloorAt};

#[test]
fn the_floor_of_a_rate_lies_between_those_of_its_neighbours() {
    let floor = |rate, p50_us| FloorAt { rate, connections: 64, p50_us, p99_us: 0.0 };
    let calibrated = Calibrated {
        measured_at: String::new(),
        floor_p50_us: 200.0,
        floor_p99_us: 0.0,
        floors: vec![floor(1_000.0, 200.0), floor(100_000.0, 50.0), floor(10_000.0, 70.0)],
        ceiling: None,
        tried: Vec::new(),
    };
    let at = |rate| calibrated.floor_p50_us_at(rate);
    assert_eq!((at(10.0), at(10_000.0), at(1e9)), (Some(200.0), Some(70.0), Some(50.0)));
    assert!((at(10_000.0_f64.sqrt() * 1_000.0_f64.sqrt()).unwrap() - 135.0).abs() < 1e-9);
    assert_eq!((at(f64::NAN), at(0.0)), (None, None));
    assert_eq!(Calibrated { floors: Vec::new(), ..calibrated }.floor_p50_us_at(1_000.0), None);
}
