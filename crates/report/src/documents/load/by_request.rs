//! The requests of each name: their counts and response times, and the slowest of them.

mod folds;

use hoptax_result::{Latency, LoadResult, Loop, LowerBounds, NamedRequests, TimeOf};

use super::charts::withheld_by;
use super::intervals::{FEWEST_BATCHES, OF_CLOSED_LOOP, OF_EXPECTED_LENGTH, OF_STAGES};
use super::{interval, stated};
use crate::document::{Block, Section};
use crate::numbers::count;
use crate::quantity::{Form, Quantity};
use crate::table::{Cell, Column, Row, Table, short_name};

/// The percentiles of a row, each with the priority of its column.
const PERCENTILES: [(f64, u8); 4] = [(50.0, 0), (90.0, 4), (99.0, 1), (99.9, 5)];
/// The percentiles that determine the slowest request. The first one that is conclusive is used.
const OF_SLOWEST: [f64; 2] = [99.0, 50.0];

/// A row for each name, with a fold that has the details; none for a load with a single name.
pub(super) fn section(result: &LoadResult) -> Option<Section> {
    let rows = &result.by_request;
    let notes = others(result).into_iter().chain(missing(result));
    let mut section = Section::of_table(table(rows));
    section.blocks.splice(..0, notes.map(Block::Note));
    section.blocks.extend(folds::folds(result));
    (!rows.is_empty()).then_some(section)
}

/// Explains which requests are counted as others.
fn others(result: &LoadResult) -> Option<String> {
    let (name, most) = (NamedRequests::OTHERS, NamedRequests::MOST);
    // Requests that one run counts among its others cannot be separated.
    let of_runs =
        result.merged.as_ref().map_or("", |_| " A name that one run counts in them is in them for all runs.");
    has_others(result).then(|| {
        format!(
            "`{name}` are the requests of all names without a row. The {most} most frequent names have a row; of equally frequent names, \
             the first ones.{of_runs}"
        )
    })
}

/// Explains why no row has times or intervals; none if some have.
fn missing(result: &LoadResult) -> Option<String> {
    let rows = &result.by_request;
    let has_times = |row: &NamedRequests| PERCENTILES.iter().any(|(of, _)| quantity(row, *of).is_some());
    let of_load = PERCENTILES.iter().any(|(of, _)| super::quantity(result, *of, true).is_some());
    let without_intervals = without_intervals(result);
    if rows.iter().all(|row| row.response.count == 0) {
        None
    } else if rows.iter().any(has_times) {
        without_intervals.map(|why| format!("No time of a row has an interval: {why}."))
    } else if of_load {
        let why = without_intervals.unwrap_or("the requests of each name are too few");
        Some(format!("No row has times: {why}."))
    } else {
        Some(format!("Response times are withheld{}.", withheld_by(result)))
    }
}

/// Explains why no row has intervals, which are computed from complete twentieths of the record. None if there are enough of these.
fn without_intervals(result: &LoadResult) -> Option<&'static str> {
    let histograms = result.histograms.as_ref()?;
    let complete = histograms.by_request.values().map(|row| row.batches.len()).max()?;
    (complete < FEWEST_BATCHES).then_some(if result.merged.is_some() {
        "intervals need ten complete twentieths of the planned time, and the merged runs have fewer in common"
    } else if !result.stages.is_empty() {
        OF_STAGES
    } else if result.window_s.is_some() {
        OF_EXPECTED_LENGTH
    } else if result.plan.request_limit.is_some() && result.plan.loop_ == Loop::Closed {
        OF_CLOSED_LOOP
    } else {
        "the load ended in the first half of its planned time, and intervals need ten of its twentieths"
    })
}

fn has_others(result: &LoadResult) -> bool {
    result.by_request.iter().any(|row| row.name == NamedRequests::OTHERS)
}

