//! The folder of a run: what is kept in it while the study goes on, so that one that was killed can be taken up again.
//!
//! `study.yaml` is the study file, `run.json` says what else the rounds depend on, and `rounds/N.json` is a complete round.
//! While a study runs it holds a lock on the folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use hoptax_result::{Environment, MachineProbe, MachineSpeeds};
use hoptax_study::length::{Length, Until};
use hoptax_study::plan::Plan;
use hoptax_study::provenance::sha256;
use hoptax_study::record::RoundRecord;
use hoptax_study::runner::Earlier;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

const FORMAT: &str = "hoptax.run/3";
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
    /// Rounds at most.
    pub(crate) rounds: u32,
    /// Time that all rounds together may take, seconds.
    budget_s: Option<f64>,
    /// The precision at which it ends.
    until: Option<KeptUntil>,
    pub(crate) seed: u64,
    /// The name of the study.
    pub(crate) study: String,
    /// A hash of the plan: its arms with their fragments, and its loads. Seed and number of rounds are no part of it.
    plan_hash: String,
    /// Hashes of the programs that measured and that were measured.
    hoptax_hash: String,
    pub(crate) envoy_hash: String,
    /// The machine.
    cpu_model: String,
    cpus: u32,
    memory_bytes: u64,
    kernel: String,
    /// The machine as it was probed before the first round.
    pub(crate) machine: MachineProbe,
    /// Its speeds, where they were measured.
    #[serde(default)]
    pub(crate) speeds: Option<MachineSpeeds>,
    /// Whether the processors are kept from being halted.
    pub(crate) never_halted: bool,
    /// When the first round began, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// After how many rounds the study was taken up again, each time.
    pub(crate) resumed_after_rounds: Vec<u32>,
}

/// A precision that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct KeptUntil {
    target_share: f64,
    since_rounds: u32,
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

/// The programs of a study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Programs<'a> {
    pub(crate) hoptax: &'a Path,
    pub(crate) envoy: &'a Path,
}

/// The complete rounds of a study that was begun before, and when each of them ended, seconds since it began.
#[derive(Debug, Default)]
pub(crate) struct KeptRounds {
    pub(crate) earlier: Earlier,
    pub(crate) ended_s: Vec<f64>,
}

impl Facts {
    pub(crate) fn new(
        file_name: String,
        environment: &Environment,
        programs: Programs<'_>,
        (machine, never_halted): (MachineProbe, bool),
        plan: &Plan,
    ) -> Result<Self, Failure> {
        Ok(Self {
            format: FORMAT.to_owned(),
            file_name,
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
            cpu_model: environment.cpu_model.clone(),
            cpus: environment.cpus,
            memory_bytes: environment.memory_bytes,
            kernel: environment.kernel.clone(),
            machine,
            speeds: None,
            never_halted,
            started_at: environment.started_at.clone(),
            resumed_after_rounds: Vec::new(),
        })
    }

    /// What ends the study.
    pub(crate) fn length(&self) -> Length {
        let until = self
            .until
            .map(|until| Until { target_share: until.target_share, since_rounds: until.since_rounds });
        Length { rounds: self.rounds, budget_s: self.budget_s, until }
    }

    /// Gives the study another length.
    pub(crate) fn set_length(&mut self, length: &Length) {
        self.rounds = length.rounds;
        self.budget_s = length.budget_s;
        self.until = length
            .until
            .map(|until| KeptUntil { target_share: until.target_share, since_rounds: until.since_rounds });
    }

    /// What speaks against `other` being another sitting of the same study on this machine, in words.
    pub(crate) fn differences_of_sitting(&self, other: &Self) -> Vec<String> {
        let mut all = self.differences(other);
        if self.never_halted != other.never_halted {
            all.push("processors that were kept from being halted in one of them".to_owned());
        }
        all
    }

