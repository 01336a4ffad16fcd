//! Simulates the paths of requests through a graph.

use hoptax_result::grouped;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::size::graph::Service;

/// Fixed, so that results are reproducible, and differences between rounds do not come from random numbers.
const SEED: u64 = 0x686f_7074_6178;

/// Simulated requests, unless they make many calls. With this many exponential times, the standard error of the p99 is 0.5 % of it.
const REQUESTS: f64 = 160_000.0;

/// Maximum number of simulated passes of proxies and calls, in all and for each request.
const STEPS: f64 = 16_000_000.0;
const MOST_STEPS: f64 = 1_000.0;

/// Number of requests to simulate if each passes `passes` proxies and makes `calls` calls on average, including calls to services without a
/// proxy: both take simulation time.
///
/// # Errors
/// A message if a single request takes too many steps.
pub(crate) fn requests_to_simulate(passes: f64, calls: f64) -> Result<usize, String> {
    let steps = passes + calls;
    if steps > MOST_STEPS {
        return Err(format!(
            "a request passes {passes} proxies and makes {calls} calls on average, and at most {most} of both are simulated: \
             state a part of the graph",
            passes = grouped(passes, 0),
            calls = grouped(calls, 0),
            most = grouped(MOST_STEPS, 0)
        ));
    }
    Ok((STEPS / steps).min(REQUESTS) as usize)
}

/// Requests of a graph, whose first service is the entry.
pub(crate) struct Walk<'a> {
    services: &'a [Service],
    /// Equally likely times that proxies add: by service, then requests to the service and those of each of its calls.
    added: &'a [Vec<Vec<f64>>],
    /// Time for which a pass of each service's proxy, on the way to the service, makes passes of other proxies wait: 0 if each proxy has
    /// its own processors.
    ahead: &'a [f64],
    random: Xoshiro256PlusPlus,
    /// Time that each proxy added on the slowest path so far, with the index of its service.
    way: Vec<(usize, f64)>,
}

/// Result of simulated requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// Time that proxies add to each request.
    pub(crate) added: Vec<f64>,
    /// Mean time that the proxy of each service adds to the slowest path.
    pub(crate) critical: Vec<f64>,
}

