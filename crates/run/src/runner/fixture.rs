//! Plans and placements that tests of the runner share.

use hoptax_functions::Catalogue;
use hoptax_host::processors::Placement;
use hoptax_plan::file;
use hoptax_plan::plan::Plan;
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::Envoy;

use super::{KERNEL_TICKS, Setting};

/// The plan of a study of these arms with a closed loop.
pub(super) fn plan(arms: &str) -> Plan {
    let text = format!("name: test\narms: [{arms}]\nloads: [{{name: a, loop: closed}}]\n");
    let (file, positions) = file::read("test.yaml", &text).unwrap();
    Plan::new(&file, &positions, Catalogue::load().unwrap()).unwrap()
}

/// Calls `test` with a setting in which proxies have these processors. Nothing of it is started.
pub(super) fn with_setting<T>(proxy: &[u32], test: impl FnOnce(&Setting<'_>) -> T) -> T {
    let envoys = Envoys::only(Envoy { program: "envoy".into(), version: String::new() });
    let placement = Placement { proxy: proxy.to_vec(), generator: vec![0] };
    test(&Setting {
        program: "hoptax".as_ref(),
        envoys: &envoys,
        directory: "/".as_ref(),
        folder: "/".as_ref(),
        placement: &placement,
        awake: None,
        ticks: KERNEL_TICKS,
    })
}