fn table(rows: &[NamedRequests]) -> Table {
    let percentiles = PERCENTILES.map(|(of, priority)| Column::new(format!("p{of}"), priority));
    let counts = [Column::new("sent", 6), Column::new("answered", 3)];
    let title = "response times by request, us";
    let columns = counts.into_iter().chain(percentiles).chain([Column::text("not answered", 2)]);
    Table::new(title, "request", columns, rows.iter().map(row))
}

fn row(of: &NamedRequests) -> Row {
    let counts = [of.book.sent, of.book.answered].map(|sum| Cell::words(count(sum)));
    let cells = counts.into_iter().chain(percentile_cells(of)).chain([not_answered(of)]).collect();
    Row::new(of.name.clone(), cells)
}

/// The percentiles of a row.
fn percentile_cells(of: &NamedRequests) -> [Cell; PERCENTILES.len()] {
    let has_none = of.response.count == 0;
    let unknown = || if has_none { Cell::Empty } else { Cell::Quantity(Quantity::unknown("withheld", "us")) };
    PERCENTILES.map(|(percentile, _)| quantity(of, percentile).map_or_else(unknown, Cell::Quantity))
}

/// The outcomes of the requests without an answer.
fn not_answered(of: &NamedRequests) -> Cell {
    let text = |number: u64, what: &str| format!("{} {what}", count(number));
    let failures = of.failures.iter().map(|(kind, count)| text(*count, kind));
    let open = [(of.book.timed_out, "timed out"), (of.book.unfinished, "unfinished")];
    let open = open.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| text(count, what));
    let unsent = of.unsent.iter().map(|(reason, count)| text(*count, &format!("unsent ({reason})")));
    let parts: Vec<String> = failures.chain(open).chain(unsent).collect();
    if parts.is_empty() { Cell::Empty } else { Cell::words(parts.join(", ")) }
}

/// A quantile of the response time, with its interval or its bounds; none if nothing is known about it.
fn quantity(of: &NamedRequests, percentile: f64) -> Option<Quantity> {
    let known = of.response.known(&of.bounds, TimeOf::Percentile(percentile));
    stated(known, interval(&of.intervals, percentile))
}

/// Like [`quantity`], but only with 95 % confidence: an interval, or bounds from ranks.
fn with_confidence(of: &NamedRequests, percentile: f64) -> Option<Quantity> {
    let response = Latency { at_least: LowerBounds::default(), ..of.response };
    let known = response.known(&of.bounds, TimeOf::Percentile(percentile));
    stated(known, interval(&of.intervals, percentile))
}

/// The request that is certainly the slowest: every value that its quantile may have is above every value that those of the others may
/// have.
pub(super) fn slowest(result: &LoadResult) -> Option<String> {
    OF_SLOWEST.into_iter().find_map(|percentile| slowest_at(result, percentile))
}

