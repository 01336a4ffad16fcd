//! Evaluates the statistics of the proxies over a round: proofs that each function acted, and the bytes on their connections.

use hoptax_functions::Proof;
use hoptax_host::link::Link;
use hoptax_host::open_files::{has_open, why_absent};
use hoptax_plan::plan::{self, Arm, Hop};
use hoptax_result::ProxyTraffic;
use hoptax_subject::envoy::process::Proxy;

use super::ends::Ends;
use super::error::in_arm;
use super::running::Running;
use super::subject::Subject;
use super::{ArmError, RunError};

/// Requests, bytes received and bytes sent, by the statistics to add and those to subtract. Envoy counts its admin interface as a separate
/// HTTP server.
const TRAFFIC: [(&[&str], &[&str]); 3] = [
    (&["http.*.downstream_rq_total"], &["http.admin.downstream_rq_total"]),
    (
        &["http.*.downstream_cx_rx_bytes_total", "cluster.*.upstream_cx_rx_bytes_total"],
        &["http.admin.downstream_cx_rx_bytes_total"],
    ),
    (
        &["http.*.downstream_cx_tx_bytes_total", "cluster.*.upstream_cx_tx_bytes_total"],
        &["http.admin.downstream_cx_tx_bytes_total"],
    ),
];

/// The statistics of a proxy of an arm, by pattern. Its admin interface listens on loopback, so the query runs where the proxy runs.
fn statistics(
    arm: &Arm,
    proxy: &Proxy,
    hop: &Hop,
    ends: Ends<'_>,
    patterns: &[String],
) -> Result<Option<Vec<u64>>, RunError> {
    ends.at_servers(hop.is_near(), || proxy.statistics(patterns))?.map_err(in_arm(arm))
}

/// The values of the statistics with these names, which show functions at work.
///
/// # Errors
/// When the statistics cannot be read, and when the proxy lacks one of them: a function that does not work would then go unnoticed.
pub(super) fn stated(
    arm: &Arm,
    proxy: &Proxy,
    hop: &Hop,
    ends: Ends<'_>,
    names: &[String],
) -> Result<Vec<u64>, RunError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let unstated = || ArmError::Unstated(names.join("`, `"));
    let values = statistics(arm, proxy, hop, ends, names)?.filter(|values| values.len() == names.len());
    values.ok_or_else(|| in_arm(arm)(unstated()))
}

/// Reads the proofs of each proxy's functions; none for a plain proxy.
pub(super) fn read_proofs(link: Option<&Link>, running: &Running<'_>) -> Result<Vec<Vec<u64>>, RunError> {
    let Running { planned: plan::Subject { arm, .. }, subject, .. } = running;
    let of_proxy = |(hop, proxy): (&Hop, &Proxy)| {
        let names: Vec<String> = arm.proofs(hop).into_iter().map(|(_, proof)| proof.name).collect();
        stated(arm, proxy, hop, ends(link, subject), &names)
    };
    arm.chain.hops.iter().zip(&subject.proxies).map(of_proxy).collect()
}

