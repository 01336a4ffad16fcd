//! The folder of a run: what is kept in it while the study goes on, so that one that was killed can be taken up again.
//!
//! `study.yaml` is the study file, `run.json` says what else the rounds depend on, and `rounds/N.json` is a complete round.
//! While a study runs it holds a lock on `run.json`.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use hoptax_result::{Environment, MachineProbe};
use hoptax_study::plan::Plan;
use hoptax_study::record::RoundRecord;
use hoptax_study::runner::Earlier;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

const FORMAT: &str = "hoptax.run/2";
const RUN: &str = "run.json";
const STUDY: &str = "study.yaml";
const ROUNDS: &str = "rounds";

/// What the rounds of a study depend on beside its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    format: String,
    /// The name of the study file, for messages.
    pub(crate) file_name: String,
    pub(crate) hoptax_version: String,
    pub(crate) envoy_version: String,
    pub(crate) rounds: u32,
    pub(crate) seed: u64,
    /// A hash of the plan: its arms with their fragments, and its loads.
    plan_hash: String,
    /// The machine.
    cpu_model: String,
    cpus: u32,
    memory_bytes: u64,
    kernel: String,
    /// The machine as it was probed before the first round.
    pub(crate) machine: MachineProbe,
    /// Whether the processors are kept from being halted.
    pub(crate) never_halted: bool,
    /// When the first round began, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// After how many rounds the study was taken up again, each time.
    pub(crate) resumed_after_rounds: Vec<u32>,
}

/// A kept round.
#[derive(Serialize, Deserialize)]
struct KeptRound {
    /// How long the study had taken then, seconds.
    elapsed_s: f64,
    record: RoundRecord,
}

/// The folder of a run that goes on; nobody else uses it meanwhile.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    /// Keeps the lock.
    _lock: File,
}

impl Facts {
    pub(crate) fn new(
        file_name: String,
        environment: &Environment,
        envoy_version: String,
        (machine, never_halted): (MachineProbe, bool),
        plan: &Plan,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        format!("{plan:?}").hash(&mut hasher);
        Self {
            format: FORMAT.to_owned(),
            file_name,
            hoptax_version: environment.hoptax_version.clone(),
            envoy_version,
            rounds: plan.rounds,
            seed: plan.seed,
            plan_hash: format!("{:016x}", hasher.finish()),
            cpu_model: environment.cpu_model.clone(),
            cpus: environment.cpus,
            memory_bytes: environment.memory_bytes,
            kernel: environment.kernel.clone(),
            machine,
            never_halted,
            started_at: environment.started_at.clone(),
            resumed_after_rounds: Vec::new(),
        }
    }

    /// What of `now` differs, in words.
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
        if self.plan_hash != now.plan_hash {
            all.push("the study or the catalogue has changed".to_owned());
        }
        if (self.cpus, self.memory_bytes) != (now.cpus, now.memory_bytes) {
            all.push("another number of processors or bytes of memory".to_owned());
        }
        all
    }
}

/// The text of the study file that a folder keeps, and what else its rounds depend on.
pub(crate) fn read(path: &Path) -> Result<(String, Facts), Failure> {
    let of = |error: &dyn std::fmt::Display| {
        Failure::bad_input(format!(
            "`{}` is no folder of a study that can be taken up again: {error}",
            path.display()
        ))
    };
    let text = fs::read_to_string(path.join(STUDY)).map_err(|error| of(&error))?;
    let facts = fs::read_to_string(path.join(RUN)).map_err(|error| of(&error))?;
    let facts: Facts = serde_json::from_str(&facts).map_err(|error| of(&error))?;
    if facts.format == FORMAT {
        Ok((text, facts))
    } else {
        Err(of(&format!("it is of format `{}`", facts.format)))
    }
}

/// Whether a study runs in a folder.
pub(crate) fn is_in_use(path: &Path) -> bool {
    let file = File::open(path.join(RUN));
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

impl RunFolder {
    /// Begins a study in a folder.
    pub(crate) fn begin(path: &Path, study: &str, facts: &Facts) -> Result<Self, Failure> {
        let write = || -> io::Result<File> {
            // Not emptied before it is known that nobody else uses it.
            let file = File::options().create(true).truncate(false).write(true).open(path.join(RUN))?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            file.set_len(0)?;
            fs::write(path.join(STUDY), study)?;
            match fs::remove_dir_all(path.join(ROUNDS)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::create_dir_all(path.join(ROUNDS))?,
            }
            serde_json::to_writer_pretty(&file, facts)?;
            Ok(file)
        };
        let lock = write().map_err(|error| {
            Failure::environment(format!("cannot use the folder `{}`: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Takes a study up again, with the complete rounds that its folder keeps.
    pub(crate) fn resume(path: &Path, then: &Facts, now: &Facts) -> Result<(Self, Facts, Earlier), Failure> {
        let differences = then.differences(now);
        if !differences.is_empty() {
            return Err(Failure::bad_input(format!(
                "`{}` cannot be taken up again: its rounds were measured with something else ({}); begin anew",
                path.display(),
                differences.join("; ")
            )));
        }
        let of = |error: io::Error| {
            Failure::environment(format!("cannot use the folder `{}`: {error}", path.display()))
        };
        let file = File::options().read(true).write(true).open(path.join(RUN)).map_err(of)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Failure::bad_input(format!("the study in `{}` is still running", path.display())))?;
        let mut earlier = Earlier::default();
        // Rounds follow each other; one that is not whole was being written.
        while let Ok(text) = fs::read_to_string(round_file(path, earlier.rounds.len() as u32)) {
            let Ok(kept) = serde_json::from_str::<KeptRound>(&text) else { break };
            earlier.elapsed_s = kept.elapsed_s;
            earlier.rounds.push(kept.record);
        }
        let mut facts = then.clone();
        facts.resumed_after_rounds.push(earlier.rounds.len() as u32);
        fs::write(path.join(RUN), serde_json::to_string_pretty(&facts).unwrap_or_default()).map_err(of)?;
        Ok((Self { path: path.to_owned(), _lock: file }, facts, earlier))
    }

    /// Keeps a complete round.
    pub(crate) fn keep(&self, round: u32, record: &RoundRecord, elapsed_s: f64) -> io::Result<()> {
        let kept = serde_json::json!({"elapsed_s": elapsed_s, "record": record});
        let (path, unfinished) = (round_file(&self.path, round), self.path.join(ROUNDS).join("unfinished"));
        fs::write(&unfinished, kept.to_string())?;
        // Whole or not at all.
        fs::rename(unfinished, path)
    }
}

fn round_file(path: &Path, round: u32) -> PathBuf {
    path.join(ROUNDS).join(format!("{round}.json"))
}
