//! The run folder of a study, from which a killed study can be resumed.
//!
//! `study.yaml` is the study file, `run.json` holds everything else that the rounds depend on, and `rounds/N.json` is a complete
//! round. A `result.json` is about all of them. A running study holds a lock on the folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use hoptax_result::{Environment, MachineProbe, MachineSpeeds, RUN_FOLDER_FORMAT};
use hoptax_study::length::{Length, Until};
use hoptax_study::plan::Plan;
use hoptax_study::programs::{self, Build};
use hoptax_study::provenance::{sha256, sha256_of_file};
use hoptax_study::record::RoundRecord;
use hoptax_study::runner::Earlier;
use hoptax_text::secrets::without_signatures;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::replaced::{replace, write_study};

/// The result, which is written when the study ends.
pub const RESULT: &str = "result.json";
const RUN: &str = "run.json";
const STUDY: &str = "study.yaml";
const ROUNDS: &str = "rounds";

/// Everything that the rounds of a study depend on besides its file: the content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    format: String,
    /// The name of the study file, for messages.
    pub(crate) file_name: String,
    /// The folder of the study file, at which relative paths in it start.
    #[serde(default)]
    pub(crate) folder_of_file: String,
    pub(crate) hoptax_version: String,
    pub(crate) envoy_version: String,
    /// Maximum number of rounds.
    pub(crate) rounds: u32,
    /// Time limit for all rounds, seconds.
    budget_s: Option<f64>,
    /// Precision at which the study ends.
    until: Option<Until>,
    pub(crate) seed: u64,
    /// The name of the study.
    pub(crate) study: String,
    /// Hash of the plan: arms with their fragments, and loads, without seed and number of rounds.
    plan_hash: String,
    /// Hashes of the hoptax and Envoy binaries.
    hoptax_hash: String,
    pub(crate) envoy_hash: String,
    /// Builds of the other programs that the study starts, by name.
    #[serde(default)]
    pub(crate) programs: BTreeMap<String, Build>,
    /// SHA-256 of the files of the configurations of the user that proxies run, by the path of the configuration and that of the file.
    #[serde(default)]
    configurations: BTreeMap<String, BTreeMap<String, String>>,
    /// The machine.
    cpu_model: String,
    cpus: u32,
    memory_bytes: u64,
    kernel: String,
    /// The processors of the proxies, and those of generator and origins.
    #[serde(default)]
    proxy_cpus: Vec<u32>,
    #[serde(default)]
    generator_cpus: Vec<u32>,
    /// Probe of the machine before the first round.
    pub(crate) machine: MachineProbe,
    /// Speeds of the machine, if measured.
    #[serde(default)]
    pub(crate) speeds: Option<MachineSpeeds>,
    /// Whether the processors are kept from halting.
    pub(crate) never_halted: bool,
    /// Start of the first round, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// Number of complete rounds each time the study was resumed.
    pub(crate) resumed_after_rounds: Vec<u32>,
    /// Numbers of rounds after which it looked whether its intervals are narrow enough. Those of a session that was killed are missing.
    #[serde(default)]
    pub(crate) looks: Vec<u32>,
    /// Values of the thresholds that were set, by name.
    #[serde(default)]
    pub(crate) thresholds: BTreeMap<String, f64>,
}

/// The content of `rounds/N.json`.
#[derive(Serialize, Deserialize)]
struct StoredRound {
    /// Duration of the study until the end of this round, seconds.
    elapsed_s: f64,
    record: RoundRecord,
}

/// The locked folder of a running study.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

/// A study's programs: paths of those that every study has, and builds of the others.
#[derive(Clone, Debug)]
pub(crate) struct Programs<'a> {
    pub(crate) hoptax: &'a Path,
    pub(crate) envoy: &'a Path,
    pub(crate) others: BTreeMap<String, Build>,
}

/// The complete rounds of earlier sessions, the end of each, seconds since the start of the study, and the looks at them.
#[derive(Debug, Default)]
pub(crate) struct CompleteRounds {
    pub(crate) earlier: Earlier,
    pub(crate) ended_s: Vec<f64>,
    pub(crate) looks: Vec<u32>,
}

