//! The headline numbers of a load: its conditions, the rate of answers, response times, and the requests without an answer.

use hoptax_result::{FailOnOutcome, Finding, LoadResult, Loop, Severity, Stated};

use super::cells::rate;
use super::{intervals, quantity};
use crate::headline::Headline;
use crate::numbers::count;
use crate::quantity::{Form, Quantity};
use crate::table::Cell;

/// The quantiles in the headlines.
const PERCENTILES: [f64; 2] = [50.0, 99.0];

/// The headlines.
pub(super) fn headlines(result: &LoadResult) -> Vec<Headline> {
    let times = PERCENTILES.map(|percentile| time(result, percentile));
    let numbers = [answered(result)].into_iter().chain(times).chain([unanswered(result)]);
    conditions(result).into_iter().chain(numbers).collect()
}

/// The number of conditions of `--fail-on` that passed, and those that did not; none without conditions.
fn conditions(result: &LoadResult) -> Option<Headline> {
    let all = &result.fail_on;
    let named = |outcome: FailOnOutcome| -> Vec<String> {
        let of_it = all.iter().filter(|one| one.outcome == outcome);
        of_it.map(|one| format!("`{}`", one.condition)).collect()
    };
    let (failed, unknown) = (named(FailOnOutcome::Failed), named(FailOnOutcome::Unknown));
    let passed = format!("{} of {}", all.len() - failed.len() - unknown.len(), all.len());
    let note = |(word, names): (&str, Vec<String>)| {
        (!names.is_empty()).then(|| format!("{word}: {}", names.join(", ")))
    };
    let notes: Vec<String> =
        [("failed", failed), ("unknown", unknown)].into_iter().filter_map(note).collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    (!all.is_empty()).then(|| Headline::new("conditions passed", Cell::words(passed), note))
}

/// The rate of answered requests.
fn answered(result: &LoadResult) -> Headline {
    const UNIT: &str = "requests/s";
    let is_bound = |finding: &Finding| finding.bounds && finding.numbers.iter().any(|one| one == "rates");
    let range = result.imported.as_ref().and_then(|imported| imported.answered_per_s);
    let number = match (result.rate.achieved, range) {
        // The generator was the limit, so the server may be able to answer more.
        (Some(answered), _) if result.findings.iter().any(is_bound) => {
            Quantity::bounded(Some(answered), None, UNIT, Form::Level)
        }
        (Some(answered), _) => Quantity::point(answered, UNIT, Form::Level),
        (None, Some(range)) => Quantity::bounded(Some(range.low), Some(range.high), UNIT, Form::Level),
        (None, None) => Quantity::unknown(reason(result, |number| number == "rates"), UNIT),
    };
    let planned = result.rate.target.map(|target| format!("of {}/s planned", rate(target)));
    Headline::number("answered", number, planned)
}

/// A quantile of response time, or of service time if another tool reports only that.
fn time(result: &LoadResult, percentile: f64) -> Headline {
    let is_of_response = result.imported.is_none() || result.latency.response.count > 0;
    let number = quantity(result, percentile, is_of_response).unwrap_or_else(|| {
        let own = format!("p{percentile}");
        Quantity::unknown(reason(result, |number| number == "times" || number == own), "us")
    });
    let name = if is_of_response { "response time" } else { "service time" };
    let is_without = is_of_response && intervals::is_without(result, percentile);
    let note = is_without.then(|| "without an interval".to_owned());
    Headline::number(format!("p{percentile} of the {name}"), number, note)
}

/// The share of the requests that were not answered.
fn unanswered(result: &LoadResult) -> Headline {
    const NAME: &str = "not answered";
    let book = &result.book;
    // A closed loop plans no requests, because it sends the next one after a response.
    let all = match (book.stated, result.plan.loop_) {
        (Stated::All, Loop::Open) => Some(book.planned),
        (Stated::All, Loop::Closed) => Some(book.sent),
        (Stated::Imported { answered: true, failed: true }, _) => Some(book.answered + book.failed),
        (Stated::Imported { .. }, _) => None,
    };
    let Some(all) = all else {
        let tool = result.imported.as_ref().map_or("the tool", |imported| imported.tool.as_str());
        return Headline::number(NAME, Quantity::unknown(format!("{tool} does not state it"), "%"), None);
    };
    if all == 0 {
        return Headline::number(NAME, Quantity::unknown("there was no request", "%"), None);
    }
    let lacking = all.saturating_sub(book.answered);
    let share = 100.0 * lacking as f64 / all as f64;
    let note = format!("{} of {} requests", count(lacking), count(all));
    Headline::number(NAME, Quantity::point(share, "%", Form::Level), Some(note))
}

