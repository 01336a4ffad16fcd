//! Names of speeds.

use hoptax_result::SpeedKind;

#[test]
fn a_kind_has_the_name_that_json_gives_it() {
    for kind in [SpeedKind::Match, SpeedKind::NearLoad, SpeedKind::SystemCall, SpeedKind::WakeDelay] {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}
