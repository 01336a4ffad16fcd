//! What the proxies, networks and profiles of a study need of this machine, checked before it begins: programs and privileges.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;

use hoptax_host::namespace::Namespace;
use hoptax_host::network::Needed;
use hoptax_study::plan::Plan;
use hoptax_subject::program::in_search_path;

use crate::exit::Failure;

/// Fails with everything that is missing for a plan, and what to do about it.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    let mut problems = missing(plan, &env::var_os("PATH").unwrap_or_default());
    let has_networks = plan.link.is_some() || plan.arms.iter().any(|arm| arm.network.is_some());
    if has_networks && problems.is_empty() {
        // A namespace is removed at once with its last handle.
        problems.extend(Namespace::create().err().map(|error| error.to_string()));
    }
    if plan.profile && !may_sample_kernel() {
        problems.push(
            "its profiles contain the kernel, which needs root, or `sysctl kernel.perf_event_paranoid=1 kernel.kptr_restrict=0`"
                .to_owned(),
        );
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::environment(format!("the study `{}` cannot begin: {}", plan.name, problems.join("; "))))
}

/// Whether perf may take samples in the kernel, with the names of its functions.
fn may_sample_kernel() -> bool {
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
    let of = |package: &&str| {
        let programs = missing.iter().filter(|needed| needed.package == *package);
        let programs: Vec<&str> = programs.map(|needed| needed.program).collect();
        format!(
            "it needs `{}` of the package {package}, which is not on PATH: install it as root with `apt-get install {package}`",
            programs.join("` and `")
        )
    };
    packages.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package_only_for_a_plan_that_needs_it() {
        let plan = |more: &str| {
            let text =
                format!("name: test\narms: [baseline, same{more}]\nloads: [{{name: a, loop: closed}}]\n");
            let (file, positions) = hoptax_study::file::read("test.yaml", &text).unwrap();
            Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap()
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
}
