//! The diagnosis of this machine, from what studies ask of it before they begin: its probe, programs, privileges, limits.
//! It takes about a second, and installs nothing.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;

use hoptax_host::accounting::counts_cpu_time;
use hoptax_host::limits;
use hoptax_host::machine::judgement::{others, should_never_halt, slow_wake_ups, steal};
use hoptax_host::namespace::Namespace;
use hoptax_host::usable::usable_processors;
use hoptax_result::{
    Ability, DoctorBody, DoctorResult, Environment, LimitReason, MachineProbe, counted, grouped,
};
use hoptax_subject::envoy::release::{Envoy, PINNED_VERSION, Releases};
use hoptax_subject::program::in_search_path;

use crate::environment;
use crate::failure::Failure;
use crate::library;
use crate::placement::placement;
use crate::probe::probe;
use crate::requirements::{COUNTS_NO_CPU_TIME, may_sample_kernel};

/// Connections that a measurement rarely exceeds: by default, one address has 28,000 ports to connect to one server.
const MANY_CONNECTIONS: u64 = 28_000;
/// The governor that keeps the frequency of processors steady.
const STEADY_GOVERNOR: &str = "performance";

/// The facts that the diagnosis is made from.
struct Facts {
    environment: Environment,
    machine: MachineProbe,
    /// Processors that the CPU limits of control groups allow this process; none if that is unknown.
    usable_processors: Option<f64>,
    counts_cpu_time: bool,
    /// Connections that the limit on open files allows, at most [`MANY_CONNECTIONS`].
    connections: u64,
    envoy: FoundEnvoy,
    /// The reason why no network can be made.
    no_network: Option<String>,
    has_perf: bool,
    samples_kernel: bool,
    /// Built-in studies that need root.
    studies_of_root: Vec<String>,
}

/// The Envoy that a study would start.
enum FoundEnvoy {
    /// An Envoy of this version is installed.
    Ready(String),
    /// No Envoy is installed. A study fetches one if it can reach an index, which was not tried.
    Fetchable,
    /// There is no Envoy, for this reason.
    Missing(String),
}

/// Examines this machine.
///
/// # Errors
/// When its processors cannot be probed, or the catalogue of functions cannot be read.
pub fn diagnose() -> Result<DoctorResult, Failure> {
    facts().map(diagnosis)
}

/// The diagnosis of a machine.
fn diagnosis(facts: Facts) -> DoctorResult {
    let body = DoctorBody { abilities: abilities(&facts), machine: facts.machine };
    DoctorResult::new(facts.environment, body)
}

fn facts() -> Result<Facts, Failure> {
    let placement = placement()?;
    let machine = probe(&placement, false)?;
    let search_path = env::var_os("PATH").unwrap_or_default();
    let has = |program: &str| in_search_path(program, &search_path).is_some();
    let of_root = library::built_in()?.into_iter().filter(|study| study.needs_root);
    Ok(Facts {
        environment: environment::current(should_never_halt(&machine)),
        machine,
        usable_processors: usable_processors(&BTreeSet::from([std::process::id()])).ok(),
        counts_cpu_time: counts_cpu_time().unwrap_or(false),
        connections: limits::most_connections(MANY_CONNECTIONS),
        envoy: envoy(in_search_path("envoy", &search_path).as_deref()),
        // The network is removed when its last handle is dropped, here at once.
        no_network: Namespace::create().err().map(|error| error.to_string()),
        has_perf: has("perf"),
        samples_kernel: may_sample_kernel(),
        studies_of_root: of_root.map(|study| study.name).collect(),
    })
}

/// The Envoy that a study would find, as in [`Envoy::find`], but without installing it.
fn envoy(on_path: Option<&Path>) -> FoundEnvoy {
    let releases = Releases::for_user(false);
    let installed = releases.as_ref().map(Releases::installed).unwrap_or_default();
    let pinned = installed.iter().find(|(version, _)| version == PINNED_VERSION);
    match (pinned, on_path, releases) {
        (Some((_, program)), ..) => tried(program),
        (None, _, Ok(releases)) if releases.may_fetch() => FoundEnvoy::Fetchable,
        (None, Some(program), _) => tried(program),
        (None, None, Ok(_)) => FoundEnvoy::Missing(format!(
            "there is no `envoy` on PATH, Envoy {PINNED_VERSION} is not installed, and HOPTAX_OFFLINE forbids fetching it"
        )),
        (None, None, Err(error)) => FoundEnvoy::Missing(error.to_string()),
    }
}

