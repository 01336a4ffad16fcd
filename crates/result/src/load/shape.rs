//! The shape of a load in words: by it, the loads on one server whose numbers are comparable are told from others.

use super::{LoadBody, Loop};
use crate::counted;

/// Settings that a load has unless others are asked for, and the word for those that another tool does not state.
const USUAL: [&str; 5] = ["least-recent", "wait", "send", "ahead", "unknown"];

impl LoadBody {
    /// The shape of the load: its pace, its connections, its protocol, its requests, and the settings that are not usual. Its length, its
    /// seed and the threads of the generator are no part of it: they do not change the level of a number.
    pub fn shape(&self) -> String {
        let plan = &self.plan;
        let mut words = vec![self.pace()];
        if plan.connections > 0 {
            words.push(counted(plan.connections.into(), "connection"));
        }
        if plan.streams > 1 {
            words.push(format!("{} each", counted(plan.streams.into(), "stream")));
        }
        words.push(plan.protocol.clone());
        words.push(self.requests());
        words.extend(self.settings());
        words.extend(self.imported.as_ref().map(|imported| format!("by {}", imported.tool)));
        words.retain(|word| !word.is_empty() && word != "unknown");
        words.join(", ")
    }

    /// When requests are sent. A rate is not rounded: loads at other rates have other shapes.
    fn pace(&self) -> String {
        let plan = &self.plan;
        let arrivals = plan.arrivals.as_ref().map(|arrivals| format!(", {arrivals} arrivals"));
        let arrivals = arrivals.unwrap_or_default();
        match (plan.loop_, &plan.stages, self.rate.target) {
            (Loop::Open, Some(stages), _) => format!("stages {stages}{arrivals}"),
            (Loop::Open, None, Some(rate)) => format!("{rate}/s{arrivals}"),
            (Loop::Open, None, None) => format!("open loop{arrivals}"),
            (Loop::Closed, _, Some(rate)) => format!("closed loop at {rate}/s"),
            (Loop::Closed, _, None) => "closed loop".to_owned(),
        }
    }

    /// The requests by name, as far as the result states them.
    fn requests(&self) -> String {
        if !self.by_request.is_empty() {
            let names: Vec<&str> = self.by_request.iter().map(|one| one.name.as_str()).collect();
            return names.join(" + ");
        }
        let method = &self.plan.method;
        match self.plan.requests {
            0 | 1 => method.clone(),
            several => format!("{method} {}", counted(several.into(), "request")).trim_start().to_owned(),
        }
    }

    /// The settings that are not usual.
    fn settings(&self) -> Vec<String> {
        let plan = &self.plan;
        let chosen = [
            ("pool", &plan.pool),
            ("if busy", &plan.when_busy),
            ("if late", &plan.when_late),
            ("connects", &plan.connect),
        ];
        let is_unusual = |value: &str| !value.is_empty() && !USUAL.contains(&value);
        let mut words: Vec<String> = chosen
            .into_iter()
            .filter(|(_, value)| is_unusual(value))
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        let stated = [
            ("think", plan.think.clone()),
            ("streams of", plan.grpc_stream.clone()),
            ("PROXY protocol", plan.network.proxy_protocol.clone()),
            ("requests per connection", plan.requests_per_connection.clone()),
            ("seconds per connection", plan.connection_age_s.map(|age_s| age_s.to_string())),
            ("Unix socket", plan.network.unix_socket.clone()),
            ("expects", Some(plan.expect.clone()).filter(|expect| !expect.is_empty())),
            ("rows", plan.data.as_ref().map(|data| format!("{} {}", data.rows, data.order))),
            ("share", plan.share.as_ref().map(|share| format!("{} of {}", share.index, share.of))),
        ];
        words.extend(stated.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))));
        if plan.cookies {
            words.push("cookies".to_owned());
        }
        words
    }
}
