//! The plan of a measurement: its arms, from a bare network to each mesh and its functions, and the order of their slices.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use hoptax_cluster::Namespace;
use hoptax_cluster::job::Pull;
use hoptax_cluster::prometheus::Address;
use hoptax_cluster::rights::GroupResource;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use crate::source::CpuTime;
use crate::template::Template;

/// The id of the arm on the network of nodes.
pub const HOST_NETWORK: &str = "host-network";
/// The id of the arm on the pod network.
pub const POD_NETWORK: &str = "pod-network";
/// The name of the open loop, which all costs are taken from.
pub const IN_USE: &str = "in-use";
/// The name of the closed loop, which maximum rates are taken from, and nothing else.
pub const SATURATION: &str = "saturation";
/// The port of the origin on a pod network.
pub const PORT: u16 = 8080;
/// The length of a slice at saturation: enough for a rate, without readings of CPU times.
pub const SATURATION_SLICE: Duration = Duration::from_secs(10);

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The meshes and their functions, in order.
    pub meshes: Vec<Template>,
    /// The image of callers and origins, with this program at `/hoptax`.
    pub image: String,
    /// When nodes pull it.
    pub pull: Pull,
    /// Requests per second.
    pub rate: f64,
    /// True to measure the maximum rate of each arm as well, in a closed loop.
    pub has_max_rate: bool,
    /// Connections of a caller.
    pub connections: u32,
    /// Rounds, each with new pods.
    pub rounds: u32,
    /// The length of a slice; none for the minimum of the source of CPU times.
    pub slice: Option<Duration>,
    /// The warm-up before each slice.
    pub warmup: Duration,
    /// The seed of the order of slices and of arrivals.
    pub seed: u64,
    /// The nodes of the origins and of the callers; none for the node that the cluster chooses in the first round.
    pub nodes: [Option<String>; 2],
    /// The source of CPU times.
    pub cpu_time: CpuTime,
    /// The Prometheus that may be the source; none without one.
    pub prometheus: Option<Address>,
}

/// The plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The settings.
    pub asked: Asked,
    /// The arms, in the order of results.
    pub arms: Vec<Arm>,
}

/// One step of the comparison.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Its id.
    pub id: String,
    /// The arm that it is compared with.
    pub compared_with: Option<String>,
    /// Its namespace, which is created for it.
    pub namespace: Namespace,
    /// The port of its origin.
    pub port: u16,
    /// True if its pods use the network of their nodes.
    pub has_host_network: bool,
    /// The requirements of its namespace and its pods.
    pub template: Template,
}

impl Plan {
    /// The plan of a measurement, with unused namespaces.
    ///
    /// # Errors
    /// When two arms have the same name, when a template's name is too long, when the source of CPU times is a Prometheus without an
    /// address, or when there is an address of a Prometheus that is never the source.
    pub fn new(asked: Asked) -> Result<Self, String> {
        match &asked.prometheus {
            None if asked.cpu_time == CpuTime::Prometheus => {
                let why = "`--cpu-time prometheus` needs the address of a Prometheus: `--prometheus NAMESPACE/SERVICE:PORT`, or its URL";
                return Err(why.to_owned());
            }
            Some(address) if !asked.cpu_time.has_prometheus() => {
                return Err(format!(
                    "`--prometheus {address}` would never be used: leave it out, or use `--cpu-time prometheus` or `auto`"
                ));
            }
            _ => {}
        }
        Self::with(asked, RandomState::new().hash_one(0))
    }

    /// The plan with names derived from a random number.
    fn with(asked: Asked, random: u64) -> Result<Self, String> {
        let bare = |name: &str, summary: &str, port: u16| Template {
            name: name.to_owned(),
            summary: summary.to_owned(),
            url: format!("http://{{{{ address }}}}:{port}/"),
            ..Template::default()
        };
        // On the network of a node, another server may occupy the default port. The next port is that of the caller.
        let of_host = 20_000 + u16::try_from(random % 5_000 * 2).unwrap_or_default();
        let bare_arms = [
            (bare(HOST_NETWORK, "no container network and no mesh", of_host), of_host, None),
            (
                bare(POD_NETWORK, "the network of pods, without a mesh", PORT),
                PORT,
                Some(HOST_NETWORK.to_owned()),
            ),
        ];
        // A function is compared with its mesh, if that is measured, too.
        let is_measured = |name: &String| asked.meshes.iter().any(|mesh| mesh.name == *name);
        let meshes = asked.meshes.iter().map(|template| {
            let base = template.bases().into_iter().find(is_measured);
            (template.clone(), PORT, base.or_else(|| Some(POD_NETWORK.to_owned())))
        });
        let mut arms: Vec<Arm> = Vec::new();
        for (template, port, compared_with) in bare_arms.into_iter().chain(meshes) {
            let id = template.name.clone();
            if arms.iter().any(|arm| arm.id == id) {
                return Err(format!("two arms are named `{id}`: give each template a different `name`"));
            }
            let namespace = format!("hoptax-mesh-{:010x}-{id}", random >> 24).parse::<Namespace>()?;
            let template = template.filled(namespace.as_str(), &asked.image)?;
            arms.push(Arm {
                has_host_network: id == HOST_NETWORK,
                id,
                compared_with,
                namespace,
                port,
                template,
            });
        }
        Ok(Self { asked, arms })
    }

    /// The kinds of objects in its templates, which need additional rights.
    pub fn made(&self) -> Vec<GroupResource> {
        self.arms.iter().flat_map(|arm| arm.template.made()).collect()
    }

