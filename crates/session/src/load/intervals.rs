//! Outputs written during the load, one part per interval: lines of JSON, and an interval log of `HdrHistogram`. Each has its own
//! thread, so that no worker waits for a disk or a pipe.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hoptax_load::hdr;
use hoptax_load::interval::{self, IntervalSink, Part};
use hoptax_result::{LoadInterval, LoadResult};
use hoptax_tools::export::Judgement;

use crate::failure::Failure;

/// Interval length of the histogram log. One second is usual for such logs.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Lines of JSON, one for each interval.
pub struct Lines {
    /// The length of an interval.
    pub every: Duration,
    /// The output that the lines are written to.
    pub out: Box<dyn Write + Send>,
}

/// An output that is being written.
struct Output {
    /// Name of the output, for messages.
    place: String,
    /// Receives the judgement after the load has ended.
    judged: Sender<Judgement>,
    writer: JoinHandle<io::Result<()>>,
}

/// The outputs that are being written.
pub(super) struct IntervalOutputs(Vec<Output>);

impl IntervalOutputs {
    /// Opens the requested outputs: the histogram log and the lines. Returns the sinks for their intervals. An output ends when its sink is
    /// dropped and the load is judged.
    pub(super) fn begin(
        hlog: Option<&Path>,
        lines: Option<Lines>,
    ) -> Result<(Self, Vec<IntervalSink>), Failure> {
        let (mut outputs, mut sinks) = (Vec::new(), Vec::new());
        let mut add = |place: String, length, write: Writer| {
            let (sender, parts) = channel();
            sinks.push(IntervalSink { length, sender });
            let (judged, judgement) = channel();
            outputs.push(Output { place, judged, writer: thread::spawn(move || write(parts, &judgement)) });
        };
        if let Some(path) = hlog {
            let file = File::create(path).map_err(|error| Failure::cannot_write(path, error))?;
            let file = BufWriter::new(file);
            let write: Writer = Box::new(move |parts, judgement| write_hlog(file, parts, judgement));
            add(format!("`{}`", path.display()), LOG_INTERVAL, write);
        }
        if let Some(Lines { every, out }) = lines {
            let write: Writer = Box::new(move |parts, judgement| write_lines(out, parts, judgement));
            add("lines of intervals".to_owned(), every, write);
        }
        Ok((Self(outputs), sinks))
    }

    /// Hands the judgement of the load to the writers, and waits until everything is written.
    pub(super) fn finish(self, result: &LoadResult) -> Result<(), Failure> {
        let judgement = Judgement::new(result);
        for Output { place, judged, writer } in self.0 {
            // A writer that has ended reports its error below.
            let _ = judged.send(judgement.clone());
            let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
            written.map_err(|error| Failure::environment(format!("cannot write {place}: {error}")))?;
        }
        Ok(())
    }
}

/// Writes one output from the intervals and the judgement, which comes after the last interval. If no judgement comes, the load has failed.
type Writer = Box<dyn FnOnce(Receiver<Part>, &Receiver<Judgement>) -> io::Result<()> + Send>;

/// Writes the interval log. It is written while the load runs, so the judgement is in comments at its end.
fn write_hlog(
    mut file: BufWriter<File>,
    parts: Receiver<Part>,
    judgement: &Receiver<Judgement>,
) -> io::Result<()> {
    hdr::write_interval_log(parts, &mut file)?;
    if let Ok(judgement) = judgement.recv() {
        file.write_all(judgement.comments.as_bytes())?;
    }
    file.flush()
}

/// Writes a line for each interval. For a slow reader, the queue holds finished lines, which are smaller than histograms.
fn write_lines(
    mut out: Box<dyn Write + Send>,
    parts: Receiver<Part>,
    judgement: &Receiver<Judgement>,
) -> io::Result<()> {
    let (sender, lines) = channel::<LoadInterval>();
    let writer = thread::spawn(move || {
        lines.iter().try_for_each(|line| {
            serde_json::to_writer(&mut out, &line)?;
            out.write_all(b"\n")?;
            out.flush()
        })
    });
    // If the writer has ended, the remaining lines are lost.
    let _ = interval::join(parts, |interval, is_last| {
        let mut line = interval.line();
        if is_last {
            line.verdict = judgement.recv().ok().map(|judgement| judgement.verdict);
        }
        sender.send(line).map_err(|_| ())
    });
    drop(sender);
    writer.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
}