fn tried(program: &Path) -> FoundEnvoy {
    match Envoy::at(program) {
        Ok(envoy) => FoundEnvoy::Ready(envoy.version),
        Err(error) => FoundEnvoy::Missing(error.to_string()),
    }
}

fn abilities(facts: &Facts) -> Vec<Ability> {
    let processors = facts.machine.processors;
    let no_proxy = no_proxy(facts);
    let host = of_host(facts);
    let waits: Vec<LimitReason> = slow_wake_ups(&facts.machine)
        .filter(|_| !should_never_halt(&facts.machine))
        .map(|text| LimitReason::new("slow-wake-ups", "slow wake-ups", text))
        .into_iter()
        .chain(host.clone())
        .collect();
    let mut excluded = no_proxy.clone();
    if processors < 2 {
        let text = "proxy, generator and origin share one processor: use a machine with two or more";
        excluded.push(LimitReason::new("one-processor", "one processor", text));
    }
    let shared: Vec<LimitReason> = (processors == 2)
        .then(|| {
            LimitReason::new(
                "two-processors",
                "generator and origin share a processor",
                "of two processors, the proxy has one, and generator and origin share the other: use a machine with three or more",
            )
        })
        .into_iter()
        .collect();
    let envoy = match &facts.envoy {
        FoundEnvoy::Ready(version) => format!("Envoy {version} is available"),
        FoundEnvoy::Fetchable => format!("Envoy {PINNED_VERSION} is fetched when it is first needed"),
        FoundEnvoy::Missing(_) => String::new(),
    };
    vec![
        Ability::new("loads", "rates and response times of servers", Vec::new(), waits.clone()).essential(),
        Ability::new("cpu-costs", "CPU costs of functions and configurations", cpu(facts, &no_proxy), host)
            .essential()
            .with_note(envoy),
        Ability::new(
            "response-times",
            "response times that proxies add",
            excluded.clone(),
            [shared.clone(), waits].concat(),
        ),
        Ability::new("maximum-rates", "maximum rates of proxies", excluded, shared),
        connections(facts),
        networks(facts),
        profiles(facts, no_proxy),
        exactness(facts),
    ]
}

/// The reason why no proxy can be started.
fn no_proxy(facts: &Facts) -> Vec<LimitReason> {
    match &facts.envoy {
        FoundEnvoy::Ready(_) | FoundEnvoy::Fetchable => Vec::new(),
        FoundEnvoy::Missing(why) => {
            let text = format!(
                "{why}: put an `envoy` on PATH, or install a wheel with `hoptax lab envoy install {PINNED_VERSION} --wheel FILE`"
            );
            vec![LimitReason::new("no-envoy", "no Envoy", text)]
        }
    }
}

/// The reasons why CPU time cannot be measured.
fn cpu(facts: &Facts, no_proxy: &[LimitReason]) -> Vec<LimitReason> {
    let mut reasons = no_proxy.to_vec();
    if !facts.counts_cpu_time {
        let short = "the kernel does not count CPU time";
        reasons.push(LimitReason::new("uncounted-cpu-time", short, COUNTS_NO_CPU_TIME));
    }
    reasons
}

/// The limits of every measurement: other processes on the processors, and the speed of the processors.
fn of_host(facts: &Facts) -> Vec<LimitReason> {
    let machine = &facts.machine;
    let mut reasons = Vec::new();
    if let Some(text) = others(machine) {
        reasons.push(LimitReason::new("other-processes", "other processes use the processors", text));
    }
    if let Some(text) = steal(machine) {
        let text = format!("{text}: use a machine with dedicated processors, or measure at another time");
        reasons.push(LimitReason::new("steal", "the host takes processor time", text));
    }
    if let Some(usable) = facts.usable_processors.filter(|usable| *usable < f64::from(machine.processors)) {
        let text = format!(
            "the control group allows {} of {}: raise its `cpu.max`",
            grouped(usable, 1),
            counted(machine.processors.into(), "processor")
        );
        reasons.push(LimitReason::new("cpu-limit", "a CPU limit", text));
    }
    let governor = facts.environment.frequency_governor.as_deref();
    if let Some(governor) = governor.filter(|governor| *governor != STEADY_GOVERNOR) {
        let text = format!(
            "the frequency governor is `{governor}`: set `{STEADY_GOVERNOR}` as root, with `cpupower frequency-set -g {STEADY_GOVERNOR}`"
        );
        reasons.push(LimitReason::new("governor", "processors change their speed", text));
    }
    reasons
}

