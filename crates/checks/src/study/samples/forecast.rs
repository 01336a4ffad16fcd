//! Forecasts the rounds after which the p99 of a study has an interval, for the advice of findings about it.

use hoptax_result::{ArmLoad, ArmResult, Interval, Loop, Measure, StudyResult, count, counted};
use hoptax_stats::rounds_needed;

use crate::thresholds::{self, Limits};

/// Number of responses that p99 needs.
pub(super) fn responses_needed(limits: &Limits) -> f64 {
    (limits.value(&thresholds::SAMPLES_ABOVE) / 0.01).round()
}

/// Number of all responses in quiet slices.
pub(super) fn quiet_responses(load: &ArmLoad) -> f64 {
    (load.responses as f64 * load.quiet_share.unwrap_or(0.0)).round()
}

/// Effective number of responses in quiet slices, which decides if they are enough for an interval; in results of earlier versions, that of
/// all of them.
pub(super) fn quiet_effective(load: &ArmLoad) -> f64 {
    load.quiet_effective_responses.map_or_else(|| quiet_responses(load), |effective| effective as f64)
}

/// A kind of p99, for a forecast of the rounds that it needs.
pub(super) struct Tail {
    measure: Measure,
    /// Responses that count for the interval.
    responses: fn(&ArmLoad) -> f64,
    /// True if an arm has such slices under a load.
    is_of: fn(&ArmLoad) -> bool,
    level: fn(&ArmLoad) -> Option<Interval>,
    cost_half_width_us: fn(&ArmLoad) -> Option<f64>,
}

/// Tail of all slices, and tail of quiet ones.
pub(super) const TAILS: [Tail; 2] = [
    Tail {
        measure: Measure::ResponseP99,
        responses: |load| load.responses as f64,
        is_of: |_| true,
        level: |load| load.response_us.p99,
        cost_half_width_us: |load| load.cost_p99_half_width_us,
    },
    Tail {
        measure: Measure::ResponseQuietP99,
        responses: quiet_effective,
        is_of: |load| load.quiet_share.is_some(),
        level: |load| load.response_us.quiet_p99,
        cost_half_width_us: |load| load.cost_quiet_p99_half_width_us,
    },
];

/// Returns the advice that makes p99 costs printable, with the number of rounds if it can be forecast.
pub(super) fn rounds_advice(result: &StudyResult, tail: &Tail, limits: &Limits) -> String {
    let name = tail.measure.as_str();
    let open = result.plan.loads.iter().filter(|load| load.loop_ == Loop::Open);
    let fewest = open
        .filter_map(|load| Some((rounds_for(result, tail, &load.name, limits)?, load.name.as_str())))
        .min_by_key(|(rounds, _)| *rounds);
    match fewest {
        Some((rounds, load)) if !is_feasible(result, rounds) => format!(
            "no number of rounds that fits into a day yields {name}: about {} are needed for nine arms in ten under `{load}`, the load that \
             needs the fewest; read p50, or measure at a higher rate or in longer blocks",
            count(rounds.into())
        ),
        Some((rounds, load)) => format!(
            "{name} needs about {} (`--rounds {rounds}`) for nine arms in ten under `{load}`, the load that needs the fewest; more or \
             longer blocks of a load reduce that number",
            counted(rounds.into(), "round")
        ),
        None => "add rounds, or more or longer blocks of this load".to_owned(),
    }
}

/// Largest number of rounds of a study.
const MOST_ROUNDS: u32 = 1_000;
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// Returns true if a study may have this number of rounds, and a day is long enough for them.
fn is_feasible(result: &StudyResult, rounds: u32) -> bool {
    let began = result.rounds.iter().flat_map(|round| &round.samples).flat_map(|sample| &sample.began_s);
    let last_s = began.fold(0.0, |last: f64, began_s| last.max(*began_s));
    let round_s = last_s / f64::from(result.plan.rounds_completed.max(1));
    rounds <= MOST_ROUNDS && f64::from(rounds) * round_s <= DAY_S
}

/// Share of the arms whose costs in p99 a forecast is about.
const NEARLY_ALL: f64 = 0.9;

/// The number of rounds after which costs in p99 of nine arms in ten have enough responses and intervals that are not
/// vague. It is an order of magnitude: widths vary, and with few responses the jackknife does not know them well. None if
/// it cannot be forecast for so many arms.
fn rounds_for(result: &StudyResult, tail: &Tail, load: &str, limits: &Limits) -> Option<u32> {
    let measured = result.plan.rounds_completed;
    let under = |arm: &'_ ArmResult| arm.under(load).cloned();
    let of_arm = |arm: &ArmResult| -> Option<u32> {
        let own = under(arm)?;
        let other = result.reference_of(arm)?;
        let others = under(other)?;
        let fewest = (tail.responses)(&own).min((tail.responses)(&others)).max(1.0);
        let by_responses = (responses_needed(limits) * f64::from(measured) / fewest).ceil() as u32;
        // A lower quantile is a lower limit of p99, so the forecast errs towards more rounds.
        let level_of = |load: &ArmLoad| {
            let level = (tail.level)(load).or(load.response_us.p90).or(load.response_us.p50);
            level.map(|level| level.estimate)
        };
        // As the width of the cost is judged.
        let level = level_of(&others)?;
        let level = level_of(&own).map_or(level, |own| own.min(level));
        let target = limits.value(&thresholds::INTERVAL_FAIL_SHARE) * level;
        let by_width = rounds_needed((tail.cost_half_width_us)(&own)?, measured, target)?;
        Some(by_responses.max(by_width))
    };
    let compared: Vec<&ArmResult> = result
        .arms
        .iter()
        .filter(|arm| arm.compared_with.is_some() && under(arm).is_some_and(|load| (tail.is_of)(&load)))
        .collect();
    let mut rounds: Vec<u32> = compared.iter().filter_map(|arm| of_arm(arm)).collect();
    rounds.sort_unstable();
    let wanted = (NEARLY_ALL * compared.len() as f64).ceil() as usize;
    rounds.get(wanted.checked_sub(1)?).copied()
}
