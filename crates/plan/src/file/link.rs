//! The simulated network link between callers and everything else.

use std::time::Duration;

use hoptax_host::clock::parse_duration;
use hoptax_host::link::LinkSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Positions, Problem};

/// A link, the same in each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct LinkSection {
    /// One-way delay: `17.5ms` makes a round trip of 35 ms.
    pub delay: String,
    /// Largest deviation of each packet's delay, either way.
    #[serde(default = "none")]
    pub jitter: String,
    /// Bits per second. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1000))]
    pub rate: Option<u64>,
    /// Share of packets lost, 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub loss: f64,
}

fn none() -> String {
    "0s".to_owned()
}

impl LinkSection {
    /// Converts the section to a link. Problems with it are added to
    /// `problems`.
    pub(crate) fn plan(&self, seed: u64, positions: &Positions, problems: &mut Vec<Problem>) -> LinkSpec {
        let mut duration = |key: &str, text: &str| {
            read(text).unwrap_or_else(|| {
                let message = format!("`{key}` must be a duration up to 10s, such as `17.5ms`, not `{text}`");
                problems.push(positions.problem(&format!("/link/{key}"), message));
                Duration::ZERO
            })
        };
        let (delay, jitter) = (duration("delay", &self.delay), duration("jitter", &self.jitter));
        LinkSpec { delay, jitter, rate: self.rate, loss: self.loss, seed }
    }
}

/// Parses a duration of at most ten seconds, which may have a fraction.
fn read(text: &str) -> Option<Duration> {
    parse_duration(text).filter(|duration| *duration <= Duration::from_secs(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_may_have_fractions() {
        assert_eq!(read("17.5ms"), Some(Duration::from_micros(17_500)));
        assert_eq!(read("0s"), Some(Duration::ZERO));
        assert_eq!((read("17.5"), read("11s"), read("x")), (None, None, None));
    }
}
