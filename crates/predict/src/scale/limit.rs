//! Limits other than the proxies on the rate of a point. A point with such a limit looks like contention of the proxies, so it is left out.

use hoptax_checks::thresholds::{self, Limits};
use hoptax_result::{Finding, Measure, Place, ScaleDimension, StudyResult, percent};

use crate::scale::series::Planned;

/// The check of callers in another language. Such callers limit rates, although the check only warns.
const CALLERS: &str = "callers-limit";

/// Returns the reason why the rate of a point shows nothing about its proxies; None if it does.
///
/// A generator that nearly fills its core limits the rate only if the proxies had time left.
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
    // In a series over connections, a small number of connections is a size like any other. In other series, it limits the rate.
    (over != ScaleDimension::Connections && busy.is_some())
        .then(|| format!("{proxies}, so its {} connections limited the rate", point.load.connections))
}