fn slowest_at(result: &LoadResult, percentile: f64) -> Option<String> {
    let planned = result.by_request.iter().filter(|row| row.book.planned > 0);
    // No request is certainly the slowest if another has no upper bound.
    let all: Vec<(&str, Quantity)> = planned
        .map(|row| Some((row.name.as_str(), with_confidence(row, percentile)?)))
        .collect::<Option<_>>()?;
    let mut by_low: Vec<(f64, &str, &Quantity)> =
        all.iter().map(|(name, of)| (of.low.unwrap_or_default(), *name, of)).collect();
    by_low.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    let ((low_us, name, slowest), others) = by_low.split_first()?;
    let others: Vec<f64> = others.iter().map(|(_, _, of)| of.high).collect::<Option<_>>()?;
    let most_us = others.into_iter().reduce(f64::max)?;
    let is_decisive = *low_us > most_us && *name != NamedRequests::OTHERS;
    let most = Quantity::bounded(None, Some(most_us), "us", Form::Level).with_unit();
    let of_others = if has_others(result) { "those of all other rows" } else { "those of all others" };
    is_decisive.then(|| {
        // A method name may contain backticks.
        let name = short_name(name).replace('`', "'");
        let time = slowest.with_unit();
        format!("slowest request (95 % intervals): `{name}`, p{percentile} {time}; {of_others} are {most}")
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        Book, Finding, Latency, LatencyBounds, Measured, Merged, QuantileIntervals, Range, RequestHistograms,
        Severity, TimeBounds, sample,
    };

    use super::super::load;
    use super::*;
    use crate::Style;
    use crate::fixture::{self, STYLE};
    use crate::render::terminal;

    /// Requests with this median, whose intervals reach 1 % to each side.
    fn requests(name: &str, p50_us: f64) -> NamedRequests {
        let range = |us: Option<f64>| us.map(|us| Range { low: us - us / 100.0, high: us + us / 100.0 });
        let response = sample::latency(p50_us);
        NamedRequests {
            name: name.to_owned(),
            book: Book { planned: 1_000, sent: 1_000, answered: 1_000, ..Book::default() },
            response,
            intervals: QuantileIntervals {
                p50_us: range(response.p50_us),
                p90_us: range(response.p90_us),
                p99_us: range(response.p99_us),
                p99_9_us: range(response.p99_9_us),
            },
            ..NamedRequests::default()
        }
    }

    fn result(rows: Vec<NamedRequests>) -> LoadResult {
        let mut result = fixture::load();
        result.by_request = rows;
        result
    }

    /// The lines of the section in the details, with single spaces.
    fn lines(result: &LoadResult) -> Vec<String> {
        let text = terminal::details(&load(result), Style { width: 400, colour: false });
        let section = text.lines().skip_while(|line| !line.starts_with("Response times by request"));
        let section = section.take_while(|line| !line.starts_with("All times"));
        let words = section.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        words.filter(|line| !line.is_empty()).collect()
    }

    #[test]
    fn each_request_has_a_row_with_its_counts_and_its_times_or_their_bounds() {
        let mut slow = requests("POST /slow", 10_000.0);
        slow.book = Book {
            planned: 1_000,
            sent: 990,
            unsent: 10,
            answered: 940,
            failed: 48,
            timed_out: 1,
            unfinished: 1,
            ..Book::default()
        };
        slow.failures = [("reset".to_owned(), 8), ("status-5xx".to_owned(), 40)].into();
        slow.unsent = [("busy".to_owned(), 10)].into();
        (slow.response.p99_us, slow.response.p99_9_us) = (None, None);
        slow.bounds.p99_us = Some(TimeBounds::at_least(19_800.0));
        assert_eq!(
            lines(&result(vec![requests("GET /{counter}", 100.0), slow])),
            [
                "Response times by request, us",
                "request sent answered p50 p90 p99 p99.9 not answered",
                "GET /{counter} 1,000 1,000 100.0 ±1.0 150.0 ±1.5 200.0 ±2.0 300.0 ±3.0 -",
                "POST /slow 990 940 10,000 ±100 15,000 ±150 ≥ 19,800 - 8 reset, 40 status-5xx, 1 timed out, 1 unfinished, 10 unsent (busy)",
            ]
        );
    }

    #[test]
    fn a_lower_bound_that_is_printed_as_zero_is_none() {
        let of = |low_us: f64, high_us: Option<f64>| {
            let mut row = requests("GET /a", 100.0);
            row.response.p50_us = None;
            row.bounds.p50_us = Some(TimeBounds { low_us: Some(low_us), high_us });
            quantity(&row, 50.0).map(|of| of.text())
        };
        assert_eq!((of(0.0, None), of(0.001, None)), (None, None));
        assert_eq!(of(0.4, Some(221.0)).unwrap(), "≤ 221");
        assert!(of(1.0, Some(221.0)).unwrap().starts_with("1 to 221"));
        assert!(of(0.02, None).unwrap().starts_with("≥ 0.02"));
    }

    #[test]
    fn a_load_of_one_request_has_no_rows() {
        assert!(section(&result(Vec::new())).is_none() && slowest(&result(Vec::new())).is_none());
    }

    #[test]
    fn a_void_load_has_the_counts_of_each_request_and_says_why_its_times_are_withheld() {
        let withheld = |name: &str| {
            let row = requests(name, 100.0);
            let response = Latency { count: row.response.count, ..Latency::default() };
            NamedRequests { response, intervals: QuantileIntervals::default(), ..row }
        };
        let mut result = result(vec![withheld("GET /a"), withheld("GET /b")]);
        result.latency.response = Latency { count: 2_000, ..Latency::default() };
        (result.body.bounds, result.body.percentiles) = Default::default();
        let message = "a request is missing".to_owned();
        let finding =
            Finding::new("book", Severity::Fail, Measured::count(1.0, 0.0, "requests"), message, "");
        result.findings = vec![finding.about(&[])];
        assert_eq!(
            lines(&result),
            [
                "Response times by request, us",
                "Response times are withheld by `book`: the findings say why, and what to do.",
                "request sent answered p50 p90 p99 p99.9 not answered",
                "GET /a 1,000 1,000 - - - - -",
                "GET /b 1,000 1,000 - - - - -",
            ]
        );
        assert_eq!(slowest(&result), None);
    }

    #[test]
    fn rows_without_intervals_say_why() {
        let of = |batches: usize, change: fn(&mut LoadResult)| {
            let rows = ["GET /a", "GET /b"].map(|name| requests(name, 100.0));
            let mut result = result(rows.to_vec());
            let of_name = RequestHistograms { batches: vec![None; batches], ..RequestHistograms::default() };
            let histograms = result.histograms.get_or_insert_default();
            histograms.by_request = rows.map(|row| (row.name, of_name.clone())).into();
            change(&mut result);
            missing(&result)
        };
        assert_eq!(of(10, |_| ()), None);
        let early = of(9, |result| result.body.stages.clear()).unwrap();
        assert!(
            early.starts_with("No time of a row has an interval: the load ended in the first half"),
            "{early}"
        );
        let counted = of(9, |result| {
            result.body.stages.clear();
            (result.plan.loop_, result.plan.request_limit) = (Loop::Closed, Some(1_000));
        });
        assert!(counted.as_ref().is_some_and(|why| why.contains("its warm-up did not show")), "{counted:?}");
        let slow = of(0, |result| {
            result.body.stages.clear();
            (result.plan.request_limit, result.window_s) = (Some(1_000), Some(0.2));
        });
        assert!(slow.as_ref().is_some_and(|why| why.contains("took longer or much shorter")), "{slow:?}");
        let merged = of(0, |result| result.merged = Some(Merged::default())).unwrap();
        assert!(merged.contains("and the merged runs have fewer in common"), "{merged}");
        let of_stages = of(0, |_| ()).unwrap();
        assert!(of_stages.ends_with("the load has stages, which differ by design."), "{of_stages}");
    }

    #[test]
    fn a_check_that_bounds_the_load_is_not_why_its_rows_have_nothing() {
        let row = |name: &str| {
            let response = Latency { count: 1_000, ..Latency::default() };
            let intervals = QuantileIntervals::default();
            NamedRequests { response, intervals, ..requests(name, 100.0) }
        };
        let mut result = result(vec![row("GET /a"), row("GET /b")]);
        let finding =
            Finding::new("steady-state", Severity::Fail, Measured::us(9.0, 1.0), "change".to_owned(), "");
        result.findings = vec![finding.bounding(&["times"])];
        assert_eq!(missing(&result).unwrap(), "No row has times: the requests of each name are too few.");
        let of_name = RequestHistograms { batches: vec![None; 5], ..RequestHistograms::default() };
        result.body.stages.clear();
        let histograms = result.histograms.get_or_insert_default();
        histograms.by_request = [("GET /a".to_owned(), of_name)].into();
        assert!(missing(&result).unwrap().starts_with("No row has times: the load ended in the first half"));
    }

    #[test]
    fn the_slowest_request_is_named_if_its_interval_is_above_all_others() {
        let of = |p50_us: f64| slowest(&result(vec![requests("GET /a", 100.0), requests("GET /b", p50_us)]));
        assert_eq!(
            of(1_000.0).unwrap(),
            "slowest request (95 % intervals): `GET /b`, p99 2,000 ±20 us; those of all others are ≤ 202 us"
        );
        assert_eq!(of(101.0), None, "the intervals meet");
        let line = of(1_000.0).unwrap();
        let first = load(&result(vec![requests("GET /a", 100.0), requests("GET /b", 1_000.0)]));
        let screen = terminal::screen(&first, STYLE);
        assert!(
            screen.contains(&line) && screen.contains("\ntimes of each request: --details\n"),
            "{screen}"
        );
        let one = terminal::screen(&load(&result(Vec::new())), STYLE);
        assert!(!one.contains("times of each request"), "{one}");
    }

    #[test]
    fn the_median_tells_where_p99_does_not_and_nothing_does_without_an_interval() {
        let with = |change: fn(&mut NamedRequests)| {
            let mut fast = requests("GET /a", 100.0);
            change(&mut fast);
            slowest(&result(vec![fast, requests("GET /b", 1_000.0)]))
        };
        let expected =
            "slowest request (95 % intervals): `GET /b`, p50 1,000 ±10 us; those of all others are ≤ 101 us";
        let without_p99 = with(|fast| {
            (fast.response.p99_us, fast.intervals.p99_us) = (None, None);
            fast.bounds =
                LatencyBounds { p99_us: Some(TimeBounds::at_least(90.0)), ..LatencyBounds::default() };
        });
        assert_eq!(without_p99.unwrap(), expected);
        assert_eq!(with(|fast| fast.intervals = QuantileIntervals::default()), None);
        let unknown = with(|fast| {
            fast.response = Latency::default();
            fast.intervals = QuantileIntervals::default();
        });
        assert_eq!(unknown, None, "those that were not answered may be slower");
    }

    #[test]
    fn the_line_of_the_slowest_request_has_its_name_as_short_as_the_table() {
        let long = format!("GE`T /{}end-of-name", "a".repeat(5_000));
        let line = slowest(&result(vec![requests("GET /a", 100.0), requests(&long, 1_000.0)])).unwrap();
        let quoted: Vec<&str> = line.split('`').collect();
        let [_, name, _] = quoted[..] else { panic!("{line}") };
        assert!(name.starts_with("GE'T /aaa") && name.ends_with("...aend-of-name"), "{name}");
        assert!(line.len() < 160, "{line}");
    }

    #[test]
    fn a_bound_without_confidence_makes_no_request_the_slowest() {
        let hung = |has_ranks: bool| {
            let at_least = LowerBounds { p50_us: Some(104_136.0), ..LowerBounds::default() };
            let mut hung = requests("GET /hung", 100.0);
            hung.response = Latency { count: 1, at_least, ..Latency::default() };
            hung.intervals = QuantileIntervals::default();
            hung.bounds.p50_us = has_ranks.then(|| TimeBounds::at_least(104_136.0));
            slowest(&result(vec![requests("GET /a", 100.0), hung]))
        };
        assert_eq!(hung(false), None);
        assert!(
            hung(true)
                .unwrap()
                .starts_with("slowest request (95 % intervals): `GET /hung`, p50 ≥ 104,136 us")
        );
    }

    #[test]
    fn others_are_explained_and_never_the_slowest() {
        let rows = |others_us: f64| {
            result(vec![
                requests("GET /a", 100.0),
                requests("GET /b", 1_000.0),
                requests("others", others_us),
            ])
        };
        assert_eq!(slowest(&rows(5_000.0)), None);
        assert!(slowest(&rows(10.0)).unwrap().ends_with("those of all other rows are ≤ 202 us"));
        let explained = &lines(&rows(10.0))[1];
        assert_eq!(
            explained,
            "`others` are the requests of all names without a row. The 50 most frequent names have a row; of equally frequent names, \
             the first ones."
        );
    }
}
