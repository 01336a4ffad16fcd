//! The state that a worker lends to the protocol of a connection: settings, delays, the service queue and counters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hoptax_host::clock::now_ns;
use hoptax_wire::tls::ServerConfig;
use rand::rngs::SmallRng;

use crate::Served;
use crate::behaviour::{Behaviour, Drawn};
use crate::queue::Queue;
use crate::services::Companion;
use crate::table::Tables;

/// What answers are made from.
pub(crate) struct Context<'a> {
    pub(crate) defaults: &'a Behaviour,
    pub(crate) tables: &'a Tables,
    pub(crate) tls: Option<&'a Arc<ServerConfig>>,
    pub(crate) random: &'a mut SmallRng,
    pub(crate) buffer: &'a mut [u8],
    /// Requests answered.
    pub(crate) answered: &'a mut u64,
    /// The worker's one server.
    pub(crate) queue: &'a mut Queue,
    /// Answers that wait for their delay.
    pub(crate) under_way: &'a mut u64,
    /// The delays that this connection begins, each with its stream.
    pub(crate) delays: &'a mut Vec<(Duration, u32)>,
    /// What the services of gRPC remember.
    pub(crate) companion: &'a mut Companion,
    /// Until when the worker does not sleep.
    pub(crate) polls_until: &'a mut Option<Instant>,
    /// Where every answer is noted, if it is.
    pub(crate) served: Option<&'a mut Vec<Served>>,
    /// Whether no further request is to be taken.
    pub(crate) ending: bool,
}

impl Context<'_> {
    /// When an answer on a connection is to leave that was asked for just now.
    pub(crate) fn plan(&mut self, connection: u64, drawn: &Drawn) -> Served {
        if !drawn.poll.is_zero() {
            *self.polls_until = (*self.polls_until).max(Some(Instant::now() + drawn.poll));
        }
        let crowded = drawn.crowded.filter(|(number, _)| *self.under_way >= *number);
        let delay = drawn.delay + crowded.map(|(_, delay)| delay).unwrap_or_default();
        let delay_ns = delay.as_nanos() as u64;
        if drawn.service.is_none() && self.served.is_none() {
            // Nobody asks for the time, so the clock is not read for it.
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

    /// Has an answer on a stream wait for its delay; false when it has none.
    pub(crate) fn delay(&mut self, plan: &Served, stream: u32) -> bool {
        let delay = Duration::from_nanos(plan.departs_ns - plan.arrived_ns);
        if delay.is_zero() {
            return false;
        }
        self.delays.push((delay, stream));
        *self.under_way += 1;
        true
    }

    /// Takes note that an answer leaves.
    pub(crate) fn serve(&mut self, plan: Served) {
        if let Some(served) = &mut self.served {
            served.push(Served { written_ns: now_ns(), ..plan });
        }
        *self.answered += 1;
    }
}
