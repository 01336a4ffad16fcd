//! The table of a calibration.

use hoptax_result::{CalibrationResult, Experiment, Interval, MachineSpeeds, SpeedSide};

use super::rows::Rows;
use super::{Paint, Style};
use crate::numbers::grouped;

/// The result of a calibration.
pub fn calibration(result: &CalibrationResult, style: Style) -> String {
    let floor = &result.floor;
    let mut text = format!(
        "\n{}\n\nfloor    min {} us, p50 {} us, p99 {} us at 1,000 requests/s: part of every response time at that rate\n",
        style.paint(Paint::Bold, "Error of the load generator on this machine"),
        us(floor.min_us),
        us(floor.p50_us),
        us(floor.p99_us)
    );
    text += &match result.ceiling {
        Some(ceiling) => format!(
            "ceiling  {} requests/s: the highest rate tried with a send lag p99 of at most 50 us ({} us)\n",
            grouped(ceiling.rate, 0),
            us(ceiling.send_lag_p99_us)
        ),
        None => "ceiling  not found: send lag p99 exceeds 50 us at every rate tried\n".to_owned(),
    };
    let recorder = &result.recorder;
    text += &format!(
        "recorder {} known values: quantiles are up to {:.3} % too high and {:.3} % too low; merging halves is {}\n",
        grouped(recorder.values as f64, 0),
        recorder.most_above_share * 100.0,
        recorder.most_below_share * 100.0,
        if recorder.merges_exactly { "exact" } else { "WRONG" }
    );
    text += &rates(result);
    text += &result.speeds.as_ref().map_or_else(String::new, speeds);
    text += "\nerror of single requests, us: measured minus true response time\n\n";
    text += &errors(result);
    for experiment in &result.experiments {
        text += &format!("\n{}: {}\n\n{}", experiment.name, experiment.summary, quantiles(experiment));
        if let Some(us_p99) = experiment.service_p99_us {
            text += &format!("service time p99: {} us\n", us(us_p99));
        }
        if let Some(rate) = experiment.rate {
            let (reported, analytic) = (grouped(rate.reported, 1), grouped(rate.analytic, 1));
            text += &format!("rate {reported}/s, analytic {analytic}/s\n");
        }
        if experiment.unfinished > 0 {
            let of = grouped(experiment.requests as f64, 0);
            text += &format!("{} of {of} requests unfinished at the end\n", experiment.unfinished);
        }
    }
    text
}

/// Send lag and floor at each rate tried.
fn rates(result: &CalibrationResult) -> String {
    if result.tried.is_empty() {
        return String::new();
    }
    let mut rows = Rows::new(&["requests/s", "sent %", "send lag p99 us", "response p50 us", "p99 us"]);
    for one in &result.tried {
        let floor = result.floors.iter().find(|floor| floor.rate.total_cmp(&one.rate).is_eq());
        let cell = |value: Option<f64>| value.map_or("-".to_owned(), us);
        let cells = vec![
            format!("{:.1}", one.sent_share * 100.0),
            cell(one.send_lag_p99_us),
            cell(floor.map(|floor| floor.p50_us)),
            cell(floor.map(|floor| floor.p99_us)),
        ];
        rows.add(&grouped(one.rate, 0), cells);
    }
    format!(
        "\nlatency floor by rate (an origin that responds immediately; a busier machine sleeps less)\n\n{}",
        rows.text()
    )
}

fn speeds(speeds: &MachineSpeeds) -> String {
    let mut rows = Rows::new(&["speed", "side", "ns", "+- %", "never halted ns"]);
    let width = |interval: &Interval| {
        format!(
            "{:.1}",
            (interval.high - interval.low) / 2.0 / interval.estimate.max(f64::MIN_POSITIVE) * 100.0
        )
    };
    for speed in &speeds.speeds {
        let side = match speed.side {
            SpeedSide::User => "user",
            SpeedSide::Kernel => "kernel",
            SpeedSide::Delay => "delay",
        };
        let cells = vec![
            side.to_owned(),
            ns(speed.ns.estimate),
            width(&speed.ns),
            speed.never_halted_ns.map_or(String::new(), |ns_awake| ns(ns_awake.estimate)),
        ];
        rows.add(&format!("{}: {}", speed.kind.name(), speed.operation), cells);
    }
    format!(
        "\nspeeds of this machine: time of one operation, with the half-width of its 95 % interval over {} repetitions\n\n{}",
        speeds.repetitions,
        rows.text()
    )
}

fn ns(ns: f64) -> String {
    grouped(ns, if ns < 10.0 { 2 } else { usize::from(ns < 1000.0) })
}

fn errors(result: &CalibrationResult) -> String {
    let mut rows = Rows::new(&["experiment", "requests", "min", "p50", "p99", "max"]);
    for experiment in &result.experiments {
        let Some(error) = &experiment.error else { continue };
        let requests = grouped(experiment.requests as f64, 0);
        let errors = [error.min_us, error.p50_us, error.p99_us, error.max_us].map(us);
        rows.add(&experiment.name, std::iter::once(requests).chain(errors).collect());
    }
    rows.text()
}

fn quantiles(experiment: &Experiment) -> String {
    let mut rows = Rows::new(&["", "reported us", "true us", "error us", "analytic us"]);
    for one in &experiment.quantiles {
        let cells = vec![
            if one.is_lower_bound { format!(">= {}", us(one.reported_us)) } else { us(one.reported_us) },
            us(one.true_us),
            if one.is_lower_bound {
                if one.reported_us <= one.true_us { "holds" } else { "does not hold" }.to_owned()
            } else {
                us(one.reported_us - one.true_us)
            },
            one.analytic_us.map_or("-".to_owned(), us),
        ];
        rows.add(&format!("p{}", one.quantile * 100.0), cells);
    }
    rows.text()
}

fn us(us: f64) -> String {
    grouped(us, usize::from(us.abs() < 1000.0))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        Ceiling, Environment, Floor, FloorAt, PerRequestError, QuantileError, RateError, RateTried, Recorder,
        Speed, SpeedKind,
    };

    use super::*;

    fn speed(kind: SpeedKind, side: SpeedSide, ns: f64, never_halted_ns: Option<f64>) -> Speed {
        let interval = |ns: f64| Interval { estimate: ns, low: ns * 0.98, high: ns * 1.02 };
        let operation = format!("one {}", kind.name());
        Speed { kind, operation, side, ns: interval(ns), never_halted_ns: never_halted_ns.map(interval) }
    }

    #[test]
    fn the_table_of_a_calibration() {
        let result = CalibrationResult {
            format: String::new(),
            never_halted: false,
            recorder: Recorder {
                values: 1_000_000,
                most_above_share: 0.000_95,
                most_below_share: 0.0,
                merges_exactly: true,
            },
            floor: Floor { min_us: 21.0, p50_us: 33.4, p99_us: 71.0 },
            experiments: vec![Experiment {
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
                unfinished: 500,
            }],
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
            environment: Environment::default(),
        };
        insta::assert_snapshot!(calibration(&result, Style { width: 100, colour: false }));
        let none = CalibrationResult { ceiling: None, ..result };
        assert!(calibration(&none, Style { width: 100, colour: false }).contains("ceiling  not found"));
    }
}
