//! Proxies with a given configuration: the names that they expect of their peers, and why Envoy rejects one.

use hoptax_bootstrap::missing_extension;
use hoptax_plan::plan::{GivenConfig, Plan};
use hoptax_subject::envoy::process::ProxyError;
use hoptax_subject::lab::PeerNames;

use super::ArmError;

/// The names that given configurations expect in the certificates of origin and generator.
pub(super) fn peer_names(plan: &Plan) -> PeerNames {
    let mut names = PeerNames::default();
    for given in plan.arms.iter().flat_map(|arm| &arm.chain.hops).filter_map(|hop| hop.given.as_ref()) {
        if let Ok(configuration) = plan.configurations.get(&given.path) {
            let files = &configuration.adapted.files;
            names.origin.extend(files.origin_names.iter().cloned());
            names.generator.extend(files.client_names.iter().cloned());
        }
    }
    names
}

/// Adds the places in the user's files to Envoy's refusal, and a remedy if Envoy lacks an extension.
pub(super) fn explain(plan: &Plan, given: &GivenConfig, error: ProxyError) -> ArmError {
    let ProxyError::Refused { reason, config } = error else { return error.into() };
    let adapted = plan.configurations.get(&given.path).and_then(|found| found.adapted_with(&given.replaced));
    // The same adaptation succeeded when the proxy was specified.
    let Ok(adapted) = adapted else { return ProxyError::Refused { reason, config }.into() };
    let refusal = adapted.refusal(&reason, &given.without);
    let missing = missing_extension(&reason).map(|name| (name, adapted.extensions(name)));
    let advice = match missing {
        Some((name, pointers)) if !pointers.is_empty() => format!(
            "this Envoy has no extension `{name}`: choose one that has it with `envoy`, or write `without: [{}]`",
            pointers.join(", ")
        ),
        _ => format!("the configuration as adapted to this machine is `{}`", config.display()),
    };
    ArmError::Refused(format!("{refusal}\n{advice}"))
}
