//! The worker state that protocol handlers use: settings, timers, the service queue and counters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hoptax_host::clock::now_ns;
use hoptax_wire::tls::ServerConfig;
use rand::rngs::SmallRng;

use crate::Served;
use crate::behaviour::{Behaviour, Drawn};
use crate::queue::Queue;
use crate::services::ServiceState;
use crate::table::Tables;

/// Worker state, borrowed for one step of a connection.
pub(crate) struct Context<'a> {
    pub(crate) defaults: &'a Behaviour,
    pub(crate) tables: &'a Tables,
    pub(crate) tls: Option<&'a Arc<ServerConfig>>,
    pub(crate) random: &'a mut SmallRng,
    pub(crate) buffer: &'a mut [u8],
    /// Requests answered.
    pub(crate) answered: &'a mut u64,
    /// The queue of the parameter `service`.
    pub(crate) queue: &'a mut Queue,
    /// Delayed responses in flight.
    pub(crate) in_flight: &'a mut u64,
    /// Delays that this step started, with their streams.
    pub(crate) delays: &'a mut Vec<(Duration, u64)>,
    /// State of the gRPC services.
    pub(crate) services: &'a mut ServiceState,
    /// End of busy polling.
    pub(crate) polling_until: &'a mut Option<Instant>,
    /// The record of all responses, if enabled.
    pub(crate) served: Option<&'a mut Vec<Served>>,
    /// True if the worker is shutting down and accepts no more requests.
    pub(crate) ending: bool,
}

impl Context<'_> {
    /// Plans the departure of the response to a request that has just arrived.
    pub(crate) fn plan(&mut self, connection: u64, drawn: &Drawn) -> Served {
        if !drawn.poll.is_zero() {
            *self.polling_until = (*self.polling_until).max(Some(Instant::now() + drawn.poll));
        }
        let crowded = drawn.crowded.filter(|(number, _)| *self.in_flight >= *number);
        let delay = drawn.delay + crowded.map(|(_, delay)| delay).unwrap_or_default();
        let delay_ns = delay.as_nanos() as u64;
        if drawn.service.is_none() && self.served.is_none() {
            // Only the delay is needed, so the clock is not read.
            return Served {
                connection,
                arrived_ns: 0,
                service_ns: None,
                departs_ns: delay_ns,
                written_ns: 0,
            };
        }
        let arrived_ns = now_ns();
        let mut departs_ns = arrived_ns;
        let service_ns = drawn.service.map(|service| service.as_nanos() as u64);
        if let Some(service_ns) = service_ns {
            departs_ns = self.queue.take(arrived_ns, service_ns, drawn.freeze);
        }
        departs_ns += delay_ns;
        Served { connection, arrived_ns, service_ns, departs_ns, written_ns: 0 }
    }

    /// The plan of a response that has just been requested and has no delay.
    pub(crate) fn plan_at_once(&self, connection: u64) -> Served {
        // Without a record, the clock is not read.
        let arrived_ns = if self.served.is_some() { now_ns() } else { 0 };
        Served { connection, arrived_ns, service_ns: None, departs_ns: arrived_ns, written_ns: 0 }
    }

    /// Starts the delay of the response on a stream; false if there is none.
    pub(crate) fn delay(&mut self, plan: &Served, stream: u64) -> bool {
        let delay = Duration::from_nanos(plan.departs_ns - plan.arrived_ns);
        if delay.is_zero() {
            return false;
        }
        self.delays.push((delay, stream));
        *self.in_flight += 1;
        true
    }

    /// Counts a response that is being sent, and records it if enabled.
    pub(crate) fn count_response(&mut self, plan: Served) {
        if let Some(served) = &mut self.served {
            served.push(Served { written_ns: now_ns(), ..plan });
        }
        *self.answered += 1;
    }
}

/// Calls `test` with the state of a worker that records its responses.
#[cfg(test)]
pub(crate) fn with_context<T>(test: impl FnOnce(&mut Context<'_>) -> T) -> T {
    use rand::SeedableRng;

    test(&mut Context {
        defaults: &Behaviour::default(),
        tables: &Tables::default(),
        tls: None,
        random: &mut SmallRng::seed_from_u64(1),
        buffer: &mut [],
        answered: &mut 0,
        queue: &mut Queue::default(),
        in_flight: &mut 0,
        delays: &mut Vec::new(),
        services: &mut ServiceState::default(),
        polling_until: &mut None,
        served: Some(&mut Vec::new()),
        ending: false,
    })
}
