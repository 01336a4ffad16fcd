//! Proxies with a given configuration: how one is specified, and why Envoy rejects one.

use hoptax_bootstrap::missing_extension;
use hoptax_plan::configurations::{COMPANION, ORIGIN, no_such_nodes};
use hoptax_plan::plan::{GivenConfig, Plan};
use hoptax_subject::envoy::process::{ProxyError, Source};
use hoptax_subject::lab::{Lab, PeerNames};

use super::ArmError;
use super::specification::{FILES, Surroundings};

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

/// Writes the files of a given configuration, and returns the configuration as it is adapted to this machine.
pub(super) fn source(
    plan: &Plan,
    given: &GivenConfig,
    lab: &Lab,
    around: &Surroundings<'_>,
) -> Result<Source, ArmError> {
    let configuration = plan.configurations.get(&given.path).map_err(ArmError::Given)?;
    let origin = around.next.first().copied().unwrap_or(ORIGIN);
    // Without a companion, the plan has made sure that no address of the configuration leads to it.
    let companion = around.companion.unwrap_or(COMPANION);
    let place = hoptax_bootstrap::Lab::new(origin, companion, around.directory.join(FILES));
    let unusable = |error: &dyn std::fmt::Display| ArmError::Given(error.to_string());
    let user = configuration.given.with(&given.replaced);
    let user = user.map_err(|missing| ArmError::Given(no_such_nodes(&missing)))?;
    let adapted = user.adapt(&place).map_err(|error| unusable(&error))?;
    user.write_files(&adapted, lab.certificates()).map_err(|error| unusable(&error))?;
    Ok(Source::Given { bootstrap: adapted.without(&given.without), listener: given.listener.clone() })
}

/// Adds the places in the user's files to Envoy's refusal, and a remedy if Envoy lacks an extension.
pub(super) fn explain(plan: &Plan, given: &GivenConfig, error: ProxyError) -> ArmError {
    let ProxyError::Refused { reason, config } = error else { return error.into() };
    let adapted = plan.configurations.get(&given.path).and_then(|found| found.adapted_with(&given.replaced));
    // Its adaptation succeeded before, when the proxy was specified.
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
