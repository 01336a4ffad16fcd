//! The builds of the programs that a study starts besides hoptax and its usual Envoy.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_plan::build::{Build, envoy_name};
use hoptax_plan::plan::Plan;
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::program::{in_search_path, version};

use crate::provenance::sha256_of_file;

/// The builds of the programs that a plan needs besides hoptax and the usual Envoy, by name: Envoys that single proxies choose
/// ([`envoy_name`]), other proxies, applications, and callers. Missing programs are left out, because an earlier check reports them.
/// `folder` is that of the study file.
///
/// # Errors
/// A program that exists cannot be read.
pub fn builds(plan: &Plan, envoys: &Envoys, folder: &Path) -> io::Result<BTreeMap<String, Build>> {
    let mut all = builds_in(plan, folder, &env::var_os("PATH").unwrap_or_default())?;
    for (choice, envoy) in envoys.chosen() {
        let build = Build {
            version: Some(envoy.version.clone()),
            proxy_build: envoy.build.clone(),
            sha256: sha256_of_file(&envoy.program)?,
            inputs: BTreeMap::new(),
        };
        all.insert(envoy_name(choice), build);
    }
    Ok(all)
}

/// A program that a plan needs.
struct Needed<'a> {
    /// Its name in commands.
    name: &'a str,
    /// Its path; none if it is missing.
    program: Option<PathBuf>,
    /// Arguments with which it prints its version; empty if they are not known.
    version: &'static [&'static str],
    /// The files among its arguments that determine its behaviour.
    inputs: BTreeMap<String, PathBuf>,
}

fn builds_in(plan: &Plan, folder: &Path, search_path: &OsStr) -> io::Result<BTreeMap<String, Build>> {
    let mut builds: BTreeMap<String, Build> = BTreeMap::new();
    for Needed { name, program, version: arguments, inputs } in needed(plan, folder, search_path) {
        // An earlier check reports missing programs.
        let Some(program) = program else { continue };
        // Several commands may start the same program, for example an interpreter with different scripts.
        let build = match builds.entry(name.to_owned()) {
            Entry::Occupied(build) => build.into_mut(),
            Entry::Vacant(place) => place.insert(Build {
                version: None,
                proxy_build: None,
                sha256: sha256_of_file(&program)?,
                inputs: BTreeMap::new(),
            }),
        };
        if build.version.is_none() && !arguments.is_empty() {
            build.version = version(&program, arguments);
        }
        for (name, file) in inputs {
            build.inputs.insert(name, sha256_of_file(&file)?);
        }
    }
    Ok(builds)
}

/// The programs of all proxies except Envoy, of callers, profiles, networks and applications.
fn needed<'a>(plan: &'a Plan, folder: &Path, search_path: &OsStr) -> Vec<Needed<'a>> {
    let installed = |name: &'static str, version: &'static [&'static str]| Needed {
        name,
        program: in_search_path(name, search_path),
        version,
        inputs: BTreeMap::new(),
    };
    let mut needed: Vec<Needed<'a>> =
        plan.fronts().map(|front| installed(front.program, front.version)).collect();
    let callers = plan.loads.iter().filter_map(|load| load.caller.as_ref());
    needed.extend(callers.map(|caller| Needed {
        name: caller.program_name(),
        program: caller.program_in(folder, search_path),
        version: caller.version().unwrap_or_default(),
        inputs: caller.inputs(folder),
    }));
    if plan.profile {
        needed.push(installed("perf", &["--version"]));
    }
    let of_networks = plan.network_needs().into_iter();
    needed.extend(of_networks.map(|needs| installed(needs.program, version_flag(needs.program))));
    needed.extend(plan.applications().into_iter().map(|application| Needed {
        name: application.program_name(),
        program: application.program_in(folder, search_path),
        // The option that makes an application print its version is not known.
        version: &[],
        inputs: application.inputs(folder),
    }));
    needed
}