    /// The arms of a round, by index, in the order in which they are measured.
    pub fn order(&self, round: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.arms.len()).collect();
        let seed = self.asked.seed.wrapping_mul(1_000_003).wrapping_add(round.into());
        order.shuffle(&mut SmallRng::seed_from_u64(seed));
        order
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::template::BUILT_IN;

    pub(crate) fn plan(meshes: &[&str]) -> Result<Plan, String> {
        let of = |name: &&str| {
            let (_, text) = BUILT_IN.iter().find(|(other, _)| other == name).unwrap();
            Template::read(text).unwrap()
        };
        let asked = Asked {
            meshes: meshes.iter().map(of).collect(),
            image: "registry.example/hoptax:1".to_owned(),
            pull: Pull::IfNotPresent,
            rate: 500.0,
            has_max_rate: false,
            connections: 8,
            rounds: 3,
            slice: None,
            warmup: Duration::from_secs(3),
            seed: 1,
            nodes: [None, None],
            cpu_time: CpuTime::Auto,
            prometheus: None,
        };
        Plan::with(asked, 0x1234_5678_9abc_def0)
    }

    #[test]
    fn arms_are_the_rungs_and_each_mesh_with_a_namespace_of_its_own() {
        let plan = plan(&["istio", "linkerd"]).unwrap();
        let arms: Vec<_> =
            plan.arms.iter().map(|arm| (arm.id.as_str(), arm.compared_with.as_deref())).collect();
        assert_eq!(
            arms,
            [
                ("host-network", None),
                ("pod-network", Some("host-network")),
                ("istio", Some("pod-network")),
                ("linkerd", Some("pod-network")),
            ]
        );
        assert_eq!(plan.arms[2].namespace.as_str(), "hoptax-mesh-123456789a-istio");
        let (url, _) = plan.arms[0].template.request("192.0.2.1", "ns");
        assert_eq!(url, format!("http://192.0.2.1:{}/", plan.arms[0].port));
        let twice = self::plan(&["istio", "istio"]).unwrap_err();
        assert!(twice.contains("two arms are named `istio`"), "{twice}");
    }

    #[test]
    fn a_prometheus_has_an_address_and_is_one_that_may_be_asked() {
        let with = |cpu_time: CpuTime, prometheus: Option<&str>| {
            let asked = plan(&[]).unwrap().asked;
            let prometheus = prometheus.map(|text| text.parse::<Address>().unwrap());
            Plan::new(Asked { cpu_time, prometheus, ..asked }).map(|plan| plan.asked.prometheus.is_some())
        };
        let address = Some("monitoring/prometheus:9090");
        assert_eq!(with(CpuTime::Auto, None), Ok(false));
        for cpu_time in [CpuTime::Auto, CpuTime::Prometheus] {
            assert_eq!(with(cpu_time, address), Ok(true));
        }
        let without = with(CpuTime::Prometheus, None).unwrap_err();
        assert!(without.contains("`--prometheus NAMESPACE/SERVICE:PORT`"), "{without}");
        for cpu_time in [CpuTime::Cgroup, CpuTime::Kubelet] {
            let unused = with(cpu_time, address).unwrap_err();
            assert!(
                unused.contains("`--prometheus monitoring/prometheus:9090` would never be used"),
                "{unused}"
            );
        }
    }

    #[test]
    fn a_function_is_compared_with_the_nearest_of_what_it_extends_that_is_measured_too() {
        let compared = |meshes: &[&str], id: &str| {
            let plan = plan(meshes).unwrap();
            plan.arms.into_iter().find(|arm| arm.id == id).unwrap().compared_with.unwrap()
        };
        for (meshes, expected) in [
            (&["consul", "consul-http", "consul-retries"][..], "consul-http"),
            // The order of the options does not matter.
            (&["consul-retries", "consul-http"][..], "consul-http"),
            (&["consul", "consul-retries", "istio"][..], "consul"),
            (&["istio", "consul-retries"][..], POD_NETWORK),
        ] {
            assert_eq!(compared(meshes, "consul-retries"), expected, "{meshes:?}");
        }
    }

    #[test]
    fn arms_of_one_mesh_have_names_of_their_own_in_what_has_no_namespaces() {
        let plan = plan(&["consul", "consul-authorization-100"]).unwrap();
        let urls = [2, 3].map(|arm: usize| plan.arms[arm].template.url.clone());
        let expected = ["consul", "consul-authorization-100"]
            .map(|name| format!("http://hoptax-mesh-123456789a-{name}-origin:8080/"));
        assert_eq!(urls, expected);
        // The longest names that a template may have are labels of DNS, too.
        let template = |name: String| Template { name, ..asked_template() };
        let mut asked = plan.asked.clone();
        asked.meshes = vec![template("a".repeat(30))];
        let plan = Plan::with(asked, u64::MAX).unwrap();
        let name = plan.arms[2].template.objects[0]["metadata"]["name"].as_str().unwrap();
        assert!(name.ends_with("-origin") && name.parse::<Namespace>().is_ok(), "{name}");
    }

    fn asked_template() -> Template {
        let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == "consul").unwrap();
        Template::read(text).unwrap()
    }

    #[test]
    fn every_round_has_each_arm_once_in_an_order_of_its_own() {
        let plan = plan(&["istio"]).unwrap();
        let orders: Vec<Vec<usize>> = (0..20).map(|round| plan.order(round)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(orders.iter().any(|order| *order != orders[0]), "{orders:?}");
        assert_eq!(plan.order(3), plan.order(3));
    }
}