/// Time of a request with and without the times of proxies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Took {
    with: f64,
    without: f64,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(services: &'a [Service], added: &'a [Vec<Vec<f64>>], ahead: &'a [f64]) -> Self {
        Self { services, added, ahead, random: Xoshiro256PlusPlus::seed_from_u64(SEED), way: Vec::new() }
    }

    pub(crate) fn requests(mut self, requests: usize) -> Found {
        let mut critical = vec![0.0; self.services.len()];
        let mut added = Vec::with_capacity(requests);
        for _ in 0..requests {
            self.way.clear();
            let took = self.service(0);
            added.push(took.with - took.without);
            for (service, time) in &self.way {
                if let Some(critical) = critical.get_mut(*service) {
                    *critical += time / requests as f64;
                }
            }
        }
        Found { added, critical }
    }

    /// A request to a service.
    fn service(&mut self, number: usize) -> Took {
        let mut took = Took { with: self.pass(number, 0), without: 0.0 };
        let services = self.services;
        let Some(service) = services.get(number) else { return took };
        took.with += service.own_time_us;
        took.without += service.own_time_us;
        let mut flow = 0;
        for step in service.calls.chunk_by(|one, next| one.step == next.step) {
            let mut slowest = self.way.len()..self.way.len();
            let mut most: Option<Took> = None;
            // Calls are sent in order, and pass shared processors in the same order.
            let mut ahead = 0.0;
            for call in step {
                flow += 1;
                let from = self.way.len();
                let times = self.times(call.factor);
                let mut of_call = self.calls(number, service, flow, call.service, times);
                if let Some(first) = self.first_proxy(number, call.service).filter(|_| times > 0) {
                    if ahead > 0.0 {
                        of_call.with += ahead;
                        self.way.push((first, ahead));
                    }
                    ahead += self.ahead_of_others(number, call.service);
                }
                if most.is_some_and(|most| most.with >= of_call.with) {
                    self.way.truncate(from);
                } else {
                    // Only the slowest path counts.
                    let faster = slowest.len();
                    drop(self.way.drain(slowest));
                    slowest = from - faster..self.way.len();
                }
                most = Some(most.map_or(of_call, |most| Took {
                    with: most.with.max(of_call.with),
                    without: most.without.max(of_call.without),
                }));
            }
            let most = most.unwrap_or_default();
            took = Took { with: took.with + most.with, without: took.without + most.without };
        }
        took
    }

    /// The service whose proxy a call from one service to another passes first.
    fn first_proxy(&self, caller: usize, called: usize) -> Option<usize> {
        let service = |number: usize| self.services.get(number);
        if service(caller).is_some_and(|caller| caller.outbound.is_some()) {
            return Some(caller);
        }
        service(called).filter(|called| called.has_proxy).map(|_| called)
    }

    /// Returns the time for which a call makes later calls of the same step wait.
    fn ahead_of_others(&self, caller: usize, called: usize) -> f64 {
        let of = |service: usize| self.ahead.get(service).copied().unwrap_or_default();
        let has_outbound = self.services.get(caller).is_some_and(|caller| caller.outbound.is_some());
        of(called) + if has_outbound { of(caller) } else { 0.0 }
    }

    /// Draws the number of calls that a request makes, one after another.
    fn times(&mut self, factor: f64) -> u64 {
        let whole = factor.floor();
        let one_more = factor > whole && self.random.random::<f64>() < factor - whole;
        whole as u64 + u64::from(one_more)
    }

    /// Makes calls to one service, one after another.
    fn calls(&mut self, number: usize, service: &Service, flow: usize, called: usize, times: u64) -> Took {
        let mut took = Took::default();
        for _ in 0..times {
            if service.outbound.is_some() {
                took.with += self.pass(number, flow);
            }
            let of_call = self.service(called);
            took = Took { with: took.with + of_call.with, without: took.without + of_call.without };
        }
        took
    }

    /// A pass of the proxy of a service.
    fn pass(&mut self, number: usize, flow: usize) -> f64 {
        let values =
            self.added.get(number).and_then(|flows| flows.get(flow)).map_or([].as_slice(), Vec::as_slice);
        if values.is_empty() {
            return 0.0;
        }
        let place = self.random.random_range(0..values.len());
        let time = values.get(place).copied().unwrap_or_default();
        self.way.push((number, time));
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::graph::Graph;
    use crate::size::graph::tests::graph;

    /// Returns the result of requests if proxies always add these times, by service in the order of the graph and by flow.
    fn constant(graph: &Graph, added: &[&[f64]]) -> Found {
        let added: Vec<Vec<Vec<f64>>> =
            added.iter().map(|flows| flows.iter().map(|time| vec![*time]).collect()).collect();
        Walk::new(&graph.services, &added, &[]).requests(1_000)
    }

    fn are_near(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6)
    }

    const FAN_OUT: &str = "
name: fan-out
entry: front
services:
  - {name: front, outbound: {}, calls: STEPS}
  - {name: slow, service_time_us: 1000}
  - {name: fast}
