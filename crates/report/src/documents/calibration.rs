//! The document of a calibration: the error of the load generator on this machine.

mod charts;

use hoptax_result::{
    CalibrationBody, CalibrationResult, Experiment, MachineSpeeds, QuantileError, RateTried, Speed, SpeedSide,
};

use crate::document::{Block, Document, Judgement, Next, Section};
use crate::environment;
use crate::numbers::{count, grouped, percent, us};
use crate::quantity::{Form, Quantity};
use crate::table::{Cell, Column, Row, Table};

/// The document of a calibration.
pub fn calibration(result: &CalibrationResult) -> Document {
    let title = "error of the load generator on this machine";
    let mut document = Document::of(result, "trust calibrate", title, answer(result));
    document.plots = charts::charts(result);
    document.table = (!result.experiments.is_empty()).then(|| errors(result));
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable(result) });
    if !result.recorder.merges_exactly {
        document.notes.push(
            "the recorder does not merge exactly: do not merge the results of several workers".to_owned(),
        );
    }
    document.next = Some(next(result));
    document.sections.extend((!result.tried.is_empty()).then(|| Section::folded(rates(result))));
    document.sections.extend(result.speeds.as_ref().map(|of| Section::of_table(speeds(of))));
    document.sections.extend(terms(result));
    document.sections.extend(result.experiments.iter().map(experiment));
    document.sections.extend(Section::of_lines("Recorder", vec![recorder(result)]));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

fn next(result: &CalibrationResult) -> Next {
    if result.is_disturbed() {
        return Next::new("hoptax trust calibrate", "calibrates again, after the other work");
    }
    Next::new("hoptax trust crosscheck", "compares this load generator with others")
}

fn usable(result: &CalibrationResult) -> String {
    if result.is_disturbed() {
        return format!(
            "other programs used {} of a processor, so the numbers include their work and are not stored: stop them, and calibrate again",
            percent(result.others_share, 0)
        );
    }
    match (result.recorder.merges_exactly, result.ceiling.is_some()) {
        (true, true) => "the load generator sends on time on this machine, up to the rate above",
        (true, false) => {
            "the load generator is late on this machine at every rate: its loads only bound response times"
        }
        (false, _) => "quantiles of several workers are wrong: use `--workers 1`, and report this bug",
    }
    .to_owned()
}

/// Returns the time that the machine adds to response times, and the highest rate.
fn answer(result: &CalibrationResult) -> Vec<String> {
    let floor = &result.floor;
    let added = format!(
        "At 1,000 requests/s, this machine adds {} us to response times at the median, {} us at p99, and at least {} us",
        us(floor.p50_us),
        us(floor.p99_us),
        us(floor.min_us)
    );
    let limit = grouped(CalibrationBody::ON_TIME_US, 0);
    let ceiling = match result.ceiling {
        Some(ceiling) => format!(
            "It sends up to {} requests/s with a send lag p99 of at most {limit} us ({} us)",
            grouped(ceiling.rate, 0),
            us(ceiling.send_lag_p99_us)
        ),
        None => format!("Its send lag p99 exceeds {limit} us at every rate tried"),
    };
    vec![added, ceiling]
}

/// The error of single requests in each experiment, and of the reported p99.
fn errors(result: &CalibrationResult) -> Table {
    let row = |experiment: &Experiment| {
        let error = experiment.error.as_ref();
        let cell = |value: Option<f64>| Cell::from(value.map(us));
        let p99 = experiment.quantiles.iter().find(|one| (one.quantile - 0.99).abs() < 1e-9);
        Row {
            summary: experiment.summary.clone(),
            ..Row::new(
                &experiment.name,
                vec![
                    cell(error.map(|error| error.min_us)),
                    cell(error.map(|error| error.p50_us)),
                    cell(error.map(|error| error.p99_us)),
                    cell(error.map(|error| error.max_us)),
                    cell(p99.map(|one| one.true_us)),
                    p99.map_or(Cell::Empty, |one| Cell::words(reported(one))),
                    Cell::words(count(experiment.requests)),
                ],
            )
        }
    };
    let columns = [
        Column::new("error min", 3),
        Column::new("error p50", 0),
        Column::new("error p99", 0),
        Column::new("error max", 4),
        Column::new("true p99", 1),
        Column::new("reported p99", 1),
        Column::new("requests", 5),
    ];
    let title = "measured minus true response time of each request, and p99 as reported, us";
    Table::new(title, "experiment", columns, result.experiments.iter().map(row)).without_empty_columns()
}

