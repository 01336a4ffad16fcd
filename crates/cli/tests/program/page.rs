//! The page of a result in a real browser: a report is opened from disk with the network off, and used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::hoptax;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns true if a program is installed and runs.
fn has(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    version.is_ok_and(|output| output.status.success())
}

/// Markup, as a string in JSON, that would take over a page which inserts text as markup.
const EVIL: &str =
    r#"</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"#;

#[test]
fn a_report_is_read_and_used_from_disk_without_a_network_and_axe_finds_nothing_serious() {
    let ui = repository().join("ui");
    if !ui.join("node_modules/playwright-core").exists() || !has("node") || !has("chromium") {
        eprintln!(
            "not tested: the page in a browser, without Node, its packages (`make ui-packages`) or Chromium"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let published = fs::read_to_string(repository().join("docs/results/price-list/result.json")).unwrap();
    let words = "Writes a line of text per request to a file";
    assert!(published.contains(words));
    let result = folder.path().join("result.json");
    fs::write(&result, published.replace(words, EVIL)).unwrap();
    let made = hoptax().args(["convert", "export", "--to", "html"]).arg(result).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::write(&page, made.stdout).unwrap();
    let used = Command::new("node")
        .arg(ui.join("test/browser.mjs"))
        .arg(&page)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [used.stdout, used.stderr].concat();
    assert!(used.status.success(), "{}", String::from_utf8_lossy(&said));
}
