//! Results of studies as documents of SMP: one for each arm and load.

use hoptax_result::{ArmLoad, ArmResult, ConnectionTls, HopUse, Interval, LoadSpec, PlannedHop, StudyResult};

use super::load::unix_s;
use crate::smp::document::{Client, Document, Latency, MeshConfig, TestConfig, TestResult, Unit, Workload};
use crate::smp::load::{environment, protocol, time};
use crate::smp::meshmark::memory_bytes;
use crate::smp::{VERSION, duration, kept};

/// The position of front proxies.
const GATEWAY: &str = "gateway";

/// The results of a study, one document for each arm and load, in the order of the study. The labels of the first hold the whole
/// study, so that nothing is lost.
///
/// # Errors
/// When it has none, as a study of what happens over time.
pub fn of_study(study: &StudyResult) -> Result<Vec<Document>, String> {
    let labels = kept::labels(study);
    let id = kept::id(&labels);
    let pairs = study.arms.iter().flat_map(|arm| arm.loads.iter().map(move |load| (arm, load)));
    let mut documents: Vec<Document> = pairs
        .enumerate()
        .map(|(index, (arm, load))| document(study, arm, load, &format!("{id}-{index}")))
        .collect();
    let first = documents.first_mut().and_then(|document| document.result.as_mut());
    let first = first.ok_or("the study has no numbers by arm and load, of which results of SMP consist")?;
    first.labels.extend(labels);
    Ok(documents)
}

fn document(study: &StudyResult, arm: &ArmResult, load: &ArmLoad, id: &str) -> Document {
    let of = |what: &str| format!("{id}-{what}");
    let spec = study.plan.loads.iter().find(|spec| spec.name == load.load);
    let subject = arm.subject.as_ref();
    let mesh = mesh(arm, load, of("mesh"));
    let mesh_config_id = mesh.as_ref().map(|mesh| mesh.id.clone()).unwrap_or_default();
    let started = unix_s(&study.environment.started_at);
    let at = |unix_s: Option<f64>| unix_s.and_then(time).unwrap_or_default();
    let mut machine = environment(&study.environment, of("environment"));
    machine.individual_workloads.extend(workload(arm, load));
    let labels = [
        ("hoptax.arm", arm.id.as_str()),
        ("hoptax.load", load.load.as_str()),
        ("hoptax.verdict", study.verdict.as_str()),
        ("hoptax.times", "start and end are those of the whole study"),
    ];
    Document {
        test: Some(TestConfig {
            smp_version: VERSION.to_owned(),
            id: of("test"),
            name: format!("{}: {} under {}", study.name, arm.id, load.load),
            clients: vec![Client {
                load_generator: spec.map_or("hoptax", |spec| spec.caller.as_str()).to_owned(),
                protocol: subject.map(|subject| protocol(&subject.protocol)).unwrap_or_default(),
                connections: spec.map_or(0, |spec| spec.connections.into()),
                rps: load.planned_rate.map_or(0, |rate| rate.round().max(1.0) as i64),
                ..Client::default()
            }],
            duration: spec.map(|spec| measured(study, spec)).unwrap_or_default(),
            ..TestConfig::default()
        }),
        mesh_config: mesh,
        environment: Some(machine),
        result: Some(TestResult {
            smp_version: VERSION.to_owned(),
            id: of("result"),
            labels: labels.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            start_time: at(started),
            end_time: at(started.map(|started| started + study.plan.wall_seconds)),
            latencies_ms: latencies(load),
            actual_qps: load.rate.map(|rate| rate.estimate),
            test_id: of("test"),
            mesh_config_id,
            env_id: of("environment"),
        }),
    }
}

/// Length of all slices of an arm under a load, as planned for the completed rounds.
fn measured(study: &StudyResult, spec: &LoadSpec) -> String {
    let slices = f64::from(spec.blocks) * f64::from(study.plan.rounds_completed);
    duration::text(spec.slice_s * slices)
}

fn latencies(load: &ArmLoad) -> Option<Latency> {
    let ms = |us: Option<Interval>| us.map(|us| us.estimate / 1e3);
    let response = &load.response_us;
    let latency =
        Latency { p50: ms(response.p50), p90: ms(response.p90), p99: ms(response.p99), ..Latency::default() };
    (latency != Latency::default()).then_some(latency)
}

