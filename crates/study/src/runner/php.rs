//! Callers in PHP: one process per connection, which keep no state between calls.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use hoptax_host::accounting::TaskUse;
use hoptax_host::child::{Child, ChildSpec, last_lines};
use hoptax_load::{Recording, now_ns};

use super::Setting;
use crate::plan::Load;

/// The script that each process runs.
const CALLER: &str = include_str!("../../../../apps/php/caller.php");
/// Grace period beyond the length of the slice.
const GRACE: Duration = Duration::from_secs(30);
/// Interval at which their completion is polled.
const POLL: Duration = Duration::from_millis(5);

/// Runs the callers for the length of a slice and records their responses as if they had begun at `record_from_ns`, so
/// the start of a hundred processes is not part of the slice.
pub(super) fn call(
    (url, authority): &(String, Option<PathBuf>),
    load: &Load,
    setting: &Setting<'_>,
    record_from_ns: u64,
    recording: &mut Recording,
) -> io::Result<TaskUse> {
    let (script, output) = (setting.directory.join("caller.php"), setting.directory.join("caller.log"));
    fs::write(&script, CALLER)?;
    fs::write(&output, "")?;
    let arguments: Vec<OsString> = vec![
        script.into(),
        url.into(),
        load.slice.as_secs_f64().to_string().into(),
        load.connections.to_string().into(),
        authority.clone().map_or_else(OsString::new, Into::into),
    ];
    let spec = ChildSpec {
        program: "php".into(),
        arguments,
        environment: Vec::new(),
        log: output.clone(),
        processors: setting.placement.generator.clone(),
    };
    let mut callers = Child::start(&spec).map_err(|error| {
        io::Error::other(format!("cannot run `php`: {error}; install the packages php-cli and php-curl"))
    })?;
    let deadline_ns = now_ns() + (load.slice + GRACE).as_nanos() as u64;
    let status = loop {
        if let Some(status) = callers.ended()? {
            break status;
        }
        if now_ns() > deadline_ns {
            return Err(io::Error::other("the PHP callers did not exit in time"));
        }
        std::thread::sleep(POLL);
    };
    let text = fs::read_to_string(&output)?;
    let Some((responses, span_us)) = responses(&text).filter(|_| status.success()) else {
        let words = last_lines(&output, 8);
        return Err(io::Error::other(format!("the PHP callers failed ({status}):\n{words}")));
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
    use super::*;

    #[test]
    fn output_of_callers_is_complete_or_invalid() {
        assert_eq!(responses("1500\nfailed\n20\nend 1600\n"), Some((vec![Some(1500), None, Some(20)], 1600)));
        assert_eq!(responses("1500\n"), None);
        assert_eq!(responses("Warning: something\nend 5\n"), None);
    }
}
