//! The charts of a calibration: the rates that the machine can send on time, and the errors of its response times where the truth is known.

use hoptax_result::{CalibrationBody, CalibrationResult, Experiment, FloorAt};

use super::us;
use crate::chart::{
    Axis, Chart, IntervalRow, Intervals, Level, Line, Mark, Point, Scale, Series, Tone, drawn,
};
use crate::document::Section;
use crate::numbers::grouped;
use crate::quantity::Quantity;

/// The sections of the charts; those without numbers are left out.
pub(super) fn charts(result: &CalibrationResult) -> Vec<Section> {
    let is_marked = result.ceiling.is_some();
    let ceiling = if is_marked { " Dashed, vertical: the highest rate that is sent on time." } else { "" };
    let note = format!(
        "Send lag: how much later than planned a request is sent. Response times are those of an origin that responds at once: what the \
         machine adds to every time. Each rate is a short trial of its own, so its times are not exactly those of the answer.{ceiling}"
    );
    let rates = Section::of_charts("Times by rate", &note, by_rate(result).map(Chart::Series));
    let note = "Measured minus true response time of single requests. Point: the median. Line: from the smallest error to p99. Arrow: \
                p99 is beyond the axis.";
    let errors = Intervals::new(
        "error of each response time",
        "measured minus true response time, us",
        result.experiments.iter().filter_map(error).collect(),
    );
    let errors = Section::of_charts("Errors where the truth is known", note, errors.map(Chart::Intervals));
    rates.into_iter().chain(errors).collect()
}

/// Send lag and response times at the tried rates; none with fewer than two rates.
fn by_rate(result: &CalibrationResult) -> Option<Series> {
    let mut tried = result.tried.clone();
    tried.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    let mut floors = result.floors.clone();
    floors.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    let lag = tried.iter().map(|one| Point::at(one.rate, one.send_lag_p99_us)).collect();
    let response = |of: fn(&FloorAt) -> f64| {
        floors.iter().map(|floor| Point::at(floor.rate, Some(of(floor)))).collect::<Vec<Point>>()
    };
    let lines = [
        Line::joined("response p50", Tone::Other, response(|floor| floor.p50_us)),
        Line::joined("response p99", Tone::Own, response(|floor| floor.p99_us)),
        Line::joined("send lag p99", Tone::Third, lag),
    ];
    let lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    let x = Axis::linear("rate, requests/s", "requests/s").on(Scale::Logarithmic);
    let y = Axis::linear("time, us", "us").on(Scale::Logarithmic);
    let limit = CalibrationBody::ON_TIME_US;
    let levels =
        vec![Level { y: limit, text: format!("on time: send lag p99 of at most {} us", grouped(limit, 0)) }];
    let ceiling = result.ceiling.map(|ceiling| Mark {
        x: drawn(ceiling.rate),
        text: format!("{} requests/s is the highest rate sent on time", grouped(ceiling.rate, 0)),
    });
    let marks = ceiling.into_iter().collect();
    (tried.len() > 1).then(|| Series { marks, levels, ..Series::new("times by rate", x, y, lines) })
}

/// The errors of an experiment; none if the experiment did not wait for its responses.
fn error(experiment: &Experiment) -> Option<IntervalRow> {
    let error = experiment.error.as_ref()?;
    let number = Quantity::estimated(error.p50_us, Some(error.min_us), Some(error.p99_us), "us");
    let note = format!("{}; largest error {} us", experiment.summary, us(error.max_us));
    Some(IntervalRow::measured(&experiment.name, number).with_note(note))
}

#[cfg(test)]
mod tests {
    use super::super::tests::result;
    use super::*;
    use crate::document::Block;

    #[test]
    fn a_calibration_draws_its_rates_with_the_limit_and_the_errors_of_its_experiments() {
        let note = |result: &CalibrationResult| match &charts(result)[0].blocks[0] {
            Block::Note(note) => note.clone(),
            other => panic!("no note: {other:?}"),
        };
        let mut result = result();
        let chart = by_rate(&result).unwrap();
        let lines: Vec<(&str, usize)> =
            chart.lines.iter().map(|line| (line.name.as_str(), line.points.len())).collect();
        assert_eq!(lines, [("response p50", 1), ("response p99", 1), ("send lag p99", 2)]);
        assert_eq!((chart.levels[0].y, chart.marks[0].x), (CalibrationBody::ON_TIME_US, 80_000.0));
        assert_eq!(charts(&result).len(), 2);
        // An experiment without an error has no row.
        result.experiments.remove(0);
        assert_eq!(charts(&result).len(), 1);
        assert!(note(&result).contains("Dashed, vertical"));
        (result.ceiling, result.experiments) = (None, Vec::new());
        assert!(!note(&result).contains("Dashed, vertical"), "no such line is drawn");
        assert!(by_rate(&result).unwrap().marks.is_empty());
        result.tried.truncate(1);
        assert!(charts(&result).is_empty());
    }
}
