//! Limits of the rate of a point other than the proxies. A point with such a limit looks like contention of the proxies, so it is left out.

use hoptax_checks::thresholds::{self, Limits};
use hoptax_result::{Finding, Measure, Place, ScaleDimension, StudyResult, percent};

use crate::scale::series::Planned;

/// The check of callers in another language, which limit rates with a warning alone.
const CALLERS: &str = "callers-limit";

/// Returns the reason why the rate of a point tells nothing about its proxies; None if it does.
///
/// A generator that is nearly as busy as its core limits the rate only if the proxies had time left.
pub(crate) fn reason(
    study: &StudyResult,
    over: ScaleDimension,
    point: &Planned<'_>,
    limits: &Limits,
) -> Option<String> {
    let place = Place {
        arm: &point.arm.id,
        compared_with: None,
        load: Some(&point.load.name),
        measure: Measure::Rate,
    };
    let is_reason = |finding: &&Finding| {
        finding.withholds_number(&place) || (finding.id == CALLERS && finding.concerns(&place))
    };
    let findings: Vec<String> = study
        .findings
        .iter()
        .filter(is_reason)
        .map(|finding| format!("{}: {}", finding.id, finding.message))
        .collect();
    if !findings.is_empty() {
        return Some(findings.join("; "));
    }
    let busy = point.result.busy_share();
    let saturated = limits.value(&thresholds::SATURATED_SHARE);
    if busy.is_some_and(|share| share >= saturated) {
        return None;
    }
    let proxies = busy.map_or_else(
        || "how busy the proxies were is not known".to_owned(),
        |share| format!("the proxies were busy {} of the time", percent(share, 0)),
    );
    let above = |measure: &str, threshold: &thresholds::Threshold| {
        point.mean(study, measure).filter(|share| *share > limits.value(threshold))
    };
    if let Some(share) = above("generator_core_share", &thresholds::GENERATOR_BUSY) {
        return Some(format!("the generator used {} of its core, and {proxies}", percent(share, 0)));
    }
    if let Some(share) = above("processors_busy_share", &thresholds::PROCESSORS_BUSY) {
        return Some(format!(
            "the processors of generator and origin were busy {} of the time, and {proxies}",
            percent(share, 0)
        ));
    }
    // Few connections are a size like any other. Elsewhere, their number is no property of the size.
    (over != ScaleDimension::Connections && busy.is_some())
        .then(|| format!("{proxies}, so its {} connections limited the rate", point.load.connections))
}