/// The proxies of an arm; none without one.
fn mesh(arm: &ArmResult, load: &ArmLoad, id: String) -> Option<MeshConfig> {
    let subject = arm.subject.as_ref()?;
    let planned = &subject.hops;
    let first = planned.first()?;
    let of = |is_gateway: bool| unit(arm, load, planned, is_gateway);
    let workers = first.workers.filter(|_| planned.iter().all(|hop| hop.workers == first.workers));
    let build = |hop: &PlannedHop| match &hop.version {
        Some(version) => format!("{} {version}", hop.proxy),
        None => hop.proxy.clone(),
    };
    let mut builds: Vec<String> = planned.iter().map(build).collect();
    builds.dedup();
    Some(MeshConfig {
        smp_version: VERSION.to_owned(),
        id,
        ingress_gateway: of(true),
        sidecar: of(false),
        mtls_enabled: subject.tls.contains(&ConnectionTls::Mtls),
        proxy_concurrency: workers.map(i64::from),
        proxy_build: builds.join(", "),
        ..MeshConfig::default()
    })
}

/// The front proxies of an arm, or all its others, summed; none without one. SMP knows only these kinds.
fn unit(arm: &ArmResult, load: &ArmLoad, planned: &[PlannedHop], is_gateway: bool) -> Option<Unit> {
    let is_kind = |name: &str| (name == GATEWAY) == is_gateway;
    let count = planned.iter().filter(|hop| is_kind(&hop.name)).count();
    let used: Vec<&HopUse> = arm.hops.iter().filter(|hop| is_kind(&hop.name)).collect();
    let memory: Option<f64> = used.iter().map(|hop| memory_bytes(hop)).sum();
    // CPU time under this load is that of all proxies together, so it belongs to a kind only if there is no other.
    let cores = load.proxy_core_share.filter(|_| count == planned.len());
    (count > 0).then(|| Unit {
        count: count as i64,
        cpu_mcores: cores.and_then(|cores| int32(cores * 1e3)),
        mem_mb: memory.filter(|_| used.len() == count).and_then(|bytes| int32(bytes / 1e6)),
        rps: load.rate.and_then(|rate| int32(rate.estimate)),
    })
}

/// The application behind the proxies.
fn workload(arm: &ArmResult, load: &ArmLoad) -> Option<Workload> {
    let subject = arm.subject.as_ref()?;
    // Microseconds per second are millionths of a core.
    let cores =
        load.origin_cpu_us_per_request.zip(load.rate).map(|(cpu, rate)| cpu.estimate * rate.estimate / 1e6);
    Some(Workload {
        name: subject.application.clone(),
        count: i64::from(subject.upstreams.max(1)),
        cpu_mcores: cores.and_then(|cores| int32(cores * 1e3)),
    })
}

