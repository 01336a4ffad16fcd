//! Evidence about a criterion from the trials at each load.

use std::collections::BTreeMap;
use std::time::Duration;

use statrs::function::gamma::{checked_gamma_lr, checked_gamma_ur};

use crate::critical::two_sided_t;
use crate::search::goal::Criterion;
use crate::search::ladder::Ladder;

/// The probability of deciding wrongly about a load where the criterion just holds. Much less than usual, since a search decides about
/// many loads, and about each after every trial.
pub(crate) const ERROR: f64 = 0.005;
/// A load is out of reach when this many more of its trials were limited by the generator than were not. If three trials in ten are spoilt,
/// a load within reach is misjudged with a probability of (3/7)^6, 0.6 %.
const UNUSABLE_EXCESS: usize = 6;
/// Minimum number of trials for a decision by values.
const FEWEST_VALUES: usize = 3;
/// Trials after which the mean of the values decides, however much they vary.
pub(crate) const MOST_VALUES: usize = 8;

/// Requests, and those of them that were late or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Requests that were late or lost.
    pub lost: f64,
    /// All scheduled requests.
    pub planned: f64,
}

impl Share {
    /// The sum of several.
    pub(crate) fn sum<'a>(shares: impl IntoIterator<Item = &'a Self>) -> Self {
        shares.into_iter().fold(Self::default(), |all, one| Self {
            lost: all.lost + one.lost,
            planned: all.planned + one.planned,
        })
    }

    /// The logarithm of its odds, finite even without a lost request.
    pub(crate) fn logit(self) -> f64 {
        ((self.lost + 0.5) / ((self.planned - self.lost).max(0.0) + 0.5)).ln()
    }
}

/// Evidence about a criterion from one trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// For a criterion about a share of requests.
    Share {
        /// The whole trial.
        all: Share,
        /// Its parts of equal length, in order: they show how lost requests cluster.
        windows: Vec<Share>,
    },
    /// For [`Criterion::Value`]: by how much the value exceeds its limit, negative or zero if it holds; None if it is not known.
    Value(Option<f64>),
}

/// State of a criterion at a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The criterion holds.
    Holds,
    /// It does not.
    Fails,
    /// More trials decide.
    Undecided,
}

/// The trials at one load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoadEvidence {
    /// For each trial, its length and its sample for each criterion.
    samples: Vec<(Duration, Vec<Sample>)>,
    /// Trials that say nothing about the subject, because the generator was the limit.
    unusable: usize,
}

impl LoadEvidence {
    pub(crate) fn add(&mut self, duration: Duration, samples: Option<Vec<Sample>>) {
        match samples {
            Some(samples) => self.samples.push((duration, samples)),
            None => self.unusable += 1,
        }
    }

    /// Returns true if the generator cannot produce this load.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.unusable >= self.samples.len() + UNUSABLE_EXCESS
    }

    /// The length and the windows of each trial.
    pub(crate) fn windows(&self, criterion: usize) -> impl Iterator<Item = (Duration, &[Share])> {
        self.samples.iter().filter_map(move |(duration, samples)| match samples.get(criterion)? {
            Sample::Share { windows, .. } => Some((*duration, windows.as_slice())),
            Sample::Value(_) => None,
        })
    }

    /// All requests of its trials.
    pub(crate) fn share(&self, criterion: usize) -> Share {
        Share::sum(self.samples.iter().filter_map(|(_, samples)| match samples.get(criterion)? {
            Sample::Share { all, .. } => Some(all),
            Sample::Value(_) => None,
        }))
    }

    fn values(&self, criterion: usize) -> Vec<Option<f64>> {
        let value = |sample: &Sample| match sample {
            Sample::Value(value) => Some(*value),
            Sample::Share { .. } => None,
        };
        self.samples.iter().filter_map(|(_, samples)| value(samples.get(criterion)?)).collect()
    }
}

/// All trials of a search, by rung.
pub(crate) type Trials = BTreeMap<u32, LoadEvidence>;

/// The class of each load that was tried, ascending. `error` is the probability of deciding wrongly about a load where the criterion just
/// holds. `measured` is the dispersion of the lost requests, if it is known.
///
/// **Method.** The number of late requests is compared with the number that the criterion permits: its tail probability at a load where the
/// criterion just holds is that of a Poisson variable whose variance is the dispersion times its mean (quasi-likelihood: R. Wedderburn,
/// *Biometrika* 61, 1974). The losses of a subject do not fall as the load rises. So a load also holds if it holds with the trials at
/// higher loads added, and fails if it fails with those at lower loads added.
pub(crate) fn classes(
    trials: &Trials,
    number: usize,
    criterion: &Criterion,
    measured: Option<f64>,
    ladder: &Ladder,
    error: f64,
) -> Vec<(u32, Class)> {
    let Some(permitted) = criterion.permitted() else {
        return trials.iter().map(|(rung, at)| (*rung, of_values(&at.values(number), error))).collect();
    };
    let shares: Vec<(u32, Share)> = trials.iter().map(|(rung, at)| (*rung, at.share(number))).collect();
    let is = |low: bool, dispersion: f64| {
        move |sum: &Share| match (sum.lost / dispersion, sum.planned * permitted / dispersion) {
            (_, expected) if expected <= 0.0 => false,
            (lost, expected) if low => checked_gamma_ur(lost + 1.0, expected).is_ok_and(|tail| tail < error),
            (lost, expected) => {
                lost > expected && checked_gamma_lr(lost, expected).is_ok_and(|tail| tail < error)
            }
        }
    };
    let is_any = |shares: &mut dyn Iterator<Item = &(u32, Share)>, low: bool, dispersion: f64| {
        let sums = shares.scan(Share::default(), |sum, (_, share)| {
            *sum = Share::sum([&*sum, share]);
            Some(*sum)
        });
        sums.into_iter().any(|sum| is(low, dispersion)(&sum))
    };
    let class = |(place, (rung, _)): (usize, &(u32, Share))| {
        let dispersion = measured.unwrap_or_else(|| criterion.dispersion(ladder.load(*rung)));
        let above = is_any(&mut shares.iter().skip(place), true, dispersion);
        let below = is_any(&mut shares.iter().take(place + 1).rev(), false, dispersion);
        let class = match (above, below) {
            (true, false) => Class::Holds,
            (false, true) => Class::Fails,
            _ => Class::Undecided,
        };
        (*rung, class)
    };
    shares.iter().enumerate().map(class).collect()
}

