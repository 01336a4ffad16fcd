//! Outputs that are written interval by interval: JSON lines on stdout, and the files of `HdrHistogram`. Each has a thread of
//! its own, so that no worker waits for a disk or a pipe.

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

/// Length of an interval of the log of histograms, which is usual for such logs.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Outputs that are being written, each with the words for it.
pub(super) struct IntervalOutputs(Vec<(String, JoinHandle<io::Result<()>>)>);

impl IntervalOutputs {
    /// Opens the files that the flags ask for. Returns where their intervals go; the outputs end when these are gone.
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
            let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("its writer has ended")));
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

/// Prints a line for each interval. Whoever reads stdout may be slow, so lines wait here, which are small, and histograms do
/// not. A reader that has gone away (`| head`) is no failure.
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
    // Without a printer the rest is of no use.
    let _ = interval::join(parts, |interval| sender.send(interval.line()).map_err(|_| ()));
    drop(sender);
    match printer.join().unwrap_or_else(|_| Err(io::Error::other("its writer has ended"))) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
