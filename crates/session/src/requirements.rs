//! Requirements of a study on this machine, checked before it begins: programs, privileges and a kernel that counts CPU time.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use hoptax_host::accounting::counts_cpu_time;
use hoptax_host::namespace::Namespace;
use hoptax_host::network::Needed;
use hoptax_plan::plan::{Plan, SAMPLING};
use hoptax_subject::program::in_search_path;

use crate::estimate::{Estimate, check_memory};
use crate::failure::Failure;
use crate::machine::allow_files_of_plan;
use crate::update::Say;

/// The reason why CPU time cannot be measured, and the remedy.
pub(crate) const COUNTS_NO_CPU_TIME: &str = "this kernel does not count the CPU time of threads: turn it on with \
                                             `sysctl kernel.task_delayacct=1`, or use a kernel with CONFIG_SCHEDSTATS";

/// Checks that a plan can begin on this machine: nothing is missing ([`check`]), memory suffices, and enough files may be open, for which the
/// limit of this process is raised. `accepts_memory` is asked about a lack of memory; without it, such a plan is refused. `folder` is that of
/// the study file.
///
/// # Errors
/// The first of these that does not hold, with advice.
pub(crate) fn check_machine(
    plan: &Plan,
    folder: &Path,
    accepts_memory: Option<&(dyn Fn(&str) -> bool + Sync)>,
    say: Say<'_>,
) -> Result<(), Failure> {
    check(plan, folder)?;
    let estimate = Estimate::from_plan(plan);
    match accepts_memory {
        Some(accepts) => {
            check_memory(&estimate, accepts, "reduce the number of arms, or give `--yes` to start anyway")?;
        }
        None => check_memory(&estimate, |_| false, "measure fewer arms at a time, or free memory")?,
    }
    allow_files_of_plan(plan, "lower `connections` of its loads", say)
}

/// Checks that nothing is missing that a plan requires. `folder` is that of the study file.
///
/// # Errors
/// All missing requirements, with advice.
fn check(plan: &Plan, folder: &Path) -> Result<(), Failure> {
    let search_path = env::var_os("PATH").unwrap_or_default();
    let mut problems = missing(plan, &search_path);
    if !counts_cpu_time().unwrap_or(false) {
        problems.push(COUNTS_NO_CPU_TIME.to_owned());
    }
    problems.extend(missing_commands(plan, folder, &search_path));
    let has_networks = plan.link.is_some() || plan.arms.iter().any(|arm| arm.network.is_some());
    if has_networks && problems.is_empty() {
        // The namespace is removed when its last handle is dropped, here at once.
        problems.extend(Namespace::create().err().map(|error| error.to_string()));
    }
    if plan.profile && !may_sample_kernel() {
        problems.push(format!("its profiles sample the kernel, which needs root, or `{SAMPLING}`"));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::environment(format!("the study `{}` cannot begin: {}", plan.name, problems.join("; "))))
}

/// True if perf may sample the kernel and read the names of its functions.
pub(crate) fn may_sample_kernel() -> bool {
    let setting = |name: &str| -> Option<i32> {
        fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
    };
    let is_allowed = setting("perf_event_paranoid").is_some_and(|level| level <= 1);
    rustix::process::geteuid().is_root() || (is_allowed && setting("kptr_restrict") == Some(0))
}

/// The missing programs of proxies, networks and profiles, by package.
fn missing(plan: &Plan, search_path: &OsStr) -> Vec<String> {
    let mut needs = plan.network_needs();
    needs.extend(plan.fronts().map(|front| Needed { program: front.program, package: front.package }));
    let missing: Vec<_> =
        needs.iter().filter(|needed| in_search_path(needed.program, search_path).is_none()).collect();
    let packages: BTreeSet<&str> = missing.iter().map(|needed| needed.package).collect();
    let problem = |package: &&str| {
        let programs = missing.iter().filter(|needed| needed.package == *package);
        let programs: Vec<&str> = programs.map(|needed| needed.program).collect();
        format!(
            "it needs `{}` of the package {package}, which is not on PATH: install it as root with `apt-get install {package}`",
            programs.join("` and `")
        )
    };
    packages.iter().map(problem).collect()
}

