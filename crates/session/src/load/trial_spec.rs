//! The trial made from a load: without a schedule for searches, and with the load's schedule to send it once.

use std::time::Duration;

use hoptax_load::trial::{Accounted, TrialSpec};
use hoptax_load::{Arrivals, Connect, Pace, Pooling};
use hoptax_result::counted;

use super::build_traffic::traffic_of;
use super::schedule::Loop;
use super::{Connections, Load, Schedule};
use crate::failure::Failure;
use crate::machine;
use crate::update::Say;

/// Default lengths of the recording and of the warm-up.
const DURATION: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(1);
/// Default time limit of a closed loop that sends a fixed number of requests.
const LONGEST_CLOSED: Duration = Duration::from_hours(1);

impl Load {
    /// The trial of this load as a closed loop, for a caller that sets the rate and the length. Asks the servers for their protocol and
    /// their services, if the load does not state them.
    ///
    /// # Errors
    /// When the load is not valid or its parts do not fit together, and when a server cannot be asked.
    pub(crate) fn unscheduled(&self, say: Say<'_>) -> Result<TrialSpec, Failure> {
        let traffic = traffic_of(self, say)?;
        let Connections { number, order, lifetime, workers, .. } = self.connections;
        let hosts = traffic.hosts();
        if hosts > number as usize {
            return Err(Failure::bad_input(format!(
                "{} need at least one connection each, and there {} {}: raise --connections",
                counted(hosts as u64, "host"),
                if number == 1 { "is" } else { "are" },
                counted(number.into(), "connection")
            )));
        }
        // Each worker needs a connection to every host.
        let max_workers = number as usize / hosts.max(1);
        if workers as usize > max_workers {
            return Err(Failure::bad_input(format!(
                "{} cannot share {} to {}: each worker needs a connection to each host; raise --connections or lower --workers",
                counted(workers.into(), "worker"),
                counted(number.into(), "connection"),
                counted(hosts as u64, "host")
            )));
        }
        machine::allow_connections(number as usize)?;
        Ok(TrialSpec {
            connections: number as usize,
            pooling: Pooling { order, lifetime, ..Pooling::default() },
            workers: workers as usize,
            timeout: self.requests.timeout,
            seed: self.seed,
            account: self.account.clone().map(Accounted::Running),
            ..TrialSpec::new(traffic)
        })
    }

    /// The trial of this load with a schedule.
    ///
    /// # Errors
    /// As [`Load::unscheduled`], and when the schedule is not valid.
    pub(crate) fn scheduled(&self, schedule: &Schedule, say: Say<'_>) -> Result<TrialSpec, Failure> {
        if schedule.ramp_up.is_some() && self.connections.lifetime.connect == Connect::OnDemand {
            return Err(Failure::bad_input(
                "`--ramp-up` opens connections before the load: remove `--connect on-demand`",
            ));
        }
        let its_loop = schedule.open_loop()?;
        let Lengths { warmup, record } = schedule.lengths_of(&its_loop);
        let spec = self.unscheduled(say)?;
        Ok(TrialSpec {
            open: its_loop.open,
            think: schedule.think,
            pooling: Pooling { when_busy: schedule.when_busy, when_late: schedule.when_late, ..spec.pooling },
            duration: record,
            requests: schedule.count,
            warmup,
            ramp_up: schedule.ramp_up.unwrap_or_default(),
            ..spec
        })
    }
}

/// The lengths that a schedule implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The length of the warm-up.
    pub warmup: Duration,
    /// The length of the recording, if it does not end with its last request.
    pub record: Duration,
}

impl Schedule {
    /// The lengths of warm-up and recording.
    ///
    /// # Errors
    /// When the schedule is not valid.
    pub fn lengths(&self) -> Result<Lengths, Failure> {
        Ok(self.lengths_of(&self.open_loop()?))
    }

    fn lengths_of(&self, its_loop: &Loop) -> Lengths {
        let Loop { open, length } = its_loop;
        let (length, warmup) = length.map_or_else(
            || (self.count.map_or(DURATION, |count| time_limit(count, open.as_ref())), WARM_UP),
            |length| (length, Duration::ZERO),
        );
        Lengths { warmup: self.warmup.unwrap_or(warmup), record: self.duration.unwrap_or(length) }
    }
}

/// Time limit for `count` requests. In an open loop, it exceeds the expected time only slightly, because the windows of the recording are
/// hundredths of it. Random arrivals stay within six standard deviations almost always.
fn time_limit(count: u64, open: Option<&(Pace, Arrivals)>) -> Duration {
    let Some((pace, arrivals)) = open else { return LONGEST_CLOSED };
    let burst = if let Arrivals::Burst(size) = arrivals { f64::from(*size) } else { 0.0 };
    let count = count as f64;
    let seconds = (count + 6.0 * count.sqrt() + burst + 10.0) / pace.mean_rate();
    Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_CLOSED)
}
