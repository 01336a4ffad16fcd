//! Outputs written during the load, one part per interval: JSON lines on stdout, and `HdrHistogram` files. Each has its own
//! thread, so that no worker waits for a disk or a pipe.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hoptax_load::hdr;
use hoptax_load::interval::{self, IntervalSink, Part};
use hoptax_result::LoadInterval;

use crate::arguments::LoadArguments;
use crate::exit::Failure;

/// Interval length of the histogram log; one second is usual for such logs.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Outputs being written, each with its name for messages.
pub(super) struct IntervalOutputs(Vec<(String, JoinHandle<io::Result<()>>)>);

impl IntervalOutputs {
    /// Opens the requested outputs. Returns the sinks for their intervals; an output ends when its sink is dropped.
    pub(super) fn begin(arguments: &LoadArguments) -> Result<(Self, Vec<IntervalSink>), Failure> {
        let (mut outputs, mut sinks) = (Vec::new(), Vec::new());
        if let Some(path) = &arguments.hgrm {
            let mut file = create(path)?;
            let parts = add_sink(&mut sinks, Duration::MAX);
            let write = move || {
                hdr::write_percentile_distribution(parts, &mut file)?;
                file.flush()
            };
            outputs.push((format!("`{}`", path.display()), thread::spawn(write)));
        }
        if let Some(path) = &arguments.hlog {
            let mut file = create(path)?;
            let parts = add_sink(&mut sinks, LOG_INTERVAL);
            let write = move || {
                hdr::write_interval_log(parts, &mut file)?;
                file.flush()
            };
            outputs.push((format!("`{}`", path.display()), thread::spawn(write)));
        }
        if let Some(length) = arguments.every {
            let parts = add_sink(&mut sinks, length);
            outputs.push(("to stdout".to_owned(), thread::spawn(move || print_lines(parts))));
        }
        Ok((Self(outputs), sinks))
    }

    /// Waits until everything is written.
    pub(super) fn finish(self) -> Result<(), Failure> {
        for (place, writer) in self.0 {
            let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
            written.map_err(|error| Failure::environment(format!("cannot write {place}: {error}")))?;
        }
        Ok(())
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file = File::create(path)
        .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))?;
    Ok(BufWriter::new(file))
}

fn add_sink(sinks: &mut Vec<IntervalSink>, length: Duration) -> Receiver<Part> {
    let (sender, receiver) = channel();
    sinks.push(IntervalSink { length, sender });
    receiver
}

/// Prints a line for each interval. If the reader of stdout is slow, the queue holds lines, which are smaller than histograms.
/// A closed pipe (`| head`) is not an error.
fn print_lines(parts: Receiver<Part>) -> io::Result<()> {
    let (sender, lines) = channel::<LoadInterval>();
    let printer = thread::spawn(move || {
        lines.iter().try_for_each(|line| {
            let mut stdout = io::stdout().lock();
            serde_json::to_writer(&mut stdout, &line)?;
            stdout.write_all(b"\n")?;
            stdout.flush()
        })
    });
    // If the printer has ended, the remaining lines are lost.
    let _ = interval::join(parts, |interval| sender.send(interval.line()).map_err(|_| ()));
    drop(sender);
    match printer.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked"))) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
