//! The files of a study. One that cannot be written stops neither the study nor the others.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use hoptax_report::{html, markdown};
use hoptax_result::StudyResult;
use hoptax_study::event::Event;
use hoptax_study::plan::Plan;
use hoptax_study::record::{RoundRecord, SliceRecord};

/// Writes result.json, report.md and report.html; says what could not be written.
pub(crate) fn write_all(directory: &Path, result: &StudyResult) -> Vec<String> {
    let outputs = [
        (
            "result.json",
            serde_json::to_string_pretty(result).map(|text| text + "\n").map_err(|e| e.to_string()),
        ),
        ("report.md", Ok(markdown::study(result))),
        ("report.html", html::study(result).map_err(|error| error.to_string())),
    ];
    let mut problems = Vec::new();
    for (name, text) in outputs {
        let path = directory.join(name);
        if let Err(error) = text.and_then(|text| fs::write(&path, text).map_err(|error| error.to_string())) {
            problems.push(format!("cannot write `{}`: {error}", path.display()));
        }
    }
    problems
}

/// Writes `slices.csv` as the study goes on, so that what was measured is kept however it ends.
pub(crate) struct SliceLog {
    path: PathBuf,
    file: io::Result<BufWriter<File>>,
    arms: Vec<String>,
    loads: Vec<String>,
}

impl SliceLog {
    /// Begins the file, with the slices of the rounds that there are already.
    pub(crate) fn create(directory: &Path, plan: &Plan, earlier: &[RoundRecord]) -> Self {
        let path = directory.join("slices.csv");
        let arms: Vec<String> = plan.arms.iter().map(|arm| arm.id.clone()).collect();
        let loads: Vec<String> = plan.loads.iter().map(|load| load.name.clone()).collect();
        let file = File::create(&path).map(BufWriter::new).and_then(|mut file| {
            writeln!(file, "{}", COLUMNS.join(","))?;
            for slice in earlier.iter().flat_map(|round| &round.slices) {
                writeln!(file, "{}", row(slice, &arms, &loads))?;
            }
            Ok(file)
        });
        Self { path, file, arms, loads }
    }

    /// Takes note of an event.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        let Ok(file) = &mut self.file else { return };
        let written = match event {
            Event::SliceEnded { slice, .. } => writeln!(file, "{}", row(slice, &self.arms, &self.loads)),
            Event::RoundEnded { .. } => file.flush(),
            Event::Checking | Event::Sizing | Event::Waiting | Event::RoundBegan { .. } => Ok(()),
        };
        if let Err(error) = written {
            self.file = Err(error);
        }
    }

    /// Ends the file; what went wrong with it, if anything.
    pub(crate) fn finish(self) -> Option<String> {
        let ended = self.file.and_then(|mut file| file.flush());
        ended.err().map(|error| format!("cannot write `{}`: {error}", self.path.display()))
    }
}

const COLUMNS: [&str; 22] = [
    "round",
    "load",
    "block",
    "arm",
    "began_s",
    "wall_s",
    "recorded_s",
    "planned",
    "sent",
    "answered",
    "failed",
    "timed_out",
    "unfinished",
    "proxy_cpu_ns",
    "proxy_run_delay_ns",
    "steal_ticks",
    "handover_ns",
    "response_p50_us",
    "blocked",
    "origin_cpu_ns",
    "companion_cpu_ns",
    "copy",
];

fn row(slice: &SliceRecord, arms: &[String], loads: &[String]) -> String {
    let name = |names: &[String], index: usize| {
        // Ids hold commas between knobs.
        format!("\"{}\"", names.get(index).map_or("", String::as_str).replace('"', "\"\""))
    };
    let book = &slice.book;
    let fields = [
        slice.round.to_string(),
        name(loads, slice.load),
        slice.block.to_string(),
        name(arms, slice.arm),
        format!("{:.6}", slice.began_s),
        format!("{:.6}", slice.wall_s),
        format!("{:.6}", slice.recorded_s),
        book.planned.to_string(),
        book.sent.to_string(),
        book.answered.to_string(),
        book.failed.to_string(),
        book.timed_out.to_string(),
        book.unfinished.to_string(),
        slice.proxy_cpu_ns.to_string(),
        slice.proxy_run_delay_ns.to_string(),
        slice.steal_ticks.to_string(),
        slice.handover_ns.map_or_else(String::new, |ns| format!("{ns:.1}")),
        slice.response_p50_us.map_or_else(String::new, |us| format!("{us:.3}")),
        book.blocked.to_string(),
        slice.origin_cpu_ns.to_string(),
        slice.companion_cpu_ns.to_string(),
        slice.copy.to_string(),
    ];
    fields.join(",")
}