/// The class by values: decided if their mean is significantly on one side of the limit, or if there are many.
fn of_values(values: &[Option<f64>], error: f64) -> Class {
    if values.len() < FEWEST_VALUES {
        return Class::Undecided;
    }
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    if 2 * known.len() <= values.len() {
        return Class::Fails;
    }
    let count = known.len() as f64;
    let mean = known.iter().sum::<f64>() / count;
    let variance = known.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let half_width = two_sided_t((count - 1.0).max(1.0), 1.0 - 2.0 * error).unwrap_or(f64::INFINITY)
        * (variance / count).sqrt();
    match mean {
        mean if mean + half_width <= 0.0 => Class::Holds,
        mean if mean - half_width > 0.0 => Class::Fails,
        _ if values.len() < MOST_VALUES => Class::Undecided,
        mean if mean <= 0.0 => Class::Holds,
        _ => Class::Fails,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const P99: Criterion = Criterion::Late { permitted: 0.01, limit: Duration::from_millis(20) };

    fn trials(counts: &[(u32, f64, f64)]) -> Trials {
        let mut trials = Trials::new();
        for (rung, lost, planned) in counts {
            let sample = Sample::Share { all: Share { lost: *lost, planned: *planned }, windows: Vec::new() };
            trials.entry(*rung).or_default().add(SECOND, Some(vec![sample]));
        }
        trials
    }

    fn class(counts: &[(u32, f64, f64)], dispersion: f64) -> Vec<Class> {
        let ladder = Ladder::new(1.0, 1_000.0, 0.03);
        let classes = classes(&trials(counts), 0, &P99, Some(dispersion), &ladder, ERROR);
        classes.into_iter().map(|(_, class)| class).collect()
    }

    #[test]
    fn the_number_of_late_requests_decides_beyond_what_their_groups_explain() {
        use Class::{Fails, Holds, Undecided};
        // Independent: 100 of 10,000 are permitted, with a standard deviation of 10.
        for (lost, expected) in [(70.0, Holds), (80.0, Undecided), (120.0, Undecided), (130.0, Fails)] {
            assert_eq!(class(&[(1, lost, 1e4)], 1.0), [expected], "{lost}");
        }
        // In groups: a standard deviation of 32.
        for (lost, expected) in [(20.0, Holds), (70.0, Undecided), (130.0, Undecided), (220.0, Fails)] {
            assert_eq!(class(&[(1, lost, 1e4)], 10.0), [expected], "{lost}");
        }
        assert_eq!(class(&[(1, 0.0, 500.0)], 1.0), [Undecided], "too few to see one late");
        assert_eq!(class(&[(1, 0.0, 0.0)], 1.0), [Undecided]);
    }

    #[test]
    fn loads_above_speak_for_a_load_and_loads_below_against_it() {
        use Class::{Fails, Holds, Undecided};
        assert_eq!(class(&[(1, 0.0, 400.0), (2, 0.0, 400.0)], 1.0), [Holds, Undecided]);
        assert_eq!(class(&[(1, 9.0, 400.0), (2, 9.0, 400.0)], 1.0), [Undecided, Fails]);
    }

    #[test]
    fn values_decide_by_their_mean_beyond_chance_or_after_eight_trials() {
        let of = |values: &[f64]| of_values(&values.iter().copied().map(Some).collect::<Vec<_>>(), ERROR);
        assert_eq!(of(&[-1.0, -1.0]), Class::Undecided);
        assert_eq!(of(&[-1.0, -1.01, -1.02]), Class::Holds);
        assert_eq!(of(&[0.0; 3]), Class::Holds);
        assert_eq!(of(&[1.0, 1.01, 1.02]), Class::Fails);
        assert_eq!(of(&[-1.0, 2.0, -3.0, 1.0, 0.5]), Class::Undecided);
        assert_eq!(of(&[-1.0, 2.0, -3.0, 1.0, 0.5, -0.5, 0.2, -0.1]), Class::Holds);
        assert_eq!(of_values(&[None, None, Some(-1.0)], ERROR), Class::Fails, "most are not known");
    }

    #[test]
    fn a_load_is_out_of_reach_when_six_more_trials_are_unusable_than_usable() {
        let mut at = LoadEvidence::default();
        at.add(SECOND, Some(Vec::new()));
        for _ in 0..6 {
            at.add(SECOND, None);
        }
        assert!(!at.is_out_of_reach());
        at.add(SECOND, None);
        assert!(at.is_out_of_reach());
    }
}
