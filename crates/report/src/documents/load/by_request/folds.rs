//! The details behind the row of each request: its response times over the record and in total, and its responses per second.

use hoptax_result::{LoadResult, NamedRequests, RequestHistograms, TimeOf};

use super::super::cells::cell;
use super::super::counts::Counts;
use super::super::course::{Part, parts_of, percentiles, time};
use super::super::phases::batch_s;
use super::{PERCENTILES, not_answered, percentile_cells, quantity};
use crate::chart::{Axis, Chart, Distribution, Distributions, Fold, Folds, Line, Point, Series, Tone};
use crate::document::Block;
use crate::histograms::{binned, recorded};
use crate::numbers::count;
use crate::table::{Cell, Column, Row, Table};

/// The percentiles in the summary of a fold.
const IN_WORDS: [f64; 2] = [50.0, 99.0];

/// The requests of one name, and their times.
struct Named<'a> {
    row: &'a NamedRequests,
    times: Counts,
    parts: Vec<Part>,
}

/// A fold for each answered request; none if there are none.
pub(super) fn folds(result: &LoadResult) -> Option<Block> {
    let histograms = result.histograms.as_ref()?;
    let rows = result.by_request.iter();
    let all: Vec<Named<'_>> =
        rows.filter_map(|row| named(result, row, histograms.by_request.get(&row.name)?)).collect();
    let ends = ends(&all);
    let folds: Vec<Fold> = all.iter().map(|one| fold(result, one, ends)).collect();
    let note = "Each request on its own. Times are as recorded, including delays that the generator may have caused. A percentile is drawn \
                where ten responses or more are above it. A response counts at the time its request was due.";
    (!folds.is_empty()).then(|| Block::chart(Chart::Folds(Folds { note: note.to_owned(), folds })))
}

fn named<'a>(
    result: &LoadResult,
    row: &'a NamedRequests,
    histograms: &RequestHistograms,
) -> Option<Named<'a>> {
    let times = recorded(histograms.response.as_ref());
    let parts = parts_of(&histograms.batches, batch_s(result));
    (!times.is_empty()).then_some(Named { row, times, parts })
}

