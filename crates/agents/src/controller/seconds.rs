//! Merges the seconds of all agents, for the live view of a load.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hoptax_load::encoded::decode;
use hoptax_load::histogram;
use hoptax_load::trial::LiveLine;
use hoptax_result::Histogram as Encoded;

use crate::message::Second;

/// Maximum number of seconds that wait for an agent. A second beyond it is shown without the late agent.
const WAITING: usize = 3;
const SECOND_NS: u64 = 1_000_000_000;

/// Seconds that some agents have reported.
#[derive(Debug)]
pub(crate) struct Seconds {
    /// Agents that still send.
    agents: usize,
    open: BTreeMap<u64, Open>,
    /// The first second that was not shown yet.
    next: u64,
    errors: u64,
    is_open_loop: bool,
    warmup_s: f64,
    total_s: f64,
}

#[derive(Debug)]
struct Open {
    agents: usize,
    length_s: f64,
    to_s: f64,
    answered: u64,
    response: Histogram<u64>,
    send_lag: Histogram<u64>,
}

impl Seconds {
    /// The seconds of this number of agents, for a load of these lengths.
    pub(crate) fn new(agents: usize, is_open_loop: bool, warmup_s: f64, record_s: f64) -> Self {
        let total_s = warmup_s + record_s;
        Self { agents, open: BTreeMap::new(), next: 0, errors: 0, is_open_loop, warmup_s, total_s }
    }

    /// Adds a second of one agent. Returns the seconds that no longer wait for any agent.
    pub(crate) fn add(&mut self, second: &Second) -> Vec<LiveLine> {
        let failures = second.failures.values().copied();
        self.errors = failures.fold(self.errors, u64::saturating_add);
        let number = second.from_ns / SECOND_NS;
        if number < self.next {
            return Vec::new();
        }
        let open = self.open.entry(number).or_insert_with(|| Open {
            agents: 0,
            length_s: 0.0,
            to_s: 0.0,
            answered: 0,
            response: histogram(),
            send_lag: histogram(),
        });
        open.agents += 1;
        open.length_s = open.length_s.max(second.to_ns.saturating_sub(second.from_ns) as f64 / 1e9);
        open.to_s = open.to_s.max(second.to_ns as f64 / 1e9);
        open.answered = open.answered.saturating_add(second.answered);
        add(&mut open.response, second.response.as_ref());
        add(&mut open.send_lag, second.send_lag.as_ref());
        self.complete()
    }

    /// Handles the end of one agent. Returns the seconds that waited for it.
    pub(crate) fn remove_agent(&mut self) -> Vec<LiveLine> {
        self.agents = self.agents.saturating_sub(1);
        self.complete()
    }

    fn complete(&mut self) -> Vec<LiveLine> {
        let mut lines = Vec::new();
        while let Some(told) = self.open.values().next().map(|open| open.agents) {
            if told < self.agents && self.open.len() <= WAITING {
                break;
            }
            let Some((number, open)) = self.open.pop_first() else { break };
            self.next = number + 1;
            lines.push(self.line(&open));
        }
        lines
    }

    fn line(&self, open: &Open) -> LiveLine {
        let us = |times: &Histogram<u64>, quantile: f64| times.value_at_quantile(quantile) as f64 / 1e3;
        LiveLine {
            elapsed_s: (self.warmup_s + open.to_s).min(self.total_s),
            total_s: self.total_s,
            rate: if open.length_s > 0.0 { open.answered as f64 / open.length_s } else { 0.0 },
            responses: open.response.len(),
            p50_us: us(&open.response, 0.5),
            p99_us: us(&open.response, 0.99),
            send_lag_p99_us: self.is_open_loop.then(|| us(&open.send_lag, 0.99)),
            errors: self.errors,
            body_bytes_per_s: None,
            connections: None,
        }
    }
}

/// Adds times. Those of a damaged histogram are not shown; the report repeats them, and there they are an error.
fn add(all: &mut Histogram<u64>, encoded: Option<&Encoded>) {
    if let Some(times) = encoded.and_then(decode::<u64>) {
        let _ = all.add(times);
    }
}

#[cfg(test)]
mod tests {
    use hoptax_load::encoded::encode;

    use super::*;

    fn second(number: u64, us: u64) -> Second {
        let mut times = histogram();
        times.record(us * 1_000).unwrap();
        Second {
            from_ns: number * SECOND_NS,
            to_ns: (number + 1) * SECOND_NS,
            sent: 2,
            answered: 1,
            failures: [("reset".to_owned(), 1)].into(),
            response: encode(&times),
            ..Second::default()
        }
    }

    #[test]
    fn a_second_is_shown_when_all_agents_told_of_it_with_the_times_of_all() {
        let mut seconds = Seconds::new(3, true, 1.0, 10.0);
        assert!(seconds.add(&second(0, 100)).is_empty());
        assert!(seconds.add(&second(1, 1)).is_empty());
        assert!(seconds.add(&second(0, 100)).is_empty());
        let lines = seconds.add(&second(0, 9_000));
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert!((line.rate - 3.0).abs() < 1e-9 && (line.elapsed_s - 2.0).abs() < 1e-9, "{line:?}");
        assert!((line.p50_us - 100.0).abs() < 1.0 && line.p99_us > 8_900.0, "{line:?}");
        assert_eq!(line.errors, 4);
        assert!(seconds.add(&second(0, 1)).is_empty(), "it was shown");
    }

    #[test]
    fn an_agent_that_is_lost_or_late_holds_nothing_up_for_long() {
        let mut seconds = Seconds::new(2, false, 0.0, 10.0);
        assert!(seconds.add(&second(0, 1)).is_empty());
        assert_eq!(seconds.remove_agent().len(), 1);
        assert_eq!(seconds.add(&second(1, 1)).len(), 1);
        let mut seconds = Seconds::new(2, false, 0.0, 10.0);
        let shown: usize = (0..10).map(|number| seconds.add(&second(number, 1)).len()).sum();
        assert_eq!(shown, 10 - WAITING);
    }
}
