//! The status as metrics, in the text format of Prometheus (version 0.0.4).

use std::fmt::Write as _;

use super::{Outcome, Status};

impl Status {
    /// The metrics.
    pub(crate) fn metrics(&self) -> String {
        let mut text = String::new();
        let flag = |is_so: bool| if is_so { "1" } else { "0" }.to_owned();
        let mut one = |name: &str, kind: &str, help: &str, values: Vec<(String, String)>| {
            let _ = writeln!(text, "# HELP hoptax_listeners_{name} {help}");
            let _ = writeln!(text, "# TYPE hoptax_listeners_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "hoptax_listeners_{name}{labels} {value}");
            }
        };
        let plain = |value: String| vec![(String::new(), value)];
        let is_refused = matches!(self.last.outcome, Outcome::Refused | Outcome::NotStarted);
        let epoch = self.serving.as_ref().map_or(0, |serving| serving.epoch);
        one("serving", "gauge", "1 if an Envoy serves, else 0.", plain(flag(self.serving.is_some())));
        one("epoch", "gauge", "The restart epoch of the Envoy that serves.", plain(epoch.to_string()));
        one(
            "file_refused",
            "gauge",
            "1 if the file on disk was refused, or Envoy does not start on it; else 0.",
            plain(flag(is_refused)),
        );
        let counts = &self.counts;
        for (name, help, count) in [
            ("restarts_total", "Hot restarts.", counts.restarts),
            ("files_refused_total", "Files that were refused.", counts.refused),
            ("not_started_total", "Envoys that did not start.", counts.not_started),
            ("lost_total", "Envoys that served and ended on their own.", counts.lost),
        ] {
            one(name, "counter", help, plain(count.to_string()));
        }
        let label = |name: &str| {
            let name = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{{upstream=\"{name}\"}}")
        };
        let slow = self.upstreams.iter().map(|one| (label(&one.name), flag(one.slow.is_some()))).collect();
        one("upstream_slow", "gauge", "1 if the upstream is slow, else 0.", slow);
        let number = |us: Option<f64>| us.map_or_else(|| "+Inf".to_owned(), |us| us.to_string());
        let times = |one: &super::Upstream| (label(&one.name), number(one.first_byte_p90_us));
        let times = self.upstreams.iter().map(times).collect();
        let help = "The 90th percentile of the time to the first byte of a response; +Inf without responses.";
        one("upstream_first_byte_p90_us", "gauge", help, times);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;

    #[test]
    fn each_metric_has_its_help_its_type_and_its_values() {
        insta::assert_snapshot!(sample().metrics());
    }
}