/// The flag with which a program of a network prints its version.
fn version_flag(program: &str) -> &'static [&'static str] {
    if program == "ip" { &["-Version"] } else { &["--version"] }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::AtomicBool;

    use hoptax_plan::build::differences;
    use hoptax_subject::envoy::release::EnvoyChoice;

    use super::*;
    use crate::runner::fixture::plan_of;

    fn plan(arms: &str, load: &str) -> Plan {
        plan_of(&format!(
            "name: test\narms: [{arms}]\nloads:\n  - {{name: saturation, loop: closed{load}}}\n"
        ))
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
        // The run reports a missing program.
        fs::remove_file(folder.path().join("nginx")).unwrap();
        assert_eq!(names(&plan(&fronts, "")), ["haproxy"]);
    }

    #[test]
    fn files_that_a_command_reads_are_inputs_and_files_that_it_writes_are_not() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path(), "interpreter", "");
        let load = |script: &str| {
            let command = format!("[./interpreter, '{{folder}}/{script}', '{{url}}', '{{seconds}}']");
            format!("{{name: {script}, loop: closed, caller: {{command: {command}}}}}")
        };
        let plan = plan_of(&format!(
            "name: test\narms: [baseline, lua]\nloads: [{}, {}]\napplication: {{command: [./interpreter, '{{folder}}/server', \
             '{{port}}', '--config={{folder}}/site.yaml', --log, '{{folder}}/access.log', '{{folder}}/data']}}\n",
            load("one"),
            load("two")
        ));
        let builds = || builds_in(&plan, folder.path(), OsStr::new("")).unwrap();
        let inputs = ["one", "server", "site.yaml", "two"];
        let others = ["access.log", "data"];
        for file in inputs.iter().chain(&others) {
            fs::write(folder.path().join(file), "first").unwrap();
        }
        let first = builds();
        assert_eq!(first["./interpreter"].inputs.keys().collect::<Vec<_>>(), inputs);
        for file in inputs {
            let changed = |text: &str| {
                fs::write(folder.path().join(file), text).unwrap();
                differences(&first, &builds())
            };
            assert_eq!(changed("changed"), [format!("the file `{file}` of ./interpreter has changed")]);
            assert_eq!(changed("first"), [""; 0]);
        }
        for file in others {
            fs::write(folder.path().join(file), "changed").unwrap();
            assert_eq!(differences(&first, &builds()), [""; 0], "{file}");
        }
        fs::remove_file(folder.path().join("site.yaml")).unwrap();
        let expected = ["the file `site.yaml` of ./interpreter was found for only one of the two"];
        assert_eq!(differences(&first, &builds()), expected);
    }

    #[test]
    fn an_envoy_that_a_proxy_chooses_has_the_build_that_it_prints() {
        let folder = tempfile::tempdir().unwrap();
        let install = |name: &str, build: &str| {
            install(folder.path(), name, &format!("echo 'envoy  version: c/1.40.0/{build}/BoringSSL'"));
            folder.path().join(name).display().to_string()
        };
        let (usual, modified) = (install("usual", "Clean/RELEASE"), install("modified", "Modified/DEBUG"));
        let plan = plan(&format!("baseline, {{name: other, envoy: {modified}}}"), "");
        let choice = EnvoyChoice { named: Some(&usual), is_offline: true };
        let envoys = Envoys::find(choice, plan.envoys(), &AtomicBool::new(false), &mut |_| {}).unwrap();
        assert_eq!(envoys.usual().build.as_deref(), Some("Clean/RELEASE"));
        let builds = builds(&plan, &envoys, folder.path()).unwrap();
        let build = &builds[&envoy_name(&modified)];
        assert_eq!(build.version.as_deref(), Some("1.40.0"));
        assert_eq!(build.proxy_build.as_deref(), Some("Modified/DEBUG"));
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
        assert_eq!(differences(&first, &BTreeMap::new()), ["php was found for only one of the two"]);
        assert_eq!(differences(&BTreeMap::new(), &first), ["php was found for only one of the two"]);
    }
}
