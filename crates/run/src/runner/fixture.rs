//! Plans and settings that tests share.

use std::path::Path;

use hoptax_functions::Catalogue;
use hoptax_host::processors::Placement;
use hoptax_plan::file;
use hoptax_plan::plan::Plan;
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::Envoy;

use super::{KERNEL_TICKS, Setting};

/// The plan of a study file.
pub(crate) fn plan_of(text: &str) -> Plan {
    let (file, positions) = file::read("test.yaml", text).unwrap();
    Plan::new(&file, &positions, Catalogue::load().unwrap()).unwrap()
}

/// The plan of a study of these arms with a closed loop.
pub(super) fn plan(arms: &str) -> Plan {
    plan_of(&format!("name: test\narms: [{arms}]\nloads: [{{name: a, loop: closed}}]\n"))
}

/// Calls `test` with a setting in which proxies have these processors. Nothing of it is started.
pub(super) fn with_setting<T>(proxy: &[u32], test: impl FnOnce(&Setting<'_>) -> T) -> T {
    let placement = Placement { proxy: proxy.to_vec(), generator: vec![0] };
    with_setting_in(Path::new("/"), &placement, test)
}

/// As [`with_setting`], with a folder of its own and any placement.
pub(super) fn with_setting_in<T>(
    folder: &Path,
    placement: &Placement,
    test: impl FnOnce(&Setting<'_>) -> T,
) -> T {
    let envoys = Envoys::only(Envoy { program: "envoy".into(), version: String::new(), build: None });
    test(&Setting {
        program: "hoptax".as_ref(),
        envoys: &envoys,
        directory: folder,
        folder,
        placement,
        awake: None,
        ticks: KERNEL_TICKS,
    })
}
