//! Catalogue functions that a listener names.

use std::path::Path;

use hoptax_functions::{
    Catalogue, Component, Composition, Context, FilterOrder, Fragment, Function, FunctionCall, InListeners,
};

use super::Resolver;

impl Resolver<'_> {
    /// Returns the configuration that functions add to the listener `name`; none without functions.
    pub(super) fn fragment(&mut self, calls: &[String], name: &str, path: &str) -> Option<Fragment> {
        if calls.is_empty() {
            return None;
        }
        let catalogue = match Catalogue::load() {
            Ok(catalogue) => catalogue,
            Err(errors) => {
                self.add(path, format!("the catalogue cannot be read: {}", errors.len()));
                return None;
            }
        };
        let before = self.problems.len();
        let mut components = Vec::new();
        for (index, text) in calls.iter().enumerate() {
            let path = format!("{path}/{index}");
            let call = match FunctionCall::parse(text) {
                Ok(call) => call,
                Err(error) => {
                    self.add(&path, error.to_string());
                    continue;
                }
            };
            match catalogue.resolve(&call) {
                Ok((function, knobs)) => match stated_knobs(function) {
                    Err(why) => self.add(&path, format!("`{}` cannot be used here: {why}", function.id)),
                    Ok(stated) => {
                        for knob in stated.iter().filter(|knob| !call.knobs.contains_key(*knob)) {
                            let id = &function.id;
                            self.add(&path, format!("`{id}` needs a value: write `{id}{{{knob}=NUMBER}}`"));
                        }
                        components.push(Component { name: text.clone(), function: function.clone(), knobs });
                    }
                },
                Err(errors) => errors.iter().for_each(|error| self.add(&path, error.to_string())),
            }
        }
        if self.problems.len() > before {
            return None;
        }
        let composition = match Composition::new(components, FilterOrder::default()) {
            Ok(composition) => composition,
            Err(conflicts) => {
                for conflict in conflicts {
                    self.add(&format!("{path}/{}", conflict.index), conflict.to_string());
                }
                return None;
            }
        };
        match composition.render(&Context { directory: Path::new("/nowhere"), companion: None }) {
            Ok(fragment) => Some(named(fragment, name)),
            Err(error) => {
                self.add(path, error.to_string());
                None
            }
        }
    }
}

/// The knobs of a function that a file must state.
///
/// # Errors
/// The reason why a file cannot name it.
fn stated_knobs(function: &Function) -> Result<&[String], String> {
    match &function.listeners {
        InListeners::Fit(stated) => Ok(stated),
        InListeners::Refused(reason) => Err(reason.clone()),
        InListeners::OfLab => {
            Err("its settings, such as paths, headers, limits and services, are made for the lab".to_owned())
        }
    }
}

/// Names the statistics of filters after the listener. The catalogue uses a name of the lab.
fn named(mut fragment: Fragment, listener: &str) -> Fragment {
    for filter in fragment.http_filters.iter_mut().chain(&mut fragment.network_filters) {
        if let Some(prefix) = filter.get_mut("typed_config").and_then(|config| config.get_mut("stat_prefix"))
        {
            *prefix = listener.into();
        }
    }
    fragment
}
