//! Names of published measures.

use hoptax_result::{ArmLoad, PublishedMeasure};

#[test]
fn a_measure_has_the_name_of_its_field_in_a_result() {
    let under = serde_json::to_value(ArmLoad::default()).unwrap();
    let all = [PublishedMeasure::Rate, PublishedMeasure::RateRatio, PublishedMeasure::OriginCpuUsPerRequest];
    for measure in all {
        let name = serde_json::to_value(measure).unwrap();
        assert!(name.as_str().is_some_and(|name| under.get(name).is_some()), "{name}: {under}");
    }
}
