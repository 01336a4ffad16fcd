//! The numbers of others that a study file states, each of which must have a place in the study.

use hoptax_result::PublishedMeasure;
use hoptax_text::nearest::hint;

use super::{Arm, Load};
use crate::file::{Observe, Positions, Problem, StudyFile};

/// Checks that the study measures a number beside each published one. Problems are added to `problems`.
pub(super) fn check(
    file: &StudyFile,
    arms: &[Arm],
    loads: &[Load],
    positions: &Positions,
    problems: &mut Vec<Problem>,
) {
    // An arm or a load that could not be planned has a problem of its own.
    if !problems.is_empty() {
        return;
    }
    if file.observe == Observe::Timeline && !file.published.is_empty() {
        let message = "`published` belongs to `observe: costs`: remove one of the two".to_owned();
        problems.push(positions.problem("/published", message));
        return;
    }
    for (number, published) in file.published.iter().enumerate() {
        let mut problem = |key: &str, message: String| {
            problems.push(positions.problem(&format!("/published/{number}/{key}"), message));
        };
        let Some(arm) = arms.iter().find(|arm| arm.id == published.arm) else {
            let hint = hint(&published.arm, arms.iter().map(|arm| arm.id.as_str()));
            problem("arm", format!("`published` names `{}`, which is not an arm{hint}", published.arm));
            continue;
        };
        let Some(load) = loads.iter().find(|load| load.name == published.load) else {
            let hint = hint(&published.load, loads.iter().map(|load| load.name.as_str()));
            problem("load", format!("`published` names `{}`, which is not a load{hint}", published.load));
            continue;
        };
        if !arm.takes_part(load) {
            let message = format!("`{}` takes no part in the load `{}`", arm.id, load.name);
            problem("load", message);
        } else if published.measure == PublishedMeasure::RateRatio && arm.compared_with.is_none() {
            let message = format!("`{}` has no ratio: it is not compared with any arm", arm.id);
            problem("measure", message);
        }
    }
}
