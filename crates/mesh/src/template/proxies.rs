//! The proxies in a template, without duplicates: the CPU time of a proxy that is named twice would be counted twice.

use hoptax_cluster::job::{CONTAINER, ORIGIN};

use super::{Shared, Side, Template};

/// Refuses duplicate proxies, and containers of hoptax.
pub(super) fn check(template: &Template) -> Result<(), String> {
    check_side("origin", &template.origin, ORIGIN)?;
    check_side("caller", &template.caller, CONTAINER)?;
    check_shared(&template.shared)
}

/// Refuses invalid proxies of a pod, in which `of_load` is the container of hoptax.
fn check_side(what: &str, side: &Side, of_load: &str) -> Result<(), String> {
    for (index, name) in side.proxies.iter().enumerate() {
        if name == of_load {
            return Err(format!(
                "`proxies` of `{what}` has `{name}`, which is the container of the load, not a proxy: leave it out"
            ));
        }
        if side.proxies.iter().take(index).any(|other| other == name) {
            return Err(format!(
                "`proxies` of `{what}` has `{name}` twice, so its CPU time would count twice: name it once, and not again if the extended \
                 template has it"
            ));
        }
    }
    Ok(())
}

/// Refuses shared proxies if a pod could belong to two of them.
fn check_shared(shared: &[Shared]) -> Result<(), String> {
    for (index, one) in shared.iter().enumerate() {
        let is_same = |other: &&Shared| {
            let begins = one.pods.starts_with(&other.pods) || other.pods.starts_with(&one.pods);
            begins && other.namespace == one.namespace && other.container == one.container
        };
        if let Some(other) = shared.iter().take(index).find(is_same) {
            return Err(format!(
                "`shared` has containers `{}` of pods `{}…` and `{}…` of namespace `{}`, which may be the same, so their CPU time would \
                 count twice: name each pod once, and not again if the extended template has it",
                one.container, other.pods, one.pods, one.namespace
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why a text is no template; none if it is one.
    fn refused(text: &str) -> Option<String> {
        Template::read(&format!("name: a\nurl: http://origin/\n{text}")).err()
    }

    #[test]
    fn proxies_that_are_named_twice_and_containers_of_the_load_are_refused() {
        for (text, expected) in [
            ("extends: istio\norigin: {proxies: [istio-proxy]}", "`origin` has `istio-proxy` twice"),
            ("extends: istio\ncaller: {proxies: [istio-proxy]}", "`caller` has `istio-proxy` twice"),
            ("origin: {proxies: [x, y, x]}", "`origin` has `x` twice"),
            ("origin: {proxies: [origin]}", "`origin` has `origin`, which is the container of the load"),
            ("caller: {proxies: [agent]}", "`caller` has `agent`, which is the container of the load"),
            (
                "shared: [{namespace: n, pods: z-, container: c}, {namespace: n, pods: z-, container: c}]",
                "pods `z-…` and `z-…` of namespace `n`",
            ),
            (
                "shared: [{namespace: n, pods: z-, container: c}, {namespace: n, pods: z, container: c}]",
                "pods `z-…` and `z…`",
            ),
            (
                "shared: [{namespace: n, pods: z, container: c}, {namespace: n, pods: z-, container: c}]",
                "pods `z…` and `z-…`",
            ),
            (
                "extends: istio-ambient\nshared: [{namespace: istio-system, pods: ztunnel-, container: istio-proxy}]",
                "would count twice",
            ),
        ] {
            let error = refused(text).unwrap_or_else(|| panic!("{text} is a template"));
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn other_pods_namespaces_and_containers_are_other_proxies() {
        for text in [
            "origin: {proxies: [x, y, agent]}\ncaller: {proxies: [x, origin]}",
            "shared: [{namespace: n, pods: a-, container: c}, {namespace: n, pods: b-, container: c}]",
            "shared: [{namespace: n, pods: a-, container: c}, {namespace: m, pods: a-, container: c}]",
            "shared: [{namespace: n, pods: a-, container: c}, {namespace: n, pods: a-, container: d}]",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
    }
}
