//! Differences between runs in the conditions of their numbers: the programs, the machine, and the requested options.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{ClusterEnvironment, CpuTimeSource, Environment, Loosened, Program};
use hoptax_text::list::listed;
use serde_json::Value;

use super::{memory, numbers};
use crate::provenance::version;

/// Two related properties: a different digest adds nothing if the versions already differ.
const PROXY: &str = "proxy";
const DIGEST: &str = "executable of the proxy";
/// Number of digits that identify a digest.
const DIGITS: usize = 12;
/// Maximum number of properties in a sentence.
const NAMED: usize = 3;
/// Value of an option that consists of parts.
const SET: &str = "set";
/// Maximum length of a value in a sentence, in characters.
const LONGEST: usize = 40;
/// Mark of what is left out of a long value.
const CUT: &str = "...";

/// Parts of a plan that are outcomes, or are drawn at random in each run.
const NO_OPTIONS: [&str; 7] = [
    "ended_early",
    "resumed_after_rounds",
    "rounds_completed",
    "seed",
    "sequential.looks",
    "sequential.reached",
    "wall_seconds",
];

/// A property of a run as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Property {
    /// Its name, as in the environment section, or in the plan of the result.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
}

/// A property in which runs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Its name.
    pub(crate) name: String,
    /// Its value in each run; none where the result does not state it.
    pub(crate) values: Vec<Option<String>>,
}