/// The missing programs of applications and callers: those of `apps/`, and the user's own commands.
fn missing_commands(plan: &Plan, folder: &Path, search_path: &OsStr) -> Vec<String> {
    let mut problems = BTreeSet::new();
    let problem = |program: &str, what: &dyn Display, remedy: &str| {
        format!("it needs `{program}` for {what}, which is missing: {remedy}")
    };
    for application in plan.applications() {
        if application.program_in(folder, search_path).is_none() {
            problems.insert(problem(application.program_name(), application, application.remedy()));
        }
    }
    for caller in plan.loads.iter().filter_map(|load| load.caller.as_ref()) {
        match caller.program_in(folder, search_path) {
            None => {
                problems.insert(problem(caller.program_name(), caller, caller.remedy()));
            }
            Some(program) if !caller.has_extensions(&program) => {
                problems.insert(format!(
                    "`{}` lacks an extension for {caller}: {}",
                    program.display(),
                    caller.remedy()
                ));
            }
            Some(_) => {}
        }
    }
    problems.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::study::tests::plan_of;

    #[test]
    fn a_missing_program_is_named_with_its_package_only_for_a_plan_that_needs_it() {
        let plan = |more: &str| {
            plan_of(&format!(
                "name: test\narms: [baseline, same{more}]\nloads: [{{name: a, loop: closed}}]\n"
            ))
        };
        let none = OsStr::new("/nonexistent");
        assert!(missing(&plan(""), none).is_empty());
        let found = missing(&plan(", {name: x, network: {firewall: ipset, rules: 10}}"), none);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[1].contains("`ipset` of the package ipset") && found[1].contains("apt-get install ipset")
        );
        assert!(found[0].contains("`ip` of the package iproute2"), "{found:?}");
        let found = missing(&plan(", {name: x, hops: [{proxy: haproxy-tcp}, {clones: 2}]}"), none);
        assert!(found.len() == 1 && found[0].contains("`haproxy` of the package haproxy"), "{found:?}");
    }

    #[test]
    fn a_missing_application_or_caller_is_named_with_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let found = |load: &str, more: &str| {
            let text = format!(
                "name: test\narms: [baseline, same]\nloads: [{{name: a, loop: closed{load}}}]\n{more}\n"
            );
            missing_commands(&plan_of(&text), folder.path(), folder.path().as_os_str())
        };
        assert!(found("", "").is_empty());
        let of_go = found("", "application: go");
        assert!(
            of_go.len() == 1 && of_go[0].contains("`hoptax-limiter` for the application in Go"),
            "{of_go:?}"
        );
        assert!(of_go[0].contains("`make limiter`"), "{of_go:?}");
        let of_command = found(
            ", caller: {command: [./call, '{url}', '{seconds}']}",
            "application: {command: [./serve, '{port}']}",
        );
        assert!(of_command.len() == 2, "{of_command:?}");
        assert!(of_command[0].contains("`./call`") && of_command[1].contains("`./serve`"), "{of_command:?}");
        assert!(of_command.iter().all(|problem| problem.contains("correct `command`")), "{of_command:?}");
        let of_php = found(", caller: php", "");
        assert!(of_php.len() == 1 && of_php[0].contains("packages php-cli and php-curl"), "{of_php:?}");
    }

    #[test]
    fn a_php_without_curl_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let plan =
            plan_of("name: test\narms: [baseline, same]\nloads: [{name: a, loop: closed, caller: php}]\n");
        let found = |status: u8| {
            let program = folder.path().join("php");
            fs::write(&program, format!("#!/bin/sh\nexit {status}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            missing_commands(&plan, folder.path(), folder.path().as_os_str())
        };
        assert!(found(0).is_empty());
        let without = found(1);
        assert!(without.len() == 1 && without[0].contains("lacks an extension"), "{without:?}");
        assert!(without[0].contains("php-curl"), "{without:?}");
    }
}
