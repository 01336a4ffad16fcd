//! Needs of a load whose agents are pods of a cluster: the targets that they allow, their deadline, and their resources.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hoptax_load::{HostPort, Target};
use hoptax_session::Failure;
use hoptax_session::load::{Lengths, Sending};

/// The time that controller and agents need beside the load itself: for greetings, clocks, connections and reports.
const BESIDE: Duration = Duration::from_mins(1);
/// The longest time of agents: a mistake must not hold a cluster for longer.
const LONGEST: Duration = Duration::from_hours(24);
/// The memory of an agent without connections, MiB, and the connections that a further MiB is for.
const MEMORY_MIB: u32 = 256;
const CONNECTIONS_PER_MIB: u32 = 16;

/// The needs of a load from each of its agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodNeeds {
    /// The hosts of its URLs with their ports, which agents must be allowed to send to.
    pub targets: Vec<String>,
    /// The time after which an agent ends, whatever it does: the first one may have to wait for the last.
    pub deadline: Duration,
    /// Processors, in thousandths: one for each worker, and one beside them.
    pub cpu_millis: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
}

impl PodNeeds {
    /// The needs of a load from each of this many agents, which may take the time `arrival` to start.
    ///
    /// # Errors
    /// When a URL is invalid or leads to the pod itself, the schedule is invalid, and when the load would take more than a day.
    pub fn of_load(sending: &Sending<'_>, agents: u32, arrival: Duration) -> Result<Self, Failure> {
        let connections = &sending.load.connections;
        Ok(Self {
            targets: targets(sending)?,
            deadline: deadline(sending, arrival)?,
            cpu_millis: (connections.workers + 1) * 1_000,
            memory_mib: MEMORY_MIB + connections.number.div_ceil(agents).div_ceil(CONNECTIONS_PER_MIB),
        })
    }
}

fn targets(sending: &Sending<'_>) -> Result<Vec<String>, Failure> {
    let mut targets = Vec::new();
    for url in &sending.load.requests.urls {
        let HostPort { host, port } = Target::host_and_port(url).map_err(Failure::bad_input)?;
        let address = host.parse::<IpAddr>().ok();
        let is_local = |address: IpAddr| address.is_loopback() || address.is_unspecified();
        if host == "localhost" || address.is_some_and(|address| is_local(address.to_canonical())) {
            return Err(Failure::bad_input(format!(
                "`{host}` is the pod of each agent, where no server listens: name the target as pods of the cluster reach it, such as \
                 `http://SERVICE.NAMESPACE/`"
            )));
        }
        let target = match address {
            Some(address) => SocketAddr::new(address, port).to_string(),
            None => format!("{host}:{port}"),
        };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

fn deadline(sending: &Sending<'_>, arrival: Duration) -> Result<Duration, Failure> {
    let Lengths { warmup, record } = sending.schedule.lengths()?;
    let timeout = sending.load.requests.timeout;
    let parts = [BESIDE, sending.schedule.ramp_up.unwrap_or_default(), warmup, record, timeout, timeout];
    let deadline = parts.iter().fold(arrival, |sum, part| sum.saturating_add(*part));
    if deadline > LONGEST {
        return Err(Failure::bad_input(
            "a load of agents in pods takes at most a day: shorten --duration, or add one to --count",
        ));
    }
    Ok(Duration::from_secs(deadline.as_secs() + 1))
}

#[cfg(test)]
mod tests {
    use hoptax_session::load::{Connections, GivenUrl, Load, Requests, Schedule};

    use super::*;

    fn sending(urls: &[&str], duration: Duration) -> Sending<'static> {
        let urls = urls.iter().map(|url| GivenUrl::from((*url).to_owned())).collect();
        let requests = Requests { urls, timeout: Duration::from_secs(5), ..Requests::default() };
        let connections = Connections { number: 40, workers: 2, ..Connections::default() };
        let schedule = Schedule {
            duration: Some(duration),
            warmup: Some(Duration::from_secs(1)),
            ramp_up: Some(Duration::from_secs(3)),
            ..Schedule::default()
        };
        Sending { load: Load { requests, connections, ..Load::default() }, schedule, ..Sending::default() }
    }

    fn needs(urls: &[&str], duration: Duration) -> Result<PodNeeds, String> {
        let needs = PodNeeds::of_load(&sending(urls, duration), 2, Duration::from_mins(2));
        needs.map_err(|failure| failure.to_string())
    }

    #[test]
    fn agents_have_the_targets_the_time_and_the_resources_of_their_load() {
        let urls = ["http://shop.web/x", "http://shop.web:80/y", "https://[2001:db8::1]:8443/"];
        let expected = PodNeeds {
            targets: vec!["shop.web:80".to_owned(), "[2001:db8::1]:8443".to_owned()],
            // 120 s to start, 60 s beside the load, 3 s, 1 s and 30 s of it, twice the time limit of a request, and the rest of a second.
            deadline: Duration::from_secs(120 + 60 + 3 + 1 + 30 + 10 + 1),
            cpu_millis: 3_000,
            memory_mib: 258,
        };
        assert_eq!(needs(&urls, Duration::from_secs(30)), Ok(expected));
    }

    #[test]
    fn a_target_in_the_pod_itself_and_a_load_of_more_than_a_day_are_refused() {
        for host in ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"] {
            let refused = needs(&[&format!("http://{host}/")], Duration::from_secs(30)).unwrap_err();
            assert!(refused.contains("is the pod of each agent"), "{refused}");
        }
        let refused = needs(&["http://shop.web/"], Duration::from_hours(24)).unwrap_err();
        assert!(refused.contains("at most a day"), "{refused}");
    }
}
