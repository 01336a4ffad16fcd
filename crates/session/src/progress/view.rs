//! Progress on the console of a user: a view on a terminal, plain lines elsewhere, nothing if none is wanted.
//!
//! Only the thread that reports progress draws a view. For a study and a search, this thread also sends the load, so a view is drawn
//! between slices or trials, never during a measurement. For a load, it is the thread that waits for the workers.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use hoptax_load::trial::LiveLine;
use hoptax_report::live::{self, CostsSoFar, LoadCourse, Room, Screen};
use hoptax_result::grouped;
use hoptax_run::event::Event;
use hoptax_text::command_line::duration_word;

use super::Progress;
use super::plain::{PlainLines, SILENCE, lock};
use crate::update::{Say, Update};

/// The least time between two drawings of a view that shows nothing but later numbers.
const BETWEEN: Duration = Duration::from_millis(500);

/// Where progress is shown, beside what else the program prints.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// True if no progress is wanted.
    pub is_quiet: bool,
    /// The room that there is now for a view on the terminal; none without a terminal that can move its cursor.
    pub room: fn() -> Option<Room>,
    /// That terminal.
    pub terminal: fn() -> Box<dyn Write + Send>,
    /// Prints an update that is no progress, in whole lines.
    pub say: fn(Update<'_>),
}

