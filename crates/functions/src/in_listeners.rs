//! Permission for listeners files to name a function, as the file of the function states it.

use serde::Deserialize;

/// Permission for listeners files to name a function. The catalogue is made for measurements: most of its functions hold a path, a header,
/// a limit or a service of the lab, which nobody who names the function would know of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InListeners {
    /// It may not: its settings are those of the lab.
    #[default]
    OfLab,
    /// It may: each setting is a knob, Envoy's own default, or implied by its name. The list has the knobs whose defaults are those of the
    /// lab: the file must state them.
    Fit(Vec<String>),
    /// It may not, for this reason, such as a key that states the same.
    Refused(String),
}
