//! Chooses the next load for one goal: on the cheapest level whose bounds are not close yet, where a trial can move them.

use std::time::Duration;

use crate::search::bounds::{AtLoad, Bounds, Trials};
use crate::search::classify::{Class, classify};
use crate::search::goal::Level;
use crate::search::ladder::Ladder;

/// The state of a search, as far as choices depend on it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) trials: &'a Trials,
    pub(crate) ladder: &'a Ladder,
    /// Where to begin.
    pub(crate) start: u32,
    /// The goal, and its levels.
    pub(crate) goal: usize,
    pub(crate) levels: &'a [Level],
}

/// A load to measure next, on a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Choice {
    pub(crate) level: usize,
    pub(crate) rung: u32,
}

/// The next load for a goal; None if its bounds are close.
///
/// A level is left when its bounds are close, and entered again when later trials refute one of them: then the search looks
/// for the bound with short trials instead of long ones.
pub(crate) fn choose(view: &View<'_>) -> Option<Choice> {
    let bounds = |level: &Level| Bounds::new(view.trials, view.goal, level);
    let top = view.ladder.top();
    let last = view.levels.last()?;
    if bounds(last).are_close(last, top) {
        return None;
    }
    let mut guide = None;
    for (number, level) in view.levels.iter().enumerate() {
        let its = bounds(level);
        if !its.are_close(level, top) {
            let rung = choose_on(view, level, its, guide);
            debug_assert!(its.surround(rung), "{rung} is decided: {its:?}");
            return Some(Choice { level: number, rung });
        }
        guide = Some(its);
    }
    None
}

/// The next load on a level with these bounds. `guide` has the bounds of the level before.
fn choose_on(view: &View<'_>, level: &Level, bounds: Bounds, guide: Option<Bounds>) -> u32 {
    if let Some(rung) = guide.and_then(|guide| guided(view, level, bounds, guide)) {
        return rung;
    }
    match (bounds.lower, bounds.upper) {
        (None, None) => view.start,
        (Some(lower), None) => {
            let before = decided(view, level, Class::Lower).rev().find(|rung| *rung < lower);
            let step = step(view, level, before.map(|before| lower - before));
            (lower + step).min(view.ladder.top())
        }
        (None, Some(upper)) => {
            let carried = carried(view, upper);
            if carried + level.width_rungs <= upper {
                return carried;
            }
            let before = decided(view, level, Class::Upper).find(|rung| *rung > upper);
            upper.saturating_sub(step(view, level, before.map(|before| before - upper)))
        }
        (Some(lower), Some(upper)) => between(view, level, lower, upper),
    }
}

/// A load within the bounds of the level before that this level has not decided: the middle if they are too far apart for
/// this level, then the bounds themselves, first the one about which more is known.
fn guided(view: &View<'_>, level: &Level, bounds: Bounds, guide: Bounds) -> Option<u32> {
    let lower = guide.lower.or(guide.upper)?;
    let upper = guide.upper.unwrap_or(lower);
    let is_wide = upper - lower > level.width_rungs;
    let measured = |rung: u32| -> Duration {
        let votes = view.trials.get(&rung).into_iter().flat_map(|at_load| at_load.votes(view.goal));
        votes.filter(|vote| vote.duration >= level.trial).map(|vote| vote.duration).sum()
    };
    let ends = if measured(upper) > measured(lower) { [upper, lower] } else { [lower, upper] };
    let middle = is_wide.then(|| u32::midpoint(lower, upper));
    middle.into_iter().chain(ends).find(|rung| bounds.surround(*rung))
}

/// The step beyond a bound on the open side: twice the step before it, at least the width of the level, and at most a
/// doubling of the load, since a load far above what the subject carries harms it.
fn step(view: &View<'_>, level: &Level, before: Option<u32>) -> u32 {
    let doubling = view.ladder.rungs(0.5);
    before
        .map_or(0, |before| before.saturating_mul(2))
        .clamp(level.width_rungs, doubling.max(level.width_rungs))
}

/// A load between two bounds that are too far apart.
///
/// An overloaded subject shows its capacity by the load that it carries. So the first attempts are that load, and one width
/// above it; for a subject that loses what it cannot carry, these two are the bounds. The middle is the next attempt.
fn between(view: &View<'_>, level: &Level, lower: u32, upper: u32) -> u32 {
    let width = level.width_rungs;
    let carried = carried(view, upper);
    if upper - lower > 2 * width && carried >= lower && carried + width <= upper {
        return if carried <= lower + width / 2 { lower + width } else { carried };
    }
    u32::midpoint(lower, upper)
}

/// The load that the subject carried while this load was offered, as a rung.
fn carried(view: &View<'_>, rung: u32) -> u32 {
    view.trials.get(&rung).map_or(rung, |at_load| view.ladder.at_most(at_load.carried()))
}

/// The loads of a class on a level, ascending.
fn decided<'a>(
    view: &'a View<'_>,
    level: &'a Level,
    class: Class,
) -> impl DoubleEndedIterator<Item = u32> + 'a {
    let is_of_class = move |at_load: &AtLoad| classify(at_load.votes(view.goal), level) == class;
    view.trials.iter().filter(move |(_, at_load)| is_of_class(at_load)).map(|(rung, _)| *rung)
}
