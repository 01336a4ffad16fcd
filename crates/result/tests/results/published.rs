//! Names of published measures, and the rounded numbers of others.

use hoptax_result::{ArmLoad, PublishedMeasure, PublishedNumber};

#[test]
fn a_measure_has_the_name_of_its_field_in_a_result() {
    let under = serde_json::to_value(ArmLoad::default()).unwrap();
    let all = [PublishedMeasure::Rate, PublishedMeasure::RateRatio, PublishedMeasure::OriginCpuUsPerRequest];
    for measure in all {
        let name = serde_json::to_value(measure).unwrap();
        assert!(name.as_str().is_some_and(|name| under.get(name).is_some()), "{name}: {under}");
    }
}

#[test]
fn a_published_number_stands_for_all_that_round_to_its_last_digit_other_than_zero() {
    let half_width = |value: f64| {
        let number = PublishedNumber {
            arm: "lua".to_owned(),
            load: "saturation".to_owned(),
            measure: PublishedMeasure::Rate,
            value,
            source: "A. Author, A Conference 2020".to_owned(),
            note: String::new(),
        };
        let interval = number.rounding_interval();
        assert!(interval.estimate.total_cmp(&value).is_eq(), "{interval:?}");
        interval.half_width()
    };
    for (value, expected) in [
        (27_000.0, 500.0),
        (32_900.0, 50.0),
        (1_050.0, 5.0),
        (556.0, 0.5),
        (1.5, 0.05),
        (0.67, 0.005),
        (0.005, 0.000_5),
        (0.0, 0.5),
    ] {
        let half = half_width(value);
        assert!((half - expected).abs() < 1e-6 * expected, "{value}: {half}");
    }
}
