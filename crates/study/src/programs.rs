//! The builds of the programs that a study starts besides hoptax and its usual Envoy.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::iter;
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

/// A program that a plan needs.
struct Needed<'a> {
    /// Its name in commands.
    name: &'a str,
    /// Where it is; none if it is missing.
    program: Option<PathBuf>,
    /// Arguments with which it prints its version; empty if they are not known.
    version: &'static [&'static str],
    /// The files among its arguments.
    files: Vec<PathBuf>,
}

fn builds_in(plan: &Plan, folder: &Path, search_path: &OsStr) -> io::Result<BTreeMap<String, Build>> {
    // Several commands may start one program: each with its own script, if it is an interpreter.
    let mut found: BTreeMap<&str, (Option<String>, Vec<PathBuf>)> = BTreeMap::new();
    for Needed { name, program, version: arguments, files } in needed(plan, folder, search_path) {
        let Some(program) = program else { continue };
        let (reported, all) = found.entry(name).or_default();
        if reported.is_none() && !arguments.is_empty() {
            *reported = version(&program, arguments);
        }
        for file in iter::once(program).chain(files) {
            if !all.contains(&file) {
                all.push(file);
            }
        }
    }
    let mut builds = BTreeMap::new();
    for (name, (version, files)) in found {
        let hashes = files.iter().map(|file| sha256_of_file(file)).collect::<io::Result<Vec<String>>>()?;
        let sha256 =
            if let [one] = hashes.as_slice() { one.clone() } else { sha256(hashes.join("\n").as_bytes()) };
        builds.insert(name.to_owned(), Build { version, sha256 });
    }
    Ok(builds)
}

/// The programs of all proxies but Envoy, of callers, profiles, networks and applications.
fn needed<'a>(plan: &'a Plan, folder: &Path, search_path: &OsStr) -> Vec<Needed<'a>> {
    let installed = |name: &'static str, version: &'static [&'static str]| Needed {
        name,
        program: in_search_path(name, search_path),
        version,
        files: Vec::new(),
    };
    let mut needed: Vec<Needed<'a>> =
        plan.fronts().map(|front| installed(front.program, front.version)).collect();
    let callers = plan.loads.iter().filter_map(|load| load.caller.as_ref());
    needed.extend(callers.map(|caller| Needed {
        name: caller.program_name(),
        program: caller.program_in(folder, search_path),
        version: caller.version().unwrap_or_default(),
        files: caller.files(folder),
    }));
    if plan.profile {
        needed.push(installed("perf", &["--version"]));
    }
    let of_networks = plan.network_needs().into_iter();
    needed.extend(of_networks.map(|needs| installed(needs.program, version_flag(needs.program))));
    needed.extend(plan.applications().into_iter().map(|application| Needed {
        name: application.program_name(),
        program: application.program_in(folder, search_path),
        // How an application prints its version is not known.
        version: &[],
        files: application.files(folder),
    }));
    needed
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
    fn the_script_of_each_caller_is_part_of_the_build_of_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path(), "interpreter", "");
        let load = |script: &str| {
            let command = format!("[./interpreter, '{{folder}}/{script}', '{{url}}', '{{seconds}}']");
            format!("{{name: {script}, loop: closed, caller: {{command: {command}}}}}")
        };
        let plan = plan_of(&format!(
            "name: test\narms: [baseline, lua]\nloads: [{}, {}]\n\
             application: {{command: [./interpreter, '{{folder}}/server', '{{port}}']}}\n",
            load("one"),
            load("two")
        ));
        let hash = || {
            let builds = builds_in(&plan, folder.path(), OsStr::new("")).unwrap();
            builds["./interpreter"].sha256.clone()
        };
        for script in ["one", "two", "server"] {
            fs::write(folder.path().join(script), "first").unwrap();
        }
        let first = hash();
        for script in ["one", "two", "server"] {
            fs::write(folder.path().join(script), "changed").unwrap();
            assert_ne!(hash(), first, "{script}");
            fs::write(folder.path().join(script), "first").unwrap();
            assert_eq!(hash(), first, "{script}");
        }
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
