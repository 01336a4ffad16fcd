//! Files of each release are read by today's readers, and nothing of them is lost. `releases/VERSION.sha256` names the files with their
//! SHA-256, so that a change of one is noticed; `tools/record-results` keeps these lists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hoptax_report::documents::{KINDS, kind_of_text, of_text};
use hoptax_report::render;
use hoptax_result::{Finding, Severity, Verdict};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A file of a release.
struct Kept {
    /// The version of hoptax.
    release: String,
    /// Its path in the folder of this crate.
    path: String,
    sha256: String,
}

impl Kept {
    fn text(&self) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&self.path)).unwrap()
    }
}

/// The files of all releases.
fn kept() -> Vec<Kept> {
    let lists = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("releases")).unwrap();
    let lists = lists.map(|entry| entry.unwrap().path());
    let mut all = Vec::new();
    for list in lists.filter(|path| path.extension().is_some_and(|ending| ending == "sha256")) {
        let release = list.file_stem().unwrap().to_str().unwrap();
        for line in fs::read_to_string(&list).unwrap().lines() {
            let (sha256, path) = line.split_once("  ").unwrap();
            let [release, path, sha256] = [release, path, sha256].map(str::to_owned);
            all.push(Kept { release, path, sha256 });
        }
    }
    all
}

/// Adds the places of `kept` to `all` whose values `written` does not have. `written` may have more.
fn lost(kept: &Value, written: &Value, place: &str, all: &mut Vec<String>) {
    match (kept, written) {
        (Value::Object(kept), Value::Object(written)) => {
            for (name, value) in kept {
                lost(value, written.get(name).unwrap_or(&json!("lost")), &format!("{place}/{name}"), all);
            }
        }
        (Value::Array(kept), Value::Array(written)) if kept.len() == written.len() => {
            for (index, (value, written)) in kept.iter().zip(written).enumerate() {
                lost(value, written, &format!("{place}/{index}"), all);
            }
        }
        _ if kept == written => {}
        _ => all.push(place.to_owned()),
    }
}

/// The places of a result that are lost when it is written again; its version may be another.
fn lost_of(kept: &Value, written: &Value) -> Vec<String> {
    let mut all = Vec::new();
    lost(kept, written, "", &mut all);
    all.retain(|place| place != "/format");
    all
}

#[test]
fn the_files_of_releases_are_as_they_were() {
    for kept in kept() {
        let sha256: String = Sha256::digest(kept.text()).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            sha256, kept.sha256,
            "{} is another file than hoptax {} wrote: put that one back, see \"Change a result type\" in CONTRIBUTING.md",
            kept.path, kept.release
        );
    }
}

#[test]
fn a_file_of_a_release_is_read_and_written_again_and_nothing_of_it_is_lost() {
    for kept in kept() {
        let (text, from) = (kept.text(), format!("{} of hoptax {}", kept.path, kept.release));
        let kind = kind_of_text(&text).unwrap_or_else(|why| panic!("{from}: {why}"));
        let written = (kind.again)(&text).unwrap_or_else(|error| panic!("{from}: {error}"));
        assert_eq!(written["format"], kind.format, "{from}");
        assert_eq!(lost_of(&serde_json::from_str(&text).unwrap(), &written), [""; 0], "{from}");
        let document = of_text(&text, |_| false).unwrap_or_else(|why| panic!("{from}: {why}"));
        let document: Value = serde_json::from_str(&render::json::text(&document).unwrap()).unwrap();
        assert!(document["answer"].as_array().is_some_and(|answer| !answer.is_empty()), "{from}");
    }
}

#[test]
fn a_file_of_every_kind_is_kept_of_the_release_that_this_version_leads_to() {
    let all: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let here: Vec<Kept> =
        kept().into_iter().filter(|kept| kept.release == env!("CARGO_PKG_VERSION")).collect();
    let of_here: BTreeSet<&str> = here.iter().map(|kept| kind_of_text(&kept.text()).unwrap().name).collect();
    assert_eq!(of_here, all);
}

#[test]
fn what_is_lost_is_named_by_its_place() {
    let kept = json!({"format": "a/1", "arms": [{"id": "lua", "us": 5.0}], "gone": null, "rounds": [1, 2]});
    assert_eq!(lost_of(&kept, &kept), [""; 0]);
    let written =
        json!({"format": "a/2", "arms": [{"id": "lua", "us": 5.1, "more": 1}], "rounds": [1], "more": 2});
    assert_eq!(lost_of(&kept, &written), ["/arms/0/us", "/gone", "/rounds"]);
}

/// The kinds whose files were recorded by a build that left their verdicts without findings. A file that is recorded again is no exception.
const RECORDED_WITHOUT_FINDINGS: [&str; 5] = ["calibration", "find", "find-arms", "prices", "size"];

#[test]
fn a_verdict_other_than_sound_has_a_finding_that_says_why() {
    let is_reason = |finding: &Finding| finding.severity > Severity::Info && !finding.message.is_empty();
    let is_explained = |(verdict, findings): &(Verdict, Vec<Finding>)| {
        *verdict == Verdict::Sound || findings.iter().any(is_reason)
    };
    for kept in kept() {
        let text = kept.text();
        let kind = kind_of_text(&text).unwrap();
        let [recorded, by_itself] = (kind.judged)(&text).unwrap();
        assert!(is_explained(&by_itself), "{}: {by_itself:?}", kept.path);
        let is_exception = RECORDED_WITHOUT_FINDINGS.contains(&kind.name);
        assert_eq!(is_explained(&recorded), !is_exception, "{}: {:?}", kept.path, recorded.0);
    }
}
