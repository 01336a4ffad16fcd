//! A study in a folder of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Guarded, Ran, checked, hoptax, ran};

/// A folder with a study file, and with the run folder of the study once it has run.
pub(crate) struct StudyFolder {
    pub(crate) folder: tempfile::TempDir,
}

impl StudyFolder {
    /// Writes a study file with this text.
    pub(crate) fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("study.yaml"), text).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The run folder.
    pub(crate) fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// The command of the study.
    pub(crate) fn command(&self) -> Command {
        self.command_into("out")
    }

    /// The same with another run folder.
    pub(crate) fn command_into(&self, out: &str) -> Command {
        let mut command = hoptax();
        command.arg("study").arg(self.path("study.yaml")).arg("--out").arg(self.path(out));
        command
    }

    pub(crate) fn run(&self) -> Ran {
        ran(&mut self.command())
    }

    /// Starts it; its stderr can be read.
    pub(crate) fn start(&self) -> Guarded {
        Guarded(self.command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Continues it with these flags.
    pub(crate) fn resume(&self, flags: &[&str]) -> Ran {
        ran(hoptax().arg("study").args(flags).arg("--resume").arg(self.out()))
    }

    pub(crate) fn result(&self) -> Value {
        self.result_in("out")
    }

    /// The result in another run folder.
    pub(crate) fn result_in(&self, out: &str) -> Value {
        checked("study", &fs::read_to_string(self.path(out).join("result.json")).unwrap())
    }

    /// The result of a run, which must have one.
    pub(crate) fn result_of(&self, ran: &Ran) -> Value {
        assert!(self.out().join("result.json").exists(), "{}", ran.stderr);
        self.result()
    }

    /// Runs the short form of the study, and returns its result: one round with one copy of each arm, for properties that need no more. A
    /// study file has at least two rounds, and copies are for precision. However busy the machine is, it succeeds.
    pub(crate) fn short_form(&self) -> Value {
        let ran = ran(self.command().arg("--smoke"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let result = self.result();
        assert_eq!(result["plan"]["rounds_completed"], 1, "{}", ran.stderr);
        result
    }
}

/// The arm of a result with this id.
pub(crate) fn arm<'a>(result: &'a Value, id: &str) -> &'a Value {
    let arms = result["arms"].as_array().unwrap();
    arms.iter().find(|arm| arm["id"] == id).unwrap_or_else(|| panic!("no {id}: {result}"))
}

/// The requests that an arm answered: in slices, also in those that were set aside, or in courses.
pub(crate) fn answered(result: &Value, arm: &Value) -> u64 {
    let rounds = result["rounds"].as_array().unwrap().iter();
    let parts = rounds.flat_map(|round| ["samples", "courses"].map(|kind| round[kind].as_array()));
    let of_arm = parts.flatten().flatten().filter(|part| part["arm"] == arm["id"]);
    let books = of_arm.flat_map(|part| [&part["book"], &part["set_aside_book"]]);
    books.filter_map(|book| book["answered"].as_u64()).sum()
}

/// Returns true if a screen has the line of a verdict.
pub(crate) fn has_verdict(screen: &str) -> bool {
    let mut lines = screen.lines();
    lines.any(|line| ["sound: ", "caution: ", "void: "].iter().any(|verdict| line.starts_with(verdict)))
}

/// A study file for a short study.
pub(crate) fn small_study(arms: &str, rounds: u32) -> String {
    format!(
        "name: small\nsummary: Does it work?\nrounds: {rounds}\narms: [{arms}]\nloads:\n  \
         - {{name: saturation, loop: closed, connections: 4, blocks: 2, slice: 50ms}}\n  \
         - {{name: fixed-rate, loop: open, rate: 500, connections: 8, blocks: 2, slice: 100ms}}\n"
    )
}

/// The same with one slice of each arm and load in a round, and few requests in place of a closed loop, for tests that read no costs.
pub(crate) fn smallest_study(arms: &str, rounds: u32) -> String {
    let closed = "name: saturation, loop: closed, connections: 4,";
    let study = small_study(arms, rounds);
    assert!(study.contains(closed), "{study}");
    study
        .replace(closed, "name: lower-rate, loop: open, rate: 400, connections: 1,")
        .replace("blocks: 2", "blocks: 1")
}
