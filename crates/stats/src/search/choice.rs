//! Chooses the next load for a goal: where a trial narrows the interval of the least known criterion.

use crate::search::bounds::{Known, KnownEnds};
use crate::search::fit::{Near, Root};
use crate::search::ladder::Ladder;

/// The first step from a bound on the open side, as a share of the load.
pub(crate) const FIRST_STEP: f64 = 0.2;
/// Largest distance of a planned trial from the load searched for, as a logarithm: further away, the line is not straight.
const FURTHEST: f64 = 0.1;
/// Distance of a second near load from a first one.
const BESIDE: f64 = 0.05;

/// Inputs of a choice.
pub(crate) struct View<'a> {
    pub(crate) ladder: &'a Ladder,
    /// Load of the first trial.
    pub(crate) start: u32,
    pub(crate) width: f64,
    /// The lowest load that the generator cannot produce.
    pub(crate) reach: Option<u32>,
    /// The knowledge about each criterion of the goal.
    pub(crate) known: Vec<&'a KnownEnds>,
    /// The lowest end of all of them.
    pub(crate) high: Option<f64>,
}

/// The rungs between which a trial is informative, as far as they are known: loads below hold, and loads above fail.
#[derive(Clone, Copy)]
struct Open {
    lower: Option<u32>,
    upper: Option<u32>,
}

impl Open {
    fn has(self, rung: u32) -> bool {
        self.lower.is_none_or(|lower| lower < rung) && self.upper.is_none_or(|upper| rung < upper)
    }
}

/// The next load for a goal that is not decided.
pub(crate) fn choose(view: &View<'_>) -> u32 {
    // The criterion that is known to hold up to the lowest load comes first.
    let least = |one: &&&KnownEnds, other: &&&KnownEnds| {
        let low = |one: &KnownEnds| one.ends.low.unwrap_or(0.0);
        let aim = |one: &KnownEnds| aim(&one.known, open(view, &one.known), view).unwrap_or(u32::MAX);
        low(one).total_cmp(&low(other)).then(aim(one).cmp(&aim(other)))
    };
    let Some(KnownEnds { known, ends }) = view.known.iter().min_by(least) else { return view.start };
    let ladder = view.ladder;
    let top = view.reach.map_or(ladder.top(), |reach| reach.saturating_sub(1));
    let open = open(view, known);
    if let Some(rung) = aim(known, open, view).filter(|_| !ends.are_close(view.width)) {
        return rung.min(top);
    }
    // The line leads only to loads that are decided already, some of them wrongly.
    let least_known =
        known.near.as_ref().filter(|near| !near.loads.is_empty()).and_then(|near| near.least_known);
    if let Some(rung) = least_known.filter(|_| !ends.are_close(view.width)) {
        return rung.min(top);
    }
    match (open.lower, open.upper) {
        (None, None) => view.start.min(top),
        (Some(lower), None) => (lower + step(ladder, view.start.abs_diff(lower))).min(top),
        (None, Some(upper)) => upper.saturating_sub(step(ladder, view.start.abs_diff(upper))),
        (Some(lower), Some(upper)) => u32::midpoint(lower, upper),
    }
}

fn open(view: &View<'_>, known: &Known) -> Open {
    let high = view.high.map(|high| view.ladder.at_most(high) + 1);
    Open { lower: known.lower, upper: [known.upper, high, view.reach].into_iter().flatten().min() }
}

/// The step beyond a bound on the open side: as far as the search has come from its start, so that steps double, and at most half of
/// the load, since a load far above the capacity of the subject harms it.
fn step(ladder: &Ladder, come: u32) -> u32 {
    let (first, most) = (ladder.rungs(FIRST_STEP), ladder.rungs(0.5));
    come.clamp(first, most.max(first))
}

/// The rung at which a near trial narrows the interval most; None if no near trial would narrow it.
fn aim(known: &Known, open: Open, view: &View<'_>) -> Option<u32> {
    let near = known.near.as_ref()?;
    match known.root {
        Some(root) => beside(known, near, &root, open, view),
        None => toward(known, near, open, view),
    }
}

/// The rung on the side of the root with fewer requests, at the distance over which the odds change by a factor of two. An error of the
/// slope moves the root least if both sides have trials, and the line is straight enough over that distance.
fn beside(known: &Known, near: &Near, root: &Root, open: Open, view: &View<'_>) -> Option<u32> {
    let distance = (2.0_f64.ln() / root.slope).clamp(view.ladder.step(), FURTHEST);
    let planned = |is_below: bool| -> f64 {
        let side = near.loads.iter().filter(|load| (load.at < root.estimate) == is_below);
        side.map(|load| load.share.planned).sum()
    };
    let side = if planned(true) <= planned(false) { -1.0 } else { 1.0 };
    place(known, open, view, root.estimate, side * distance)
}

/// The rung beyond the near load at an end. If few trials made that load a near one, perhaps by chance, the load itself is tried first.
fn toward(known: &Known, near: &Near, open: Open, view: &View<'_>) -> Option<u32> {
    let (end, side) = near.end()?;
    if !end.is_known {
        return Some(end.rung);
    }
    place(known, open, view, end.at, side * BESIDE)
}

/// The rung at a distance from a load, or at a shorter distance if the load there is decided and not near.
fn place(known: &Known, open: Open, view: &View<'_>, from: f64, distance: f64) -> Option<u32> {
    let rung = |at: f64| view.ladder.nearest(at.exp());
    let distances = std::iter::successors(Some(distance), |distance| Some(distance / 2.0));
    let rungs = distances.map(|distance| rung(from + distance)).take_while(|there| *there != rung(from));
    let mut rungs = rungs.chain([rung(from)]);
    rungs.find(|there| open.has(*there) && !known.decided.contains_key(there))
}
