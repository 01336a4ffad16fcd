//! The folders of a run: of each copy of an arm, and of each of its proxies.

use std::path::PathBuf;

use hoptax_plan::plan::{Arm, Hop};

use super::Setting;

/// The folder of an arm that its function writes to.
pub const FILES: &str = "files";

/// The folder of a copy of an arm.
pub(super) fn folder(setting: &Setting<'_>, arm: &Arm, copy: u32) -> PathBuf {
    setting.directory.join("arms").join(arm.folder(copy))
}

/// The folder of one proxy in that of its arm.
pub(super) fn hop_folder(of_arm: PathBuf, arm: &Arm, hop: &Hop) -> PathBuf {
    if arm.chain.hops.len() > 1 { of_arm.join(&hop.name) } else { of_arm }
}
