use hoptax_result::Interval;
use hoptax_stats::mean_over_rounds;
#[derive(Clone, Copy)]
pub(super) struct RoundTimes<'a> {
    pub(super) arm: &'a [(u64, u64)],
    pub(super) other: &'a [(u64, u64)],
}
fn quantile(rounds: &[&[(u64, u64)]], p: f64) -> Option<f64> {
    let mut all: Vec<(u64, f64)> = Vec::new();
    for round in rounds {
        let total: u64 = round.iter().map(|(_, count)| count).sum();
        all.extend(round.iter().map(|(value, count)| (*value, *count as f64 / total as f64)));
    }
    all.sort_by_key(|(value, _)| *value);
    let whole: f64 = all.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    all.into_iter()
        .find(|(_, weight)| {
            sum += weight;
            sum >= p * whole
        })
        .map(|(value, _)| value as f64)
}
fn jackknife(count: usize, confidence: f64, of: impl Fn(&[usize]) -> Option<f64>) -> Option<Interval> {
    let all: Vec<usize> = (0..count).collect();
    let whole = of(&all)?;
    let n = count as f64;
    let pseudo: Option<Vec<f64>> = (0..count)
        .map(|out| {
            let others: Vec<usize> = all.iter().copied().filter(|one| *one != out).collect();
            Some(n * whole - (n - 1.0) * of(&others)?)
        })
        .collect();
    let around = mean_over_rounds(&pseudo?, confidence)?;
    let half = around.half_width();
    Some(Interval { estimate: whole, low: whole - half, high: whole + half })
}
pub(super) fn quantile_level(rounds: &[&[(u64, u64)]], p: f64, confidence: f64) -> Option<Interval> {
    let rounds: Vec<&[(u64, u64)]> = rounds.iter().copied().filter(|one| !one.is_empty()).collect();
    let total: u64 = rounds.iter().flat_map(|one| one.iter()).map(|(_, count)| count).sum();
    if !hoptax_stats::quantile_supported(total, p) {
        return None;
    }
    jackknife(rounds.len(), confidence, |which| {
        quantile(&which.iter().map(|one| rounds[*one]).collect::<Vec<_>>(), p)
    })
}
pub(super) fn quantile_cost(rounds: &[RoundTimes<'_>], p: f64, confidence: f64) -> Option<Interval> {
    let rounds: Vec<&RoundTimes<'_>> =
        rounds.iter().filter(|one| !one.arm.is_empty() && !one.other.is_empty()).collect();
    let total: u64 = rounds.iter().flat_map(|one| one.arm.iter()).map(|(_, count)| count).sum();
    if !hoptax_stats::quantile_supported(total, p) {
        return None;
    }
    jackknife(rounds.len(), confidence, |which| {
        let arm: Vec<_> = which.iter().map(|one| rounds[*one].arm).collect();
        let other: Vec<_> = which.iter().map(|one| rounds[*one].other).collect();
        Some(quantile(&arm, p)? - quantile(&other, p)?)
    })
}
pub(super) fn share_cost(rounds: &[RoundTimes<'_>], ns: u64, confidence: f64) -> Option<Interval> {
    let share = |counts: &[(u64, u64)]| {
        let total: u64 = counts.iter().map(|(_, count)| count).sum();
        counts.iter().filter(|(value, _)| *value > ns).map(|(_, count)| count).sum::<u64>() as f64
            / total as f64
    };
    let all: Vec<f64> = rounds
        .iter()
        .filter(|one| !one.arm.is_empty() && !one.other.is_empty())
        .map(|one| share(one.arm) - share(one.other))
        .collect();
    mean_over_rounds(&all, confidence)
}
