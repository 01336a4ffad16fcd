//! The range of loads within which a criterion, or a goal of several criteria, begins to fail.

use std::collections::BTreeMap;

use crate::search::evidence::{Class, Trials, classes};
use crate::search::fit::{Near, Root};
use crate::search::goal::Criterion;
use crate::search::ladder::Ladder;

/// Knowledge about the load at which a criterion begins to fail.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The highest load that holds below the lowest that fails, as a rung.
    pub(crate) lower: Option<u32>,
    /// The lowest load that fails.
    pub(crate) upper: Option<u32>,
    /// The loads that clearly hold or fail.
    pub(crate) decided: BTreeMap<u32, Class>,
    pub(crate) near: Option<Near>,
    pub(crate) root: Option<Root>,
}

/// The loads between which something begins to fail.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ends {
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// Load at which it most likely begins to fail.
    pub(crate) estimate: Option<f64>,
    /// True if a search must go on however close the ends are, since the trials do not determine the dispersion yet.
    pub(crate) is_rough: bool,
}

/// The knowledge about a criterion, and the ends that follow from it.
#[derive(Clone, Debug)]
pub(crate) struct KnownEnds {
    pub(crate) known: Known,
    pub(crate) ends: Ends,
}

impl Known {
    /// The knowledge from trials. `error` is the probability of deciding wrongly about a load where the criterion just holds.
    pub(crate) fn new(
        trials: &Trials,
        number: usize,
        criterion: &Criterion,
        ladder: &Ladder,
        (width, error): (f64, f64),
    ) -> Self {
        let near = Near::new(trials, number, criterion, ladder, width);
        let root = near.as_ref().and_then(Near::root);
        let dispersion = near.as_ref().and_then(|near| near.dispersion).map(|found| found.ratio);
        // Near loads together tell more than the trials of each alone.
        let is_near = |rung: u32| near.as_ref().is_some_and(|near: &Near| near.has(rung));
        let classes = classes(trials, number, criterion, dispersion, ladder, error);
        let decided =
            classes.into_iter().filter(|(rung, class)| *class != Class::Undecided && !is_near(*rung));
        let decided: BTreeMap<u32, Class> = decided.collect();
        let upper = decided.iter().find(|(_, class)| **class == Class::Fails).map(|(rung, _)| *rung);
        let below = decided.range(..upper.unwrap_or(u32::MAX));
        let lower = below.map(|(rung, _)| *rung).next_back();
        Self { lower, upper, decided, near, root }
    }

    /// The interval in which it begins to fail: the bounds, and within them the interval of the fit.
    pub(crate) fn ends(&self, ladder: &Ladder) -> Ends {
        let load = |rung: u32| ladder.load(rung);
        let (lower, upper) = (self.lower.map(load), self.upper.map(load));
        let within = |at: f64| lower.is_none_or(|lower| at > lower) && upper.is_none_or(|upper| at < upper);
        let fit = self.root.and_then(|root| Some((root.estimate.exp(), root.interval?)));
        let is_rough = self.root.is_some_and(|root| !root.is_settled);
        let of_bounds = Ends { low: lower, high: upper, estimate: None, is_rough: false };
        let middle = lower.zip(upper).map(|(lower, upper)| (lower * upper).sqrt());
        let Some((estimate, (low, high))) = fit.map(|(at, (low, high))| (at, (low.exp(), high.exp()))) else {
            return Ends { estimate: middle, ..of_bounds };
        };
        // A line that contradicts the bounds is ignored: the subject does not fail gradually.
        if lower.is_some_and(|lower| high < lower) || upper.is_some_and(|upper| low > upper) {
            return Ends { estimate: middle, ..of_bounds };
        }
        Ends {
            low: if within(low) { Some(low) } else { lower },
            high: if within(high) { Some(high) } else { upper },
            estimate: Some(estimate.max(lower.unwrap_or(0.0)).min(upper.unwrap_or(f64::INFINITY))),
            is_rough,
        }
    }
}

impl Ends {
    /// Returns the ends of a goal whose criteria must hold together: it fails where the first of them does.
    pub(crate) fn first(all: impl IntoIterator<Item = Self>) -> Self {
        let lowest = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let mut ends: Option<Self> = None;
        for one in all {
            ends = Some(match ends {
                None => one,
                Some(so_far) => Self {
                    // A criterion that is not known to hold anywhere leaves the goal without a lower end.
                    low: so_far.low.zip(one.low).map(|(one, other)| one.min(other)),
                    high: lowest(so_far.high, one.high),
                    estimate: lowest(so_far.estimate, one.estimate),
                    is_rough: so_far.is_rough || one.is_rough,
                },
            });
        }
        let ends = ends.unwrap_or_default();
        // Lower ends above the upper one belong to criteria that fail later.
        let low = ends.low.zip(ends.high).map_or(ends.low, |(low, high)| Some(low.min(high)));
        Self { low, ..ends }
    }

    /// Returns true if the ends are at most `width` apart, as a share of the upper one.
    pub(crate) fn are_close(&self, width: f64) -> bool {
        !self.is_rough
            && self.low.zip(self.high).is_some_and(|(low, high)| high - low <= width * high * (1.0 + 1e-9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(low: f64, high: f64) -> Ends {
        let known = |end: f64| Some(end).filter(|end| *end > 0.0);
        Ends { low: known(low), high: known(high), estimate: known((low * high).sqrt()), is_rough: false }
    }

    #[test]
    fn a_goal_ends_where_its_first_criterion_does() {
        assert_eq!(Ends::first([ends(380.0, 395.0), ends(420.0, 0.0)]), ends(380.0, 395.0));
        let both = Ends::first([ends(380.0, 395.0), ends(370.0, 390.0)]);
        assert_eq!((both.low, both.high), (Some(370.0), Some(390.0)));
        assert_eq!(Ends::first([ends(380.0, 395.0), Ends::default()]).low, None);
        assert_eq!(Ends::first([]), Ends::default());
    }

    #[test]
    fn ends_are_close_by_their_distance() {
        assert!(ends(97.0, 100.0).are_close(0.03) && !ends(96.9, 100.0).are_close(0.03));
        assert!(!Ends { is_rough: true, ..ends(97.0, 100.0) }.are_close(0.03));
        assert!(!ends(97.0, 0.0).are_close(0.03) && !ends(0.0, 97.0).are_close(0.03));
    }
}