/// The limits of an axis on which all distributions can be compared, us.
fn ends(all: &[Named<'_>]) -> (f64, f64) {
    let bins = || all.iter().flat_map(|one| binned(&one.times));
    let from = bins().map(|bin| bin.from).reduce(f64::min).unwrap_or_default();
    (from, bins().map(|bin| bin.to).fold(from, f64::max))
}

fn fold(result: &LoadResult, of: &Named<'_>, ends: (f64, f64)) -> Fold {
    let over_time = percentiles(result, &of.parts).map(Chart::Series);
    let rates = rates(result, &of.parts).map(Chart::Series);
    let all = Chart::Distributions(distribution(of, ends));
    Fold {
        name: of.row.name.clone(),
        words: words(of.row),
        table: table(of.row),
        charts: over_time.into_iter().chain(rates).chain([all]).collect(),
    }
}

/// Its number of responses, its median and its tail, and the outcomes of its other requests.
fn words(row: &NamedRequests) -> String {
    let answered = format!("{} answered", count(row.book.answered));
    let times = IN_WORDS
        .into_iter()
        .filter_map(|percentile| Some(format!("p{percentile} {}", quantity(row, percentile)?.with_unit())));
    let others = match not_answered(row) {
        Cell::Text(others) => Some(format!("without an answer: {others}")),
        Cell::Empty | Cell::Quantity(_) => None,
    };
    let all: Vec<String> = std::iter::once(answered).chain(times).chain(others).collect();
    all.join(", ")
}

/// All numbers of its response time, in one row.
fn table(of: &NamedRequests) -> Table {
    let statistic = |what: TimeOf| Cell::from(cell(of.response.known(&of.bounds, what), of.response.count));
    let first = [("min", TimeOf::Min), ("mean", TimeOf::Mean)];
    let names = PERCENTILES.map(|(percentile, _)| format!("p{percentile}"));
    let headings = first.iter().map(|(name, _)| (*name).to_owned()).chain(names).chain(["max".to_owned()]);
    let columns = headings
        .enumerate()
        .map(|(place, heading)| Column::new(heading, u8::try_from(place).unwrap_or(u8::MAX)));
    let cells = first.into_iter().map(|(_, what)| statistic(what));
    let cells = cells.chain(percentile_cells(of)).chain([statistic(TimeOf::Max)]).collect();
    Table::new(format!("{}: response time, us", of.name), "us", columns, [Row::new("response time", cells)])
}

/// Responses per second over the recorded time; none for a load with stages.
fn rates(result: &LoadResult, parts: &[Part]) -> Option<Series> {
    let point = |part: &Part| {
        let responses: u64 = part.times.iter().map(|time| time.count).sum();
        let rate = responses as f64 / (part.to_s - part.from_s);
        Point::at(f64::midpoint(part.from_s, part.to_s), rate.is_finite().then_some(rate))
    };
    let points: Vec<Point> = parts.iter().map(point).collect();
    let lines = vec![Line::joined("answered", Tone::Own, points)];
    let y = Axis::linear("responses per second", "responses/s");
    (!parts.is_empty()).then(|| Series::new("responses per second", time(result), y, lines))
}

fn distribution(of: &Named<'_>, (from, to): (f64, f64)) -> Distributions {
    let answered = of.times.iter().map(|time| time.count).sum();
    let words = format!("{} answered requests", count(answered));
    let item =
        Distribution { name: "response time".to_owned(), words, tone: Tone::Own, bins: binned(&of.times) };
    let (title, axis) = (format!("response times of {}", of.row.name), "time, us".to_owned());
    Distributions { title, axis, from, to, items: vec![item] }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Book, LoadHistograms, sample};

    use super::*;
    use crate::fixture::{self, times};

    /// A load of ten seconds with two requests, the first of which has times in two of its twentieths.
    fn result() -> LoadResult {
        let mut result = fixture::load();
        let row = |name: &str, answered: u64| NamedRequests {
            name: name.to_owned(),
            book: Book { planned: 220, sent: 220, answered, ..Book::default() },
            response: sample::latency(100.0),
            ..NamedRequests::default()
        };
        result.by_request = vec![row("GET /a", 220), row("GET /b", 0)];
        result.by_request[1].failures = [("reset".to_owned(), 220)].into();
        let of_a = RequestHistograms {
            response: times(100, 220),
            batches: vec![times(100, 200), times(100, 20), None],
            ..RequestHistograms::default()
        };
        let by_request = [("GET /a".to_owned(), of_a), ("GET /b".to_owned(), RequestHistograms::default())];
        result.histograms =
            Some(LoadHistograms { by_request: by_request.into(), ..LoadHistograms::default() });
        result
    }

    fn folds_of(result: &LoadResult) -> Vec<Fold> {
        let Some(Block::Chart(chart)) = folds(result) else { return Vec::new() };
        let Chart::Folds(all) = chart.as_ref() else { panic!("{chart:?}") };
        all.folds.clone()
    }

    #[test]
    fn a_request_has_its_numbers_its_times_over_time_and_its_responses_per_second() {
        let result = result();
        let all = folds_of(&result);
        let [fold] = all.as_slice() else { panic!("nobody answered the other: {all:?}") };
        assert_eq!(fold.name, "GET /a");
        assert!(fold.words.starts_with("220 answered, p50 100"), "{}", fold.words);
        assert_eq!(fold.table.headings(), ["us", "min", "mean", "p50", "p90", "p99", "p99.9", "max"]);
        let [Chart::Series(times), Chart::Series(rates), Chart::Distributions(all)] = &fold.charts[..] else {
            panic!("{:?}", fold.charts)
        };
        let values =
            |line: &Line| line.points.iter().map(|point| point.y.map(f64::round)).collect::<Vec<_>>();
        let lines: Vec<_> = times.lines.iter().map(|line| (line.name.as_str(), values(line))).collect();
        assert_eq!(
            lines,
            [("p50", vec![Some(100.0), Some(100.0), None]), ("p90", vec![Some(100.0), None, None])],
            "ten responses are above each"
        );
        assert_eq!(
            values(&rates.lines[0]),
            [Some(400.0), Some(40.0), Some(0.0)],
            "twentieths of ten seconds"
        );
        assert_eq!(rates.x.label, times.x.label);
        assert_eq!(all.items[0].bins.iter().map(|bin| bin.count).sum::<u64>(), 220);
    }

    #[test]
    fn what_became_of_the_others_is_said_before_a_request_is_opened() {
        let mut result = result();
        result.by_request[0].failures = [("reset".to_owned(), 8)].into();
        let words = folds_of(&result).remove(0).words;
        assert!(words.ends_with(", without an answer: 8 reset"), "{words}");
    }

    #[test]
    fn distributions_of_all_requests_have_one_axis() {
        let mut result = result();
        result.by_request[1].book.answered = 5;
        let slow = RequestHistograms { response: times(90_000, 5), ..RequestHistograms::default() };
        let histograms = result.histograms.get_or_insert_default();
        histograms.by_request.insert("GET /b".to_owned(), slow);
        let ends: Vec<(f64, f64)> = folds_of(&result)
            .iter()
            .filter_map(|fold| match fold.charts.last() {
                Some(Chart::Distributions(all)) => Some((all.from, all.to)),
                _ => None,
            })
            .collect();
        let [one, other] = ends.as_slice() else { panic!("{ends:?}") };
        assert_eq!(one, other);
        assert!(one.0 <= 100.0 && one.1 >= 90_000.0, "{one:?}");
    }

    #[test]
    fn a_load_of_one_request_or_without_histograms_has_no_folds() {
        let mut one = result();
        one.by_request.clear();
        assert!(folds(&one).is_none());
        let mut void = result();
        void.histograms = None;
        assert!(folds(&void).is_none());
    }
}
