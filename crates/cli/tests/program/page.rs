//! Pages in a real browser: reports are opened from disk with the network off, those of a server from the server, and used.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::browser::use_in_browser;
use crate::support::{hoptax, origin, root, serve};

/// Markup, as a string in JSON, that would take over a page which inserts text as markup.
const EVIL: &str =
    r#"</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"#;

/// Writes the page of a result.
fn export(result: &Path, page: &Path) {
    let made = hoptax().args(["convert", "export", "--to", "html"]).arg(result).output().unwrap();
    assert!(made.status.success(), "{}: {}", result.display(), String::from_utf8_lossy(&made.stderr));
    fs::write(page, made.stdout).unwrap();
}

/// Writes the page of a result beside the same result of another machine, without what the server tells its page.
fn export_compared(result: &Path, page: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let (store, other) = (folder.path().join("store.sqlite"), folder.path().join("other.json"));
    let mut value: Value = serde_json::from_str(&fs::read_to_string(result).unwrap()).unwrap();
    value["environment"]["started_at"] = "2026-01-01T00:00:00Z".into();
    value["environment"]["kernel"] = "another".into();
    fs::write(&other, value.to_string()).unwrap();
    let mut import = hoptax();
    import.args(["runs", "import", "--store"]).arg(&store).arg(result).arg(&other);
    let imported = import.output().unwrap();
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let (_serve, url) = serve(&store, &[]);
    let served = ureq::get(format!("{url}compare?runs=1,2")).call().unwrap();
    let served = served.into_body().read_to_string().unwrap();
    let told = " data-api=\"/api/v1\" data-compared=\"1,2\"";
    assert_eq!(served.matches(told).count(), 1);
    fs::write(page, served.replace(told, "")).unwrap();
}

/// Writes the page of a load as if it had sent two requests, some of which were not answered.
fn export_by_name(result: &Path, page: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let changed = folder.path().join("load.json");
    let mut value: Value = serde_json::from_str(&fs::read_to_string(result).unwrap()).unwrap();
    for count in ["planned", "sent", "failed"] {
        let before = value["book"][count].as_u64().unwrap();
        value["book"][count] = (before + 3).into();
    }
    value["failures"] = json!({"reset": 3});
    value["reasons"] = json!({"reset": {"Connection reset by peer": 2}});
    let rows = ["GET /cart", "GET /search"].map(|name| {
        json!({
            "name": name,
            "book": value["book"],
            "unsent": {},
            "failures": value["failures"],
            "response": value["latency"]["response"],
            "without_generator": null,
            "bounds": value["bounds"]["response"],
            "intervals": value["response_intervals"],
        })
    });
    let histograms =
        json!({"response": value["histograms"]["response"], "batches": value["histograms"]["batches"]});
    value["by_request"] = rows.to_vec().into();
    value["histograms"]["by_request"] = json!({"GET /cart": histograms, "GET /search": histograms});
    fs::write(&changed, value.to_string()).unwrap();
    export(&changed, page);
}

#[test]
fn a_report_is_read_and_used_from_disk_without_a_network_and_axe_finds_nothing_serious() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let published = fs::read_to_string(root().join("docs/results/price-list/result.json")).unwrap();
    let words = "Writes a line of text per request to a file";
    assert!(published.contains(words));
    let result = folder.path().join("result.json");
    fs::write(&result, published.replace(words, EVIL)).unwrap();
    export(&result, &page);
    use_in_browser("browser.mjs", &[page.as_os_str()]);
}

#[test]
fn every_chart_is_drawn_reacts_to_keys_and_has_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = fs::read_dir(root().join("crates/report/recorded")).unwrap();
    let mut count = 0;
    for entry in recorded {
        let result = entry.unwrap().path();
        let name = result.file_stem().unwrap().to_string_lossy().into_owned();
        export(&result, &folder.path().join(format!("{name}.html")));
        count += 1;
    }
    assert!(count > 10, "{count} recorded results");
    for name in ["load", "study"] {
        let result = root().join(format!("crates/report/recorded/{name}.json"));
        export_compared(&result, &folder.path().join(format!("compared-{name}.html")));
    }
    let load = root().join("crates/report/recorded/load.json");
    export_by_name(&load, &folder.path().join("load-by-name.html"));
    use_in_browser("kinds.mjs", &[folder.path().as_os_str()]);
}

#[test]
fn a_load_is_started_watched_and_stopped_on_the_page_of_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let (_origin, target) = origin(&[]);
    let (_serve, url) = serve(folder.path().join("store.sqlite"), &["--allow-bills"]);
    let (_other, without_bills) = serve(folder.path().join("other.sqlite"), &[]);
    use_in_browser("live.mjs", &[url.as_ref(), target.as_ref(), without_bills.as_ref()]);
}
