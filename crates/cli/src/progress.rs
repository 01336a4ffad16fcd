//! Progress on stderr: a view on a terminal, plain lines elsewhere, nothing with `--quiet`.
//!
//! Only the thread that reports progress draws a view. For a study and a search, this thread also sends the load, so a view is drawn
//! between slices or trials, never during a measurement. For a load, it is the thread that waits for the workers.

mod screen;

use std::io::{self, Stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hoptax_load::trial::LiveLine;
use hoptax_report::live::{self, CostsSoFar, LoadCourse, Room};
use hoptax_run::event::Event;
use hoptax_session::progress::{PlainLines, Progress};
use hoptax_session::{Say, Update};
use screen::Screen;

use crate::print;

/// The least time between two drawings of a view that shows nothing but later numbers.
const BETWEEN: Duration = Duration::from_millis(500);
/// The time between two plain lines of a load.
const SILENCE: Duration = Duration::from_secs(30);

/// Runs `measure`, and shows the progress of its studies or its search.
pub(crate) fn shown<T>(measure: impl FnOnce(Say<'_>) -> T) -> T {
    let shown = Mutex::new(Shown { view: View::begin(), study: None });
    let done = measure(&|update| lock(&shown).show(update));
    lock(&shown).end();
    done
}

/// Runs work of unknown length, and shows its steps on a terminal.
pub(crate) fn stepwise<T>(work: impl FnOnce(&mut dyn FnMut(&str), Say<'_>) -> T) -> T {
    let view = Mutex::new(View::begin());
    let mut on_step = |step: &str| {
        if let Some(view) = &mut *lock(&view) {
            view.draw(true, |room| live::step(step, room));
        }
    };
    let done = work(&mut on_step, &|update| say_above(&mut lock(&view), update));
    if let Some(view) = &mut *lock(&view) {
        view.screen.clear();
    }
    done
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints an update above a view, if there is one.
fn say_above(view: &mut Option<View>, update: Update<'_>) {
    match view {
        Some(view) => view.screen.above(|| print::say(update)),
        None => print::say(update),
    }
}

/// A view on the terminal.
struct View {
    screen: Screen<Stderr>,
    /// The last time at which it was drawn.
    drawn: Option<Instant>,
}

impl View {
    /// A view that shows nothing yet; none without a terminal, and if progress is not wanted.
    fn begin() -> Option<Self> {
        let has_room = !print::is_quiet() && print::room().is_some();
        has_room.then(|| Self { screen: Screen::new(io::stderr()), drawn: None })
    }

    /// Draws the lines for the room that there is now, unless it was drawn just before. `is_urgent` if other than later numbers is shown.
    fn draw(&mut self, is_urgent: bool, lines: impl FnOnce(Room) -> Vec<String>) {
        let now = Instant::now();
        if !is_urgent && self.drawn.is_some_and(|drawn| now.duration_since(drawn) < BETWEEN) {
            return;
        }
        if let Some(room) = print::room() {
            self.drawn = Some(now);
            self.screen.show(lines(room));
        }
    }
}

/// The view or the lines of studies and searches.
struct Shown {
    /// None if progress is shown as plain lines, or not at all.
    view: Option<View>,
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
        match (update, &mut self.view) {
            (Update::Begins { slices_per_round, rounds_done }, view) => {
                let progress = Progress::new(slices_per_round, rounds_done);
                let is_plain = view.is_none() && !print::is_quiet();
                let lines = is_plain.then(|| PlainLines::begin(progress, print::note));
                self.study = Some(Study { progress, so_far: None, lines });
            }
            (Update::Ends, view) => {
                if let Some(view) = view {
                    view.screen.clear();
                }
                if let Some(lines) = self.study.take().and_then(|study| study.lines) {
                    lines.finish();
                }
            }
            (Update::Rounds(_) | Update::Event(_), _) => self.go_on(&update),
            (Update::SoFar { result, .. }, Some(_)) => {
                if let Some(study) = &mut self.study {
                    study.so_far = CostsSoFar::from_result(result);
                }
                self.draw(true);
            }
            (Update::Search(search), Some(view)) => view.draw(true, |room| live::search(search, room)),
            // Its line is printed separately.
            (Update::Trial(_), _) => {}
            (update, view) => say_above(view, update),
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
        if let (Some(view), Some(study)) = (&mut self.view, &self.study) {
            let state = study.progress.view(Instant::now(), study.so_far.as_ref());
            view.draw(is_urgent, |room| live::study(&state, room));
        }
    }

    /// Removes the view. A search sends no update when it ends.
    fn end(&mut self) {
        if let Some(view) = &mut self.view {
            view.screen.clear();
        }
    }
}

/// The view or the lines of a load.
pub(crate) struct LoadProgress {
    /// False if nothing is shown.
    is_shown: bool,
    /// None for plain lines.
    view: Option<View>,
    course: LoadCourse,
    /// The time of the last plain line.
    said: Instant,
    /// The time that the numbers are of.
    span: &'static str,
}

impl LoadProgress {
    /// Nothing is shown yet, nor later if that is not wanted.
    pub(crate) fn begin(is_wanted: bool) -> Self {
        Self::of_span("half second", is_wanted)
    }

    /// The same for a load of agents, which tell of every second.
    pub(crate) fn of_agents() -> Self {
        Self::of_span("second", true)
    }

    fn of_span(span: &'static str, is_wanted: bool) -> Self {
        let is_shown = is_wanted && !print::is_quiet();
        let view = is_shown.then(View::begin).flatten();
        Self { is_shown, view, course: LoadCourse::default(), said: Instant::now(), span }
    }

    /// True if numbers are shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Prints an update above the view.
    pub(crate) fn say(&mut self, update: Update<'_>) {
        say_above(&mut self.view, update);
    }

    /// Shows the latest numbers.
    pub(crate) fn show(&mut self, line: &LiveLine) {
        if let Some(view) = &mut self.view {
            self.course.push(*line);
            // Called twice a second.
            view.draw(true, |room| live::load(&self.course, room));
        } else if self.is_shown && self.said.elapsed() >= SILENCE {
            self.said = Instant::now();
            print::note(&format!("in the last {}: {}", self.span, line.to_string().trim_start()));
        }
    }

    /// Removes the view.
    pub(crate) fn end(self) {
        if let Some(mut view) = self.view {
            view.screen.clear();
        }
    }
}
