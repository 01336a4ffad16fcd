//! Response times of several rounds as one distribution.

use hoptax_result::CountedTime;

use crate::quantile_supported;

/// A time, and the share of its round's responses that took no longer.
struct Reached {
    ns: u64,
    share: f64,
}

/// The mixture of rounds with equal weights.
pub(crate) struct Mixture {
    /// For each round its times, ascending.
    rounds: Vec<Vec<Reached>>,
    /// Kish's effective sample size: the number of responses of a single sample that would estimate a share with the
    /// same variance. NaN without rounds.
    effective: f64,
}

impl Mixture {
    /// None when a round's values are not ascending. Every round has a response.
    pub(crate) fn new<'a>(rounds: impl Iterator<Item = &'a [CountedTime]>) -> Option<Self> {
        let mut shares = Vec::new();
        let mut inverse_counts = 0.0;
        for times in rounds {
            if !times.is_sorted_by(|a, b| a.ns < b.ns) {
                return None;
            }
            let responses: f64 = times.iter().map(|time| time.count as f64).sum();
            inverse_counts += 1.0 / responses;
            let mut at_most = 0.0;
            let recorded = times.iter().filter(|time| time.count > 0);
            let share = |time: &CountedTime| {
                at_most += time.count as f64;
                Reached { ns: time.ns, share: at_most / responses }
            };
            shares.push(recorded.map(share).collect());
        }
        let effective = (shares.len() as f64).powi(2) / inverse_counts;
        Some(Self { rounds: shares, effective })
    }

    /// Number of rounds.
    pub(crate) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// See [`Self::effective`].
    pub(crate) fn effective(&self) -> f64 {
        self.effective
    }

    /// For each round the share of its responses at or below a value, nanoseconds.
    pub(crate) fn shares_at_most(&self, value: f64) -> Vec<f64> {
        self.rounds.iter().map(|round| share_at_most(round, value as u64)).collect()
    }

    /// See [`Self::effective`], in whole responses.
    pub(crate) fn whole_responses(&self) -> u64 {
        // The margin allows for rounding in the sum of inverses.
        (self.effective * (1.0 + 1e-12)) as u64
    }

    /// Returns true if all rounds together support the `p` quantile.
    pub(crate) fn supports(&self, p: f64) -> bool {
        quantile_supported(self.whole_responses(), p)
    }

    /// The `p` quantile of all rounds but `left_out`, nanoseconds.
    pub(crate) fn quantile(&self, p: f64, left_out: Option<usize>) -> f64 {
        let kept = || {
            let rounds = self.rounds.iter().enumerate();
            rounds.filter(|(index, _)| Some(*index) != left_out).map(|(_, round)| round.as_slice())
        };
        let share_sum = |value: u64| kept().map(|round| share_at_most(round, value)).sum::<f64>();
        // Sums of shares round, so a deficit below a fraction of one response still reaches the rank.
        let wanted = p * kept().count() as f64 - 1e-9;
        let mut below = kept().filter_map(|round| round.first()).map(|reached| reached.ns).min().unwrap_or(0);
        if share_sum(below) >= wanted {
            return below as f64;
        }
        let mut reached =
            kept().filter_map(|round| round.last()).map(|reached| reached.ns).max().unwrap_or(0);
        // The share grows at recorded values only, so the search ends at one.
        while reached - below > 1 {
            let middle = below + (reached - below) / 2;
            if share_sum(middle) >= wanted { reached = middle } else { below = middle }
        }
        let previous = kept().filter_map(|round| last_at_most(round, below)).max().unwrap_or(below);
        let (from, to) = (share_sum(previous), share_sum(reached));
        let way = ((wanted - from) / (to - from)).clamp(0.0, 1.0);
        previous as f64 + way * (reached - previous) as f64
    }
}

/// The share of a round's responses at or below `value`.
fn share_at_most(round: &[Reached], value: u64) -> f64 {
    let count = round.partition_point(|reached| reached.ns <= value);
    count.checked_sub(1).map_or(0.0, |last| round[last].share)
}

/// The largest value of a round at or below `value`.
fn last_at_most(round: &[Reached], value: u64) -> Option<u64> {
    let count = round.partition_point(|reached| reached.ns <= value);
    Some(round[count.checked_sub(1)?].ns)
}
