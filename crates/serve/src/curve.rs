//! The trials of a search so far: the value that each objective limits, by rate.

use hoptax_result::FindTrial;
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of objectives of a job that have a curve, the first ones: as many as a page draws.
const MAX_CURVES: usize = 4;
/// Maximum number of trials of a job to keep, the latest ones. All of them are part of each event.
const MAX_TRIALS: usize = 150;

/// The trials of a search by one objective.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Curve {
    /// The objective, as it was given: `p99<5ms`.
    pub(crate) objective: String,
    /// Unit of its values and of its limit: `us`, `%`, `requests` or `bytes`.
    pub(crate) unit: String,
    /// The limit of its values; null if not known.
    pub(crate) limit: Option<f64>,
    /// The latest trials, in the order in which they ended.
    pub(crate) trials: Vec<CurveTrial>,
}

/// A trial by one objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CurveTrial {
    /// Planned requests per second.
    pub(crate) rate: f64,
    /// The value that the objective limits; null if it had too few responses.
    pub(crate) value: Option<f64>,
    /// True if the objective held.
    pub(crate) holds: bool,
    /// False if it says nothing about the server, because the generator could not keep up.
    pub(crate) counts: bool,
}

/// Adds a completed trial to the curves of its search.
pub(crate) fn add(curves: &mut Vec<Curve>, trial: &FindTrial) {
    for tried in trial.objectives.iter().take(MAX_CURVES) {
        let place = curves.iter().position(|curve| curve.objective == tried.objective);
        let place = place.unwrap_or_else(|| {
            let (objective, unit) = (tried.objective.clone(), tried.unit.clone());
            curves.push(Curve { objective, unit, limit: tried.limit, trials: Vec::new() });
            curves.len() - 1
        });
        if let Some(curve) = curves.get_mut(place) {
            if curve.trials.len() == MAX_TRIALS {
                curve.trials.remove(0);
            }
            curve.trials.push(CurveTrial {
                rate: trial.rate,
                value: tried.value,
                holds: tried.holds,
                counts: trial.generator_limits.is_empty(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::TriedObjective;

    use super::*;

    fn trial(rate: f64, objectives: &[(&str, Option<f64>, bool)]) -> FindTrial {
        let tried = |(objective, value, holds): &(&str, Option<f64>, bool)| TriedObjective {
            objective: (*objective).to_owned(),
            holds: *holds,
            value: *value,
            unit: "us".to_owned(),
            limit: Some(5_000.0),
            loss_ratio: 0.0,
        };
        FindTrial {
            rate,
            warmup_s: 1.0,
            duration_s: 1.0,
            took_s: 2.0,
            planned: 100,
            answered: 100,
            answered_rate: rate,
            objectives: objectives.iter().map(tried).collect(),
            generator_limits: Vec::new(),
            account: None,
        }
    }

    #[test]
    fn each_objective_has_the_trials_with_their_values() {
        let mut curves = Vec::new();
        add(&mut curves, &trial(1_000.0, &[("p99<5ms", Some(900.0), true), ("p50<1ms", None, true)]));
        let mut spoilt = trial(4_000.0, &[("p99<5ms", Some(9_000.0), false)]);
        spoilt.generator_limits = vec!["send-lag: x".to_owned()];
        add(&mut curves, &spoilt);
        let [p99, p50] = curves.as_slice() else { panic!("{curves:?}") };
        assert_eq!((p99.objective.as_str(), p99.unit.as_str(), p99.limit), ("p99<5ms", "us", Some(5_000.0)));
        let expected = [
            CurveTrial { rate: 1_000.0, value: Some(900.0), holds: true, counts: true },
            CurveTrial { rate: 4_000.0, value: Some(9_000.0), holds: false, counts: false },
        ];
        assert_eq!(p99.trials, expected);
        assert_eq!((p50.trials.len(), p50.trials[0].value), (1, None));
    }

    #[test]
    fn of_very_many_trials_the_latest_are_kept() {
        let mut curves = Vec::new();
        for rate in 1..=MAX_TRIALS + 5 {
            add(&mut curves, &trial(rate as f64, &[("p99<5ms", None, true)]));
        }
        let [curve] = curves.as_slice() else { panic!("{curves:?}") };
        let rates: Vec<f64> = curve.trials.iter().map(|trial| trial.rate).collect();
        assert_eq!((rates.len(), rates.first(), rates.last()), (MAX_TRIALS, Some(&6.0), Some(&155.0)));
    }

    #[test]
    fn of_many_objectives_the_first_have_curves() {
        let objectives = ["p50<1ms", "p90<2ms", "p95<3ms", "p99<4ms", "p99.9<5ms"];
        let mut curves = Vec::new();
        add(&mut curves, &trial(10.0, &objectives.map(|objective| (objective, Some(1.0), true))));
        let found: Vec<&str> = curves.iter().map(|curve| curve.objective.as_str()).collect();
        assert_eq!(found, objectives[..MAX_CURVES]);
    }
}
