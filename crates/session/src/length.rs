//! Decides when a study ends, by the requested length and by its run folder, and forecasts its precision and duration.

use std::cell::Cell;
use std::time::{Duration, Instant};

use hoptax_judge::length::{Course, Length, Until};
use hoptax_judge::precision::{Forecast, Precision, forecast, forecast_of_more, half_widths};
use hoptax_judge::summary::{self, Conditions};
use hoptax_plan::plan::Plan;
use hoptax_plan::record::RoundRecord;
use hoptax_result::{StudyResult, counted};
use hoptax_stats::OF_COST;

use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::manifest::Manifest;
use crate::run_folder::CompleteRounds;
use crate::words::{duration, percent, precision_text};

/// Relative error of the estimated duration of the first round, above which a corrected duration is printed.
const DURATION_TOLERANCE: f64 = 0.2;

/// Maximum number of rounds of a study that ends by time or precision.
const MOST_ROUNDS: u32 = 1000;

/// The requested length. If it is empty, a study has the number of rounds of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestedLength {
    /// Number of rounds; the maximum if another field is set.
    pub rounds: Option<u32>,
    /// Run as many rounds as fit into this time.
    pub budget: Option<Duration>,
    /// Run until nearly all intervals are this narrow.
    pub until: Option<Precision>,
}

impl RequestedLength {
    /// Run until the intervals of CPU time are decisive, but no longer than the budget. An interval is decisive if it reaches at most this
    /// share of the CPU time, or [`OF_COST`] of its own estimate, to each side.
    pub fn until_decided(half_width_share: f64, budget: Duration) -> Self {
        let precision = Precision { target_share: half_width_share, of_cost_share: OF_COST };
        Self { rounds: None, budget: Some(budget), until: Some(precision) }
    }
}

/// The length of a new study.
pub(crate) fn length(requested: &RequestedLength, rounds_of_file: u32) -> Length {
    Length {
        rounds: rounds(requested).unwrap_or(rounds_of_file),
        budget_s: requested.budget.map(|budget| budget.as_secs_f64()),
        until: requested.until.map(|precision| Until { precision, since_rounds: 0 }),
    }
}

/// The length of a resumed study: its previous one, unless the arguments change it.
pub(crate) fn length_of_more(
    requested: &RequestedLength,
    manifest: &Manifest,
    complete: &CompleteRounds,
) -> Result<Length, Failure> {
    more(requested, manifest.length(), complete)
}

fn more(requested: &RequestedLength, length: Length, complete: &CompleteRounds) -> Result<Length, Failure> {
    let measured = complete.ended_s.len() as u32;
    let Some(rounds) = rounds(requested) else { return Ok(length) };
    if rounds < measured {
        return Err(Failure::bad_input(format!(
            "the study already has {}: give `--rounds` a larger number",
            counted(measured.into(), "round")
        )));
    }
    // If the study had a precision, earlier rounds have been examined already; otherwise they have not.
    let since_rounds = length.until.map_or(measured, |until| until.since_rounds);
    let until = match (requested.until, requested.rounds) {
        (Some(precision), _) => Some(Until { precision, since_rounds }),
        // A new budget keeps the requested precision; a new number of rounds replaces it.
        (None, None) => length.until,
        (None, Some(_)) => None,
    };
    Ok(Length {
        rounds,
        budget_s: requested.budget.map(|budget| complete.earlier.elapsed_s + budget.as_secs_f64()),
        until,
    })
}

/// Maximum number of rounds; None if the arguments state no length.
fn rounds(requested: &RequestedLength) -> Option<u32> {
    let is_bounded = requested.budget.is_some() || requested.until.is_some();
    requested.rounds.or(is_bounded.then_some(MOST_ROUNDS))
}

/// The length as text.
pub(crate) fn length_text(length: &Length) -> String {
    let is_open = length.rounds == MOST_ROUNDS && (length.budget_s.is_some() || length.until.is_some());
    let mut ends = Vec::new();
    if let Some(until) = length.until {
        ends.push(format!("until nearly all costs are within {}", precision_text(&until.precision)));
    }
    if let Some(budget_s) = length.budget_s {
        ends.push(format!("as many rounds as fit into {}", duration(budget_s)));
    }
    match (ends.is_empty(), is_open) {
        (true, _) => counted(length.rounds.into(), "round"),
        (false, true) => ends.join(", "),
        (false, false) => format!("{}, at most {}", ends.join(", "), counted(length.rounds.into(), "round")),
    }
}

