//! The builds of the programs that a study starts besides hoptax and its usual Envoy.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::program::{in_search_path, version};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::provenance::{sha256, sha256_of_file};

/// One build of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The first line of the version that it reports; none if it reports none.
    pub version: Option<String>,
    /// SHA-256 of its file, or, if its arguments name files, of the hashes of all. Shared libraries that it loads are not
    /// included.
    pub sha256: String,
}

/// The name of the build of an Envoy that single proxies choose.
pub fn envoy_name(choice: &str) -> String {
    format!("Envoy {choice}")
}

/// The builds of the programs that a plan needs besides hoptax and the usual Envoy, by name: Envoys that single proxies
/// choose ([`envoy_name`]), other proxies, applications, and callers. Missing programs are left out: whether
/// all are there is checked before. `folder` is that of the study file.
///
/// # Errors
/// A program that exists cannot be read.
pub fn builds(plan: &Plan, envoys: &Envoys, folder: &Path) -> io::Result<BTreeMap<String, Build>> {
    let mut all = builds_in(plan, folder, &env::var_os("PATH").unwrap_or_default())?;
    for (choice, envoy) in envoys.chosen() {
        let build = Build { version: Some(envoy.version.clone()), sha256: sha256_of_file(&envoy.program)? };
        all.insert(envoy_name(choice), build);
    }
    Ok(all)
}

fn builds_in(plan: &Plan, folder: &Path, search_path: &OsStr) -> io::Result<BTreeMap<String, Build>> {
    let mut needed: Vec<(&str, Option<PathBuf>, &[&str])> = Vec::new();
    for front in plan.fronts() {
        needed.push((front.program, in_search_path(front.program, search_path), front.version));
    }
    for caller in plan.loads.iter().filter_map(|load| load.caller.as_ref()) {
        let program = caller.program_in(folder, search_path);
        needed.push((caller.program_name(), program, caller.version().unwrap_or_default()));
    }
    if plan.profile {
        needed.push(("perf", in_search_path("perf", search_path), &["--version"]));
    }
    for program in plan.network_needs() {
        let path = in_search_path(program.program, search_path);
        needed.push((program.program, path, version_flag(program.program)));
    }
    let mut all = BTreeMap::new();
    for (name, path, arguments) in needed {
        let Some(path) = path else { continue };
        let version = if arguments.is_empty() { None } else { version(&path, arguments) };
        all.insert(name.to_owned(), Build { version, sha256: sha256_of_file(&path)? });
    }
    // How an application prints its version is not known.
    let mut applications: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for application in plan.applications() {
        let Some(path) = application.program(folder) else { continue };
        let hashes = applications.entry(application.program_name()).or_default();
        hashes.push(sha256_of_file(&path)?);
        for file in application.files(folder) {
            hashes.push(sha256_of_file(&file)?);
        }
    }
    for (name, hashes) in applications {
        let sha256 =
            if let [one] = hashes.as_slice() { one.clone() } else { sha256(hashes.join("\n").as_bytes()) };
        all.insert(name.to_owned(), Build { version: None, sha256 });
    }
    Ok(all)
}

/// The flag with which a program of a network prints its version.
fn version_flag(program: &str) -> &'static [&'static str] {
    if program == "ip" { &["-Version"] } else { &["--version"] }
}

/// The programs with different builds, as text; empty if all are equal.
pub fn differences(one: &BTreeMap<String, Build>, other: &BTreeMap<String, Build>) -> Vec<String> {
    let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
    names
        .filter_map(|name| match (one.get(name), other.get(name)) {
            (Some(one), Some(other)) if one == other => None,
            (Some(Build { version: Some(one), .. }), Some(Build { version: Some(other), .. }))
                if one != other =>
            {
                Some(format!("a different build of {name} (`{one}` and `{other}`)"))
            }
            (Some(_), Some(_)) => Some(format!("a different build of {name}")),
            _ => Some(format!("{name} was found for one of them only")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use hoptax_functions::Catalogue;

    use super::*;
    use crate::file;

    fn plan(arms: &str, load: &str) -> Plan {
        plan_of(&format!(
            "name: test\narms: [{arms}]\nloads:\n  - {{name: saturation, loop: closed{load}}}\n"
        ))
    }

    fn plan_of(text: &str) -> Plan {
        let (file, positions) = file::read("test.yaml", text).unwrap();
        Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap()
    }

    fn install(folder: &Path, name: &str, script: &str) {
        fs::write(folder.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn every_program_that_a_plan_needs_has_its_build() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["nginx", "haproxy", "php"] {
            install(folder.path(), name, &format!("echo {name} 1; echo more"));
        }
        let names = |plan: &Plan| -> Vec<String> {
            builds_in(plan, folder.path(), folder.path().as_os_str()).unwrap().into_keys().collect()
        };
        let front = |proxy: &str| format!("{{subject: {{position: gateway, proxy: {proxy}}}}}");
        let direct = "{subject: {position: direct}}";
        let fronts = format!("{direct}, {}, {}", front("nginx"), front("haproxy"));
        assert_eq!(names(&plan("baseline, lua", "")), Vec::<String>::new());
        assert_eq!(names(&plan(&fronts, "")), ["haproxy", "nginx"]);
        assert_eq!(names(&plan("baseline, lua", ", caller: php")), ["php"]);
        // A missing program is left to the run.
        fs::remove_file(folder.path().join("nginx")).unwrap();
        assert_eq!(names(&plan(&fronts, "")), ["haproxy"]);
    }

    #[test]
    fn the_script_of_an_application_is_part_of_its_build() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path(), "interpreter", "");
        let plan = plan_of(
            "name: test\narms: [baseline, lua]\nloads: [{name: saturation, loop: closed}]\n\
             application: {command: [./interpreter, '{folder}/server.py', '{port}']}\n",
        );
        let hash_of = |script: &str| {
            fs::write(folder.path().join("server.py"), script).unwrap();
            let builds = builds_in(&plan, folder.path(), OsStr::new("")).unwrap();
            builds["./interpreter"].sha256.clone()
        };
        assert_ne!(hash_of("one"), hash_of("other"));
        assert_eq!(hash_of("one"), hash_of("one"));
    }

    #[test]
    fn another_build_of_the_same_version_differs() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan("baseline, lua", ", caller: php");
        let build = |script: &str| {
            install(folder.path(), "php", script);
            builds_in(&plan, folder.path(), folder.path().as_os_str()).unwrap()
        };
        let first = build("echo PHP 8.2");
        assert_eq!(first["php"].version.as_deref(), Some("PHP 8.2"));
        assert_eq!(differences(&first, &build("echo PHP 8.2")), Vec::<String>::new());
        assert_eq!(differences(&first, &build("echo PHP 8.2 # patched")), ["a different build of php"]);
        let newer = ["a different build of php (`PHP 8.2` and `PHP 8.4`)"];
        assert_eq!(differences(&first, &build("echo PHP 8.4")), newer);
        assert_eq!(differences(&first, &BTreeMap::new()), ["php was found for one of them only"]);
        assert_eq!(differences(&BTreeMap::new(), &first), ["php was found for one of them only"]);
    }
}
