//! Requirements of a study besides hoptax and the usual Envoy, for people who choose one.

use std::collections::BTreeSet;

use hoptax_subject::front::Front;

use super::Plan;

/// The command after which users other than root may sample the kernel.
pub const SAMPLING: &str = "sysctl kernel.perf_event_paranoid=1 kernel.kptr_restrict=0";

impl Plan {
    /// The proxies other than Envoy, one for each place that has one.
    pub fn fronts(&self) -> impl Iterator<Item = &'static Front> {
        self.arms.iter().flat_map(|arm| &arm.chain.hops).filter_map(|hop| hop.proxy.front())
    }

    /// Returns true if at least one proxy is an Envoy.
    pub fn runs_envoy(&self) -> bool {
        self.arms.iter().flat_map(|arm| &arm.chain.hops).any(|hop| hop.proxy.front().is_none())
    }

    /// Returns the requirements that must be on the machine, or are installed when they are first needed, one sentence part each.
    pub fn needs(&self) -> Vec<String> {
        let mut needs = Vec::new();
        if self.link.is_some() {
            needs.push("root, for the network namespaces of its link".to_owned());
        }
        let networks = self.network_needs();
        if !networks.is_empty() {
            let programs: BTreeSet<String> = networks
                .iter()
                .map(|needed| format!("{} (package {})", needed.program, needed.package))
                .collect();
            let programs: Vec<String> = programs.into_iter().collect();
            needs.push(format!("root, for the networks of its arms; {}", programs.join("; ")));
        }
        if self.profile {
            needs.push(format!("root, for profiles of the kernel, or `{SAMPLING}`"));
        }
        let fronts: BTreeSet<(&str, &str)> =
            self.fronts().map(|front| (front.program, front.package)).collect();
        needs.extend(fronts.into_iter().map(|(program, package)| format!("{program} (package {package})")));
        let applications: BTreeSet<(&str, &str)> =
            self.applications().into_iter().map(|one| (one.program_name(), one.remedy())).collect();
        needs.extend(applications.into_iter().map(|(program, remedy)| format!("{program} ({remedy})")));
        let callers: BTreeSet<(&str, &str)> = self
            .loads
            .iter()
            .filter_map(|load| load.caller.as_ref())
            .map(|caller| (caller.program_name(), caller.remedy()))
            .collect();
        needs.extend(callers.into_iter().map(|(program, remedy)| format!("{program} ({remedy})")));
        let envoys: Vec<&str> = self.envoys().into_iter().collect();
        if !envoys.is_empty() {
            needs.push(format!("Envoy {} (releases are installed when first needed)", envoys.join(", ")));
        }
        needs
    }
}