/// Least number of rounds for a forecast: fewer do not show how much costs vary between rounds, and Student's t multiplies the error.
pub(crate) const FEWEST_FOR_FORECAST: u32 = 4;

/// Runs the [`Course`] of a study, which makes the decisions. The course neither reads a clock nor prints, so this type supplies the time
/// since the study began, the widths of intervals from a summary of the rounds so far, and notes that forecast precision and duration.
pub(crate) struct ClockedCourse<'a> {
    plan: &'a Plan,
    course: Course,
    began: Instant,
    /// Duration of earlier sessions, seconds.
    earlier_s: f64,
    /// Number of rounds after which the next forecast is printed.
    next_forecast: u32,
    /// The estimate printed at the start.
    estimate: Estimate,
}

impl<'a> ClockedCourse<'a> {
    /// Starts a session of a study; `complete` has the rounds measured so far.
    pub(crate) fn begin(
        plan: &'a Plan,
        length: Length,
        estimate: Estimate,
        complete: &CompleteRounds,
    ) -> Self {
        let measured = complete.ended_s.len() as u32;
        Self {
            plan,
            course: Course::new(length, complete.ended_s.clone(), &complete.looks),
            began: Instant::now(),
            earlier_s: complete.earlier.elapsed_s,
            next_forecast: first_forecast(measured),
            estimate,
        }
    }

    /// Returns true if another round begins, and a note to print. Sets `expected` to the expected total number of rounds.
    pub(crate) fn should_continue(
        &mut self,
        rounds: &[RoundRecord],
        expected: &Cell<Option<u32>>,
    ) -> (bool, Option<String>) {
        let elapsed_s = self.earlier_s + self.began.elapsed().as_secs_f64();
        if rounds.len() as u32 > self.course.rounds() {
            self.course.round_ended(elapsed_s);
        }
        let interim = Conditions { sequential: self.course.sequential(), ..Conditions::default() };
        // A summary takes time, so compute it only on demand.
        let summarised = || summary::summarise(self.plan, rounds, interim.clone());
        let should_continue =
            self.course.should_continue(elapsed_s, |precision| half_widths(&summarised(), precision));
        expected.set(self.course.expected_rounds());
        let is_due = rounds.len() as u32 >= self.next_forecast;
        if !(should_continue && is_due) {
            return (should_continue, self.corrected_duration(elapsed_s).filter(|_| should_continue));
        }
        // Forecasts change slowly, so print the next one after twice as many rounds.
        self.next_forecast = (rounds.len() as u32).saturating_mul(2);
        (should_continue, forecast_text(&summarised(), self.course.expected_rounds()))
    }

    /// A corrected duration of the study after the first round, if the estimate was wrong.
    fn corrected_duration(&self, elapsed_s: f64) -> Option<String> {
        let expected_s = self.estimate.first_round_s;
        let is_accurate = (elapsed_s - expected_s).abs() <= DURATION_TOLERANCE * expected_s;
        if self.course.rounds() != 1 || is_accurate || self.course.budget_s().is_some() {
            return None;
        }
        let all_s = self.estimate.of_rounds_s(self.course.expected_rounds()?) * elapsed_s / expected_s;
        Some(format!(
            "the first round took {}, not {}: the study will take about {}",
            duration(elapsed_s),
            duration(expected_s),
            duration(all_s)
        ))
    }

    /// The course of the study, for its result.
    pub(crate) fn into_course(self) -> Course {
        self.course
    }
}

/// The number of rounds after which the first forecast is printed; `measured` of them are complete.
fn first_forecast(measured: u32) -> u32 {
    measured.max(FEWEST_FOR_FORECAST)
}

/// Forecast of the interval widths after `rounds` rounds, as text. If the number of rounds is unknown, the current widths.
pub(crate) fn forecast_text(result: &StudyResult, rounds: Option<u32>) -> Option<String> {
    let measured = result.plan.rounds_completed;
    let precise = |forecast: &Forecast| format!("±{}", percent(forecast.half_width_share));
    let Some(rounds) = rounds.filter(|rounds| *rounds != measured) else {
        let now = forecast(result, measured)?;
        return Some(format!(
            "nearly all costs are within {} of the baseline after {}",
            precise(&now),
            counted(measured.into(), "round")
        ));
    };
    let then = forecast(result, rounds)?;
    let more = forecast_of_more(result, rounds)
        .map_or_else(String::new, |more| format!("; `--rounds {}` for {}", more.rounds, precise(&more)));
    Some(format!(
        "nearly all costs will be within about {} of the baseline after {}{more}",
        precise(&then),
        counted(rounds.into(), "round")
    ))
}