impl Property {
    /// A property.
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// The properties in the envelope of a result, with the names of its environment section.
pub(crate) fn of_envelope(program: &Program, environment: Option<&Environment>) -> Vec<Property> {
    let mut all = vec![Property::new("hoptax", version(program))];
    // The machine of another tool is unknown.
    let Some(environment) = environment.filter(|environment| !environment.cpu_model.is_empty()) else {
        return all;
    };
    let stated = |value: Option<&String>| value.cloned().unwrap_or_else(|| "none".to_owned());
    let of_cluster = |value: &dyn Fn(&ClusterEnvironment) -> String| {
        environment.cluster.as_ref().map(value).unwrap_or_default()
    };
    let of_machine = [
        (PROXY, stated(environment.proxy_version.as_ref())),
        (
            DIGEST,
            environment
                .proxy_sha256
                .iter()
                .flat_map(|digest| digest.chars().take(DIGITS))
                .collect::<String>(),
        ),
        ("build of the proxy", environment.proxy_build.clone().unwrap_or_default()),
        ("processor", environment.cpu_model.clone()),
        ("processors online", environment.cpus.to_string()),
        ("virtual machine", in_words(&environment.virtual_machine.into())),
        ("memory", memory(environment)),
        ("Linux", environment.kernel.clone()),
        ("clock source", environment.clock_source.clone()),
        ("frequency governor", stated(environment.frequency_governor.as_ref())),
        ("proxy pinned to CPU", numbers(&environment.proxy_cpus)),
        ("generator and origin pinned to CPU", numbers(&environment.generator_cpus)),
        ("Kubernetes", of_cluster(&|cluster| cluster.kubernetes.clone())),
        ("network of pods by", of_cluster(&|cluster| cluster.networks.join(", "))),
        ("control plane", of_cluster(&|cluster| cluster.control_planes.join(", "))),
        (
            "CPU times from",
            of_cluster(&|cluster| cluster.cpu_time.map(CpuTimeSource::as_str).unwrap_or_default().to_owned()),
        ),
    ];
    // Drop properties that are missing or empty.
    let stated = of_machine.into_iter().filter(|(_, value)| !value.is_empty());
    all.extend(stated.map(|(name, value)| Property::new(name, value)));
    all
}

/// The options in the plan of a result, with their names there.
pub(crate) fn of_plan(plan: &Value) -> Vec<Property> {
    let mut all = Vec::new();
    flatten("", plan, &mut all);
    all.retain(|property| !NO_OPTIONS.contains(&property.name.as_str()));
    all
}

/// The loosened limits of checks.
pub(crate) fn of_limits(loosened: &[Loosened]) -> Property {
    let each = loosened.iter().map(|one| format!("{} {}", one.name, one.value)).collect::<Vec<_>>();
    Property::new("loosened limits", if each.is_empty() { "none".to_owned() } else { each.join(", ") })
}

fn flatten(path: &str, value: &Value, all: &mut Vec<Property>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let name_of = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
    match value {
        Value::Object(fields) => {
            // If another run lacks this part, it has none of the options inside it.
            if !path.is_empty() {
                all.push(Property::new(path, SET));
            }
            for (name, field) in fields {
                flatten(&below(name), field, all);
            }
        }
        // For example loads: identify each by its name, regardless of its position.
        Value::Array(items) if !items.is_empty() && items.iter().all(|item| name_of(item).is_some()) => {
            // Also for an item that only one run has.
            if !path.is_empty() {
                let mut names: Vec<String> = items.iter().filter_map(name_of).collect();
                names.sort_unstable();
                all.push(Property::new(path, names.join(", ")));
            }
            for item in items {
                flatten(&below(&name_of(item).unwrap_or_default()), item, all);
            }
        }
        // A plan that is not an object has no options.
        _ if path.is_empty() => {}
        other => all.push(Property::new(path, in_words(other))),
    }
}

fn in_words(value: &Value) -> String {
    let none = || "none".to_owned();
    match value {
        Value::Null => none(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
        Value::String(text) if text.is_empty() => none(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => none(),
        Value::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(value) => as_written(value),
            None => number.to_string(),
        },
        Value::Object(_) => value.to_string(),
    }
}

/// A number as a person would write it: `10` for a whole number of seconds, and without what a computation with binary fractions adds, in
/// twelve digits.
fn as_written(value: f64) -> String {
    format!("{value:.11e}").parse::<f64>().unwrap_or(value).to_string()
}

/// The properties in which runs differ, in the order of their first occurrence. A property that a result does not state is no difference.
pub(crate) fn differences(runs: &[Vec<Property>]) -> Vec<Difference> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<Difference> = Vec::new();
    for (run, properties) in runs.iter().enumerate() {
        for property in properties {
            let place = *places.entry(&property.name).or_insert(all.len());
            if place == all.len() {
                all.push(Difference { name: property.name.clone(), values: vec![None; runs.len()] });
            }
            if let Some(value) = all.get_mut(place).and_then(|one| one.values.get_mut(run)) {
                *value = Some(property.value.clone());
            }
        }
    }
    all.retain(|one| {
        let mut stated = one.values.iter().flatten();
        let first = stated.next();
        stated.any(|value| Some(value) != first)
    });
    if all.iter().any(|one| one.name == PROXY) {
        all.retain(|one| one.name != DIGEST);
    }
    all
}

/// The differences in one line, the first with their values.
pub(crate) fn sentence(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return "their programs, machines and options do not differ, as far as the results state them"
            .to_owned();
    }
    let values = |one: &Difference| format!("{} ({})", one.name, shortened(&one.values).join(", "));
    let mut named: Vec<String> = differences.iter().take(NAMED).map(values).collect();
    match differences.len().saturating_sub(NAMED) {
        0 => {}
        1 => named.push("1 more property".to_owned()),
        others => named.push(format!("{others} more properties")),
    }
    format!("the runs differ in {}", listed(&named))
}

/// The values of a difference, the long ones shortened to a part in which they differ. Different values that would look alike stay whole.
fn shortened(values: &[Option<String>]) -> Vec<String> {
    let stated: Vec<&str> = values.iter().flatten().map(String::as_str).collect();
    let same = shared(&stated);
    // The beginning, unless the values differ only behind it.
    let skipped = if same < LONGEST - CUT.len() { 0 } else { same - LONGEST / 4 };
    let different = |texts: &[String]| texts.iter().collect::<BTreeSet<&String>>().len();
    let of = |change: &dyn Fn(&str) -> String| -> Vec<String> {
        values.iter().map(|value| value.as_deref().map_or_else(|| "-".to_owned(), change)).collect()
    };
    let (whole, short) = (of(&str::to_owned), of(&|value: &str| excerpt(value, skipped)));
    if different(&short) < different(&whole) { whole } else { short }
}

