//! Fits how the rate of a study's arms grows with a size: connections, workers, processors, clones or the bytes of a body.
//!
//! Arms and closed loops that differ only in their size form a series ([`dimension`]). If something other than the proxies limited the rate
//! of a point, it would look like contention of the proxies, so the point is left out, with the reason ([`limit`]). The law is fitted to
//! the rates of the other points, round by round ([`hoptax_stats::scalability()`]).
//!
//! Nothing here reads a file or a clock.

mod dimension;
mod limit;
mod series;

use hoptax_checks::thresholds::Limits;
use hoptax_result::{
    Interval, Loop, ScaleBody, ScaleDimension, ScaleLeftOut, ScalePoint, ScaleResult, ScaleSeries,
    StudyResult,
};
use hoptax_stats::{MIN_SIZES, NoScalability, SizedRates, scalability};
use thiserror::Error;

use series::{Planned, Series, all};

/// Reason why no law can be fitted to a study.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScaleError {
    /// The result has no rounds.
    #[error(
        "the result of `{0}` has no rounds to take intervals over: use the result of a single sitting, in the current format"
    )]
    NoRounds(String),
    /// The study has no closed loop.
    #[error("`{0}` has no closed loop, and the rate of an open loop is the one that its study file states")]
    NoClosedLoop(String),
    /// Its arms and closed loops do not differ in this size. Sizes in which they differ are listed.
    #[error(
        "no arm of `{study}` was measured at different `{over}` under a closed loop; {}",
        instead(.others)
    )]
    OneSize {
        /// Name of the study.
        study: String,
        /// The size.
        over: &'static str,
        /// The sizes that differ.
        others: Vec<&'static str>,
    },
    /// All series have too few sizes.
    #[error(
        "a fit needs at least {least} different sizes, and `{study}` has fewer: {}; add some to the study",
        .series.join("; "), least = MIN_SIZES
    )]
    TooFewSizes {
        /// Name of the study.
        study: String,
        /// Each series with its sizes.
        series: Vec<String>,
    },
}

fn instead(others: &[&str]) -> String {
    match others {
        [] => "add arms or loads that differ in nothing else".to_owned(),
        others => format!("it has different `{}`: use `--over {}`", others.join("`, `"), others.join("|")),
    }
}

/// Fits the law to each series of the study over `over`. A series without a fit states why.
///
/// # Errors
/// If no series has at least [`MIN_SIZES`] different sizes.
pub fn scale(study: &StudyResult, over: ScaleDimension) -> Result<ScaleResult, ScaleError> {
    if study.rounds.is_empty() {
        return Err(ScaleError::NoRounds(study.name.clone()));
    }
    if study.plan.timeline.is_some() || study.plan.loads.iter().all(|load| load.loop_ == Loop::Open) {
        return Err(ScaleError::NoClosedLoop(study.name.clone()));
    }
    let found = all(study, over);
    if found.is_empty() {
        let differs = |other: &ScaleDimension| !all(study, *other).is_empty();
        let others = ScaleDimension::ALL.into_iter().filter(differs).map(ScaleDimension::as_str).collect();
        return Err(ScaleError::OneSize { study: study.name.clone(), over: over.as_str(), others });
    }
    if found.iter().all(|series| series.sizes().len() < MIN_SIZES) {
        let series = found.iter().map(|series| {
            let sizes: Vec<String> = series.sizes().iter().map(u32::to_string).collect();
            format!("`{}` has {} {}", series.name, sizes.join(", "), over.as_str())
        });
        return Err(ScaleError::TooFewSizes { study: study.name.clone(), series: series.collect() });
    }
    let body = ScaleBody {
        study: study.name.clone(),
        over,
        confidence: study.plan.confidence,
        series: found.iter().map(|series| fitted(study, over, series)).collect(),
    };
    Ok(ScaleResult::new((), body).judged_as(study))
}

/// A series with its law.
fn fitted(study: &StudyResult, over: ScaleDimension, series: &Series<'_>) -> ScaleSeries {
    let limits = Limits::loosened_to(&study.loosened);
    let mut left_out: Vec<ScaleLeftOut> = Vec::new();
    let mut kept: Vec<(&Planned<'_>, Interval)> = Vec::new();
    for planned in &series.points {
        let same = kept.iter().find(|(other, _)| other.size == planned.size);
        let same = same.map(|(other, _)| {
            format!("the fit has `{}` under {}, which has the same size", other.arm.id, other.load.name)
        });
        let reason = limit::reason(study, over, planned, &limits).or(same);
        let rate = planned.result.rate;
        match (reason, rate) {
            (None, Some(rate)) => kept.push((planned, rate)),
            (reason, rate) => left_out.push(ScaleLeftOut {
                size: planned.size,
                arm: planned.arm.id.clone(),
                load: planned.load.name.clone(),
                rate,
                reason: reason.unwrap_or_else(|| "no slice of it counts".to_owned()),
            }),
        }
    }
    let sized =
        |planned: &Planned<'_>| SizedRates { size: f64::from(planned.size), rates: planned.rates(study) };
    let rates: Vec<SizedRates> = kept.iter().map(|(planned, _)| sized(planned)).collect();
    let (fit, no_fit, fitted) = match scalability(&rates, study.plan.quantile_confidence()) {
        Ok(law) => (Some(law.fit), None, law.points),
        Err(why) => (None, Some(no_fit(why, &left_out)), Vec::new()),
    };
    let point = |(number, (planned, rate)): (usize, &(&Planned<'_>, Interval))| ScalePoint {
        size: planned.size,
        arm: planned.arm.id.clone(),
        load: planned.load.name.clone(),
        rate: *rate,
        fitted_rate: fitted.get(number).map(|fitted| fitted.rate),
        deviation_share: fitted.get(number).map(|fitted| fitted.deviation_share),
    };
    let points = kept.iter().enumerate().map(point).collect();
    ScaleSeries { name: series.name.clone(), points, left_out, fit, no_fit }
}

/// The reason why a series has no fit, with a remedy.
fn no_fit(why: NoScalability, left_out: &[ScaleLeftOut]) -> String {
    if let (NoScalability::TooFewSizes(sizes), Some(first)) = (&why, left_out.first()) {
        let same = left_out.iter().filter(|other| other.reason == first.reason).count();
        let others = match left_out.len() - same {
            0 => String::new(),
            others => format!(", and {others} for other reasons"),
        };
        return format!(
            "{sizes} of its sizes count, and a law needs {MIN_SIZES}; left out: {same}, since {}{others}. Remove that and measure again, \
             or add sizes",
            first.reason
        );
    }
    let remedy = match why {
        NoScalability::TooFewSizes(_) => "add sizes to the study",
        NoScalability::TooFewRounds(_) => "add rounds to the study",
        NoScalability::TooCloseSizes => "add sizes further apart",
        NoScalability::Unlimited(_) => "add sizes nearer to it, or rounds",
        NoScalability::OutOfRange => "a size of 0 and a rate of 0 have no place in the law",
    };
    format!("{why}; {remedy}")
}

#[cfg(test)]
mod tests;