/// Send lag and floor at each rate tried.
fn rates(result: &CalibrationResult) -> Table {
    let row = |one: &RateTried| {
        let floor = result.floors.iter().find(|floor| floor.rate.total_cmp(&one.rate).is_eq());
        let cell = |value: Option<f64>| Cell::from(value.map(us));
        let cells = vec![
            Cell::words(grouped(one.sent_share * 100.0, 1)),
            cell(one.send_lag_p99_us),
            cell(floor.map(|floor| floor.p50_us)),
            cell(floor.map(|floor| floor.p99_us)),
        ];
        Row::new(grouped(one.rate, 0), cells)
    };
    let columns = [
        Column::new("sent %", 2),
        Column::new("send lag p99 us", 0),
        Column::new("response p50 us", 1),
        Column::new("p99 us", 1),
    ];
    let title = "latency floor by rate (an origin that responds immediately; a busier machine sleeps less)";
    Table::new(title, "requests/s", columns, result.tried.iter().map(row)).without_empty_columns()
}

fn speeds(speeds: &MachineSpeeds) -> Table {
    let row = |speed: &Speed| {
        let side = match speed.side {
            SpeedSide::User => "user",
            SpeedSide::Kernel => "kernel",
            SpeedSide::Delay => "delay",
        };
        let cells = vec![
            Cell::level(Some(&speed.ns), "ns"),
            Cell::level(speed.never_halted_ns.as_ref(), "ns"),
            Cell::words(side),
        ];
        Row::new(format!("{}: {}", speed.kind.name(), speed.operation), cells)
    };
    let columns = [Column::new("ns", 0), Column::new("never halted ns", 1), Column::text("side", 2)];
    let title = format!(
        "speeds of this machine: time of one operation, with its 95 % interval over {} repetitions",
        speeds.repetitions
    );
    Table::new(title, "operation", columns, speeds.speeds.iter().map(row)).without_empty_columns()
}

/// The meaning of the numbers of experiments; none without experiments.
fn terms(result: &CalibrationResult) -> Option<Section> {
    let all = [
        "reported: as a load reports it; true: of the times that the origin gave these requests",
        "analytic: of the distribution that these times were drawn from, by theory",
        "holds: the reported value is a lower bound, because requests did not finish, and the true one is not below it",
        "a quantile that is not stated lies between two values of its experiment, or has too few requests above it",
    ];
    let lines: Vec<String> =
        if result.experiments.is_empty() { Vec::new() } else { all.map(str::to_owned).into() };
    Section::of_lines("Terms of the experiments", lines)
}

/// The quantiles of an experiment.
fn experiment(experiment: &Experiment) -> Section {
    let row = |one: &QuantileError| {
        let error = match one.is_lower_bound {
            true if one.reported_us <= one.true_us => "holds".to_owned(),
            true => "does not hold".to_owned(),
            false => us(one.reported_us - one.true_us),
        };
        let cells = [Some(reported(one)), Some(us(one.true_us)), Some(error), one.analytic_us.map(us)];
        Row::new(format!("p{}", one.quantile * 100.0), cells.map(Cell::from).into())
    };
    let columns = [
        Column::new("reported us", 0),
        Column::new("true us", 0),
        Column::new("error us", 0),
        Column::new("analytic us", 1),
    ];
    let title = format!("quantiles of {}", experiment.name);
    let table = Table::new(title, "quantile", columns, experiment.quantiles.iter().map(row));
    let mut lines = Vec::new();
    lines.extend(experiment.service_p99_us.map(|us_p99| format!("service time p99: {} us", us(us_p99))));
    lines.extend(experiment.rate.map(|rate| {
        format!("rate {}/s, analytic {}/s", grouped(rate.reported, 1), grouped(rate.analytic, 1))
    }));
    if experiment.unfinished > 0 {
        let of = count(experiment.requests);
        lines.push(format!("{} of {of} requests unfinished at the end", experiment.unfinished));
    }
    let mut blocks = vec![Block::Table(table.without_empty_columns())];
    blocks.extend((!lines.is_empty()).then_some(Block::Lines(lines)));
    Section::new(format!("{}: {}", experiment.name, experiment.summary), blocks)
}

/// A reported quantile, which is a lower bound if requests did not finish.
fn reported(one: &QuantileError) -> String {
    if one.is_lower_bound {
        return Quantity::bounded(Some(one.reported_us), None, "us", Form::Level).text();
    }
    us(one.reported_us)
}

