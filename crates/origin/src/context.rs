//! The worker state that protocol handlers use: settings, timers, the service queue and counters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hoptax_host::clock::now_ns;
use hoptax_wire::tls::ServerConfig;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::behaviour::Drawn;
use crate::defaults::DefaultsCopy;
use crate::queue::Queue;
use crate::services::ServiceState;
use crate::table::Tables;
use crate::{OriginReport, Served, SharedSettings};

/// Maximum time that a worker waits for events: bounds how late a stop request is noticed.
const MAX_WAIT: Duration = Duration::from_millis(50);
/// Maximum bytes per read, and of a datagram.
const READ_BYTES: usize = 64 * 1024;

/// The state of a worker beside its sockets and connections.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) defaults: DefaultsCopy,
    pub(crate) tables: Arc<Tables>,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) random: SmallRng,
    pub(crate) buffer: Vec<u8>,
    /// Counters of connections and requests.
    pub(crate) report: OriginReport,
    /// The queue of the parameter `service`.
    queue: Queue,
    /// Delayed responses in flight.
    pub(crate) in_flight: u64,
    /// Delays that the current step started, with their streams.
    pub(crate) delays: Vec<(Duration, u64)>,
    /// State of the gRPC services.
    pub(crate) services: ServiceState,
    /// End of busy polling.
    polling_until: Option<Instant>,
    /// The record of all responses, if enabled.
    pub(crate) served: Option<Vec<Served>>,
    /// True if the worker is shutting down and accepts no more requests.
    pub(crate) ending: bool,
}

impl Context {
    /// The state of a worker that has not served yet.
    pub(crate) fn new(settings: &SharedSettings, seed: u64, records: bool) -> Self {
        Self {
            defaults: DefaultsCopy::new(&settings.defaults),
            tables: Arc::clone(&settings.tables),
            tls: settings.tls.clone(),
            random: SmallRng::seed_from_u64(seed),
            buffer: vec![0; READ_BYTES],
            report: OriginReport::default(),
            queue: Queue::default(),
            in_flight: 0,
            delays: Vec::new(),
            services: settings.services.clone(),
            polling_until: None,
            served: records.then(Vec::new),
            ending: false,
        }
    }

    /// The state of a worker that records its responses.
    #[cfg(test)]
    pub(crate) fn recording() -> Self {
        Self::new(&SharedSettings::default(), 1, true)
    }

    /// Time to wait for events: until the next expiry, or zero while the worker polls.
    pub(crate) fn wait(&mut self, next: Option<Instant>) -> Duration {
        self.polling_until = self.polling_until.filter(|until| Instant::now() < *until);
        if self.is_polling() {
            return Duration::ZERO;
        }
        next.map_or(MAX_WAIT, |next| next.saturating_duration_since(Instant::now()).min(MAX_WAIT))
    }

    /// Returns true if the worker polls instead of sleeping.
    pub(crate) fn is_polling(&self) -> bool {
        self.polling_until.is_some()
    }

    /// Plans the departure of the response to a request that has just arrived.
    pub(crate) fn plan(&mut self, connection: u64, drawn: &Drawn) -> Served {
        if !drawn.poll.is_zero() {
            self.polling_until = self.polling_until.max(Some(Instant::now() + drawn.poll));
        }
        let crowded = drawn.crowded.filter(|(number, _)| self.in_flight >= *number);
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
        self.in_flight += 1;
        true
    }

    /// Counts a response that is being sent, and records it if enabled.
    pub(crate) fn count_response(&mut self, plan: Served) {
        if let Some(served) = &mut self.served {
            served.push(Served { written_ns: now_ns(), ..plan });
        }
        self.report.answered += 1;
    }
}
