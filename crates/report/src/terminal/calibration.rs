//! The table of a calibration.

use hoptax_result::{CalibrationResult, Experiment};

use super::rows::Rows;
use super::{Paint, Style};
use crate::numbers::grouped;

/// What a calibration found.
pub fn calibration(result: &CalibrationResult, style: Style) -> String {
    let floor = &result.floor;
    let mut text = format!(
        "\n{}\n\nfloor    {} us at least, p50 {} us, p99 {} us: what every latency on this machine contains\n",
        style.paint(Paint::Bold, "How wrong is the load generator on this machine?"),
        us(floor.min_us),
        us(floor.p50_us),
        us(floor.p99_us)
    );
    text += &match result.ceiling {
        Some(ceiling) => format!(
            "ceiling  {} requests/s: the largest rate tried with a p99 of send lag within 50 us ({} us)\n",
            grouped(ceiling.rate, 0),
            us(ceiling.send_lag_p99_us)
        ),
        None => "ceiling  below 5,000 requests/s: even there the p99 of send lag exceeds 50 us\n".to_owned(),
    };
    let recorder = &result.recorder;
    text += &format!(
        "recorder {} known values: quantiles at most {:.3} % above and {:.3} % below; halves merge {}\n",
        grouped(recorder.values as f64, 0),
        recorder.most_above_share * 100.0,
        recorder.most_below_share * 100.0,
        if recorder.merges_exactly { "exactly" } else { "WRONGLY" }
    );
    text += "\nerror of single requests, us: response time measured, less what it should have been\n\n";
    text += &errors(result);
    for experiment in &result.experiments {
        text += &format!("\n{}: {}\n\n{}", experiment.name, experiment.summary, quantiles(experiment));
        if let Some(us_p99) = experiment.service_p99_us {
            text += &format!("p99 of service time alone: {} us\n", us(us_p99));
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

fn errors(result: &CalibrationResult) -> String {
    let mut rows = Rows::new(&["experiment", "requests", "least", "p50", "p99", "most"]);
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
    use hoptax_result::{Ceiling, Environment, Floor, PerRequestError, QuantileError, RateError, Recorder};

    use super::*;

    #[test]
    fn the_table_of_a_calibration() {
        let result = CalibrationResult {
            format: String::new(),
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
            ceiling: Some(Ceiling { rate: 80_000.0, send_lag_p99_us: 24.1 }),
            environment: Environment::default(),
        };
        insta::assert_snapshot!(calibration(&result, Style { width: 100, colour: false }));
        let none = CalibrationResult { ceiling: None, ..result };
        assert!(calibration(&none, Style { width: 100, colour: false }).contains("below 5,000"));
    }
}
