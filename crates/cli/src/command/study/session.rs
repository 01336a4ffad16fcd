//! How long a study goes on, by the arguments and what its folder keeps, and what is said of that meanwhile.

use std::cell::Cell;
use std::time::{Duration, Instant};

use hoptax_result::StudyResult;
use hoptax_study::length::{Course, Length, Until};
use hoptax_study::plan::Plan;
use hoptax_study::precision::{Forecast, forecast, forecast_of_more, half_widths};
use hoptax_study::record::RoundRecord;
use hoptax_study::summary::{self, Conditions};

use super::expense::Expense;
use super::run_folder::{Facts, KeptRounds};
use crate::arguments::StudyArguments;
use crate::exit::Failure;

/// By what share the first round may take longer or shorter than was told before it is told again.
const TIME_OFF: f64 = 0.2;

/// Rounds of a study that ends by time or precision alone.
const MOST_ROUNDS: u32 = 1000;

/// What ends a study that begins.
pub(super) fn length(arguments: &StudyArguments, rounds_of_file: u32) -> Length {
    Length {
        rounds: rounds(arguments).unwrap_or(rounds_of_file),
        budget_s: arguments.budget.map(|budget| budget.as_secs_f64()),
        until: arguments.until.map(|target_share| Until { target_share, since_rounds: 0 }),
    }
}

/// What ends a study that goes on: as it began, unless the arguments say more.
pub(super) fn length_of_more(
    arguments: &StudyArguments,
    facts: &Facts,
    kept: &KeptRounds,
) -> Result<Length, Failure> {
    more(arguments, facts.length(), kept)
}

fn more(arguments: &StudyArguments, length: Length, kept: &KeptRounds) -> Result<Length, Failure> {
    let measured = kept.ended_s.len() as u32;
    let Some(rounds) = rounds(arguments) else { return Ok(length) };
    if rounds < measured {
        return Err(Failure::bad_input(format!(
            "the study has {measured} rounds already: give `--rounds` a larger number"
        )));
    }
    // Those who asked for a precision before have looked already.
    let since_rounds = length.until.map_or(measured, |until| until.since_rounds);
    let until = match (arguments.until, arguments.rounds) {
        (Some(target_share), _) => Some(Until { target_share, since_rounds }),
        // Who gives more time still wants the precision that was asked for; who gives a number wants that many rounds.
        (None, None) => length.until,
        (None, Some(_)) => None,
    };
    Ok(Length {
        rounds,
        budget_s: arguments.budget.map(|budget| kept.earlier.elapsed_s + budget.as_secs_f64()),
        until,
    })
}

/// Rounds at most, if the arguments say anything of a length.
fn rounds(arguments: &StudyArguments) -> Option<u32> {
    let is_bounded = arguments.budget.is_some() || arguments.until.is_some();
    arguments.rounds.or(is_bounded.then_some(MOST_ROUNDS))
}

/// How many rounds, as far as that is known beforehand.
pub(super) fn words(length: &Length) -> String {
    let is_open = length.rounds == MOST_ROUNDS && (length.budget_s.is_some() || length.until.is_some());
    let mut ends = Vec::new();
    if let Some(until) = length.until {
        ends.push(format!("until nearly all costs are within {}", percent(until.target_share)));
    }
    if let Some(budget_s) = length.budget_s {
        ends.push(format!("as many rounds as fit into {}", duration(budget_s)));
    }
    match (ends.is_empty(), is_open) {
        (true, _) => format!("{} rounds", length.rounds),
        (false, true) => ends.join(", "),
        (false, false) => format!("{}, at most {} rounds", ends.join(", "), length.rounds),
    }
}

/// A study that runs: whether it goes on, and how narrow its intervals will be.
pub(super) struct Session<'a> {
    plan: &'a Plan,
    course: Course,
    began: Instant,
    /// How long it took before this session, seconds.
    earlier_s: f64,
    /// After how many rounds it next says how narrow the intervals will be.
    says_next: u32,
    /// What was told to those who began it.
    expense: Expense,
}

impl<'a> Session<'a> {
    /// A study of this length that begins now, or goes on now from where `kept` ended.
    pub(super) fn begin(plan: &'a Plan, length: Length, expense: Expense, kept: &KeptRounds) -> Self {
        let measured = kept.ended_s.len() as u32;
        Self {
            plan,
            course: Course::new(length, kept.ended_s.clone()),
            began: Instant::now(),
            earlier_s: kept.earlier.elapsed_s,
            says_next: measured.max(2),
            expense,
        }
    }

    /// Whether another round begins, and what is to be said of the rounds so far. `expected` is told how many rounds there will be.
    pub(super) fn goes_on(
        &mut self,
        rounds: &[RoundRecord],
        expected: &Cell<Option<u32>>,
    ) -> (bool, Option<String>) {
        let elapsed_s = self.earlier_s + self.began.elapsed().as_secs_f64();
        if rounds.len() as u32 > self.course.rounds() {
            self.course.round_ended(elapsed_s);
        }
        let interim = Conditions { sequential: self.course.sequential(), ..Conditions::default() };
        // Summing up takes a moment: only where somebody asks.
        let sum_up = || summary::summarise(self.plan, rounds, interim.clone());
        let goes_on = self.course.goes_on(elapsed_s, || half_widths(&sum_up()));
        expected.set(self.course.expected_rounds());
        let is_time = rounds.len() as u32 >= self.says_next;
        if !(goes_on && is_time) {
            return (goes_on, self.said_of_time(elapsed_s).filter(|_| goes_on));
        }
        // Twice as many rounds tell half as much again.
        self.says_next = (rounds.len() as u32).saturating_mul(2);
        (goes_on, said(&sum_up(), self.course.expected_rounds()))
    }