    /// What of the plan and of the programs differs, in words.
    pub(crate) fn other_programs(&self, other: &Self) -> Vec<String> {
        let pairs = [
            ("the study or the catalogue has changed", &self.plan_hash, &other.plan_hash),
            ("another build of hoptax", &self.hoptax_hash, &other.hoptax_hash),
            ("another build of Envoy", &self.envoy_hash, &other.envoy_hash),
        ];
        let differ = pairs.into_iter().filter(|(_, one, other)| one != other);
        differ.map(|(words, ..)| words.to_owned()).collect()
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
        all.extend(self.other_programs(now));
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

/// A hash of what a plan measures, whatever its seed and its number of rounds.
fn plan_hash(plan: &Plan) -> String {
    let mut plan = Plan { seed: 0, rounds: 0, ..plan.clone() };
    if let Some(link) = &mut plan.link {
        link.seed = 0;
    }
    sha256(format!("{plan:?}").as_bytes())
}

fn file_hash(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path)
        .map_err(|error| Failure::environment(format!("cannot read `{}`: {error}", path.display())))?;
    Ok(sha256(&bytes))
}

/// Whether a study runs in a folder.
pub(crate) fn is_in_use(path: &Path) -> bool {
    lock(path).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Locks a folder, for as long as what is returned lives. The folder and not a file in it: files are replaced by others.
fn lock(path: &Path) -> io::Result<File> {
    let folder = File::open(path)?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

/// Refuses a folder that holds what a study would write over, unless that was asked for.
pub(crate) fn check_free(path: &Path, force: bool) -> Result<(), Failure> {
    let exists = |name: &str| fs::symlink_metadata(path.join(name)).is_ok();
    let (is_run, has_rounds) = (exists(RUN), round_file(path, 0).exists());
    let named = path.display();
    let held = match (exists("result.json"), has_rounds) {
        (true, _) if is_run => format!("a study is in `{named}` already, with its result"),
        (true, _) => format!("`{named}` holds a result.json that this study would write over"),
        (false, true) => format!("rounds of a study are in `{named}` already"),
        (false, false) => return Ok(()),
    };
    if force {
        return Ok(());
    }
    let goes_on = if has_rounds {
        format!("\n  hoptax study --resume {named} --rounds NUMBER   goes on with more rounds")
    } else {
        String::new()
    };
    Err(Failure::bad_input(format!(
        "{held}; give another folder with --out, or{goes_on}\n  --force   writes over what is there"
    )))
}

/// The folders in `parent` that hold the result of a study of this name, and what it depended on, in the order of time.
pub(crate) fn finished(parent: &Path, study: &str) -> Vec<(PathBuf, Facts)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(PathBuf, Facts)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join("result.json").is_file())
        .filter_map(|path| Some((read(&path).ok()?.1, path)))
        .filter(|(facts, _)| facts.study == study)
        .map(|(facts, path)| (path, facts))
        .collect();
    found.sort_by(|(_, a), (_, b)| a.started_at.cmp(&b.started_at));
    found
}

/// Writes a file so that it is there whole or as it was.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, text)?;
    fs::rename(unfinished, path)
}

impl RunFolder {
    /// Begins a study in a folder; what another left there is removed.
    pub(crate) fn begin(path: &Path, study: &str, facts: &Facts) -> Result<Self, Failure> {
        let folder = Self::locked(path)?;
        let write = || -> io::Result<()> {
            match fs::remove_dir_all(path.join(ROUNDS)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::create_dir_all(path.join(ROUNDS))?,
            }
            replace(&path.join(STUDY), study)
        };
        write().map_err(|error| unusable(path, &error))?;
        folder.write(facts)?;
        Ok(folder)
    }

    /// Takes a study up again, with the complete rounds that its folder keeps.
    pub(crate) fn resume(path: &Path, then: &Facts, now: &Facts) -> Result<(Self, KeptRounds), Failure> {
        let differences = then.differences(now);
        if !differences.is_empty() {
            return Err(Failure::bad_input(format!(
                "`{}` cannot be taken up again: its rounds were measured with something else ({}); begin anew",
                path.display(),
                differences.join("; ")
            )));
        }
        let folder = Self::locked(path)?;
        let mut kept = KeptRounds::default();
        // Rounds follow each other; one that is not whole was being written.
        while let Ok(text) = fs::read_to_string(round_file(path, kept.ended_s.len() as u32)) {
            let Ok(round) = serde_json::from_str::<KeptRound>(&text) else { break };
            kept.earlier.elapsed_s = round.elapsed_s;
            kept.earlier.rounds.push(round.record);
            kept.ended_s.push(round.elapsed_s);
        }
        Ok((folder, kept))
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

    /// Writes what the rounds depend on.
    pub(crate) fn write(&self, facts: &Facts) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(facts).map_err(Failure::environment)?;
        replace(&self.path.join(RUN), &text).map_err(|error| unusable(&self.path, &error))
    }

    /// Keeps a complete round.
    pub(crate) fn keep(&self, round: u32, record: &RoundRecord, elapsed_s: f64) -> io::Result<()> {
        let kept = serde_json::json!({"elapsed_s": elapsed_s, "record": record});
        replace(&round_file(&self.path, round), &kept.to_string())
    }
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot use the folder `{}`: {error}", path.display()))
}

fn round_file(path: &Path, round: u32) -> PathBuf {
    path.join(ROUNDS).join(format!("{round}.json"))
}
