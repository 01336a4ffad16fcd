//! Output: results go to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::OnceLock;
use std::{env, fs};

use hoptax_report::document::Document;
use hoptax_report::live::Room;
use hoptax_report::render::terminal;
use hoptax_report::{Style, documents};
use hoptax_session::Update;
use hoptax_text::controls::written_out;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::time::Timespec;
use serde::Serialize;

use crate::exit::Failure;

/// Width of tables if the terminal width is unknown.
const WIDTH: u16 = 100;
/// Lines of a terminal if their number is unknown.
const HEIGHT: u16 = 24;

/// Prints a result. A closed pipe (`| head`) is not an error, nor is a closed terminal.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    write(&[text.as_bytes(), end])
}

/// Prints a text for people, with long lines wrapped.
pub(crate) fn list(text: &str) -> Result<(), Failure> {
    result(&style().wrap_lines(text))
}

/// Prints a binary result. A closed pipe is not an error.
///
/// # Errors
/// When stdout cannot be written, and when it is a terminal, which would interpret the bytes; `instead` is the remedy then.
pub(crate) fn binary(bytes: &[u8], instead: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::bad_input(format!(
            "the output is binary and stdout is a terminal, so nothing was written: {instead}"
        )));
    }
    write(&[bytes])
}

fn write(parts: &[&[u8]]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    unless_closed(parts.iter().try_for_each(|part| stdout.write_all(part)).and_then(|()| stdout.flush()))
}

/// Prints what clap answers to a command line: the help or the version, or on stderr an error, of which nothing could be said if that were
/// closed.
pub(crate) fn answer(answer: &clap::Error) -> Result<(), Failure> {
    let printed = answer.print().and_then(|()| io::stdout().flush());
    if answer.use_stderr() { Ok(()) } else { unless_closed(printed) }
}

fn unless_closed(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if !is_closed(&error) => {
            Err(Failure::environment(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Returns true if stdout could not be written because nobody reads it any more: a closed pipe, or a terminal that was closed.
fn is_closed(error: &io::Error) -> bool {
    // A closed terminal is a character device, but no longer a terminal. A file on a broken disk is neither.
    let is_device =
        || fstat(io::stdout()).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_char_device());
    error.kind() == io::ErrorKind::BrokenPipe
        || (error.raw_os_error() == Some(Errno::IO.raw_os_error()) && is_device())
}

/// Lines on stdout while a command runs. Those that nobody reads any more are lost, which is no error.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    is_closed: bool,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.is_closed { Ok(()) } else { io::stdout().lock().write_all(bytes) };
        self.unless_closed(written).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = if self.is_closed { Ok(()) } else { io::stdout().flush() };
        self.unless_closed(flushed)
    }
}

impl Lines {
    fn unless_closed(&mut self, written: io::Result<()>) -> io::Result<()> {
        match written {
            Err(error) if is_closed(&error) => {
                self.is_closed = true;
                Ok(())
            }
            written => written,
        }
    }
}

/// Settings of all output. The command line sets them once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    /// True if all details of a document are printed.
    pub(crate) details: bool,
    /// True if neither notes nor progress are printed.
    pub(crate) is_quiet: bool,
    /// True if nothing has colours.
    pub(crate) no_color: bool,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Sets what is printed.
pub(crate) fn set(settings: Settings) {
    // The command line is parsed only once.
    let _ = SETTINGS.set(settings);
}

fn settings() -> Settings {
    SETTINGS.get().copied().unwrap_or_default()
}

/// Returns true if the command line asks for all details.
pub(crate) fn has_details() -> bool {
    settings().details
}

/// Returns true if neither notes nor progress are printed.
pub(crate) fn is_quiet() -> bool {
    settings().is_quiet
}

/// Prints the first screen of a document, or all of it if the command line asks for the details.
pub(crate) fn document(document: &Document) -> Result<(), Failure> {
    let text = text_of(document);
    // An empty line separates the output from the command line on a terminal. There is none in a pipe or a file.
    let is_apart = io::stdout().is_terminal();
    result(if is_apart { &text } else { text.trim_start_matches('\n') })
}

/// As [`document`], on stderr.
pub(crate) fn document_on_stderr(document: &Document) {
    on_stderr(&text_of(document));
}

fn text_of(document: &Document) -> String {
    let text = if has_details() { terminal::details } else { terminal::screen };
    text(document, style())
}

/// Prints a document and writes the result to its file as JSON; if the file is `-`, prints only the JSON.
pub(crate) fn document_or_json(
    json: Option<&Path>,
    value: &impl Serialize,
    document: impl FnOnce() -> Document,
) -> Result<(), Failure> {
    if json != Some(Path::new("-")) {
        self::document(&naming_file(document(), json))?;
    }
    write_json(json, value)
}

/// The document with the commands that read the file of its result, if there is one.
pub(crate) fn naming_file(document: Document, json: Option<&Path>) -> Document {
    // A device or a pipe cannot be read again.
    let file = json.filter(|path| !fs::metadata(path).is_ok_and(|about| !about.is_file()));
    match file {
        Some(file) => document.written_to(file),
        None => document,
    }
}

/// Writes the JSON to its file, if there is one; `-` is stdout.
pub(crate) fn write_json(file: Option<&Path>, value: &impl Serialize) -> Result<(), Failure> {
    file.map_or(Ok(()), |path| write_value(path, value))
}

/// Writes a file that the user named.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::cannot_write(path, error))
}