fn connections(facts: &Facts) -> Ability {
    let allowed = counted(facts.connections, "connection");
    let limiting = (facts.connections < MANY_CONNECTIONS).then(|| {
        let text = format!(
            "the limit on open files allows {allowed}: {}; `nofile` in /etc/security/limits.conf keeps it",
            limits::raising_for_files(MANY_CONNECTIONS)
        );
        LimitReason::new("open-files", format!("at most {allowed}"), text)
    });
    Ability::new("connections", "many connections", Vec::new(), limiting.into_iter().collect())
}

fn networks(facts: &Facts) -> Ability {
    let excluding = facts.no_network.as_ref().map(|why| {
        let studies = match facts.studies_of_root.as_slice() {
            [] => String::new(),
            names => format!("; root is needed for `hoptax study` {}", names.join(", ")),
        };
        LimitReason::new("no-networks", "needs root", format!("{why}{studies}"))
    });
    Ability::new("networks", "links, networks and firewalls", excluding.into_iter().collect(), Vec::new())
}

fn profiles(facts: &Facts, no_proxy: Vec<LimitReason>) -> Ability {
    let mut excluding = no_proxy;
    if !facts.has_perf {
        let text = "`perf` is not on PATH: install it (Debian: `apt-get install linux-perf`)";
        excluding.push(LimitReason::new("no-perf", "no perf", text));
    }
    if !facts.samples_kernel {
        let text = "sampling the kernel needs root, or `kernel.perf_event_paranoid` of 1 or less with `kernel.kptr_restrict` of 0";
        excluding.push(LimitReason::new("kernel-samples", "needs root", text));
    }
    Ability::new("profiles", "profiles: layers and flame graphs", excluding, Vec::new())
}

fn exactness(facts: &Facts) -> Ability {
    let calibrated = facts.environment.calibration.as_ref();
    let limiting = calibrated.is_none().then(|| {
        LimitReason::new(
            "not-calibrated",
            "not calibrated",
            "the generator's error here is not known: `hoptax trust calibrate` measures it in two minutes",
        )
    });
    let note = calibrated.map_or_else(String::new, |one| format!("calibrated {}", one.measured_at));
    Ability::new("exactness", "the generator's own error", Vec::new(), limiting.into_iter().collect())
        .with_note(note)
}

#[cfg(test)]
mod tests {
    use hoptax_report::render::terminal;
    use hoptax_report::{Style, documents};
    use hoptax_result::{Extent, Severity, UsedByOthers, Verdict};

    use super::*;

    /// A machine that can measure everything.
    fn sound() -> Facts {
        let calibration = Some(hoptax_result::Calibrated {
            measured_at: "2026-11-29T00:00:00Z".to_owned(),
            floor_p50_us: 20.0,
            floor_p99_us: 40.0,
            floors: Vec::new(),
            ceiling: None,
            tried: Vec::new(),
        });
        Facts {
            environment: Environment { calibration, ..Environment::default() },
            machine: MachineProbe { processors: 4, ..MachineProbe::default() },
            usable_processors: Some(4.0),
            counts_cpu_time: true,
            connections: MANY_CONNECTIONS,
            envoy: FoundEnvoy::Ready(PINNED_VERSION.to_owned()),
            no_network: None,
            has_perf: true,
            samples_kernel: true,
            studies_of_root: vec!["container-network".to_owned()],
        }
    }

    /// The ids of abilities with a limit, each with the reason that comes first.
    fn limits_of(facts: &Facts) -> Vec<(String, Extent, String)> {
        let limited = abilities(facts).into_iter().filter(|ability| ability.extent != Extent::Full);
        limited
            .map(|ability| {
                let short = ability.reasons.first().expect("a limit has a reason").short.clone();
                (ability.id, ability.extent, short)
            })
            .collect()
    }

    #[test]
    fn a_sound_machine_has_no_limit() {
        assert!(limits_of(&sound()).is_empty(), "{:?}", limits_of(&sound()));
    }