fn recorder(result: &CalibrationResult) -> String {
    let recorder = &result.recorder;
    format!(
        "{} known values: quantiles are up to {} too high and {} too low; merging halves is {}",
        count(recorder.values),
        percent(recorder.most_above_share, 3),
        percent(recorder.most_below_share, 3),
        if recorder.merges_exactly { "exact" } else { "wrong" }
    )
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        CalibrationBody, Ceiling, Environment, Floor, FloorAt, Interval, PerRequestError, RateError,
        Recorder, SpeedKind, Verdict,
    };

    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    fn speed(kind: SpeedKind, side: SpeedSide, ns: f64, never_halted_ns: Option<f64>) -> Speed {
        let interval = |ns: f64| Interval::new(ns, ns * 0.98, ns * 1.02);
        let operation = format!("one {}", kind.name());
        Speed { kind, operation, side, ns: interval(ns), never_halted_ns: never_halted_ns.map(interval) }
    }

    pub(super) fn result() -> CalibrationResult {
        let in_step = Experiment {
            name: "in-step".to_owned(),
            summary: "One server, even arrivals".to_owned(),
            requests: 3_000,
            error: Some(PerRequestError { min_us: 12.0, p50_us: 31.0, p99_us: 88.0, max_us: 1_204.0 }),
            quantiles: vec![QuantileError {
                quantile: 0.99,
                reported_us: 1_088.0,
                is_lower_bound: false,
                true_us: 1_000.0,
                analytic_us: Some(1_000.0),
            }],
            service_p99_us: Some(412.0),
            rate: Some(RateError { reported: 165.1, analytic: 165.4 }),
            unfinished: 0,
        };
        let mut late =
            Experiment { name: "overload".to_owned(), unfinished: 500, error: None, ..in_step.clone() };
        late.quantiles[0].is_lower_bound = true;
        let body = CalibrationBody {
            never_halted: false,
            others_share: 0.01,
            recorder: Recorder {
                values: 1_000_000,
                most_above_share: 0.000_95,
                most_below_share: 0.0,
                merges_exactly: true,
            },
            floor: Floor { min_us: 21.0, p50_us: 33.4, p99_us: 71.0 },
            experiments: vec![in_step, late],
            floors: vec![FloorAt { rate: 1_000.0, connections: 64, p50_us: 33.4, p99_us: 71.0 }],
            ceiling: Some(Ceiling { rate: 80_000.0, send_lag_p99_us: 24.1 }),
            tried: vec![
                RateTried { rate: 1_000.0, sent_share: 1.0, send_lag_p99_us: Some(41.0) },
                RateTried { rate: 120_000.0, sent_share: 0.82, send_lag_p99_us: Some(4_100.0) },
            ],
            speeds: Some(MachineSpeeds {
                speeds: vec![
                    speed(SpeedKind::Clock, SpeedSide::User, 23.456, None),
                    speed(SpeedKind::WakeDelay, SpeedSide::Delay, 41_234.0, Some(5_678.0)),
                ],
                repetitions: 10,
                bursts: 7,
                length_s: 11.0,
            }),
        };
        CalibrationResult::new(Environment::default(), body)
    }

    #[test]
    fn a_calibration_states_floor_ceiling_and_errors() {
        insta::assert_snapshot!(terminal::screen(&calibration(&result()), STYLE));
        insta::assert_snapshot!(terminal::details(&calibration(&result()), STYLE));
    }

    #[test]
    fn a_ceiling_that_was_not_found_and_a_recorder_that_is_wrong_are_said() {
        let mut result = result();
        result.ceiling = None;
        result.recorder.merges_exactly = false;
        let text = terminal::screen(&calibration(&result), STYLE);
        assert!(text.contains("exceeds 50 us at every rate tried"), "{text}");
        assert!(text.contains("does not merge exactly"), "{text}");
        result.others_share = 0.92;
        let text = terminal::screen(&calibration(&result), STYLE);
        assert!(text.contains("other programs used 92 %") && text.contains("are not\n  stored"), "{text}");
    }

    #[test]
    fn a_calibration_without_a_ceiling_or_with_a_recorder_that_is_wrong_is_no_sound_one() {
        let verdict = |change: fn(&mut CalibrationBody)| {
            let mut body = result().body;
            change(&mut body);
            CalibrationResult::new(Environment::default(), body).verdict
        };
        assert_eq!(verdict(|_| ()), Verdict::Sound);
        assert_eq!(verdict(|body| body.ceiling = None), Verdict::Caution);
        assert_eq!(verdict(|body| body.others_share = 0.11), Verdict::Caution);
        assert_eq!(verdict(|body| body.recorder.merges_exactly = false), Verdict::Caution);
    }

    #[test]
    fn many_experiments_fit_on_a_screen() {
        let mut result = result();
        let one = result.experiments[0].clone();
        result
            .experiments
            .extend((0..90).map(|number| Experiment { name: format!("experiment-{number}"), ..one.clone() }));
        let text = terminal::screen(&calibration(&result), STYLE);
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
