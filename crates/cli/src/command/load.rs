//! `hoptax load`: offer load to a server and record what came of every request.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hoptax_checks::judge_load;
use hoptax_host::environment;
use hoptax_load::log::MAGIC;
use hoptax_load::trial::{self, TrialSpec};
use hoptax_load::{Arrivals, Pooling, Target, Trace, WhenBusy, WhenLate};
use hoptax_report::terminal;
use hoptax_result::LoadResult;

use crate::arguments::{ArrivalsChoice, LoadArguments};
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::{print, progress};

/// What is wrong with a flag of an open loop in a closed one.
const NEEDS_RATE: &str =
    "needs a rate: without `--rate` the loop is closed and nothing is planned; add `--rate 1000`";

/// How long is recorded, and how long load is offered before, unless told otherwise.
const DURATION: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Code, Failure> {
    let body = arguments.body.clone().unwrap_or_default().into_bytes();
    let mut target = Target::new(&arguments.url, &arguments.method, arguments.headers.clone(), body)
        .map_err(Failure::bad_input)?;
    target.expectation = arguments.expect.unwrap_or_default();
    let (open, trace_length) = open_loop(arguments)?;
    let (duration, warmup) = match trace_length {
        Some(length) => (arguments.duration.unwrap_or(length), arguments.warmup.unwrap_or_default()),
        None => (arguments.duration.unwrap_or(DURATION), arguments.warmup.unwrap_or(WARM_UP)),
    };
    let mut spec = TrialSpec {
        target,
        open,
        connections: arguments.connections as usize,
        pooling: Pooling {
            order: arguments.pool,
            when_busy: arguments.when_busy,
            when_late: arguments.when_late,
            requests_per_connection: arguments.requests_per_connection,
        },
        log: None,
        workers: arguments.workers as usize,
        duration,
        warmup,
        timeout: arguments.timeout,
        seed: arguments.seed,
        max_error_share: arguments.max_error_share,
    };
    let log = arguments.log.as_deref().map(LogFile::create).transpose()?;
    spec.log = log.as_ref().map(LogFile::sender);
    let interrupt = Interrupt::listen()?;
    let environment = environment::capture(env!("CARGO_PKG_VERSION"));
    let line = progress::live_line(duration + warmup);
    let mut show = |live: &trial::LiveLine| line.set_message(progress::live_text(live));
    let result = trial::run(&spec, environment, interrupt.flag(), Some(&mut show));
    line.finish_and_clear();
    let mut result = result.map_err(Failure::environment)?;
    judge_load(&mut result);
    // Only when the last sender is gone does the writer end.
    drop(spec);
    let logged = log.map_or(Ok(()), LogFile::finish);
    write(arguments.json.as_deref(), &result)?;
    logged?;
    Ok(if interrupt.was_asked() { Code::Interrupted } else { Code::of(result.verdict) })
}

/// The file of the raw log, written by a thread of its own so that no worker waits for a disk.
struct LogFile {
    path: PathBuf,
    sender: Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl LogFile {
    fn create(path: &Path) -> Result<Self, Failure> {
        let mut file = File::create(path).map_err(|error| {
            Failure::environment(format!("cannot make the log `{}`: {error}", path.display()))
        })?;
        let (sender, pieces) = mpsc::channel::<Vec<u8>>();
        let writer = thread::spawn(move || {
            file.write_all(MAGIC)?;
            pieces.iter().try_for_each(|piece| file.write_all(&piece))
        });
        Ok(Self { path: path.to_owned(), sender, writer })
    }

    fn sender(&self) -> Sender<Vec<u8>> {
        self.sender.clone()
    }

    fn finish(self) -> Result<(), Failure> {
        drop(self.sender);
        let written = self.writer.join().unwrap_or_else(|_| Err(io::Error::other("its writer has ended")));
        written.map_err(|error| {
            Failure::environment(format!("cannot write the log `{}`: {error}", self.path.display()))
        })
    }
}

/// Rate and arrivals, unless the loop is closed.
type OpenLoop = Option<(f64, Arrivals)>;

/// What the flags say of the releases, and the length of a trace.
fn open_loop(arguments: &LoadArguments) -> Result<(OpenLoop, Option<Duration>), Failure> {
    match (&arguments.arrivals, arguments.rate) {
        (ArrivalsChoice::Trace(_), Some(_)) => Err(Failure::bad_input(
            "`--rate` and a trace contradict each other: a trace has its own rate; give one of them",
        )),
        (ArrivalsChoice::Trace(path), None) => {
            let text = fs::read_to_string(path).map_err(|error| {
                Failure::bad_input(format!("cannot read the trace `{}`: {error}", path.display()))
            })?;
            let trace = Trace::parse(&path.display().to_string(), &text).map_err(Failure::bad_input)?;
            let length = trace.length();
            Ok((Some((trace.rate(), Arrivals::Trace(Arc::new(trace)))), Some(length)))
        }
        (ArrivalsChoice::Drawn(arrivals), Some(rate)) => Ok((Some((rate, arrivals.clone())), None)),
        (ArrivalsChoice::Drawn(Arrivals::Uniform), None) => {
            for (is_default, flag) in [
                (arguments.when_busy == WhenBusy::default(), "--when-busy"),
                (arguments.when_late == WhenLate::default(), "--when-late"),
            ] {
                if !is_default {
                    return Err(Failure::bad_input(format!("`{flag}` {NEEDS_RATE}")));
                }
            }
            Ok((None, None))
        }
        (ArrivalsChoice::Drawn(arrivals), None) => {
            Err(Failure::bad_input(format!("`--arrivals {arrivals}` {NEEDS_RATE}")))
        }
    }
}

/// Prints the table, unless stdout is where the JSON goes, and writes the JSON.
fn write(json: Option<&Path>, result: &LoadResult) -> Result<(), Failure> {
    let text = || serde_json::to_string_pretty(result).map(|text| text + "\n").map_err(Failure::environment);
    if json == Some(Path::new("-")) {
        return print::result(&text()?);
    }
    print::result(&terminal::load(result, print::style()))?;
    let Some(path) = json else { return Ok(()) };
    fs::write(path, text()?)
        .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))
}
