//! The precision of a study's costs, and a forecast of it for more rounds.

use std::str::FromStr;

use hoptax_result::{ArmKind, ArmResult, CostMeasure, Interval, SequentialPlan, StudyResult};
use hoptax_stats::{
    LOOK_CONFIDENCE, half_width_after, precise_enough, rounds_needed, scaled_half_width, standard_error,
};
use serde::{Deserialize, Serialize};

/// A forecast of more rounds aims at intervals that are a quarter narrower, the smallest gain that is worth the time.
const NARROWER: f64 = 0.75;

/// A target precision for costs in CPU time. The default sets no target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// Half-width of an interval, as a share of the CPU time of the arm that an arm is compared with: 0.01 for 1 %.
    pub target_share: f64,
    /// Half-width that is also narrow enough, as a share of the cost itself: 0.2 for 20 %; 0 for none. The variation of a large cost is
    /// proportional to it, and it is clear that the cost exceeds a small limit long before its half-width is as small as the limit.
    #[serde(default)]
    pub of_cost_share: f64,
}

impl From<&SequentialPlan> for Precision {
    fn from(plan: &SequentialPlan) -> Self {
        Self { target_share: plan.target_share, of_cost_share: plan.of_cost_share }
    }
}

impl FromStr for Precision {
    type Err = String;

    /// Reads `1%`, or `1% or 20% of cost`.
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((target, of_cost)) = text.split_once("or") else {
            return Ok(Self { target_share: percent(text)?, of_cost_share: 0.0 });
        };
        let of_cost = of_cost.trim().strip_suffix("cost").and_then(|rest| rest.trim().strip_suffix("of"));
        let of_cost = of_cost.ok_or_else(|| "write it as `1% or 20% of cost`".to_owned())?;
        Ok(Self { target_share: percent(target)?, of_cost_share: percent(of_cost)? })
    }
}

/// A percentage above 0 and up to 100, as a share.
///
/// # Errors
/// When the text is not such a percentage.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').ok_or_else(|| format!("write it as `{}%`", text.trim()))?;
    match number.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err("it must be above 0% and at most 100%".to_owned()),
    }
}

/// A share as a percentage that [`percent`] reads: `7%`.
pub fn percent_text(share: f64) -> String {
    // A share that is not a binary fraction has many more digits as a percentage than the user wrote.
    format!("{}%", (1e8 * share).round() / 1e6)
}

/// The expected precision of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Total number of rounds.
    pub rounds: u32,
    /// The half-width of nearly all costs in CPU time after these rounds, as a share of the CPU time of the arm that
    /// each is compared with.
    pub half_width_share: f64,
}

