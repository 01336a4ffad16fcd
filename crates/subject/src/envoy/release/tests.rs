//! The choice of an Envoy, and installed releases.

mod installs;
mod server;
mod sources;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// The Envoy of this name.
fn found(name: Option<&str>) -> Result<Envoy, ReleaseError> {
    Envoy::find(EnvoyChoice { named: name, is_offline: true }, &AtomicBool::new(false), &mut |_| {})
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(folder).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn the_version_and_the_build_are_read_from_envoys_output() {
    let line = "\nenvoy  version: 0a1b2c/1.40.0/Clean/RELEASE/BoringSSL\n";
    assert_eq!(parse_version(line).as_deref(), Some("1.40.0/Clean/RELEASE"));
    let more = "envoy  version: 0a1b2c/1.40.0-dev/Modified/DEBUG\nand more\n";
    assert_eq!(parse_version(more).as_deref(), Some("1.40.0-dev/Modified/DEBUG"));
    for no_words in ["//B", "Clean/", "a tree/RELEASE/B", "\u{1b}[2J/RELEASE/B", "Clean/ä/B"] {
        let line = format!("envoy  version: 0a1b2c/1.40.0/{no_words}");
        assert_eq!(parse_version(&line).as_deref(), Some("1.40.0"), "{line}");
    }
    for other in ["nginx version: nginx/1.22", "HAProxy version 2.6.12", "version:", "version: /", "hi", ""] {
        assert_eq!(parse_version(other), None, "{other}");
    }
}

#[test]
fn an_envoy_has_the_build_that_it_prints_and_none_if_it_prints_none() {
    let folder = tempfile::tempdir().unwrap();
    let found = |printed: &str| {
        let program = script(folder.path(), "envoy", &format!("echo 'envoy  version: {printed}'"));
        let Envoy { version, build, .. } = Envoy::at(&program).unwrap();
        (version, build)
    };
    for build in ["Clean/RELEASE", "Modified/RELEASE", "Distribution/RELEASE", "Clean/DEBUG"] {
        let expected = ("1.40.0".to_owned(), Some(build.to_owned()));
        assert_eq!(found(&format!("c/1.40.0/{build}/BoringSSL")), expected);
    }
    assert_eq!(found("c/1.40.0///"), ("1.40.0".to_owned(), None));
}

#[test]
fn a_program_other_than_envoy_is_rejected_with_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = script(folder.path(), "other", "echo I am something else");
    let error = found(path.to_str()).unwrap_err().to_string();
    assert!(error.contains("I am something else"), "{error}");
    let missing = folder.path().join("missing");
    let error = found(missing.to_str()).unwrap_err().to_string();
    assert!(error.contains("missing") && error.contains("No such file"), "{error}");
    let error = found(Some("no-such-program")).unwrap_err().to_string();
    assert!(error.contains("on PATH"), "{error}");
}

#[test]
fn a_program_that_the_machine_cannot_load_is_told_from_a_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "envoy", "");
    // The kernel reports the same error for a program whose loader is missing.
    fs::write(&program, "#!/nonexistent/loader\n").unwrap();
    let error = Envoy::at(&program).unwrap_err().to_string();
    assert!(error.contains("the file exists") && error.contains("need glibc"), "{error}");
}

#[test]
fn a_program_that_hangs_or_prints_endlessly_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let of = |text: &str, timeout| {
        let program = script(folder.path(), "envoy", text);
        Envoy::at_within(&program, timeout).unwrap_err().to_string()
    };
    let error = of("exec sleep 1000", Duration::from_millis(50));
    assert!(error.contains("timed out after 0.05 s"), "{error}");
    let error = of("exec yes", Duration::from_mins(10));
    assert!(error.contains("exceeds 1048576 bytes"), "{error}");
    let error = of("yes | head -c 100000", Duration::from_mins(10));
    assert!(error.len() < 1_000, "{error}");
}

#[test]
fn installed_releases_are_listed_by_number_and_not_installed_again() {
    let folder = tempfile::tempdir().unwrap();
    let releases = Releases { folder: folder.path().to_owned(), is_offline: true };
    for version in ["1.40.0", "1.9.0", "installing-1.2.3-77"] {
        script(&folder.path().join(version), "envoy", "echo 'envoy  version: c/1.40.0/Clean/RELEASE/B'");
    }
    let versions: Vec<String> = releases.installed().into_iter().map(|(version, _)| version).collect();
    assert_eq!(versions, ["1.9.0", "1.40.0"]);
    let mut lines = Vec::new();
    let envoy = releases
        .get_or_install("1.40.0", &AtomicBool::new(false), &mut |line| lines.push(line.to_owned()))
        .unwrap();
    assert_eq!((envoy.version.as_str(), lines.len()), ("1.40.0", 0));
}

#[test]
fn a_version_cannot_name_another_folder() {
    let folder = tempfile::tempdir().unwrap();
    let releases = Releases { folder: folder.path().to_owned(), is_offline: true };
    for text in ["1/../../x", "1.40", "1.40.0-rc", "1..0", "latest"] {
        let result = releases.get_or_install(text, &AtomicBool::new(false), &mut |_| {});
        assert!(matches!(result, Err(ReleaseError::Version(_))), "{text}: {result:?}");
    }
}
