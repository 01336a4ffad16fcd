//! Searches the highest rate at which nearly all responses stay in the fastest mode of the response time histogram.
//!
//! Under full load, many services respond in two modes: a fast one while they are uncrowded, and a slow one beyond that. The
//! number of responses per second in the fast mode is a rate that the service can sustain without leaving it; the search
//! begins there. It doubles the rate while nearly all responses stay fast, and then narrows the limit down.

use hoptax_result::{LoadResult, Mode, TuneStep};

/// Share of responses that counts as nearly all.
pub(super) const WANTED_SHARE: f64 = 0.95;
/// Factor by which the rate rises between steps, and falls if the first rate is too high.
const STEP: f64 = 2.0;
/// Maximum number of runs after the first.
const MOST_STEPS: usize = 14;
/// Ratio of the lowest slow rate to the highest fast rate at which the search ends.
const CLOSE: f64 = 1.2;
/// Maximum ratio of the peaks of two modes that count as different.
const FASTER: f64 = 0.7;
/// Share of the maximum rate at which to look for a faster mode if there is only one.
const PROBE: f64 = 0.1;

/// Result of the search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tuned {
    /// The fastest mode of the first run; None when there is only one.
    pub(super) fastest: Option<Mode>,
    /// The runs.
    pub(super) steps: Vec<TuneStep>,
    /// Highest tried rate at which nearly all responses were in that mode.
    pub(super) rate: Option<f64>,
}

/// Runs the search. `measure` runs a load at a rate, or as fast as possible.
///
/// # Errors
/// When `measure` fails.
pub(super) fn tune<E>(mut measure: impl FnMut(Option<f64>) -> Result<LoadResult, E>) -> Result<Tuned, E> {
    let first = measure(None)?;
    let answered = answered_rate(&first);
    let mut steps = Vec::new();
    let (fastest, mut rate) = match first.modes.as_slice() {
        [fastest, _, ..] => {
            steps.push(step(&first, None, Some(*fastest)));
            (Some(*fastest), (answered * fastest.share).max(1.0))
        }
        only => {
            // Under full load, the service may never be fast: look at a low rate.
            let rate = (answered * PROBE).max(1.0);
            let alone = measure(Some(rate))?;
            let slow = only.first().copied();
            let faster = alone.modes.first().copied();
            let faster = faster.zip(slow).filter(|(fast, slow)| fast.peak_us < FASTER * slow.peak_us);
            // Responses nearer to the slow mode do not belong to the fast one.
            let faster = faster.map(|(fast, slow)| Mode {
                high_us: fast.high_us.min((fast.peak_us * slow.peak_us).sqrt()),
                ..fast
            });
            steps.push(step(&first, None, faster));
            steps.push(step(&alone, Some(rate), faster));
            (faster, rate * STEP)
        }
    };
    let Some(fastest) = fastest else { return Ok(Tuned { fastest: None, steps, rate: None }) };
    let is_fast = |step: &TuneStep| step.rate.is_some() && step.fastest_share >= WANTED_SHARE;
    let mut best = steps.iter().filter(|step| is_fast(step)).filter_map(|step| step.rate).next_back();
    let mut slowest_slow = f64::INFINITY;
    while steps.len() <= MOST_STEPS && best.is_none_or(|best| slowest_slow / best > CLOSE) {
        let taken = step(&measure(Some(rate))?, Some(rate), Some(fastest));
        if is_fast(&taken) {
            best = Some(best.map_or(rate, |best| best.max(rate)));
        } else {
            slowest_slow = slowest_slow.min(rate);
        }
        steps.push(taken);
        rate = match best {
            None => rate / STEP,
            Some(best) if slowest_slow.is_infinite() => best * STEP,
            Some(best) => (best * slowest_slow).sqrt(),
        };
    }
    Ok(Tuned { fastest: Some(fastest), steps, rate: best })
}

fn answered_rate(result: &LoadResult) -> f64 {
    result.book.answered as f64 / result.plan.duration_s.max(f64::MIN_POSITIVE)
}

fn step(result: &LoadResult, rate: Option<f64>, fastest: Option<Mode>) -> TuneStep {
    let is_fast = |mode: &&Mode| fastest.is_none_or(|fastest| mode.peak_us <= fastest.high_us);
    let response = &result.latency.response;
    TuneStep {
        rate,
        answered_rate: answered_rate(result),
        fastest_share: result.modes.iter().filter(is_fast).fold(0.0, |sum, mode| sum + mode.share),
        modes: result.modes.clone(),
        mean_us: response.mean_us,
        p50_us: response.p50_us,
        p99_us: response.p99_us,
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;

    use super::*;

    fn mode(peak_us: f64, share: f64) -> Mode {
        Mode { low_us: peak_us * 0.8, peak_us, high_us: peak_us * 1.3, share }
    }

    /// A service that is fast up to `limit` requests per second, and slow for requests beyond.
    fn service(limit: f64) -> impl FnMut(Option<f64>) -> Result<LoadResult, ()> {
        move |rate| {
            let mut result = sample::load();
            result.plan.duration_s = 10.0;
            let rate = rate.unwrap_or(300.0);
            let fast = if rate <= limit { 1.0 } else { (limit / rate / 2.0).min(1.0) };
            result.book.answered = (rate * 10.0) as u64;
            result.modes = vec![mode(15_000.0, fast)];
            if fast < 1.0 {
                result.modes.push(mode(55_000.0, 1.0 - fast));
            }
            Ok(result)
        }
    }

    #[test]
    fn the_search_begins_at_the_fast_responses_per_second_and_closes_in_on_the_limit() {
        let tuned = tune(service(100.0)).unwrap();
        // A sixth of 300/s was fast: 50/s, then 100/s, then a rate that is too high.
        let rates: Vec<f64> = tuned.steps.iter().filter_map(|step| step.rate).collect();
        assert!((rates[0] - 50.0).abs() < 0.5 && (rates[1] - 100.0).abs() < 1.0, "{rates:?}");
        let rate = tuned.rate.unwrap();
        assert!((83.0..=100.5).contains(&rate), "{rate}");
        assert!(tuned.steps[0].fastest_share < 0.2 && tuned.steps[1].fastest_share > 0.99);
    }

    #[test]
    fn one_mode_at_every_rate_leaves_nothing_to_tune() {
        let tuned = tune(service(1_000.0)).unwrap();
        assert_eq!((tuned.fastest, tuned.steps.len(), tuned.rate), (None, 2, None));
    }

    #[test]
    fn a_fast_mode_that_only_shows_at_a_low_rate_is_found() {
        let mut service = service(100.0);
        let tuned = tune(|rate| {
            let mut result = service(rate)?;
            if rate.is_none() {
                result.modes = vec![mode(55_000.0, 1.0)];
            }
            Ok::<_, ()>(result)
        })
        .unwrap();
        assert!(tuned.fastest.unwrap().peak_us < 16_000.0);
        assert!((83.0..=100.0).contains(&tuned.rate.unwrap()), "{:?}", tuned.rate);
    }

    #[test]
    fn a_rate_that_is_still_too_high_is_halved() {
        let mut slow = service(20.0);
        let mut runs = 0;
        let tuned = tune(|rate| {
            runs += 1;
            let mut result = slow(rate)?;
            if runs == 1 {
                result.modes = vec![mode(15_000.0, 0.5), mode(55_000.0, 0.5)];
            }
            Ok::<_, ()>(result)
        })
        .unwrap();
        // 150, 75, 37.5, 18.75, then between 18.75 and 37.5.

        assert!((18.0..=20.0).contains(&tuned.rate.unwrap()), "{:?}", tuned.rate);
    }
}
