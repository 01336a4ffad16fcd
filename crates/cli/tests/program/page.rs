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

/// Writes the page of a result.
fn export(result: &Path, page: &Path) {
    let made = hoptax().args(["convert", "export", "--to", "html"]).arg(result).output().unwrap();
    assert!(made.status.success(), "{}: {}", result.display(), String::from_utf8_lossy(&made.stderr));
    fs::write(page, made.stdout).unwrap();
}

/// Runs a script of `ui/test` on a page or a folder of pages. Says that it does not without Node, its packages or Chromium.
fn use_in_browser(script: &str, pages: &Path) {
    let ui = repository().join("ui");
    if !ui.join("node_modules/playwright-core").exists() || !has("node") || !has("chromium") {
        eprintln!(
            "not tested: the page in a browser, without Node, its packages (`make ui-packages`) or Chromium"
        );
        return;
    }
    let script = ui.join("test").join(script);
    let used = Command::new("node").arg(script).arg(pages).stdin(Stdio::null()).output().unwrap();
    let said = [used.stdout, used.stderr].concat();
    assert!(used.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_report_is_read_and_used_from_disk_without_a_network_and_axe_finds_nothing_serious() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let published = fs::read_to_string(repository().join("docs/results/price-list/result.json")).unwrap();
    let words = "Writes a line of text per request to a file";
    assert!(published.contains(words));
    let result = folder.path().join("result.json");
    fs::write(&result, published.replace(words, EVIL)).unwrap();
    export(&result, &page);
    use_in_browser("browser.mjs", &page);
}

#[test]
fn the_charts_of_every_kind_of_result_are_drawn_said_by_key_and_have_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = fs::read_dir(repository().join("crates/report/recorded")).unwrap();
    let mut count = 0;
    for entry in recorded {
        let result = entry.unwrap().path();
        let name = result.file_stem().unwrap().to_string_lossy().into_owned();
        export(&result, &folder.path().join(format!("{name}.html")));
        count += 1;
    }
    assert!(count > 10, "{count} recorded results");
    use_in_browser("kinds.mjs", folder.path());
}
