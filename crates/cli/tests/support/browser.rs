//! Scripts that use pages in a real browser.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use super::root;

/// Returns true if a program is installed and runs.
fn has(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    version.is_ok_and(|output| output.status.success())
}

/// True if pages can be opened: with Node, its packages and Chromium, which are asked once for all tests.
static HAS_BROWSER: LazyLock<bool> = LazyLock::new(|| {
    root().join("ui/node_modules/playwright-core").exists() && has("node") && has("chromium")
});

/// The variable with the folder that screenshots are kept in, each script's in one of its own; without it, none are made.
const SCREENSHOTS: &str = "HOPTAX_SCREENSHOTS";

/// Runs a script of `ui/test` on pages, and returns true. Says that it does not without Node, its packages or Chromium, and returns false.
pub(crate) fn use_in_browser(script: &str, arguments: &[&OsStr]) -> bool {
    if !*HAS_BROWSER {
        eprintln!(
            "not tested: the page in a browser, without Node, its packages (`make ui-packages`) or Chromium"
        );
        return false;
    }
    let mut command = Command::new("node");
    command.arg(root().join("ui/test").join(script)).args(arguments);
    if let Some(folder) = env::var_os(SCREENSHOTS) {
        let folder = Path::new(&folder).join(Path::new(script).file_stem().unwrap());
        fs::create_dir_all(&folder).unwrap();
        command.arg(folder);
    }
    let used = command.stdin(Stdio::null()).output().unwrap();
    let said = [used.stdout, used.stderr].concat();
    assert!(used.status.success(), "{}", String::from_utf8_lossy(&said));
    true
}
