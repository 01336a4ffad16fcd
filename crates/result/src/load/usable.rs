//! States in one sentence which numbers of a load's result may be used.

use hoptax_text::list::listed;

use super::{Imported, Known, LoadResult, TimeOf};
use crate::{Stated, Verdict};

/// Usability of a number of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sound,
    Bounded,
    Unknown,
}

impl LoadResult {
    /// Returns the usable numbers, as `counts, rates and p50 are sound; p99 is only bounded`. They follow from the verdict, from the
    /// findings that leave only bounds of rates, and from the values and bounds of each quantile.
    pub fn usable(&self) -> String {
        if self.book.is_empty() {
            return "no request was measured, so there is no number".to_owned();
        }
        if self.verdict == Verdict::Void {
            return "no rate and no time can be used; counts and send lag are evidence, not results"
                .to_owned();
        }
        let counts = [("counts".to_owned(), self.counts()), ("rates".to_owned(), self.rates())];
        let numbers: Vec<(String, State)> = counts.into_iter().chain(self.times()).collect();
        let lacking = self.agents.as_ref().filter(|agents| agents.merged() < agents.shares());
        let (one, several) = match (&self.imported, lacking) {
            // Nobody judged the run of another tool.
            (Some(_), _) => {
                ("is as the tool reports it".to_owned(), "are as the tool reports them".to_owned())
            }
            // They are sound as numbers of these agents, and not as those of the load.
            (None, Some(agents)) => {
                let agents = format!("{} of {} agents", agents.merged(), agents.shares());
                (format!("is that of {agents}"), format!("are those of {agents}"))
            }
            (None, None) => ("is sound".to_owned(), "are sound".to_owned()),
        };
        let parts = [
            (State::Sound, one.as_str(), several.as_str()),
            (State::Bounded, "is only bounded", "are only bounded"),
            (State::Unknown, "is not known", "are not known"),
        ];
        let part = |(state, one, several): (State, &str, &str)| {
            let names: Vec<&str> =
                numbers.iter().filter(|(_, its)| *its == state).map(|(name, _)| name.as_str()).collect();
            // Counts, rates and times are plural.
            let is_one = matches!(names.as_slice(), [only] if only.starts_with('p'));
            (!names.is_empty()).then(|| format!("{} {}", listed(&names), if is_one { one } else { several }))
        };
        parts.into_iter().filter_map(part).collect::<Vec<_>>().join("; ")
    }

    fn counts(&self) -> State {
        match (self.book.stated, &self.imported) {
            (Stated::All | Stated::Imported { answered: true, .. }, _) => State::Sound,
            (_, Some(Imported { answered: Some(_), .. })) => State::Bounded,
            (Stated::Imported { .. }, _) => State::Unknown,
        }
    }

    fn rates(&self) -> State {
        let is_bounded =
            |finding: &crate::Finding| finding.bounds && finding.numbers.iter().any(|one| one == "rates");
        match (self.rate.achieved, &self.imported) {
            (Some(_), _) if self.findings.iter().any(is_bounded) => State::Bounded,
            (Some(_), _) => State::Sound,
            (None, Some(Imported { answered_per_s: Some(_), .. })) => State::Bounded,
            (None, _) => State::Unknown,
        }
    }

    /// Each quantile; all of them as `times` if they are alike. Other tools state service time alone.
    fn times(&self) -> Vec<(String, State)> {
        let (response, service) = (self.latency.response.count, self.latency.service.count);
        let mut percentiles = vec![50.0, 90.0, 99.0, 99.9];
        percentiles.extend(self.percentiles.iter().map(|one| one.percentile));
        percentiles.sort_by(f64::total_cmp);
        percentiles.dedup_by(|one, other| (*one - *other).abs() < 1e-9);
        let range = |percentile: f64| {
            let mut ranges = self.imported.iter().flat_map(|imported| &imported.ranges);
            ranges.any(|range| (range.percentile - percentile).abs() < 1e-9)
        };
        let state = |percentile: f64| {
            let of = TimeOf::Percentile(percentile);
            match if response > 0 { self.response(of) } else { self.service(of) } {
                Known::Measured(_) => State::Sound,
                Known::Bounded(_) => State::Bounded,
                Known::Unknown if range(percentile) => State::Bounded,
                Known::Unknown => State::Unknown,
            }
        };
        let states: Vec<(f64, State)> =
            percentiles.into_iter().map(|percentile| (percentile, state(percentile))).collect();
        match states.first() {
            _ if response == 0 && service == 0 => Vec::new(),
            Some((_, first)) if states.iter().all(|(_, its)| its == first) => {
                vec![("times".to_owned(), *first)]
            }
            _ => states.into_iter().map(|(percentile, its)| (format!("p{percentile}"), its)).collect(),
        }
    }
}