/// The half-widths of all costs in CPU time, each as a share of the CPU time of the arm that its arm is compared with: 0.01 for 1 %. One
/// for each arm that has such a cost; infinite if it could not be computed. If a study compares arms with anything but a plain proxy, only
/// these costs count, because the study is about them. The cost of an A/A arm is known to be zero, so it counts only if there is no other
/// cost. If several arms equal an arm that is not a plain proxy, they are subjects, so all of them count.
///
/// They are widths of the costs in us beside the level: a rule by widths needs no interval of the quotient, and was simulated for these.
/// The costs as shares have intervals of their own.
///
/// Half-widths of costs that are large enough for [`Precision::of_cost_share`] are scaled down to `target_share`. Otherwise the
/// estimates of the costs are not used, so a study that stops by these half-widths favours neither small nor large costs.
pub fn half_widths(result: &StudyResult, precision: &Precision) -> Vec<f64> {
    let with_other = result.arms.iter().filter_map(|arm| Some((arm, result.reference_of(arm)?)));
    let with_other: Vec<(&ArmResult, &ArmResult)> =
        with_other.filter(|(arm, other)| !arm.hops.is_empty() && !other.hops.is_empty()).collect();
    let is_asked = |(_, other): &(&ArmResult, &ArmResult)| other.kind != ArmKind::Baseline;
    let equals = |id: &str| {
        let equal = with_other.iter().filter(|(arm, other)| arm.kind == ArmKind::Same && other.id == id);
        equal.count()
    };
    // A plain proxy may have any number of A/A arms.
    let is_known = |(arm, other): &(&ArmResult, &ArmResult)| {
        arm.kind == ArmKind::Same && (other.kind == ArmKind::Baseline || equals(&other.id) == 1)
    };
    let asks = with_other.iter().any(|pair| is_asked(pair) && !is_known(pair));
    let has_others = with_other.iter().any(|pair| !is_known(pair));
    with_other
        .iter()
        .filter(|pair| (!asks || is_asked(pair)) && (!has_others || !is_known(pair)))
        .map(|(arm, other)| {
            let level = result.level_of_reference(arm, other, CostMeasure::CpuUs);
            let share = arm.cost.cpu_us_per_request.zip(level);
            let share = share.map(|(cost, level)| {
                let half_width = of_own_rounds(result, arm, &cost).unwrap_or(f64::INFINITY) / level.estimate;
                let cost = cost.estimate / level.estimate;
                scaled_half_width(half_width, cost, precision.target_share, precision.of_cost_share)
            });
            share.filter(|share| *share >= 0.0).unwrap_or(f64::INFINITY)
        })
        .collect()
}

/// The half-width of the cost of an arm in CPU time with the degrees of freedom of its own rounds: forecasts are for Student's interval,
/// and a study that stops by its half-widths has no moderated intervals.
fn of_own_rounds(result: &StudyResult, arm: &ArmResult, cost: &Interval) -> Option<f64> {
    let Some(degrees_of_freedom) = cost.degrees_of_freedom else { return Some(cost.half_width()) };
    let rounds = result.replicates(arm.contrast(), CostMeasure::CpuUs, None);
    let basis = Basis { degrees_of_freedom, rounds };
    half_width_of_rounds(cost, basis, result.plan.quantile_confidence())
}

/// The replicates and degrees of freedom of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis {
    /// Its degrees of freedom, which determine the ratio of half-width to standard error.
    pub(crate) degrees_of_freedom: f64,
    /// The number of rounds or sittings behind it. Their own degrees of freedom may be fewer.
    pub(crate) rounds: u32,
}

/// The half-width that an interval would have with the degrees of freedom of its rounds alone.
pub(crate) fn half_width_of_rounds(interval: &Interval, basis: Basis, confidence: f64) -> Option<f64> {
    half_width_with(interval, basis, confidence, confidence)
}

/// The smallest half-width that satisfies [`precise_enough`] for `half_widths`.
///
/// **Degenerate cases.** `None` without half-widths, and where too many are infinite.
pub fn of_nearly_all(half_widths: &[f64]) -> Option<f64> {
    let mut sorted = half_widths.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.into_iter().find(|target| precise_enough(half_widths, *target)).filter(|target| target.is_finite())
}

/// Forecasts the half-width of nearly all costs in CPU time after `rounds` rounds, from those of `result`.
///
/// **Method.** [`half_width_after`] of the half-width that nearly all costs have now. With two rounds it is only an order of magnitude: in
/// four studies on one slow virtual machine, the forecast from two random rounds was 0.4 to 2.6 times the half-width after all 16 rounds
/// (in one of them 10), from the tenth to the ninetieth percentile; from eight rounds it was 0.5 to 1.4 times. Pooling the spread of all
/// arms was worse in each study, since arms differ in their spread.
///
/// **Degenerate cases.** `None` where there is no such half-width, and with fewer than two rounds, measured or
/// requested.
pub fn forecast(result: &StudyResult, rounds: u32) -> Option<Forecast> {
    let now = of_nearly_all(&half_widths(result, &Precision::default()))?;
    let (measured, confidence) = (result.plan.rounds_completed, result.plan.quantile_confidence());
    let then = half_width_after(now * at_looks(measured, confidence)?, measured, rounds)?;
    Some(Forecast { rounds, half_width_share: then / at_looks(rounds, confidence)? })
}