#[cfg(test)]
mod tests {
    use hoptax_run::runner::Earlier;

    use super::*;

    fn rounds_of(rounds: u32) -> RequestedLength {
        RequestedLength { rounds: Some(rounds), ..RequestedLength::default() }
    }

    fn within(target_share: f64, of_cost_share: f64) -> RequestedLength {
        RequestedLength {
            until: Some(Precision { target_share, of_cost_share }),
            ..RequestedLength::default()
        }
    }

    fn budget_of(seconds: u64) -> RequestedLength {
        RequestedLength { budget: Some(Duration::from_secs(seconds)), ..RequestedLength::default() }
    }

    fn until(target_share: f64, of_cost_share: f64, since_rounds: u32) -> Until {
        Until { precision: Precision { target_share, of_cost_share }, since_rounds }
    }

    #[test]
    fn rounds_budget_and_precision_end_a_study() {
        let of = |requested: RequestedLength| length(&requested, 16);
        assert_eq!(of(RequestedLength::default()), Length { rounds: 16, budget_s: None, until: None });
        assert_eq!(of(budget_of(1200)).rounds, MOST_ROUNDS);
        assert_eq!(of(budget_of(1200)).budget_s, Some(1200.0));
        let both =
            of(RequestedLength { until: within(0.01, 0.0).until, rounds: Some(40), ..budget_of(3600) });
        assert_eq!((both.rounds, both.budget_s), (40, Some(3600.0)));
        assert_eq!(both.until, Some(until(0.01, 0.0, 0)));
        let of_cost = of(within(0.01, 0.2)).until;
        assert_eq!(of_cost, Some(until(0.01, 0.2, 0)));
    }

    #[test]
    fn a_resumed_study_keeps_its_length_unless_another_is_asked_for() {
        let earlier = Earlier { elapsed_s: 100.0, ..Earlier::default() };
        let complete = CompleteRounds { earlier, ended_s: vec![10.0, 55.0, 100.0], looks: Vec::new() };
        let of = |requested: RequestedLength, length: &Length| more(&requested, length.clone(), &complete);
        let fixed = length(&RequestedLength::default(), 16);
        let sequential = length(&within(0.01, 0.0), 16);
        assert_eq!(of(RequestedLength::default(), &fixed).unwrap(), fixed);
        assert_eq!(of(RequestedLength::default(), &sequential).unwrap(), sequential);
        assert_eq!(of(rounds_of(30), &fixed).unwrap(), Length { rounds: 30, ..fixed.clone() });
        assert!(of(rounds_of(2), &fixed).is_err(), "there are three");
        // A budget starts at the resumption.
        let longer = of(budget_of(60), &sequential).unwrap();
        assert_eq!((longer.budget_s, longer.until), (Some(160.0), sequential.until));
        // The three rounds of a study with a fixed number of rounds have not been examined.
        let resumed = of(within(0.02, 0.0), &fixed).unwrap();
        assert_eq!(resumed.until, Some(until(0.02, 0.0, 3)));
        assert_eq!(of(rounds_of(30), &sequential).unwrap().until, None);
    }

    #[test]
    fn a_study_until_decided_gets_the_precision_and_the_budget() {
        let requested = RequestedLength::until_decided(0.0015, Duration::from_secs(90));
        let length = length(&requested, 16);
        assert_eq!((length.rounds, length.budget_s), (MOST_ROUNDS, Some(90.0)));
        assert_eq!(length.until, Some(until(0.0015, OF_COST, 0)));
    }

    #[test]
    fn the_first_forecast_needs_rounds_that_show_how_much_costs_vary() {
        assert_eq!([0, 2, 9].map(first_forecast), [4, 4, 9]);
    }

    #[test]
    fn a_length_is_printed_with_units() {
        let of = |requested: RequestedLength| length_text(&length(&requested, 16));
        assert_eq!(of(RequestedLength::default()), "16 rounds");
        assert_eq!(of(budget_of(1200)), "as many rounds as fit into 20 min");
        assert_eq!(
            of(RequestedLength { rounds: Some(40), ..within(0.01, 0.0) }),
            "until nearly all costs are within 1.0 %, at most 40 rounds"
        );
        assert_eq!(
            of(RequestedLength { rounds: Some(40), ..within(0.01, 0.2) }),
            "until nearly all costs are within 1.0 % or 20 % of cost, at most 40 rounds"
        );
    }
}
