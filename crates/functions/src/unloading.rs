//! Removal of a function from a running proxy.

use std::collections::BTreeSet;
use std::path::Path;

use crate::function::{Context, Function, RenderError, Secured};
use crate::knob::Knobs;

impl Function {
    /// Returns the reason why the function cannot be removed from a running proxy; None if it can. A listener and
    /// clusters are replaced while Envoy runs. Everything else is fixed when a process starts, or is not the
    /// proxy's.
    ///
    /// # Errors
    /// The template of its fragment does not evaluate with these knobs.
    pub fn obstacle_to_unloading(&self, knobs: &Knobs) -> Result<Option<String>, RenderError> {
        let fragment = self.render(knobs, &Context { directory: Path::new("/"), companion: None })?;
        let keys: BTreeSet<&str> = fragment.bootstrap.keys().map(String::as_str).collect();
        let keys: Vec<&str> = keys.into_iter().collect();
        Ok(if !keys.is_empty() {
            Some(format!(
                "it sets `{}` of the bootstrap, which Envoy reads only when it starts",
                keys.join("`, `")
            ))
        } else if fragment.listener.contains_key("enable_reuse_port") {
            Some("Envoy opens the sockets of a listener only once".to_owned())
        } else if !fragment.listeners.is_empty() {
            Some("Envoy keeps removed listeners while they drain, by default for ten minutes".to_owned())
        } else if self.workers.is_some() {
            Some("Envoy sets the number of its workers only when it starts".to_owned())
        } else if self.secured != Secured::default() {
            Some("TLS also affects the connections of generator and origin, which would have to change with it".to_owned())
        } else if !self.application.is_empty() {
            Some("it runs in the application, not in the proxy".to_owned())
        } else {
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn a_function_is_unloaded_unless_a_part_of_it_is_fixed_at_the_start() {
        let catalogue = Catalogue::load().unwrap();
        let obstacle = |id: &str| {
            let function = catalogue.get(id).unwrap();
            function.obstacle_to_unloading(&function.default_knobs()).unwrap()
        };
        for id in [
            "lua",
            "rate-limit/wasm",
            "outlier-detection",
            "circuit-breaker",
            "balance/maglev",
            "route/mirror",
        ] {
            assert_eq!(obstacle(id), None, "{id}");
        }
        for (id, reason) in [
            ("overload-manager", "it sets `overload_manager` of the bootstrap"),
            ("balance/zone", "it sets `cluster_manager`, `node` of the bootstrap"),
            ("workers/two", "number of its workers"),
            ("one-socket", "sockets of a listener"),
            ("configuration/listeners", "removed listeners while they drain"),
            ("tls/terminate", "TLS also affects the connections"),
            ("tls/originate", "TLS also affects the connections"),
            ("rate-limit/library", "runs in the application"),
        ] {
            assert!(obstacle(id).unwrap().contains(reason), "{id}: {:?}", obstacle(id));
        }
    }
}
