//! The conditions under which the rounds of a study were measured, other than its file, and the differences between two sets of conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use hoptax_checks::thresholds::QUIET_WAIT;
use hoptax_judge::length::{Length, Until};
use hoptax_plan::build::{self, Build};
use hoptax_plan::plan::Plan;
use hoptax_result::{Environment, MachineProbe, MachineSpeeds, Program, RUN_FOLDER_FORMAT, check_format};
use hoptax_run::provenance::sha256_of_file;
use hoptax_subject::digest::sha256;
use hoptax_text::secrets::without_signatures;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::study::Study;

/// Everything that the rounds of a study depend on besides its file: the content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub(crate) format: String,
    /// The command that began the study, such as `compare`; none in folders of earlier builds.
    pub(crate) command: Option<String>,
    /// The name of the study file, for messages; none if a command made the study.
    pub(crate) file_name: Option<String>,
    /// The folder of the study file. Relative paths in the file start there.
    pub(crate) folder_of_file: String,
    pub(crate) hoptax_version: String,
    pub(crate) envoy_version: String,
    /// Maximum number of rounds.
    pub(crate) rounds: u32,
    /// Time limit for all rounds, seconds.
    budget_s: Option<f64>,
    /// Precision at which the study may end.
    until: Option<Until>,
    pub(crate) seed: u64,
    /// The name of the study.
    pub(crate) study: String,
    /// Hash of the plan, which covers arms with their fragments and loads, but neither the seed nor the number of rounds.
    plan_hash: String,
    /// Hashes of the hoptax and Envoy binaries.
    hoptax_hash: String,
    pub(crate) envoy_hash: String,
    /// Builds of the other programs that the study starts, by name.
    pub(crate) programs: BTreeMap<String, Build>,
    /// SHA-256 of the files of the user's configurations, by the path of the configuration and then by the path of the file.
    configurations: BTreeMap<String, BTreeMap<String, String>>,
    /// The machine.
    cpu_model: String,
    cpus: u32,
    memory_bytes: u64,
    kernel: String,
    /// The processors of the proxies. Those of the generator and the origins follow.
    proxy_cpus: Vec<u32>,
    generator_cpus: Vec<u32>,
    /// Probe of the machine before the first round.
    pub(crate) machine: MachineProbe,
    /// Speeds of the machine, if measured.
    pub(crate) speeds: Option<MachineSpeeds>,
    /// True if the processors are kept from halting.
    pub(crate) never_halted: bool,
    /// Start of the first round, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// For each resumption, the number of rounds that were complete.
    pub(crate) resumed_after_rounds: Vec<u32>,
    /// Numbers of rounds after which the study checked the widths of its intervals. Checks of a killed session are missing.
    pub(crate) looks: Vec<u32>,
    /// Values of the thresholds that the user set, by name.
    pub(crate) thresholds: BTreeMap<String, f64>,
}

/// Checks the format version that the text of a manifest states.
///
/// # Errors
/// The reason why the version cannot be read, and what to do instead.
pub(crate) fn check_format_of(text: &str) -> Result<(), String> {
    /// Keys that manifests of all format versions have.
    #[derive(Deserialize)]
    struct Stated {
        format: String,
        #[serde(default)]
        hoptax_version: Option<String>,
    }
    let stated: Stated = serde_json::from_str(text).map_err(|error| error.to_string())?;
    check_format(&stated.format, RUN_FOLDER_FORMAT, stated.hoptax_version.as_deref())
}

/// A study's programs: the paths of those that every study has, and the builds of the others.
#[derive(Clone, Debug)]
pub(crate) struct Programs<'a> {
    pub(crate) hoptax: &'a Path,
    pub(crate) envoy: &'a Path,
    pub(crate) others: BTreeMap<String, Build>,
}

