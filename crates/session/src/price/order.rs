//! Collects the texts of a bill from the tries: parts, changes, replacements and the request.

use std::collections::BTreeSet;

use hoptax_bootstrap::Replacement;
use hoptax_bootstrap::statistics::is_matched;
use hoptax_judge::bill::Order;
use hoptax_result::{Activity, BilledChange, BilledPart, BilledReplacement, BilledRequest, Charge};

use super::PriceSettings;
use super::activity::activity;
use super::tries::{TriedChange, Tries};
use super::try_out::Answers;

/// The bill without its numbers.
pub(super) fn order(settings: &PriceSettings<'_>, tries: &Tries) -> Order {
    let passed = &tries.passed;
    let parts = passed.parts.iter().zip(&tries.parts).map(|(part, tried)| BilledPart {
        kind: part.kind.to_string(),
        name: part.name.clone(),
        place: part.place.to_string(),
        arm: tried.obstacle.is_none().then(|| tried.arm.id.clone()),
        not_measured: tried.obstacle.clone(),
        activity: activity(part, &tries.answers, tried.outcome.as_ref().ok()),
        cost: Charge::default(),
    });
    let request = &tries.whole.arm.request;
    let scheme = if request.tls.is_some() { "https" } else { "http" };
    Order {
        configuration: settings.configuration.display().to_string(),
        listener: passed.listener.name.clone(),
        request: BilledRequest {
            method: request.method.clone(),
            url: format!("{scheme}://{}{}", request.host, request.path),
            headers: request.headers.iter().map(|(name, _)| name.clone()).collect(),
            statuses: tries.answers.answer.statuses.keys().copied().collect(),
        },
        parts: parts.collect(),
        changes: tries.changes.iter().map(|change| self::change(change, &tries.answers)).collect(),
        lacking: lacking(&tries.replacements),
        replacements: tries.replacements.iter().map(replacement).collect(),
        price_per_core_hour: settings.price_per_core_hour,
    }
}

/// A change without its difference.
fn change(change: &TriedChange, whole: &Answers) -> BilledChange {
    let TriedChange { change, proof, tried } = change;
    let mut moved =
        tried.outcome.as_ref().map(|answers| answers.answer.statistics.keys()).into_iter().flatten();
    let is_own = |name: &&String| proof.iter().any(|pattern| is_matched(name, pattern));
    let activity = match moved.find(is_own) {
        _ if proof.is_empty() => Activity::Unknown { exercised_by: None },
        Some(statistic) => Activity::Exercised { statistic: statistic.clone() },
        None => Activity::NotExercised { statistics: proof.clone(), exercised_by: None },
    };
    BilledChange {
        change: change.to_string(),
        arm: tried.obstacle.is_none().then(|| tried.arm.id.clone()),
        not_measured: tried.obstacle.clone(),
        answer_differences: tried
            .outcome
            .as_ref()
            .map(|answers| whole.answer.differences(&answers.answer))
            .unwrap_or_default(),
        activity,
        difference: Charge::default(),
    }
}

/// The extensions that Envoy lacks, each once.
pub(super) fn lacking(replacements: &[Replacement]) -> Vec<String> {
    let lacking = replacements.iter().filter(|replacement| replacement.is_lacking());
    let named: BTreeSet<&String> = lacking.map(|replacement| &replacement.node).collect();
    named.into_iter().cloned().collect()
}

fn replacement(replacement: &Replacement) -> BilledReplacement {
    BilledReplacement {
        place: replacement.place.to_string(),
        node: replacement.node.clone(),
        with: replacement.with.clone(),
        is_left_out: replacement.is_left_out,
    }
}