impl Manifest {
    pub(crate) fn new(
        (file_name, folder_of_file): (String, &Path),
        environment: &Environment,
        programs: Programs<'_>,
        (machine, never_halted): (MachineProbe, bool),
        plan: &Plan,
    ) -> Result<Self, Failure> {
        Ok(Self {
            format: RUN_FOLDER_FORMAT.to_owned(),
            file_name,
            folder_of_file: folder_of_file.to_string_lossy().into_owned(),
            hoptax_version: environment.hoptax_version.clone(),
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
            machine,
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
            all.push("processors kept from halting in one of them only".to_owned());
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
        all.extend(programs::differences(&self.programs, &other.programs));
        // A plan that names another configuration differs itself.
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
    fn differences(&self, now: &Self) -> Vec<String> {
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

/// Reads the study file and `run.json` of a run folder.
///
/// # Errors
/// When it is none that can be resumed.
pub fn read(path: &Path) -> Result<(String, Manifest), Failure> {
    let of = |error: &dyn std::fmt::Display| {
        Failure::bad_input(format!("`{}` is not a run folder that can be resumed: {error}", path.display()))
    };
    let text = fs::read_to_string(path.join(STUDY)).map_err(|error| of(&error))?;
    let manifest = fs::read_to_string(path.join(RUN)).map_err(|error| of(&error))?;
    let manifest: Manifest = serde_json::from_str(&manifest).map_err(|error| of(&error))?;
    if manifest.format == RUN_FOLDER_FORMAT {
        Ok((text, manifest))
    } else {
        Err(of(&format!("unsupported format `{}`", manifest.format)))
    }
}

/// Hash of a plan without its seed and number of rounds.
fn plan_hash(plan: &Plan) -> String {
    let mut plan = Plan { seed: 0, rounds: 0, ..plan.clone() };
    if let Some(link) = &mut plan.link {
        link.seed = 0;
    }
    // Tokens of the lab are signed again each time that a request is derived.
    sha256(without_signatures(&format!("{plan:?}")).as_bytes())
}

fn file_hash(path: &Path) -> Result<String, Failure> {
    sha256_of_file(path).map_err(|error| Failure::environment(error.to_string()))
}

/// Whether a study is running in a folder.
pub fn is_in_use(path: &Path) -> bool {
    lock(path).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Locks a folder until the returned value is dropped. Files in it are replaced, so none of them could hold the lock.
fn lock(path: &Path) -> io::Result<File> {
    let folder = File::open(path)?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

/// Creates the run folder and returns its absolute path, because Envoy writes there too. Its configuration is JSON, which
/// has no other text than UTF-8.
///
/// # Errors
/// When it cannot be created, or has another name.
pub fn create(path: &Path) -> Result<PathBuf, Failure> {
    if path.to_str().is_none() {
        return Err(Failure::bad_input(format!(
            "the folder `{}` is not valid UTF-8, as Envoy's configuration must be: choose another with --out",
            path.display()
        )));
    }
    let created = fs::create_dir_all(path).and_then(|()| path.canonicalize());
    let folder = created.map_err(|error| {
        Failure::environment(format!("cannot create the folder `{}`: {error}", path.display()))
    })?;
    if folder.to_str().is_some() {
        return Ok(folder);
    }
    Err(Failure::bad_input(format!(
        "the folder `{}` is in one whose name is not valid UTF-8, as Envoy's configuration must be: choose another with --out",
        path.display()
    )))
}

/// Refuses a folder whose results or rounds a study would overwrite, unless `force` is set.
pub(crate) fn check_free(path: &Path, force: bool) -> Result<(), Failure> {
    let exists = |name: &str| fs::symlink_metadata(path.join(name)).is_ok();
    let (is_run, has_rounds) = (exists(RUN), round_file(path, 0).exists());
    let named = path.display();
    let held = match (exists(RESULT), has_rounds) {
        (true, _) if is_run => format!("`{named}` already holds a study and its result"),
        (true, _) => format!("`{named}` holds a result.json that this study would overwrite"),
        (false, true) => format!("`{named}` already holds rounds of a study"),
        (false, false) => return Ok(()),
    };
    if force {
        return Ok(());
    }
    let more_rounds = if has_rounds {
        format!("\n  hoptax study --resume {named} --rounds NUMBER   adds rounds to it")
    } else {
        String::new()
    };
    Err(Failure::bad_input(format!(
        "{held}; choose another folder with --out, or use{more_rounds}\n  --force   overwrites it"
    )))
}

/// The folders in `parent` that hold a result of this study, with their `run.json`, by start time.
pub(crate) fn results(parent: &Path, study: &str) -> Vec<(PathBuf, Manifest)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(PathBuf, Manifest)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(RESULT).is_file())
        .filter_map(|path| Some((read(&path).ok()?.1, path)))
        .filter(|(manifest, _)| manifest.study == study)
        .map(|(manifest, path)| (path, manifest))
        .collect();
    found.sort_by(|(_, a), (_, b)| a.started_at.cmp(&b.started_at));
    found
}

impl RunFolder {
    /// Starts a study in a folder, and removes the result and the rounds of an earlier one.
    pub(crate) fn create(path: &Path, study: &str, manifest: &Manifest) -> Result<Self, Failure> {
        let folder = Self::locked(path)?;
        let write = || -> io::Result<()> {
            remove_result(path)?;
            match fs::remove_dir_all(path.join(ROUNDS)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::create_dir_all(path.join(ROUNDS))?,
            }
            write_study(&path.join(STUDY), study)
        };
        write().map_err(|error| unusable(path, &error))?;
        folder.write(manifest)?;
        Ok(folder)
    }

    /// Resumes a study with the complete rounds in its folder.
    pub(crate) fn resume(
        path: &Path,
        then: &Manifest,
        now: &Manifest,
    ) -> Result<(Self, CompleteRounds), Failure> {
        let differences = then.differences(now);
        if !differences.is_empty() {
            return Err(Failure::bad_input(format!(
                "cannot resume `{}`: its rounds differ in their conditions ({}); start a new study",
                path.display(),
                differences.join("; ")
            )));
        }
        let folder = Self::locked(path)?;
        let mut complete = CompleteRounds { looks: then.looks.clone(), ..CompleteRounds::default() };
        // Stop at the first missing round, and at an incomplete one, which was being written.
        while let Ok(text) = fs::read_to_string(round_file(path, complete.ended_s.len() as u32)) {
            let Ok(round) = serde_json::from_str::<StoredRound>(&text) else { break };
            complete.earlier.elapsed_s = round.elapsed_s;
            complete.earlier.rounds.push(round.record);
            complete.ended_s.push(round.elapsed_s);
        }
        Ok((folder, complete))
    }

    fn locked(path: &Path) -> Result<Self, Failure> {
        match lock(path) {
            Ok(lock) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(Failure::bad_input(format!("the study in `{}` is still running", path.display())))
            }
            Err(error) => Err(unusable(path, &error)),
        }
    }

    /// Writes `run.json`.
    pub(crate) fn write(&self, manifest: &Manifest) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(manifest).map_err(Failure::environment)?;
        replace(&self.path.join(RUN), &text).map_err(|error| unusable(&self.path, &error))
    }

    /// Writes `run.json` again if the study has looked meanwhile, so that these looks count when it is resumed.
    pub(crate) fn record_looks(&self, manifest: &Manifest, looks: &[u32]) -> Result<(), Failure> {
        if manifest.looks == looks {
            return Ok(());
        }
        self.write(&Manifest { looks: looks.to_vec(), ..manifest.clone() })
    }

    /// Stores a complete round, and removes the result of a resumed study, which is not about this round. Until then it is about
    /// all of them, so a study that is killed before loses nothing.
    pub(crate) fn store_round(&self, round: u32, record: &RoundRecord, elapsed_s: f64) -> io::Result<()> {
        remove_result(&self.path)?;
        let stored = serde_json::json!({"elapsed_s": elapsed_s, "record": record});
        replace(&round_file(&self.path, round), &stored.to_string())
    }
}

/// Removes the result in a folder, if it has one.
fn remove_result(path: &Path) -> io::Result<()> {
    match fs::remove_file(path.join(RESULT)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot use the folder `{}`: {error}", path.display()))
}

fn round_file(path: &Path, round: u32) -> PathBuf {
    path.join(ROUNDS).join(format!("{round}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manifest as it was written before studies recorded their looks.
    fn manifest() -> Manifest {
        serde_json::from_value(serde_json::json!({
            "format": RUN_FOLDER_FORMAT, "file_name": "", "hoptax_version": "", "envoy_version": "", "rounds": 2,
            "seed": 1, "study": "", "plan_hash": "", "hoptax_hash": "", "envoy_hash": "", "cpu_model": "",
            "cpus": 1, "memory_bytes": 1, "kernel": "", "machine": MachineProbe::default(),
            "never_halted": false, "started_at": "", "resumed_after_rounds": [],
        }))
        .unwrap()
    }

    #[test]
    fn the_looks_of_a_session_are_known_when_the_study_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let first = RunFolder::create(at, "name: a\n", &manifest()).unwrap();
        first.store_round(0, &RoundRecord::default(), 1.0).unwrap();
        first.record_looks(&manifest(), &[1]).unwrap();
        drop(first);
        let (_, then) = read(at).unwrap();
        let (_resumed, complete) = RunFolder::resume(at, &then, &manifest()).unwrap();
        assert_eq!((then.looks.as_slice(), complete.looks.as_slice()), (&[1][..], &[1][..]));
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

    #[test]
    fn a_result_is_removed_by_a_further_round_and_by_a_new_study() {
        let folder = tempfile::tempdir().unwrap();
        let (at, result) = (folder.path(), folder.path().join(RESULT));
        let manifest = manifest();
        fs::write(&result, "{}").unwrap();
        let first = RunFolder::create(at, "name: a\n", &manifest).unwrap();
        assert!(!result.exists(), "it was that of another study");
        first.store_round(0, &RoundRecord::default(), 1.0).unwrap();
        drop(first);
        fs::write(&result, "{}").unwrap();
        let (resumed, complete) = RunFolder::resume(at, &manifest, &manifest).unwrap();
        assert!(complete.ended_s.len() == 1 && result.exists(), "it is about all rounds so far");
        resumed.store_round(1, &RoundRecord::default(), 2.0).unwrap();
        assert!(!result.exists() && round_file(at, 1).exists());
    }
}