/// Writes a value as JSON to a file that the user named; `-` is stdout.
pub(crate) fn write_value(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = json_text(value)?;
    if path == Path::new("-") { result(&text) } else { write_file(path, &text) }
}

fn json_text(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(Failure::environment)
}

/// Passes on a line that another program wrote to its stdout. If nobody reads it, it is lost.
pub(crate) fn passed(line: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(line).and_then(|()| stdout.flush());
}

/// Passes on a line that another program wrote to its stderr. If nobody reads it, it is lost.
pub(crate) fn passed_as_note(line: &[u8]) {
    let _ = io::stderr().lock().write_all(line);
}

/// Prints a note to stderr, unless the command line asks for quiet. It may quote a file, or what a server sent.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        on_stderr(&written_out(text));
    }
}

/// Prints to stderr what must be read.
pub(crate) fn on_stderr(text: &str) {
    // If stderr is closed, the text is dropped.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints a message of a session that is not measuring.
pub(crate) fn say(update: Update<'_>) {
    match update {
        Update::Note(text) => note(text),
        Update::Problem(text) => error(text),
        Update::SoFar { result, is_worth_a_line: true } => {
            if let Some(line) = documents::so_far(result) {
                note(&line);
            }
        }
        Update::Begins { .. }
        | Update::Rounds(_)
        | Update::Event(_)
        | Update::SoFar { is_worth_a_line: false, .. }
        | Update::Ends
        | Update::Search(_)
        | Update::Trial(_) => {}
    }
}

/// Prints an error to stderr. It may quote a file, or what a server sent.
pub(crate) fn error(text: &str) {
    on_stderr(&format!("hoptax: {}", written_out(text)));
}

/// Prints an error to stderr before an immediate exit, unless stderr has no room for it: the exit waits for no reader.
pub(crate) fn last_error(text: &str) {
    let stderr = io::stderr();
    let mut room = [PollFd::new(&stderr, PollFlags::OUT)];
    if poll(&mut room, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
        error(text);
    }
}

/// Style of tables on this stdout: as wide as its terminal, with colour on a terminal that may have it.
pub(crate) fn style() -> Style {
    let is_terminal = io::stdout().is_terminal();
    let width = if is_terminal { size(io::stdout()).0 } else { WIDTH };
    Style { width, colour: is_terminal && may_have_colour() }
}

/// The room for a view on stderr; none if it is no terminal that can move its cursor.
pub(crate) fn room() -> Option<Room> {
    if is_dumb() || !io::stderr().is_terminal() {
        return None;
    }
    let (width, height) = size(io::stderr());
    // A character in the last column, or a line below the last one, would scroll the view.
    let style = Style { width: width.saturating_sub(1), colour: may_have_colour() };
    Some(Room { style, height: height.saturating_sub(1) })
}

/// Stderr, for a view.
pub(crate) fn stderr() -> Box<dyn Write + Send> {
    Box::new(io::stderr())
}

/// Returns true unless the command line or `NO_COLOR` forbids colours (<https://no-color.org>), or the terminal has none.
fn may_have_colour() -> bool {
    let is_forbidden = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !(settings().no_color || is_forbidden || is_dumb())
}

/// Returns true if the terminal states that it knows no escape sequences.
fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Columns and lines of a terminal.
fn size(terminal: impl AsFd) -> (u16, u16) {
    let known = |size: u16, usual: u16| if size > 0 { size } else { usual };
    let size = rustix::termios::tcgetwinsize(terminal);
    size.map_or((WIDTH, HEIGHT), |size| (known(size.ws_col, WIDTH), known(size.ws_row, HEIGHT)))
}
