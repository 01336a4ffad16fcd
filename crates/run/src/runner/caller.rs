//! Callers other than hoptax: runs their command and reads its output.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_host::accounting::TaskUse;
use hoptax_host::child::{Child, ChildSpec, last_lines};
use hoptax_load::{Recording, now_ns};
use hoptax_plan::plan::Load;
use hoptax_subject::caller::{Caller, Calls};

use super::Setting;

/// Grace period beyond the length of the slice.
const GRACE: Duration = Duration::from_secs(30);
/// How long callers may take to end after an interrupt.
const GRACE_AFTER_STOP: Duration = Duration::from_secs(2);
/// Interval at which their completion is polled.
const POLL: Duration = Duration::from_millis(5);

/// Target of the requests of callers.
pub(super) struct CallerTarget {
    /// The URL.
    pub(super) url: String,
    /// The file of the certificate authority with which callers verify the server; none without TLS.
    pub(super) authority: Option<PathBuf>,
}

/// Runs the callers for the length of a slice, or until `stop` is set. Records their responses as if they had begun at `record_from_ns`, so
/// that the start of a hundred processes is not part of the slice.
pub(super) fn call(
    caller: &Caller,
    target: &CallerTarget,
    load: &Load,
    setting: &Setting<'_>,
    record_from_ns: u64,
    recording: &mut Recording,
    stop: &AtomicBool,
) -> io::Result<TaskUse> {
    let output = setting.directory.join("caller.log");
    let mut script = PathBuf::new();
    if let Some((name, text)) = caller.script() {
        script = setting.directory.join(name);
        fs::write(&script, text)?;
    }
    fs::write(&output, "")?;
    let calls = Calls {
        url: &target.url,
        duration: load.slice,
        processes: load.connections,
        authority: target.authority.as_deref(),
    };
    let (name, remedy) = (caller.program_name(), caller.remedy());
    let program = caller
        .program(setting.folder)
        .ok_or_else(|| io::Error::other(format!("missing program `{name}` for {caller}: {remedy}")))?;
    let spec = ChildSpec {
        program,
        arguments: caller.arguments(&calls, setting.folder, &script),
        environment: Vec::new(),
        log: output.clone(),
        processors: setting.placement.generator.clone(),
    };
    let mut callers = Child::start(&spec)
        .map_err(|error| io::Error::other(format!("cannot run `{name}` for {caller}: {error}; {remedy}")))?;
    let deadline_ns = now_ns() + (load.slice + GRACE).as_nanos() as u64;
    let status = loop {
        if let Some(status) = callers.ended()? {
            break status;
        }
        if stop.load(Ordering::Relaxed) {
            callers.end(GRACE_AFTER_STOP)?;
            return Ok(TaskUse::default());
        }
        if now_ns() > deadline_ns {
            return Err(io::Error::other(format!("{caller} did not exit in time")));
        }
        std::thread::sleep(POLL);
    };
    let text = fs::read_to_string(&output)?;
    let Some((responses, span_us)) = responses(&text).filter(|_| status.success()) else {
        let words = last_lines(&output, 8);
        return Err(io::Error::other(format!("{caller} failed ({status}):\n{words}")));
    };
    recording.record_external_calls(&responses, record_from_ns + span_us * 1_000);
    Ok(TaskUse::default())
}

/// Parses the output of a caller: one line per call with its time in us or `failed`, and a final line with the time
/// from the first call to the end of the last, in us.
fn responses(text: &str) -> Option<(Vec<Option<u64>>, u64)> {
    let mut calls = Vec::new();
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("end", span_us)) => return Some((calls, span_us.parse().ok()?)),
            _ if line == "failed" => calls.push(None),
            _ => calls.push(Some(line.parse().ok()?)),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread;

    use hoptax_host::processors::Placement;

    use super::*;
    use crate::runner::fixture::with_setting_in;

    #[test]
    fn an_interrupt_ends_the_callers_in_the_middle_of_their_slice() {
        let folder = tempfile::tempdir().unwrap();
        // This caller writes its process id, and does not end by itself.
        let command = ["sh", "-c", "echo $$ > {folder}/started; exec sleep 1000", "{url}", "{seconds}"];
        let caller = Caller::from_command(&command.map(str::to_owned)).unwrap();
        let load = Load {
            name: "callers".to_owned(),
            open: None,
            connections: 1,
            requests_per_connection: None,
            resumption: None,
            expect: Vec::new(),
            caller: None,
            arms: None,
            blocks: 1,
            slice: Duration::from_millis(100),
        };
        let placement = Placement { proxy: Vec::new(), generator: Vec::new() };
        let target = CallerTarget { url: "http://127.0.0.1:1/".to_owned(), authority: None };
        let started = || fs::read_to_string(folder.path().join("started")).unwrap_or_default();
        let (stop, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut recording = Recording::default();
        let called = thread::scope(|scope| {
            scope.spawn(|| {
                while !started().ends_with('\n') && !is_over.load(Ordering::Relaxed) {
                    thread::sleep(POLL);
                }
                stop.store(true, Ordering::Relaxed);
            });
            let called = with_setting_in(folder.path(), &placement, |setting| {
                call(&caller, &target, &load, setting, 0, &mut recording, &stop)
            });
            is_over.store(true, Ordering::Relaxed);
            called
        });
        called.unwrap();
        assert!(!Path::new("/proc").join(started().trim()).exists());
        assert_eq!(recording.book.planned, 0);
    }

    #[test]
    fn output_of_callers_is_complete_or_invalid() {
        assert_eq!(responses("1500\nfailed\n20\nend 1600\n"), Some((vec![Some(1500), None, Some(20)], 1600)));
        assert_eq!(responses("1500\n"), None);
        assert_eq!(responses("Warning: something\nend 5\n"), None);
    }
}