    /// After the first round, how long all of them will take, where that is not what was told.
    fn said_of_time(&self, elapsed_s: f64) -> Option<String> {
        let expected_s = self.expense.first_round_s;
        let is_as_told = (elapsed_s - expected_s).abs() <= TIME_OFF * expected_s;
        if self.course.rounds() != 1 || is_as_told || self.course.budget_s().is_some() {
            return None;
        }
        let all_s = self.expense.of_rounds_s(self.course.expected_rounds()?) * elapsed_s / expected_s;
        Some(format!(
            "the first round took {}, not {}: the study will take about {}",
            duration(elapsed_s),
            duration(expected_s),
            duration(all_s)
        ))
    }

    /// How it came to its end.
    pub(super) fn into_course(self) -> Course {
        self.course
    }
}

/// What the intervals of a study will be after so many rounds; what they are, where nothing says how many there will be.
pub(super) fn said(result: &StudyResult, rounds: Option<u32>) -> Option<String> {
    let measured = result.plan.rounds_completed;
    let precise = |forecast: &Forecast| format!("±{}", percent(forecast.half_width_share));
    let Some(rounds) = rounds.filter(|rounds| *rounds != measured) else {
        let now = forecast(result, measured)?;
        return Some(format!(
            "nearly all costs are within {} of the baseline after {measured} rounds",
            precise(&now)
        ));
    };
    let then = forecast(result, rounds)?;
    let more = forecast_of_more(result, rounds)
        .map_or_else(String::new, |more| format!("; `--rounds {}` for {}", more.rounds, precise(&more)));
    Some(format!(
        "nearly all costs will be within about {} of the baseline after {rounds} rounds{more}",
        precise(&then)
    ))
}

/// A share as a percentage with two digits.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from(percent < 9.95);
    if percent < 0.095 { format!("{percent:.2} %") } else { format!("{percent:.decimals$} %") }
}

/// A time as people say it: `55 s`, `6 min`, `1 h 40 min`.
pub(super) fn duration(seconds: f64) -> String {
    let rounded = match seconds {
        short if short < 90.0 => short.round(),
        long => (long / 60.0).round() * 60.0,
    };
    let text = humantime::format_duration(Duration::from_secs_f64(rounded.max(0.0))).to_string();
    let words = text.split(' ').map(|part| {
        let digits = part.trim_end_matches(char::is_alphabetic);
        let unit = part.get(digits.len()..).unwrap_or_default();
        format!("{digits} {}", if unit == "m" { "min" } else { unit })
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use hoptax_study::runner::Earlier;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn study(line: &str) -> StudyArguments {
        let words = ["hoptax", "study"].into_iter().chain(line.split_whitespace());
        match Arguments::try_parse_from(words).unwrap().command {
            Command::Study(arguments) => arguments,
            _ => unreachable!("`study` is a study"),
        }
    }

    #[test]
    fn arguments_say_what_ends_a_study() {
        let of = |line: &str| length(&study(line), 16);
        assert_eq!(of("quick"), Length { rounds: 16, budget_s: None, until: None });
        assert_eq!(of("quick --budget 20m").rounds, MOST_ROUNDS);
        assert_eq!(of("quick --budget 20m").budget_s, Some(1200.0));
        let both = of("quick --until 1% --budget 1h --rounds 40");
        assert_eq!((both.rounds, both.budget_s), (40, Some(3600.0)));
        assert_eq!(both.until, Some(Until { target_share: 0.01, since_rounds: 0 }));
    }

    #[test]
    fn a_study_that_goes_on_keeps_its_length_unless_another_is_given() {
        let earlier = Earlier { elapsed_s: 100.0, ..Earlier::default() };
        let kept = KeptRounds { earlier, ended_s: vec![10.0, 55.0, 100.0] };
        let of = |line: &str, length: &Length| more(&study(line), length.clone(), &kept);
        let fixed = length(&study("quick"), 16);
        let looking = length(&study("quick --until 1%"), 16);
        assert_eq!(of("--resume x", &fixed).unwrap(), fixed);
        assert_eq!(of("--resume x", &looking).unwrap(), looking);
        assert_eq!(of("--resume x --rounds 30", &fixed).unwrap(), Length { rounds: 30, ..fixed.clone() });
        assert!(of("--resume x --rounds 2", &fixed).is_err(), "there are three");
        // A budget begins now.
        let longer = of("--resume x --budget 60s", &looking).unwrap();
        assert_eq!((longer.budget_s, longer.until), (Some(160.0), looking.until));
        // Nobody looked at the three rounds of a study of a fixed number.
        let asked = of("--resume x --until 2%", &fixed).unwrap();
        assert_eq!(asked.until, Some(Until { target_share: 0.02, since_rounds: 3 }));
        assert_eq!(of("--resume x --rounds 30", &looking).unwrap().until, None);
    }

    #[test]
    fn a_length_is_said_in_words() {
        let of = |line: &str| words(&length(&study(line), 16));
        assert_eq!(of("quick"), "16 rounds");
        assert_eq!(of("quick --budget 20m"), "as many rounds as fit into 20 min");
        assert_eq!(
            of("quick --until 1% --rounds 40"),
            "until nearly all costs are within 1.0 %, at most 40 rounds"
        );
    }

    #[test]
    fn times_and_percentages_are_said_as_people_do() {
        assert_eq!(duration(54.6), "55 s");
        assert_eq!(duration(360.0), "6 min");
        assert_eq!(duration(6000.0), "1 h 40 min");
        assert_eq!(percent(0.0123), "1.2 %");
        assert_eq!(percent(0.123), "12 %");
        assert_eq!(percent(0.0005), "0.05 %");
    }
}
