//! The table of a tuning run.

use hoptax_result::TuneResult;

use super::rows::Rows;
use super::{Paint, Style};
use crate::numbers::grouped;

/// The result of tuning.
pub fn tune(result: &TuneResult, style: Style) -> String {
    let mut text = format!(
        "\n{}\n\n",
        style.paint(
            Paint::Bold,
            &format!("Highest rate at which {} responds in its fastest mode", result.url)
        )
    );
    let mut rows =
        Rows::new(&["rate/s", "answered/s", "fastest mode", "mean us", "p50 us", "p99 us", "modes"]);
    for step in &result.steps {
        let us = |us: Option<f64>| us.map_or("-".to_owned(), |us| grouped(us, 0));
        let modes: Vec<String> = step
            .modes
            .iter()
            .map(|mode| format!("{:.0} % at {}", mode.share * 100.0, grouped(mode.peak_us, 0)))
            .collect();
        let share = if result.fastest.is_some() && !step.modes.is_empty() {
            format!("{:.1} %", step.fastest_share * 100.0)
        } else {
            "-".to_owned()
        };
        let name = step.rate.map_or("maximum".to_owned(), |rate| grouped(rate, usize::from(rate < 100.0)));
        rows.add(
            &name,
            vec![
                grouped(step.answered_rate, 0),
                share,
                us(step.mean_us),
                us(step.p50_us),
                us(step.p99_us),
                modes.join(", "),
            ],
        );
    }
    text += &rows.text();
    text += &match (&result.fastest, result.rate) {
        (None, _) => {
            "\nResponse times have a single mode: there is no fastest mode to separate.\n".to_owned()
        }
        (Some(fastest), Some(rate)) => format!(
            "\nUp to {} requests/s, at least {:.0} % of the responses are in the fastest mode ({} to {} us).\n",
            grouped(rate, usize::from(rate < 100.0)),
            result.wanted_share * 100.0,
            grouped(fastest.low_us, 0),
            grouped(fastest.high_us, 0)
        ),
        (Some(_), None) => "\nNo rate tried has nearly all responses in the fastest mode.\n".to_owned(),
    };
    text
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Environment, Mode, TuneStep};

    use super::*;

    #[test]
    fn the_table_of_a_search() {
        let mode =
            |peak_us: f64, share: f64| Mode { low_us: peak_us * 0.8, peak_us, high_us: peak_us * 1.2, share };
        let step = |rate: Option<f64>, modes: Vec<Mode>| TuneStep {
            rate,
            answered_rate: rate.unwrap_or(290.0),
            fastest_share: modes[0].share,
            modes,
            mean_us: Some(21_000.0),
            p50_us: Some(15_100.0),
            p99_us: None,
        };
        let result = TuneResult {
            format: String::new(),
            url: "http://127.0.0.1:1/".to_owned(),
            connections: 16,
            wanted_share: 0.95,
            fastest: Some(mode(15_000.0, 0.3)),
            steps: vec![
                step(None, vec![mode(15_000.0, 0.3), mode(55_000.0, 0.7)]),
                step(Some(87.5), vec![mode(15_000.0, 1.0)]),
            ],
            rate: Some(87.5),
            environment: Environment::default(),
        };
        insta::assert_snapshot!(tune(&result, Style { width: 100, colour: false }));
    }
}