/// Runs `measure`, and shows the progress of its studies or its search.
pub fn shown<T>(console: Console, measure: impl FnOnce(Say<'_>) -> T) -> T {
    let shown = Mutex::new(Shown { view: View::begin(console), study: None });
    let done = measure(&|update| lock(&shown).show(update));
    // A search sends no update when it ends.
    lock(&shown).view.clear();
    done
}

/// Runs work of unknown length, and shows its steps on a terminal.
pub fn stepwise<T>(console: Console, work: impl FnOnce(&mut dyn FnMut(&str), Say<'_>) -> T) -> T {
    let view = Mutex::new(View::begin(console));
    let mut on_step = |step: &str| lock(&view).draw(true, |room| live::step(step, room));
    let done = work(&mut on_step, &|update| lock(&view).say(update));
    lock(&view).clear();
    done
}

/// What is on a console.
struct View {
    console: Console,
    /// The lines that are drawn on its terminal; none if progress is shown as plain lines, or not at all.
    screen: Option<Screen<Box<dyn Write + Send>>>,
    /// The last time at which they were drawn.
    drawn: Option<Instant>,
}

impl View {
    /// A view that shows nothing yet.
    fn begin(console: Console) -> Self {
        let has_room = !console.is_quiet && (console.room)().is_some();
        Self { console, screen: has_room.then(|| Screen::new((console.terminal)())), drawn: None }
    }

    /// True if progress is shown as plain lines.
    fn is_plain(&self) -> bool {
        self.screen.is_none() && !self.console.is_quiet
    }

    /// Draws the lines for the room that there is now, unless they were drawn just before. `is_urgent` if not only later numbers changed.
    fn draw(&mut self, is_urgent: bool, lines: impl FnOnce(Room) -> Vec<String>) {
        let Some(screen) = &mut self.screen else { return };
        let now = Instant::now();
        if !is_urgent && self.drawn.is_some_and(|drawn| now.duration_since(drawn) < BETWEEN) {
            return;
        }
        if let Some(room) = (self.console.room)() {
            self.drawn = Some(now);
            screen.show(lines(room));
        }
    }

    /// Prints an update, above the lines if there are some.
    fn say(&mut self, update: Update<'_>) {
        let say = self.console.say;
        match &mut self.screen {
            Some(screen) => screen.above(|| say(update)),
            None => say(update),
        }
    }

    /// Removes the lines.
    fn clear(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.clear();
        }
    }
}

/// The view or the lines of studies and searches.
struct Shown {
    view: View,
    /// The study that is being measured.
    study: Option<Study>,
}

/// The progress of a study that is being measured.
struct Study {
    progress: Progress,
    /// Its costs so far, for a view.
    so_far: Option<CostsSoFar>,
    /// Its plain lines; none with a view.
    lines: Option<PlainLines>,
}

impl Shown {
    /// Shows an update.
    fn show(&mut self, update: Update<'_>) {
        let is_drawn = self.view.screen.is_some();
        match update {
            Update::Begins { slices_per_round, rounds_done } => {
                let progress = Progress::new(slices_per_round, rounds_done);
                let say = self.view.console.say;
                let lines = self.view.is_plain().then(|| PlainLines::begin(progress, say));
                self.study = Some(Study { progress, so_far: None, lines });
            }
            Update::Ends => {
                self.view.clear();
                if let Some(lines) = self.study.take().and_then(|study| study.lines) {
                    lines.finish();
                }
            }
            Update::Rounds(_) | Update::Event(_) => self.go_on(&update),
            Update::SoFar { result, .. } if is_drawn => {
                if let Some(study) = &mut self.study {
                    study.so_far = CostsSoFar::from_result(result);
                }
                self.draw(true);
            }
            Update::Search(search) if is_drawn => self.view.draw(true, |room| live::search(search, room)),
            // Its line is printed separately.
            Update::Trial(_) => {}
            update => self.view.say(update),
        }
    }

    /// Shows the study after an update of its progress.
    fn go_on(&mut self, update: &Update<'_>) {
        let Some(study) = &mut self.study else { return };
        study.progress.update(update, Instant::now());
        if let Some(lines) = &study.lines {
            lines.show(study.progress, matches!(update, Update::Event(Event::RoundBegan { .. })));
        }
        // Slices are frequent. All other events are rare, and precede something that takes time.
        self.draw(!matches!(update, Update::Rounds(_) | Update::Event(Event::SliceEnded { .. })));
    }

    fn draw(&mut self, is_urgent: bool) {
        if let Some(study) = &self.study {
            let state = study.progress.view(Instant::now(), study.so_far.as_ref());
            self.view.draw(is_urgent, |room| live::study(&state, room));
        }
    }
}

/// The view or the lines of a load.
pub struct LoadProgress {
    view: View,
    course: LoadCourse,
    /// The time of the last plain line; the next one comes after [`SILENCE`].
    said: Instant,
    /// The time that the numbers are of.
    span: &'static str,
    /// Numbers that came after an interrupt.
    after_interrupt: u32,
    /// The time of the first of them.
    interrupted: Option<Instant>,
}

/// What a load or a search says that was interrupted while requests are open, after it has `waited`: no request may take longer than
/// `timeout`.
pub fn draining(timeout: Duration, waited: Duration) -> String {
    let left_s = timeout.saturating_sub(waited).as_secs_f64().ceil().max(1.0);
    format!(
        "interrupted: waiting for the responses to open requests, at most {} s more (their time limit is {}); interrupt again to end \
         without a result",
        grouped(left_s, 0),
        duration_word(timeout)
    )
}

impl LoadProgress {
    /// Nothing is shown yet, nor later if that is not wanted.
    pub fn of_load(console: Console, is_wanted: bool) -> Self {
        Self::of_span("half second", Console { is_quiet: console.is_quiet || !is_wanted, ..console })
    }

    /// The same for a load of agents, which tell of every second.
    pub fn of_agents(console: Console) -> Self {
        Self::of_span("second", console)
    }

    fn of_span(span: &'static str, console: Console) -> Self {
        Self {
            view: View::begin(console),
            course: LoadCourse::default(),
            said: Instant::now(),
            span,
            after_interrupt: 0,
            interrupted: None,
        }
    }

    /// True if numbers are shown.
    pub fn is_shown(&self) -> bool {
        !self.view.console.is_quiet
    }

    /// Prints an update above the view.
    pub fn say(&mut self, update: Update<'_>) {
        self.view.say(update);
    }

    /// Shows the latest numbers.
    pub fn show(&mut self, line: &LiveLine) {
        if self.view.screen.is_some() {
            self.course.push(*line);
            // Called twice a second.
            self.view.draw(true, |room| live::load(&self.course, room));
        } else if self.view.is_plain() && self.said.elapsed() >= SILENCE {
            self.said = Instant::now();
            let text = format!("in the last {}: {}", self.span, line.to_string().trim_start());
            self.view.say(Update::Note(&text));
        }
    }

    /// Is called instead of [`Self::show`] after an interrupt: the planned end is no longer that of the load. The second time, the load has
    /// waited for its open requests for half a second, and says so, with the time that `timeout` leaves them.
    pub fn wait(&mut self, timeout: Duration) {
        let interrupted = *self.interrupted.get_or_insert_with(Instant::now);
        self.after_interrupt += 1;
        if self.after_interrupt == 2 {
            self.view.clear();
            self.view.say(Update::Note(&draining(timeout, interrupted.elapsed())));
        }
    }

    /// Removes the view.
    pub fn end(mut self) {
        self.view.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use hoptax_report::Style;

    use super::*;

    /// What a test has written to its terminal and printed, in this order. Only one test writes to it.
    static WRITTEN: Mutex<String> = Mutex::new(String::new());

    struct Terminal;

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&WRITTEN).push_str(&String::from_utf8_lossy(bytes));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const CONSOLE: Console = Console {
        is_quiet: false,
        room: || Some(Room { style: Style { width: 79, colour: false }, height: 9 }),
        terminal: || Box::new(Terminal),
        say: |update| {
            if let Update::Note(text) = update {
                lock(&WRITTEN).push_str(&format!("{text}\n"));
            }
        },
    };

    /// What is written while a command takes a step and says something.
    fn written(console: Console) -> String {
        stepwise(console, |on_step, say| {
            on_step("step 1");
            say(Update::Note("a note"));
        });
        std::mem::take(&mut *lock(&WRITTEN))
    }

    #[test]
    fn a_step_is_drawn_only_where_there_is_room_and_wanted_and_a_note_is_above_it() {
        let step = "step 1\u{1b}[K\n\u{1b}[J";
        let removed = "\u{1b}[1A\r\u{1b}[J";
        assert_eq!(written(CONSOLE), format!("{step}{removed}a note\n{step}{removed}"));
        for bare in [Console { is_quiet: true, ..CONSOLE }, Console { room: || None, ..CONSOLE }] {
            assert_eq!(written(bare), "a note\n");
        }
    }

    /// Neither prints: the test above is the only one that writes.
    #[test]
    fn numbers_of_a_load_are_shown_unless_they_are_not_wanted() {
        let without_room = Console { room: || None, ..CONSOLE };
        assert!(LoadProgress::of_load(without_room, true).is_shown());
        assert!(!LoadProgress::of_load(without_room, false).is_shown());
        let quiet = Console { is_quiet: true, ..without_room };
        assert!(!LoadProgress::of_load(quiet, true).is_shown());
        assert!(!LoadProgress::of_agents(quiet).is_shown());
    }

    #[test]
    fn an_interrupted_load_says_once_that_it_waits_for_its_open_requests() {
        static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let console = Console {
            room: || None,
            say: |update| {
                if let Update::Note(text) = update {
                    lock(&SAID).push(text.to_owned());
                }
            },
            ..CONSOLE
        };
        let mut progress = LoadProgress::of_load(console, true);
        let timeout = Duration::from_hours(1);
        progress.wait(timeout);
        assert!(lock(&SAID).is_empty(), "its requests may have ended at once");
        (0..3).for_each(|_| progress.wait(timeout));
        let said = lock(&SAID).clone();
        assert!(said.len() == 1 && said[0].starts_with("interrupted: waiting for the responses"), "{said:?}");
    }

    #[test]
    fn an_interrupted_load_says_how_long_it_may_wait() {
        let after = |waited_ms: u64| draining(Duration::from_mins(1), Duration::from_millis(waited_ms));
        assert_eq!(
            after(3_000),
            "interrupted: waiting for the responses to open requests, at most 57 s more (their time limit is 1m); interrupt again to end \
             without a result"
        );
        for (waited_ms, left) in [(0, "60 s"), (500, "60 s"), (59_900, "1 s"), (70_000, "1 s")] {
            assert!(after(waited_ms).contains(&format!("at most {left} more")), "{}", after(waited_ms));
        }
    }
}