/// Returns the functions that were not active, or not removed, since the proofs were first read, each with the index of its arm.
pub(super) fn unproven(
    link: Option<&Link>,
    all: &[Running<'_>],
) -> Result<Vec<(usize, Vec<String>)>, RunError> {
    let mut unproven = Vec::new();
    for running in all {
        let now = read_proofs(link, running)?;
        let arm = running.planned.arm;
        let failure = |((prefix, proof), (before, now)): ((String, Proof), (&u64, &u64))| {
            let failure = if arm.is_unloaded {
                proof.failure_unloaded(*before, *now)
            } else {
                proof.failure(*before, *now)
            };
            failure.map(|failure| prefix + &failure)
        };
        let of_proxy = |(hop, (before, now)): (&Hop, (&Vec<u64>, &Vec<u64>))| {
            let proofs = arm.proofs(hop).into_iter().zip(before.iter().zip(now));
            proofs.filter_map(failure).collect::<Vec<String>>()
        };
        let hops = arm.chain.hops.iter().zip(running.proofs.iter().zip(&now));
        let mut failures: Vec<String> = hops.flat_map(of_proxy).collect();
        if !arm.is_unloaded {
            let proxies = arm.chain.hops.iter().zip(&running.subject.proxies);
            failures.extend(proxies.flat_map(|(hop, proxy)| {
                arm.opens(hop).filter_map(move |(prefix, link)| Some(prefix + &not_open(proxy.id(), link)?))
            }));
        }
        if !failures.is_empty() {
            unproven.push((running.planned.arm_number, failures));
        }
    }
    Ok(unproven)
}

/// The bytes on the connections of each arm's first copy, by the index of the arm. Leaves out arms whose proxies do not report them:
/// proxies other than Envoy, those that serve no HTTP requests, those whose callers use UDP, and those that the study has ended.
pub(super) fn carried(link: Option<&Link>, all: &[Running<'_>]) -> Vec<(usize, Vec<ProxyTraffic>)> {
    let patterns: Vec<String> = TRAFFIC
        .iter()
        .flat_map(|(add, subtract)| add.iter().chain(*subtract))
        .map(|name| (*name).to_owned())
        .collect();
    let of_arm = |Running { planned, subject, .. }: &Running<'_>| {
        let arm = planned.arm;
        if arm.conditions.protocol.is_of_connections() {
            return None;
        }
        let of_proxy = |(hop, proxy): (&Hop, &Proxy)| {
            let read = statistics(arm, proxy, hop, ends(link, subject), &patterns);
            traffic_of(&read.ok()??)
        };
        let traffic: Option<Vec<ProxyTraffic>> =
            arm.chain.hops.iter().zip(&subject.proxies).map(of_proxy).collect();
        Some((planned.arm_number, traffic?))
    };
    all.iter().filter(|running| running.planned.copy == 0).filter_map(of_arm).collect()
}

fn ends<'a>(link: Option<&'a Link>, subject: &'a Subject) -> Ends<'a> {
    Ends { link, network: subject.network.as_deref() }
}

/// Returns the reason why the files of a process do not show an active function, if so.
fn not_open(process_id: u32, link: &str) -> Option<String> {
    match has_open(process_id, link) {
        Ok(true) => None,
        Ok(false) => {
            let why = why_absent(link);
            let why = if why.is_empty() { why } else { format!(": {why}") };
            Some(format!("the proxy has no `{link}` among its files, so it does not use it{why}"))
        }
        Err(error) => Some(format!("the files of the proxy cannot be read: {error}")),
    }
}

/// The traffic by the values of all patterns of [`TRAFFIC`]. None without requests and bytes.
fn traffic_of(values: &[u64]) -> Option<ProxyTraffic> {
    let mut values = values.iter();
    let mut sum = |patterns: &[&str]| values.by_ref().take(patterns.len()).sum::<u64>();
    let [requests, received_bytes, sent_bytes] =
        TRAFFIC.map(|(add, subtract)| sum(add).saturating_sub(sum(subtract)));
    let is_whole = requests > 0 && received_bytes > 0 && sent_bytes > 0;
    is_whole.then_some(ProxyTraffic { requests, received_bytes, sent_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_needed_file_that_the_proxy_has_not_opened_is_named_with_the_reason() {
        let missing = not_open(std::process::id(), hoptax_host::open_files::RING).unwrap();
        assert!(missing.starts_with("the proxy has no `anon_inode:[io_uring]` among its files"), "{missing}");
        assert!(missing.contains("io_uring_disabled"), "{missing}");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let file = std::os::fd::AsRawFd::as_raw_fd(&listener);
        let link = std::fs::read_link(format!("/proc/self/fd/{file}")).unwrap();
        assert_eq!(not_open(std::process::id(), link.to_str().unwrap()), None);
    }

    #[test]
    fn the_traffic_of_the_admin_interface_is_none_of_the_proxy() {
        let values = [110, 10, 4_000, 9_000, 1_000, 5_000, 8_000, 3_000];
        let traffic = ProxyTraffic { requests: 100, received_bytes: 12_000, sent_bytes: 10_000 };
        assert_eq!(traffic_of(&values), Some(traffic));
        assert_eq!(traffic_of(&[10, 10, 4_000, 9_000, 1_000, 5_000, 8_000, 3_000]), None);
    }
}
