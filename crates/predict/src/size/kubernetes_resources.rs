//! Resources of the container of a proxy, in the notation of Kubernetes.

use hoptax_result::{Interval, KubernetesResources};

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Requests and limits for a proxy that uses these cores and this memory.
///
/// The scheduler reserves the requested resources, so the requests are the upper ends of the intervals. A CPU limit throttles a proxy in
/// the middle of requests, so the limit is as much as its workers can use.
pub(crate) fn resources(
    cores: &Interval,
    workers: u32,
    memory_bytes: Option<&Interval>,
) -> KubernetesResources {
    // The smallest quantity of CPU is a thousandth of a core.
    let millicores = (1e3 * cores.high).ceil().max(1.0);
    KubernetesResources {
        cpu_request: format!("{millicores}m"),
        cpu_limit: f64::from(workers).max((millicores / 1e3).ceil()).to_string(),
        memory_request: memory_bytes.map(|bytes| format!("{}Mi", (bytes.high / MIB).ceil())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(high: f64) -> Interval {
        Interval::new(high / 2.0, 0.0, high)
    }

    #[test]
    fn requests_are_upper_ends_rounded_up_and_the_limit_is_all_workers() {
        let found = resources(&to(1.3021), 2, Some(&to(61.2 * MIB)));
        let texts = [found.cpu_request.as_str(), &found.cpu_limit, found.memory_request.as_deref().unwrap()];
        assert_eq!(texts, ["1303m", "2", "62Mi"]);
    }

    #[test]
    fn a_proxy_with_too_few_workers_may_use_what_it_requests() {
        let found = resources(&to(2.2), 1, None);
        assert_eq!((found.cpu_request.as_str(), found.cpu_limit.as_str()), ("2200m", "3"));
        assert_eq!(found.memory_request, None);
        assert_eq!(resources(&to(0.0), 1, None).cpu_request, "1m");
    }
}
