//! Versions of formats, and of the programs that wrote files.

use hoptax_result::{Finding, HistoryResult, Program, check_format};
use serde_json::json;

use crate::report::history;

#[test]
fn a_refusal_says_what_is_read_and_what_to_do() {
    let refused = |found: &str, program| check_format(found, "hoptax.a/3", program).unwrap_err();
    let this = Program::this().version;
    assert_eq!(check_format("hoptax.a/3", "hoptax.a/3", None), Ok(()));
    assert_eq!(
        refused("hoptax.a/4", Some("99.1.0")),
        format!(
            "its format is `hoptax.a/4`, and this hoptax {this} reads `hoptax.a/3`: a newer hoptax wrote it; \
             use hoptax 99.1.0 or a later one"
        )
    );
    assert!(refused("hoptax.a/4", None).ends_with("use that one or a later one"));
    assert!(refused("hoptax.a/4", Some(this.as_str())).ends_with("use that one or a later one"));
    let older = refused("hoptax.a/2", Some("0.0.1"));
    assert!(older.ends_with("use hoptax 0.0.1, or measure again"), "{older}");
    let unknown = refused("hoptax.a/2", None);
    assert!(unknown.ends_with("use the hoptax that wrote it, or measure again"), "{unknown}");
    for other in ["hoptax.b/3", "hoptax.a", "hoptax.a/x", "hoptax.a/-1", ""] {
        assert_eq!(refused(other, None), format!("its format is `{other}`, not `hoptax.a/3`"));
    }
}

#[test]
fn a_program_is_newer_by_the_numbers_of_its_version() {
    let read = |version: &str| {
        let mut value = history();
        value["program"]["version"] = json!(version);
        value["colour"] = json!("red");
        serde_json::from_str::<HistoryResult>(&value.to_string())
    };
    for newer in ["99.0.0", "99.0.0-rc.1", "10000.1", "1000.0.0+build.3"] {
        let findings = read(newer).unwrap().findings;
        let ids: Vec<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids, [Finding::NEWER_FILE], "{newer}");
    }
    let this = Program::this().version;
    for other in [this.as_str(), "0.0.9", "0.0.100", "", "newest", "99.x.0", "-99.0.0"] {
        let refused = read(other).unwrap_err().to_string();
        assert!(refused.starts_with("unknown field `colour`"), "{other}: {refused}");
    }
}