impl Manifest {
    pub(crate) fn new(
        study: &Study,
        environment: &Environment,
        programs: Programs<'_>,
        machine: &MachineProbe,
        never_halted: bool,
        plan: &Plan,
    ) -> Result<Self, Failure> {
        Ok(Self {
            format: RUN_FOLDER_FORMAT.to_owned(),
            command: study.command.clone(),
            file_name: study.name().map(str::to_owned),
            folder_of_file: study.folder.to_string_lossy().into_owned(),
            hoptax_version: Program::this().version,
            envoy_version: environment.proxy_version.clone().unwrap_or_default(),
            rounds: plan.rounds,
            budget_s: None,
            until: None,
            seed: plan.seed,
            study: plan.name.clone(),
            plan_hash: plan_hash(plan),
            hoptax_hash: file_hash(programs.hoptax)?,
            envoy_hash: file_hash(programs.envoy)?,
            programs: programs.others,
            configurations: plan.configurations.hashes_of_files(),
            cpu_model: environment.cpu_model.clone(),
            cpus: environment.cpus,
            memory_bytes: environment.memory_bytes,
            kernel: environment.kernel.clone(),
            proxy_cpus: environment.proxy_cpus.clone(),
            generator_cpus: environment.generator_cpus.clone(),
            machine: machine.clone(),
            speeds: None,
            never_halted,
            started_at: environment.started_at.clone(),
            resumed_after_rounds: Vec::new(),
            looks: Vec::new(),
            thresholds: BTreeMap::new(),
        })
    }

    /// The condition that ends the study.
    pub(crate) fn length(&self) -> Length {
        Length { rounds: self.rounds, budget_s: self.budget_s, until: self.until }
    }

    /// Changes the length of the study.
    pub(crate) fn set_length(&mut self, length: &Length) {
        self.rounds = length.rounds;
        self.budget_s = length.budget_s;
        self.until = length.until;
    }

    /// Reasons why `other` is not another sitting of the same study on this machine; empty if it is one.
    pub(crate) fn sitting_differences(&self, other: &Self) -> Vec<String> {
        let mut all = self.differences(other);
        if self.never_halted != other.never_halted {
            all.push("the processors were kept from halting in only one of the two".to_owned());
        }
        all
    }

    /// Reasons why the study cannot continue under the conditions `now`; empty if it can. The threshold of quiet slices must not change: it
    /// selects the slices of all rounds from which the quiet p99 is taken, so a user could choose it after a look at the result. All other
    /// thresholds only judge measured numbers.
    pub(crate) fn resume_differences(&self, now: &Self) -> Vec<String> {
        let mut all = self.differences(now);
        let limit = |of: &Self| of.thresholds.get(QUIET_WAIT.name).copied().unwrap_or(QUIET_WAIT.default);
        let (then, now) = (limit(self), limit(now));
        if then.to_bits() != now.to_bits() {
            all.push(format!("threshold `{}` {then} then, {now} now", QUIET_WAIT.name));
        }
        all
    }

    /// Differences in plan and programs, as text.
    pub(crate) fn program_differences(&self, other: &Self) -> Vec<String> {
        let pairs = [
            ("the study or the catalogue has changed", &self.plan_hash, &other.plan_hash),
            ("a different build of hoptax", &self.hoptax_hash, &other.hoptax_hash),
            ("a different build of Envoy", &self.envoy_hash, &other.envoy_hash),
        ];
        let differ = pairs.into_iter().filter(|(_, one, other)| one != other);
        let mut all: Vec<String> = differ.map(|(words, ..)| words.to_owned()).collect();
        all.extend(build::differences(&self.programs, &other.programs));
        // If the plan names another configuration, the plan hash differs already.
        let both = self
            .configurations
            .iter()
            .filter_map(|(path, one)| Some((path, one, other.configurations.get(path)?)));
        for (path, one, other) in both {
            let files: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let changed = files.into_iter().filter(|file| one.get(*file) != other.get(*file));
            all.extend(changed.map(|file| {
                if Path::new(path).file_name() == Some(OsStr::new(file)) {
                    format!("the configuration `{path}` has changed")
                } else {
                    format!("the file `{file}` of the configuration `{path}` has changed")
                }
            }));
        }
        all
    }