";

    #[test]
    fn calls_follow_each_other_unless_they_are_made_at_the_same_time() {
        let after = graph(&FAN_OUT.replace("STEPS", "[{service: slow}, {service: fast, factor: 2}]"));
        let names: Vec<&str> = after.services.iter().map(|service| service.name.as_str()).collect();
        assert_eq!(names, ["front", "fast", "slow"]);
        // Inbound 1, outbound 10 to the slow one and 20 to the fast one; the fast proxy adds 100, the slow one 300.
        let times: [&[f64]; 3] = [&[1.0, 10.0, 20.0], &[100.0], &[300.0]];
        let found = constant(&after, &times);
        assert!(are_near(&found.added, &vec![1.0 + 310.0 + 2.0 * 120.0; 1_000]), "{:?}", found.added[0]);
        assert!(are_near(&found.critical, &[51.0, 200.0, 300.0]), "{:?}", found.critical);
        let together = graph(&FAN_OUT.replace("STEPS", "[[{service: slow}, {service: fast, factor: 2}]]"));
        let found = constant(&together, &times);
        assert!(are_near(&found.added, &vec![311.0; 1_000]), "{:?}", found.added[0]);
        assert!(are_near(&found.critical, &[11.0, 0.0, 300.0]), "{:?}", found.critical);
    }

    #[test]
    fn a_proxy_off_the_slowest_way_adds_only_what_sticks_out() {
        let together = graph(&FAN_OUT.replace("STEPS", "[[{service: fast}, {service: slow}]]"));
        let names: Vec<&str> = together.services.iter().map(|service| service.name.as_str()).collect();
        assert_eq!(names, ["front", "slow", "fast"]);
        // The fast branch takes 20 + 1500, the slow one 10 + 1000 + 300; without proxies, 1000 are needed anyway.
        let found = constant(&together, &[&[1.0, 20.0, 10.0], &[300.0], &[1_500.0]]);
        assert!(are_near(&found.added, &vec![521.0; 1_000]), "{:?}", found.added[0]);
        assert!(are_near(&found.critical, &[21.0, 0.0, 1_500.0]), "{:?}", found.critical);
    }

    #[test]
    fn calls_at_the_same_time_pass_shared_processors_in_their_order() {
        let together = graph(&FAN_OUT.replace("STEPS", "[[{service: fast, factor: 0.5}, {service: slow}]]"));
        let (times, ahead) = (
            vec![vec![vec![1.0], vec![10.0], vec![10.0]], vec![vec![300.0]], vec![vec![100.0]]],
            [20.0, 40.0, 8.0],
        );
        let found = Walk::new(&together.services, &times, &ahead).requests(1_000);
        // Half of the calls to the fast service are made. They pass the proxy of `front` first, and then the proxy of the fast service.
        let (waited, not) = (found.added.iter().filter(|one| **one > 330.0).count(), 311.0);
        let all = |one: &f64| are_near(&[*one], &[if *one > 330.0 { not + 28.0 } else { not }]);
        assert!(
            (420..=580).contains(&waited) && found.added.iter().all(all),
            "{waited} {:?}",
            found.added[0]
        );
        assert!(
            are_near(&found.critical, &[11.0 + 0.028 * waited as f64, 300.0, 0.0]),
            "{:?}",
            found.critical
        );
        // A service without a proxy neither waits nor makes others wait.
        let text =
            FAN_OUT.replace("STEPS", "[[{service: fast}, {service: slow}]]").replace("outbound: {}, ", "");
        // The call to the slow service is the slowest path, and passes its proxy if there is one.
        for (bare, added) in [("slow", 1.0), ("fast", 2.0)] {
            let bare = graph(&text.replace(&format!("name: {bare}"), &format!("proxy: false, name: {bare}")));
            let times = bare
                .services
                .iter()
                .map(|service| if service.has_proxy { vec![vec![1.0]] } else { Vec::new() });
            let times: Vec<_> = times.collect();
            let found = Walk::new(&bare.services, &times, &[8.0; 3]).requests(10);
            assert!(are_near(&found.added, &[added; 10]), "{:?}", found.added);
        }
        // Sequential calls do not wait for each other.
        let after = graph(&FAN_OUT.replace("STEPS", "[{service: slow}, {service: fast}]"));
        let times = times_after(&after);
        let [with, without] =
            [&ahead[..], &[]].map(|ahead| Walk::new(&after.services, &times, ahead).requests(100));
        assert_eq!(with, without);
    }

    fn times_after(graph: &Graph) -> Vec<Vec<Vec<f64>>> {
        graph.services.iter().map(|service| vec![vec![7.0]; 1 + service.calls.len()]).collect()
    }

    #[test]
    fn a_fraction_of_a_call_is_made_by_that_share_of_requests() {
        let some = graph(&FAN_OUT.replace("STEPS", "[{service: slow, factor: 0.25}, {service: fast}]"));
        let found = constant(&some, &[&[0.0, 0.0, 0.0], &[0.0], &[100.0]]);
        let called = found.added.iter().filter(|added| **added > 50.0).count();
        // Four standard deviations of a binomial count are 55.
        assert!((195..=305).contains(&called), "{called}");
        assert!((found.critical[2] - called as f64 / 10.0).abs() < 1e-6, "{:?}", found.critical);
    }

    #[test]
    fn a_request_that_passes_too_many_proxies_or_makes_too_many_calls_is_not_simulated() {
        for (passes, calls, expected) in
            [(2.5, 2.5, 160_000), (100.0, 100.0, 80_000), (1.0, 199.0, 80_000), (1.0, 999.0, 16_000)]
        {
            assert_eq!(requests_to_simulate(passes, calls), Ok(expected), "{passes} {calls}");
        }
        for (passes, calls) in [(501.0, 500.0), (1.0, 1e6), (1.0, f64::INFINITY)] {
            assert!(requests_to_simulate(passes, calls).is_err(), "{passes} {calls}");
        }
    }
}
