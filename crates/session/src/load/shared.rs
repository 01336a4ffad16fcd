//! A load that several generators share. Each sends its share, and all start together when one of them, or another party, decides it.

use std::sync::atomic::AtomicBool;

use hoptax_load::Share;
use hoptax_load::interval::IntervalSink;
use hoptax_load::trial::{self, Start, TrialSpec};
use hoptax_result::{LoadResult, counted};

use super::{Load, Schedule};
use crate::awake::NeverHalt;
use crate::failure::Failure;
use crate::update::Say;
use crate::{awake, environment};

/// A generator's share of a load.
#[derive(Debug)]
pub struct SharedLoad {
    /// The whole load, with the connections of all generators and the workers of each.
    pub load: Load,
    /// The schedule of the whole load.
    pub schedule: Schedule,
    /// The share that this generator sends.
    pub share: Share,
    /// Decides when to start. It is asked once the connections are open.
    pub start: Start,
    /// When idle processors are kept from halting.
    pub never_halt: NeverHalt,
    /// Percentiles in addition to the default ones.
    pub percentiles: Vec<f64>,
    /// The share of requests that may fail; none for the default.
    pub max_error_share: Option<f64>,
    /// Receive the intervals.
    pub intervals: Vec<IntervalSink>,
}

impl SharedLoad {
    /// Sends the share. Its result is not judged.
    ///
    /// # Errors
    /// When the load is not valid or cannot be shared, and when it cannot run.
    pub fn send(self, stop: &AtomicBool, say: Say<'_>) -> Result<LoadResult, Failure> {
        let spec = self.spec(say)?;
        let servers = spec.traffic.addresses().map(|address| address.ip());
        let awake = awake::for_servers(servers, self.never_halt, say)?;
        let spec = TrialSpec { never_halted: awake.is_some(), ..spec };
        let environment = environment::current(spec.never_halted);
        trial::run(&spec, environment, stop, None).map_err(|error| self.load.tls.failed(&error))
    }

    fn spec(&self, say: Say<'_>) -> Result<TrialSpec, Failure> {
        let (share, of) = (self.share, u64::from(self.share.generators()));
        let mut load = self.load.clone();
        let connections = &mut load.connections;
        check(of, connections.number.into(), self.schedule.count, connections.workers.into())?;
        connections.number = share.of_number(connections.number.into()) as u32;
        let spec = load.scheduled(&self.schedule, say)?;
        Ok(TrialSpec {
            share,
            start: Some(self.start.clone()),
            requests: spec.requests.map(|requests| share.of_number(requests)),
            percentiles: self.percentiles.clone(),
            max_error_share: self.max_error_share.unwrap_or(spec.max_error_share),
            intervals: self.intervals.clone(),
            ..spec
        })
    }
}

/// Refuses a load with too few connections or requests to share. Each worker needs at least one connection and one request, and all
/// generators have the same number of workers, because a schedule is divided among workers.
///
/// # Errors
/// When there are too few.
pub fn check(generators: u64, connections: u64, requests: Option<u64>, workers: u64) -> Result<(), Failure> {
    let least = generators * workers;
    let too_few = |what: &str, number: u64, option: &str| {
        Err(Failure::bad_input(format!(
            "{} with {} each need {least} {what}, and {option} is {number}: raise {option} to {least}, use fewer agents, or lower \
             --workers",
            counted(generators, "agent"),
            counted(workers, "worker")
        )))
    };
    if connections < least {
        return too_few("connections", connections, "--connections");
    }
    match requests {
        Some(requests) if requests < least => too_few("requests", requests, "--count"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hoptax_load::Pace;

    use super::*;
    use crate::load::{Connections, GivenUrl, Requests};

    fn shared(index: u32, of: u32) -> SharedLoad {
        let urls = vec![GivenUrl::from("http://127.0.0.1:1/".to_owned())];
        SharedLoad {
            load: Load {
                requests: Requests { urls, ..Requests::default() },
                connections: Connections { number: 8, workers: 2, ..Connections::default() },
                ..Load::default()
            },
            schedule: Schedule {
                pace: Some(Pace::Constant(100.0)),
                count: Some(1_001),
                ..Schedule::default()
            },
            share: Share::new(index, of).unwrap(),
            start: Start::new(|| 0),
            never_halt: NeverHalt::Never,
            percentiles: Vec::new(),
            max_error_share: None,
            intervals: Vec::new(),
        }
    }

    #[test]
    fn generators_share_connections_and_requests_and_each_has_the_time_limit_of_all() {
        let specs: Vec<TrialSpec> = (0..3).map(|index| shared(index, 3).spec(&|_| ()).unwrap()).collect();
        assert_eq!(specs.iter().map(|spec| spec.connections).collect::<Vec<_>>(), [3, 3, 2]);
        assert_eq!(
            specs.iter().map(|spec| spec.requests).collect::<Vec<_>>(),
            [Some(334), Some(334), Some(333)]
        );
        // 1,001 requests at 100 per second.
        assert!(specs.iter().all(|spec| spec.duration > Duration::from_secs(10) && spec.workers == 2));
    }

    #[test]
    fn a_load_is_shared_by_no_more_workers_than_it_has_connections_and_requests() {
        assert!(check(3, 6, Some(6), 2).is_ok() && check(3, 6, None, 2).is_ok());
        for (connections, requests, option) in [(5, None, "--connections to 6"), (6, Some(5), "--count to 6")]
        {
            let refused = check(3, connections, requests, 2).unwrap_err().to_string();
            assert!(refused.contains(option), "{refused}");
        }
        assert!(shared(0, 5).spec(&|_| ()).is_err());
    }
}