/// A number as SMP holds it; none if it is 0 or too large.
fn int32(number: f64) -> Option<i64> {
    let rounded = number.round();
    (1.0..=f64::from(i32::MAX)).contains(&rounded).then_some(rounded as i64)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{PlannedSubject, ResponseCost, RoundMeasure, sample};
    use proptest::prelude::*;

    use super::*;
    use crate::smp::{Restored, read, restore, text};

    fn around(estimate: f64) -> Interval {
        let half_width = estimate.abs() * 0.1;
        Interval::new(estimate, estimate - half_width, estimate + half_width)
    }

    fn hop(name: &str, workers: u32) -> PlannedHop {
        PlannedHop {
            name: name.to_owned(),
            proxy: "envoy".to_owned(),
            version: Some("1.40.0".to_owned()),
            workers: Some(workers),
            ..PlannedHop::default()
        }
    }

    fn used(name: &str, memory_bytes: f64) -> HopUse {
        let of_rounds = [(RoundMeasure::MEMORY, Some(around(memory_bytes)))].into_iter().collect();
        HopUse { name: name.to_owned(), of_rounds, ..HopUse::default() }
    }

    /// A study whose arms passed these proxies.
    fn study(hops: &[(&str, u32, f64)]) -> StudyResult {
        let mut study = sample::study("positions", "2026-01-02T03:04:05Z", 20.0);
        let subject = PlannedSubject {
            protocol: "http1".to_owned(),
            hops: hops.iter().map(|(name, workers, _)| hop(name, *workers)).collect(),
            tls: vec![ConnectionTls::Mtls, ConnectionTls::None],
            application: "origin".to_owned(),
            upstreams: 1,
            ..PlannedSubject::default()
        };
        for arm in &mut study.arms {
            arm.subject = Some(subject.clone());
            arm.hops = hops.iter().map(|(name, _, memory)| used(name, *memory)).collect();
            arm.loads = vec![ArmLoad {
                load: "saturation".to_owned(),
                planned_rate: Some(2_000.0),
                rate: Some(around(1_999.5)),
                proxy_core_share: Some(0.25),
                origin_cpu_us_per_request: Some(around(25.0)),
                response_us: ResponseCost {
                    p50: Some(around(1_500.0)),
                    p90: Some(around(2_000.0)),
                    ..ResponseCost::default()
                },
                ..ArmLoad::default()
            }];
        }
        study
    }

    #[test]
    fn each_arm_and_load_fills_the_fields_of_smp() {
        let mut documents = of_study(&study(&[("client", 2, 50e6), ("server", 2, 70e6)])).unwrap();
        assert_eq!(documents.len(), 2);
        let labels = &mut documents[0].result.as_mut().unwrap().labels;
        assert!(labels.contains_key("hoptax/rounds"), "the first has the study");
        labels.retain(|name, _| !name.starts_with("hoptax/"));
        assert_eq!(documents[1].result.as_ref().unwrap().labels["hoptax.arm"], "lua");
        // Ids hash the whole study, with fields that SMP does not have.
        let id = documents[0].test.as_ref().unwrap().id.strip_suffix("-0-test").unwrap();
        assert!(id.starts_with("hoptax-"));
        insta::assert_snapshot!(text(&documents[..1]).replace(id, "hoptax-HASH"));
    }

    #[test]
    fn processor_time_of_several_kinds_of_proxies_is_not_split() {
        let documents = of_study(&study(&[("gateway", 1, 40e6), ("server", 2, 60e6)])).unwrap();
        let mesh = documents[0].mesh_config.as_ref().unwrap();
        let unit = |mem_mb| Some(Unit { count: 1, cpu_mcores: None, mem_mb: Some(mem_mb), rps: Some(2_000) });
        assert_eq!((mesh.ingress_gateway, mesh.sidecar), (unit(40), unit(60)));
        assert_eq!((mesh.proxy_concurrency, mesh.mtls_enabled), (None, true));
        let direct = of_study(&study(&[])).unwrap();
        assert_eq!(
            (&direct[0].mesh_config, direct[0].result.as_ref().unwrap().mesh_config_id.as_str()),
            (&None, "")
        );
    }

    #[test]
    fn a_study_without_numbers_by_load_is_refused() {
        let study = sample::study("over time", "2026-01-02T03:04:05Z", 20.0);
        assert!(of_study(&study).unwrap_err().contains("no numbers by arm and load"));
    }

    proptest! {
        // Each number differs between cases, so a lost one shows in any.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_study_loses_nothing_on_its_way_through_smp(
            name in ".{0,20}", started_at in ".{0,24}", cost_us in -1e6..1e6_f64, rate in prop::option::of(0.0..1e12_f64),
            p99 in prop::option::of(any::<f64>().prop_filter("finite", |number| number.is_finite())),
            memory in 0.0..1e13_f64,
        ) {
            let mut study = study(&[("client", 2, memory)]);
            (study.name, study.environment.started_at) = (name, started_at);
            study.arms[1].cost.cpu_us_per_request = Some(around(cost_us));
            study.arms[1].loads[0].rate = rate.map(around);
            study.arms[1].loads[0].response_us.p99 = p99.map(|one| Interval::new(one, one, one));
            let read = read(&text(&of_study(&study).unwrap())).unwrap();
            prop_assert!(read.unused.is_empty(), "{:?}", read.unused);
            prop_assert_eq!(restore(&read.documents), Ok(Restored::Study(Box::new(study))));
        }
    }

    #[test]
    fn a_document_that_was_removed_is_noticed() {
        let documents = of_study(&study(&[("client", 2, 1e6)])).unwrap();
        assert!(restore(&documents[..1]).unwrap_err().contains("1 documents, but the export had 2"));
        let mut changed = documents.clone();
        changed[1].result.as_mut().unwrap().actual_qps = Some(1.0);
        assert!(restore(&changed).unwrap_err().contains("document 2 was changed"));
    }
}