/// The number of characters that all values begin with.
fn shared(values: &[&str]) -> usize {
    let Some((first, others)) = values.split_first() else { return 0 };
    let with = |other: &&str| first.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    others.iter().map(with).min().unwrap_or_default()
}

/// A value without its first characters, cut at its end, if it is long.
fn excerpt(value: &str, skipped: usize) -> String {
    if value.chars().count() <= LONGEST {
        return value.to_owned();
    }
    let begin = if skipped > 0 { CUT } else { "" };
    let rest: Vec<char> = value.chars().skip(skipped).collect();
    let room = LONGEST - begin.len();
    if rest.len() <= room {
        return format!("{begin}{}", rest.iter().collect::<String>());
    }
    let shown: String = rest.iter().take(room - CUT.len()).collect();
    format!("{begin}{shown}{CUT}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    type Change = fn(&mut Environment);

    use super::*;

    fn program() -> Program {
        Program { version: "0.1.0".to_owned(), commit: Some("abc".to_owned()) }
    }

    fn machine() -> Environment {
        Environment {
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            proxy_version: Some("1.39.3".to_owned()),
            proxy_sha256: Some("0123456789abcdef".to_owned()),
            proxy_build: Some("Clean/RELEASE".to_owned()),
            cpu_model: "A processor".to_owned(),
            cpus: 2,
            memory_bytes: 4 << 30,
            kernel: "6.1".to_owned(),
            ..Environment::default()
        }
    }

    fn names(differences: &[Difference]) -> Vec<&str> {
        differences.iter().map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn every_property_of_the_machine_and_the_programs_is_compared_and_nothing_else() {
        let same = of_envelope(&program(), Some(&machine()));
        let differing = |program: &Program, environment: &Environment| {
            let found = differences(&[same.clone(), of_envelope(program, Some(environment))]);
            found.into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        let later =
            Environment { started_at: "2026-01-02T00:00:00Z".to_owned(), load_average: 3.0, ..machine() };
        assert_eq!(differing(&program(), &later), [""; 0], "the time and the load average are no settings");
        let other = Program { commit: Some("def".to_owned()), ..program() };
        assert_eq!(differing(&other, &machine()), ["hoptax"]);
        let changes: [(&str, Change); 12] = [
            ("proxy", |one| one.proxy_version = None),
            ("executable of the proxy", |one| one.proxy_sha256 = Some("1".repeat(64))),
            ("build of the proxy", |one| one.proxy_build = Some("Modified/RELEASE".to_owned())),
            ("processor", |one| one.cpu_model = "Another".to_owned()),
            ("processors online", |one| one.cpus = 4),
            ("virtual machine", |one| one.virtual_machine = true),
            ("memory", |one| one.memory_bytes = 8 << 30),
            ("Linux", |one| one.kernel = "6.8".to_owned()),
            ("frequency governor", |one| one.frequency_governor = Some("powersave".to_owned())),
            ("clock source", |one| one.clock_source = "tsc".to_owned()),
            ("proxy pinned to CPU", |one| one.proxy_cpus = vec![1]),
            ("generator and origin pinned to CPU", |one| one.generator_cpus = vec![0]),
        ];
        // A fact that one of the results does not state is no difference.
        let not_stated = ["clock source", "proxy pinned to CPU", "generator and origin pinned to CPU"];
        for (name, change) in changes {
            let mut environment = machine();
            change(&mut environment);
            let expected: &[&str] = if not_stated.contains(&name) { &[] } else { &[name] };
            assert_eq!(differing(&program(), &environment), expected, "{name}");
        }
    }

    #[test]
    fn two_sources_of_cpu_times_in_clusters_are_a_difference() {
        let of = |cpu_time: CpuTimeSource| {
            let cluster = ClusterEnvironment { cpu_time: Some(cpu_time), ..ClusterEnvironment::default() };
            of_envelope(&program(), Some(&Environment { cluster: Some(cluster), ..machine() }))
        };
        let (groups, kubelets) = (of(CpuTimeSource::Cgroup), of(CpuTimeSource::Kubelet));
        assert_eq!(names(&differences(&[groups.clone(), kubelets])), ["CPU times from"]);
        assert!(differences(&[groups.clone(), groups]).is_empty());
    }

    #[test]
    fn two_versions_of_a_mesh_or_of_the_network_of_pods_are_a_difference() {
        let of = |network: &str, control_plane: &str| {
            let cluster = ClusterEnvironment {
                networks: vec![network.to_owned()],
                control_planes: vec![control_plane.to_owned()],
                ..ClusterEnvironment::default()
            };
            of_envelope(&program(), Some(&Environment { cluster: Some(cluster), ..machine() }))
        };
        for (other, expected) in [
            (of("cilium:v1.17", "pilot:1.31.0"), "control plane"),
            (of("cilium:v1.18", "pilot:1.30.0"), "network of pods by"),
        ] {
            assert_eq!(names(&differences(&[of("cilium:v1.17", "pilot:1.30.0"), other])), [expected]);
        }
    }

    #[test]
    fn two_builds_are_told_by_the_first_letters_of_their_commits() {
        let of = |letter: &str| of_envelope(&Program { commit: Some(letter.repeat(40)), ..program() }, None);
        let found = sentence(&differences(&[of("a"), of("b")]));
        assert_eq!(found, "the runs differ in hoptax (0.1.0 (aaaaaaaa), 0.1.0 (bbbbbbbb))");
    }

    #[test]
    fn another_version_of_the_proxy_says_more_than_its_digest() {
        let other = Environment {
            proxy_version: Some("1.40.0".to_owned()),
            proxy_sha256: Some("f".repeat(64)),
            ..machine()
        };
        let found = differences(&[
            of_envelope(&program(), Some(&machine())),
            of_envelope(&program(), Some(&other)),
            of_envelope(&program(), None),
        ]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        let values: Vec<Option<&str>> = one.values.iter().map(Option::as_deref).collect();
        assert_eq!((one.name.as_str(), values), ("proxy", vec![Some("1.39.3"), Some("1.40.0"), None]));
    }

    #[test]
    fn options_are_compared_by_their_names_and_not_by_what_became_of_the_plan() {
        let plan = |rate: u32, never_halted: bool, rounds: u32| {
            json!({
                "seed": rounds, "rounds_completed": rounds, "wall_seconds": 1.5, "link": null,
                "never_halted": never_halted,
                "sequential": {"target_share": 0.01, "looks": [rounds]},
                "loads": [{"name": "in-use", "rate": rate}, {"name": "saturation", "rate": null}],
            })
        };
        let found = differences(&[of_plan(&plan(1_000, false, 4)), of_plan(&plan(2_000, true, 8))]);
        assert_eq!(names(&found), ["never_halted", "loads.in-use.rate"]);
        assert_eq!(found[0].values, [Some("no".to_owned()), Some("yes".to_owned())]);
        assert_eq!(differences(&[of_plan(&plan(1, true, 4)), of_plan(&plan(1, true, 9))]), []);
        assert_eq!(of_plan(&Value::Null), []);
        let values = of_plan(&json!({"a": 10.0, "b": 0.5, "c": 7, "d": "", "e": [1, "x"], "f": [],
            "g": 2.948_528_137_000_000_3, "h": 12_345_678.25}));
        let values: Vec<&str> = values.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(values, ["10", "0.5", "7", "none", "1, x", "none", "2.948528137", "12345678.25"]);
    }

    #[test]
    fn an_option_with_parts_differs_from_none_and_a_load_that_one_run_lacks_is_named() {
        let found = |name: &str, values: [Value; 2]| {
            let plans = values.map(|value| of_plan(&json!({"rounds": 4, name: value})));
            let one = |one: Difference| {
                (
                    one.name,
                    one.values.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join(" / "),
                )
            };
            differences(&plans).into_iter().map(one).collect::<Vec<_>>()
        };
        let differs = |name: &str, values: &str| vec![(name.to_owned(), values.to_owned())];
        let link = |delay_us: u32| json!({"delay_us": delay_us, "loss": 0.0});
        assert_eq!(found("link", [Value::Null, link(50)]), differs("link", "none / set"));
        assert_eq!(found("link", [link(50), Value::Null]), differs("link", "set / none"));
        assert_eq!(found("link", [link(50), link(70)]), differs("link.delay_us", "50 / 70"));
        assert!(found("link", [link(50), link(50)]).is_empty());
        let sequential = json!({"target_share": 0.01, "looks": [4]});
        assert_eq!(found("sequential", [sequential, Value::Null]), differs("sequential", "set / none"));
        let loads = |names: &[&str]| {
            Value::from(names.iter().map(|name| json!({"name": name, "rate": 10})).collect::<Vec<Value>>())
        };
        assert_eq!(found("loads", [loads(&["b", "a"]), loads(&["b"])]), differs("loads", "a, b / b"));
        assert_eq!(found("loads", [loads(&[]), loads(&["b"])]), differs("loads", "none / b"));
        assert!(found("loads", [loads(&["b", "a"]), loads(&["a", "b"])]).is_empty(), "wherever they stand");
    }

    #[test]
    fn loosened_limits_are_named_with_their_values() {
        let loosened = Loosened { name: "steal".to_owned(), value: 0.2, default: 0.01 };
        assert_eq!(of_limits(&[]).value, "none");
        assert_eq!(of_limits(&[loosened]).value, "steal 0.2");
    }

    #[test]
    fn long_values_are_shown_where_they_differ() {
        let sentence = |values: &[String]| {
            let values = values.iter().map(|value| Some(value.clone())).collect();
            sentence(&[Difference { name: "rule".to_owned(), values }])
        };
        let rule = |count: u32| format!("set aside: steal above 1 % (ticks of the {count} processors)");
        assert_eq!(
            sentence(&[rule(2), rule(16)]),
            "the runs differ in rule (...ks of the 2 processors), ...ks of the 16 processors))"
        );
        // No part of this length distinguishes all three.
        let far = |first: &str, last: &str| format!("{first}{}{last}", "x".repeat(60));
        let values = [far("a", "b"), far("a", "c"), far("d", "c")];
        assert_eq!(sentence(&values), format!("the runs differ in rule ({})", values.join(", ")));
    }

    #[test]
    fn a_line_names_the_first_differences_and_counts_the_others() {
        let one = |name: &str, values: [&str; 2]| Difference {
            name: name.to_owned(),
            values: values.map(|value| Some(value.to_owned())).to_vec(),
        };
        assert!(sentence(&[]).contains("do not differ"));
        let long = "x".repeat(80);
        let mut all = vec![one("proxy", ["1.39.3", "1.40.0"]), one("Linux", ["6.1", &long])];
        let short = format!("{}...", "x".repeat(37));
        assert_eq!(
            sentence(&all),
            format!("the runs differ in proxy (1.39.3, 1.40.0) and Linux (6.1, {short})")
        );
        all.extend([one("a", ["1", "2"]), one("b", ["1", "2"]), one("c", ["1", "2"])]);
        assert!(sentence(&all).ends_with(", a (1, 2) and 2 more properties"), "{}", sentence(&all));
        assert!(sentence(&all[..4]).ends_with(" and 1 more property"), "{}", sentence(&all[..4]));
    }
}