/// Returns the reason why a number is unknown: the first clause of the finding that withholds it, or else of the first failed check. The
/// findings have the whole of it.
fn reason(result: &LoadResult, is_it: impl Fn(&str) -> bool) -> String {
    if result.book.is_empty() {
        return "no request was measured".to_owned();
    }
    let withholds = |finding: &&Finding| {
        let is_named = finding.numbers.iter().any(|number| is_it(number));
        (finding.bounds && is_named) || (finding.withholds && (is_named || finding.numbers.is_empty()))
    };
    let failed = |finding: &&Finding| finding.severity == Severity::Fail;
    let found = result.findings.iter().find(withholds);
    let found = found.or_else(|| result.findings.iter().find(failed));
    let clause = |finding: &Finding| finding.message.split("; ").next().unwrap_or_default().to_owned();
    found.map_or_else(|| "the result does not state it".to_owned(), clause)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{FailOn, Measured, sample};

    use super::super::load;
    use super::*;
    use crate::fixture;
    use crate::headline::tests::texts;

    fn finding(severity: Severity, message: &str) -> Finding {
        Finding::new("x", severity, Measured::us(1.0, 0.0), message.to_owned(), "")
    }

    #[test]
    fn a_load_has_its_rate_its_times_with_their_intervals_and_what_was_not_answered() {
        let mut result = fixture::load();
        result.book.answered = 199_000;
        assert_eq!(
            texts(&load(&result)),
            [
                "answered: 20,000 requests/s (of 20,000/s planned)",
                "p50 of the response time: 100.0 ±1.0 us",
                "p99 of the response time: 200.0 ±2.0 us",
                "not answered: 0.50 % (1,000 of 200,000 requests)",
            ]
        );
    }

    #[test]
    fn a_rate_that_the_generator_limited_is_a_bound() {
        let mut result = sample::load();
        result.findings = vec![finding(Severity::Warn, "one processor was busy").bounding(&["rates"])];
        assert_eq!(texts(&load(&result))[0], "answered: ≥ 20,000 requests/s (of 20,000/s planned)");
    }

    #[test]
    fn a_number_that_is_withheld_is_there_with_the_message_of_its_finding() {
        let mut result = sample::load();
        result.rate.achieved = None;
        result.latency.response.p99_us = None;
        result.bounds.response = hoptax_result::LatencyBounds::default();
        let about = |number: &str, message: &str| finding(Severity::Fail, message).about(&[number]);
        result.findings =
            vec![about("p99", "too few responses; p99 is not known"), about("rates", "the load swung")];
        let texts = texts(&load(&result));
        assert!(texts[0].starts_with("answered: not known: the load swung"), "{texts:?}");
        assert!(texts[1].contains('±'), "{texts:?}");
        assert_eq!(texts[2], "p99 of the response time: not known: too few responses");
    }

    #[test]
    fn conditions_come_first_and_those_that_did_not_pass_are_named() {
        let mut result = fixture::load();
        let one = |condition: &str, outcome| FailOn {
            condition: condition.to_owned(),
            outcome,
            value: None,
            at_least: None,
            at_most: None,
            unit: "us".to_owned(),
        };
        result.fail_on = vec![
            one("p99>5ms", FailOnOutcome::Failed),
            one("errors>1%", FailOnOutcome::Passed),
            one("p50>1ms", FailOnOutcome::Unknown),
        ];
        assert_eq!(
            texts(&load(&result))[0],
            "conditions passed: 1 of 3 (failed: `p99>5ms`; unknown: `p50>1ms`)"
        );
        result.fail_on.truncate(2);
        result.fail_on[0].outcome = FailOnOutcome::Passed;
        assert_eq!(texts(&load(&result))[0], "conditions passed: 2 of 2");
    }

    #[test]
    fn a_load_without_a_request_says_so() {
        let mut result = sample::load();
        result.book = hoptax_result::Book::default();
        let number = Quantity::unknown("there was no request", "%");
        assert_eq!(unanswered(&result), Headline::number("not answered", number, None));
    }
}
