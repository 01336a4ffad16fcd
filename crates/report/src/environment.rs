//! The machine that a result was measured on, line by line, for readers who compare or question results.

pub(crate) mod differences;

use hoptax_result::{ClusterEnvironment, ClusterNode, Environment, Program};

use crate::document::{Block, Section};
use crate::numbers::{counted, grouped};
use crate::provenance::version;
use crate::rows::MIB;

/// The machine and the programs, collapsed; none if the machine is unknown, as for results of other tools.
pub(crate) fn section(environment: &Environment, program: &Program) -> Option<Section> {
    let is_known = !environment.cpu_model.is_empty();
    is_known.then(|| Section {
        title: "Environment".to_owned(),
        folded: true,
        blocks: vec![Block::Lines(lines(environment, program))],
    })
}

fn lines(environment: &Environment, program: &Program) -> Vec<String> {
    let mut lines = vec![format!("hoptax {}, {}", version(program), environment.started_at)];
    let build = environment.proxy_build.as_ref().map_or_else(String::new, |build| format!(" ({build})"));
    lines.extend(environment.proxy_version.as_ref().map(|version| format!("proxy {version}{build}")));
    let memory = memory(environment);
    let all = [
        environment.cpu_model.clone(),
        format!("{} online", counted(u64::from(environment.cpus), "processor")),
        if environment.virtual_machine { "virtual machine".to_owned() } else { String::new() },
        if memory.is_empty() { memory } else { format!("{memory} of memory") },
    ];
    lines.push(listed(&all));
    let named = |name: &str, value: &str| {
        if value.is_empty() { String::new() } else { format!("{name} {value}") }
    };
    lines.push(listed(&[
        named("Linux", &environment.kernel),
        named("clock source", &environment.clock_source),
        named("frequency governor", environment.frequency_governor.as_deref().unwrap_or_default()),
        if environment.cluster.is_some() {
            String::new()
        } else {
            format!("load average {} at the start", grouped(environment.load_average, 2))
        },
    ]));
    if let Some(cluster) = &environment.cluster {
        lines.extend(of_cluster(cluster));
        return lines;
    }
    let pinned = [("proxy", &environment.proxy_cpus), ("generator and origin", &environment.generator_cpus)];
    for (name, cpus) in pinned.into_iter().filter(|(_, cpus)| !cpus.is_empty()) {
        lines.push(format!("{name} pinned to CPU {}", numbers(cpus)));
    }
    lines.push(environment.calibration.as_ref().map_or_else(
        || {
            "not calibrated: `hoptax trust calibrate` measures how exact the generator is on this machine"
                .to_owned()
        },
        |one| {
            let floor_us = grouped(one.floor_p50_us, 1);
            format!("calibrated {}: latency floor p50 {floor_us} us at 1,000 requests/s", one.measured_at)
        },
    ));
    lines
}

/// The cluster, its nodes and the proxy images, one line each.
fn of_cluster(cluster: &ClusterEnvironment) -> Vec<String> {
    let node = |node: &ClusterNode| {
        let parts =
            [node.system.clone(), format!("Linux {}", node.kernel), node.kind.clone().unwrap_or_default()];
        format!("node `{}`: kubelet {}, {}, {}", node.name, node.kubelet, node.runtime, listed(&parts))
    };
    let named = |what: &str, images: &[String]| {
        images.iter().map(|image| format!("{what} {image}")).collect::<Vec<_>>()
    };
    let images = [
        named("network of pods by", &cluster.networks),
        named("control plane", &cluster.control_planes),
        named("proxy", &cluster.proxies),
    ];
    let version = format!("Kubernetes {}", cluster.kubernetes);
    let source = cluster.cpu_time.map(|source| format!("CPU times from {}", source.as_str()));
    let all = [version].into_iter().chain(cluster.nodes.iter().map(node)).chain(images.concat());
    all.chain(source).collect()
}

/// The memory; empty if it is unknown.
fn memory(environment: &Environment) -> String {
    let mib = environment.memory_bytes as f64 / MIB;
    if environment.memory_bytes > 0 { format!("{} MiB", grouped(mib, 0)) } else { String::new() }
}

/// Numbers of processors.
fn numbers(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    cpus.join(", ")
}

/// Joins the nonempty parts on one line.
fn listed(parts: &[String]) -> String {
    let said: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use hoptax_result::CpuTimeSource;

    use super::*;

    #[test]
    fn a_machine_that_is_not_known_has_no_section() {
        assert!(section(&Environment::default(), &Program::default()).is_none());
    }

    #[test]
    fn a_cluster_says_where_its_cpu_times_are_from_if_the_result_does() {
        let lines = |cpu_time: Option<CpuTimeSource>| {
            of_cluster(&ClusterEnvironment { cpu_time, ..ClusterEnvironment::default() }).join("\n")
        };
        assert!(lines(Some(CpuTimeSource::Cgroup)).ends_with("\nCPU times from control groups"));
        assert!(!lines(None).contains("CPU times"));
    }

    #[test]
    fn a_cluster_says_what_makes_its_network_and_which_meshes_it_has() {
        let cluster = ClusterEnvironment {
            kubernetes: "v1.32.1".to_owned(),
            proxies: vec!["istio/proxyv2:1.31.0".to_owned()],
            networks: vec!["cilium/cilium:v1.17".to_owned()],
            control_planes: vec!["istio/pilot:1.31.0".to_owned()],
            ..ClusterEnvironment::default()
        };
        let expected = [
            "Kubernetes v1.32.1",
            "network of pods by cilium/cilium:v1.17",
            "control plane istio/pilot:1.31.0",
            "proxy istio/proxyv2:1.31.0",
        ];
        assert_eq!(of_cluster(&cluster), expected);
    }

    #[test]
    fn a_line_is_left_out_if_there_is_nothing_to_say() {
        let program = Program { version: "1.2.3".to_owned(), commit: None };
        let mut environment = Environment {
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            cpu_model: "A processor".to_owned(),
            cpus: 2,
            memory_bytes: 4 << 30,
            kernel: "6.1".to_owned(),
            clock_source: "tsc".to_owned(),
            load_average: 0.5,
            ..Environment::default()
        };
        assert_eq!(
            lines(&environment, &program)[..3],
            [
                "hoptax 1.2.3, 2026-01-01T00:00:00Z",
                "A processor, 2 processors online, 4,096 MiB of memory",
                "Linux 6.1, clock source tsc, load average 0.50 at the start"
            ]
        );
        environment.proxy_cpus = vec![1, 3];
        environment.proxy_version = Some("1.40.0".to_owned());
        let all = lines(&environment, &program).join("\n");
        assert!(all.contains("\nproxy 1.40.0\n") && all.contains("\nproxy pinned to CPU 1, 3\n"), "{all}");
        assert!(!all.contains("generator and origin") && all.contains("not calibrated"), "{all}");
        environment.proxy_build = Some("Modified/RELEASE".to_owned());
        assert!(lines(&environment, &program).contains(&"proxy 1.40.0 (Modified/RELEASE)".to_owned()));
    }
}