    /// Differences from `now`, as text.
    pub(crate) fn differences(&self, now: &Self) -> Vec<String> {
        let pairs = [
            ("hoptax", &self.hoptax_version, &now.hoptax_version),
            ("Envoy", &self.envoy_version, &now.envoy_version),
            ("processor", &self.cpu_model, &now.cpu_model),
            ("kernel", &self.kernel, &now.kernel),
        ];
        let mut all: Vec<String> = pairs
            .into_iter()
            .filter(|(_, then, now)| then != now)
            .map(|(what, then, now)| format!("{what} {then} then, {now} now"))
            .collect();
        all.extend(self.program_differences(now));
        if (self.cpus, self.memory_bytes) != (now.cpus, now.memory_bytes) {
            all.push("a different number of processors or memory size".to_owned());
        }
        let processors = [
            ("proxies", &self.proxy_cpus, &now.proxy_cpus),
            ("generator and origins", &self.generator_cpus, &now.generator_cpus),
        ];
        let differ = processors.into_iter().filter(|(_, then, now)| then != now);
        all.extend(
            differ.map(|(whose, then, now)| format!("processors of {whose} {then:?} then, {now:?} now")),
        );
        all
    }
}

/// Hash of a plan without its seed, its number of rounds, and who chose that number: in a resumed study, the choice has already been made.
/// Published numbers affect no measurement, so they are left out, too.
fn plan_hash(plan: &Plan) -> String {
    let mut plan = Plan { seed: 0, rounds: 0, rounds_are_open: false, published: Vec::new(), ..plan.clone() };
    if let Some(link) = &mut plan.link {
        link.seed = 0;
    }
    // The lab's tokens are signed again each time that a request is derived.
    sha256(without_signatures(&format!("{plan:?}")).as_bytes())
}

fn file_hash(path: &Path) -> Result<String, Failure> {
    sha256_of_file(path).map_err(|error| Failure::environment(error.to_string()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::study::tests::plan_of;

    /// The manifest of a study that says nothing of its programs, its machine and itself.
    pub(crate) fn manifest() -> Manifest {
        serde_json::from_value(serde_json::json!({
            "format": RUN_FOLDER_FORMAT, "file_name": "", "folder_of_file": "", "hoptax_version": "", "envoy_version": "",
            "rounds": 2, "seed": 1, "study": "", "plan_hash": "", "hoptax_hash": "", "envoy_hash": "", "programs": {},
            "configurations": {}, "cpu_model": "", "cpus": 1, "memory_bytes": 1, "kernel": "", "proxy_cpus": [],
            "generator_cpus": [], "machine": MachineProbe::default(), "never_halted": false, "started_at": "",
            "resumed_after_rounds": [], "looks": [], "thresholds": {},
        }))
        .unwrap()
    }

    #[test]
    fn a_plan_whose_rounds_are_chosen_later_is_the_same_and_one_with_another_load_is_not() {
        let hash = |text: &str| plan_hash(&plan_of(text));
        let open = "name: x\narms: [baseline, lua]\nloads: [{name: all, loop: closed}]\n";
        assert_eq!(hash(open), hash(&format!("{open}rounds: 3\nseed: 7\n")));
        assert_ne!(hash(open), hash(&open.replace("closed}", "closed, connections: 8}")));
        let published = "published: [{arm: lua, load: all, measure: rate, value: 1, source: x}]\n";
        assert_eq!(hash(open), hash(&format!("{open}{published}")));
    }

    #[test]
    fn each_file_of_a_configuration_that_has_changed_is_named() {
        let of = |hashes: [&str; 3]| {
            let files = ["envoy.yaml", "lua/envoy.yaml", "ca.pem"].map(str::to_owned);
            let files = files.into_iter().zip(hashes.map(str::to_owned)).collect();
            Manifest { configurations: [("conf/envoy.yaml".to_owned(), files)].into(), ..manifest() }
        };
        let then = of(["a", "b", "c"]);
        assert_eq!(then.program_differences(&then), [""; 0]);
        let others = ["the file `ca.pem`", "the file `lua/envoy.yaml`"];
        let others = others.map(|file| format!("{file} of the configuration `conf/envoy.yaml` has changed"));
        assert_eq!(then.program_differences(&of(["a", "x", "x"])), others);
        let own = ["the configuration `conf/envoy.yaml` has changed"];
        assert_eq!(then.program_differences(&of(["x", "b", "c"])), own);
    }
}