/// Forecasts how many rounds would make the intervals a quarter narrower than `planned` rounds do.
///
/// **Degenerate cases.** As for [`forecast`]; also `None` where that number of rounds is out of reach.
pub fn forecast_of_more(result: &StudyResult, planned: u32) -> Option<Forecast> {
    let expected = forecast(result, planned)?;
    let confidence = result.plan.quantile_confidence();
    let at_look = expected.half_width_share * at_looks(planned, confidence)?;
    forecast(result, rounds_needed(at_look, planned, at_look * NARROWER)?)
}

/// The ratio between the widths of an interval over `rounds` rounds at the confidence of looks and at `confidence`.
fn at_looks(rounds: u32, confidence: f64) -> Option<f64> {
    let one = Interval::new(0.0, -1.0, 1.0);
    let basis = Basis { degrees_of_freedom: f64::from(rounds) - 1.0, rounds };
    half_width_at_looks(&one, basis, confidence)
}

/// The half-width that an interval of `confidence` would have at the confidence of looks and with the degrees of freedom of its rounds
/// alone. Forecasts of numbers of rounds start from it.
pub(crate) fn half_width_at_looks(interval: &Interval, basis: Basis, confidence: f64) -> Option<f64> {
    half_width_with(interval, basis, confidence, LOOK_CONFIDENCE)
}

/// The half-width of an interval of `confidence`, as it would be with the degrees of freedom of its rounds alone and the confidence
/// `wanted`.
fn half_width_with(interval: &Interval, basis: Basis, confidence: f64, wanted: f64) -> Option<f64> {
    let one = Interval::new(0.0, -1.0, 1.0);
    let own = f64::from(basis.rounds) - 1.0;
    Some(standard_error(interval, basis.degrees_of_freedom, confidence)? / standard_error(&one, own, wanted)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_all_is_the_widest_of_few_and_the_last_but_one_of_twenty() {
        assert_eq!(of_nearly_all(&[0.03, 0.01, 0.02]), Some(0.03));
        let mut twenty = vec![0.01; 19];
        twenty.push(f64::INFINITY);
        assert_eq!(of_nearly_all(&twenty), Some(0.01));
        twenty[0] = f64::INFINITY;
        assert_eq!(of_nearly_all(&twenty), None);
        assert_eq!(of_nearly_all(&[]), None);
    }

    #[test]
    fn intervals_at_looks_are_wider() {
        // R: qt(0.98, 9) / qt(0.975, 9) = 2.398441 / 2.262157.
        assert!((at_looks(10, 0.95).unwrap() - 2.398_441 / 2.262_157).abs() < 1e-6);
        assert!((at_looks(10, LOOK_CONFIDENCE).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(at_looks(1, 0.95), None);
    }

    #[test]
    fn a_precision_is_read_as_a_share_of_the_baseline_and_of_the_cost() {
        assert_eq!((percent("1%"), percent(" 0.5 % ")), (Ok(0.01), Ok(0.005)));
        for text in ["7%", "0.5%", "2.25%", "100%"] {
            assert_eq!(percent(text).map(percent_text).as_deref(), Ok(text));
        }
        assert!(percent("1").unwrap_err().contains("`1%`"));
        assert!(percent("0%").is_err() && percent("101%").is_err() && percent("nan%").is_err());
        let of = |target_share, of_cost_share| Ok(Precision { target_share, of_cost_share });
        let read = |text: &str| text.parse::<Precision>();
        assert_eq!([read("1%"), read("1% or 20 % of cost")], [of(0.01, 0.0), of(0.01, 0.2)]);
        for wrong in ["1", "1% or 20%", "1% or of cost", "or 20% of cost", "1% or 20 of cost"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