    #[test]
    fn each_fault_limits_what_depends_on_it_and_nothing_else() {
        let ids =
            |facts: Facts| -> Vec<String> { limits_of(&facts).into_iter().map(|(id, ..)| id).collect() };
        let probed = |machine| Facts { machine, ..sound() };
        let processors = |processors| MachineProbe { processors, ..MachineProbe::default() };
        let used = UsedByOthers { processor: 1, share: 0.4 };
        let busy = MachineProbe { used_by_others: vec![used], ..processors(4) };
        let stolen = MachineProbe { steal_share: 0.1, ..processors(4) };
        let governor = Some("powersave".to_owned());
        let powersave = Environment { frequency_governor: governor, ..sound().environment };
        let uncalibrated = Environment { calibration: None, ..sound().environment };
        let missing = FoundEnvoy::Missing("there is none".to_owned());
        let of_host = vec!["loads", "cpu-costs", "response-times"];
        let of_proxies = vec!["cpu-costs", "response-times", "maximum-rates", "profiles"];
        assert_eq!(ids(probed(busy)), of_host);
        assert_eq!(ids(probed(stolen)), of_host);
        assert_eq!(ids(Facts { environment: powersave, ..sound() }), of_host);
        assert_eq!(ids(Facts { usable_processors: Some(1.5), ..sound() }), of_host);
        assert_eq!(ids(Facts { envoy: missing, ..sound() }), of_proxies);
        assert_eq!(ids(Facts { envoy: FoundEnvoy::Fetchable, ..sound() }), Vec::<&str>::new());
        assert_eq!(ids(Facts { counts_cpu_time: false, ..sound() }), ["cpu-costs"]);
        assert_eq!(ids(Facts { connections: 900, ..sound() }), ["connections"]);
        assert_eq!(ids(Facts { no_network: Some("refused".to_owned()), ..sound() }), ["networks"]);
        assert_eq!(ids(Facts { has_perf: false, ..sound() }), ["profiles"]);
        assert_eq!(ids(Facts { samples_kernel: false, ..sound() }), ["profiles"]);
        assert_eq!(ids(Facts { environment: uncalibrated, ..sound() }), ["exactness"]);
    }

    #[test]
    fn processors_decide_between_limited_and_impossible() {
        let with = |processors| {
            let machine = MachineProbe { processors, ..MachineProbe::default() };
            limits_of(&Facts { machine, usable_processors: None, ..sound() })
        };
        let [one, two] = [with(1), with(2)];
        assert_eq!(one[0], ("response-times".to_owned(), Extent::Impossible, "one processor".to_owned()));
        assert_eq!(two[0].1, Extent::Limited, "{two:?}");
        assert_eq!((one.len(), two.len()), (2, 2));
        assert!(with(3).is_empty());
    }

    #[test]
    fn only_essentials_decide_whether_a_requirement_is_missing() {
        assert!(
            !diagnosis(Facts { has_perf: false, no_network: Some(String::new()), ..sound() })
                .lacks_essentials()
        );
        assert!(diagnosis(Facts { envoy: FoundEnvoy::Missing(String::new()), ..sound() }).lacks_essentials());
        assert!(diagnosis(Facts { counts_cpu_time: false, ..sound() }).lacks_essentials());
    }

    #[test]
    fn the_verdict_says_whether_all_can_be_measured_and_each_reason_is_one_finding() {
        let judged = |facts: Facts| {
            let result = diagnosis(facts);
            let findings = result.findings.iter().map(|finding| (finding.id.clone(), finding.severity));
            (result.verdict, findings.collect::<Vec<_>>())
        };
        let one = |id: &str, severity| vec![(id.to_owned(), severity)];
        assert_eq!(judged(sound()), (Verdict::Sound, Vec::new()));
        let limited = judged(Facts { connections: 900, ..sound() });
        assert_eq!(limited, (Verdict::Caution, one("open-files", Severity::Warn)));
        let without_profiles = judged(Facts { has_perf: false, ..sound() });
        assert_eq!(without_profiles, (Verdict::Caution, one("no-perf", Severity::Fail)));
        // It excludes four kinds of measurements, and is one finding.
        let missing = FoundEnvoy::Missing("there is none".to_owned());
        let without_envoy = judged(Facts { envoy: missing, ..sound() });
        assert_eq!(without_envoy, (Verdict::Void, one("no-envoy", Severity::Fail)));
    }

    #[test]
    fn the_first_screen_says_what_is_possible_and_what_to_change() {
        let environment = Environment {
            cpu_model: "A processor".to_owned(),
            kernel: "6.12.0".to_owned(),
            ..Environment::default()
        };
        let facts = Facts {
            environment,
            machine: MachineProbe { processors: 2, ..MachineProbe::default() },
            connections: 1_000,
            envoy: FoundEnvoy::Ready("1.40.0".to_owned()),
            no_network: Some("networks need the right `CAP_SYS_ADMIN`".to_owned()),
            has_perf: false,
            ..sound()
        };
        let style = Style { width: 100, colour: false };
        insta::assert_snapshot!(terminal::screen(&documents::doctor(&diagnosis(facts)), style));
    }

    #[test]
    fn a_program_that_is_not_envoy_is_none() {
        let found = tried(Path::new("/no/such/envoy"));
        assert!(matches!(found, FoundEnvoy::Missing(why) if why.contains("/no/such/envoy")));
    }
}
