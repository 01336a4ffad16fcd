//! Reasons why the change of a limited measure is not known when no finding gives one: the study does not classify quiet slices of the arm,
//! or the level that the change is a share of may be zero.

use hoptax_result::{ArmKind, ArmResult, CostMeasure, StudyResult};

/// Returns the reason why a study has no quiet p99 of these arms, for a limit on it. None for other measures, and if the rule of quiet
/// slices applies to all of these arms: a finding then says why a number is missing.
pub(super) fn reason<'r>(
    result: &'r StudyResult,
    arms: impl IntoIterator<Item = &'r ArmResult>,
    measure: CostMeasure,
) -> Option<String> {
    if measure != CostMeasure::ResponseQuietP99Us {
        return None;
    }
    result.plan.response_load()?;
    let has_quiet = |arm: &ArmResult| {
        let under = result.plan.response_load_of(&arm.id).and_then(|load| arm.under(&load.name));
        under.is_some_and(|under| under.quiet_share.is_some())
    };
    let arm = arms.into_iter().find(|arm| !has_quiet(arm))?;
    let why = of_study(result).or_else(|| of_arm(arm)).unwrap_or(if result.plan.quiet_rule.is_some() {
        "it brings an application or its own number of workers, or its proxies run on the generator's processors"
    } else {
        "the kernel counted no waits for processors, or the rule applies to no arm of the study"
    });
    Some(format!("`{}` has no quiet slices: {why}", arm.id))
}

/// Returns the reason why the cost of an arm is known and its share of the reference is not. None if the share is known, or if a number is
/// withheld: a finding then says why.
pub(super) fn reason_of_share(
    result: &StudyResult,
    arm: &ArmResult,
    reference: &ArmResult,
    measure: CostMeasure,
) -> Option<String> {
    measure.interval(&arm.cost)?;
    result.level_of_reference(arm, reference, measure)?;
    let share = result.share_of_reference(arm, reference, measure, None);
    let (name, other) = (measure.name(), &reference.id);
    share.is_none().then(|| format!("the {name} of `{other}` may be zero, so no change is a share of it"))
}

/// The reason why no arm of a study has quiet slices.
fn of_study(result: &StudyResult) -> Option<&'static str> {
    let environment = &result.environment;
    let is_shared = environment.proxy_cpus.iter().any(|cpu| environment.generator_cpus.contains(cpu));
    if result.plan.link.is_some() {
        Some("the study has a link, for which the generator waits")
    } else if is_shared {
        Some("generator and proxies share a processor, so each waits for the other")
    } else {
        None
    }
}

/// The reason why an arm has no quiet slices, as far as its result shows it: see `hoptax_plan::quiet::applies`.
fn of_arm(arm: &ArmResult) -> Option<&'static str> {
    if arm.kind == ArmKind::External {
        Some("it is a server that already ran, whose waits are not known")
    } else if arm.hops.is_empty() {
        Some("it has no proxy, so generator and origin wait for each other")
    } else if arm.hops.len() > 1 {
        Some("a thread that waits for another proxy of its arm does not count as waiting")
    } else if arm.asks_companion {
        Some("it calls a service that runs on the generator's processors")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmLoad, Environment, HopUse, LinkPlan, LoadSpec, Loop, QuietRule, sample};

    use super::*;

    /// A study of two arms under an open loop, with quiet slices of the second arm only.
    fn study() -> StudyResult {
        let mut result = sample::study("quick", "2026-11-01T00:00:00Z", 5.0);
        let open = LoadSpec { loop_: Loop::Open, ..sample::closed_loop("open", 16) };
        result.plan.loads = vec![open];
        result.plan.quiet_rule = Some(QuietRule { max_wait_share: 0.01 });
        result.environment =
            Environment { proxy_cpus: vec![1], generator_cpus: vec![0], ..Environment::default() };
        for (arm, quiet_share) in result.arms.iter_mut().zip([None, Some(0.8)]) {
            arm.hops = vec![HopUse::default()];
            arm.loads = vec![ArmLoad { load: "open".to_owned(), quiet_share, ..ArmLoad::default() }];
        }
        result
    }

    type Change = fn(&mut StudyResult);

    fn of_quiet(result: &StudyResult) -> Option<String> {
        reason(result, &result.arms, CostMeasure::ResponseQuietP99Us)
    }

    #[test]
    fn an_arm_without_quiet_slices_is_named_with_the_reason() {
        let with = |change: Change| {
            let mut result = study();
            change(&mut result);
            of_quiet(&result).unwrap()
        };
        let link = LinkPlan { delay_us: 1.0, jitter_us: 0.0, rate_bits_per_second: None, loss_share: 0.0 };
        let mut linked = study();
        linked.plan.link = Some(link);
        assert!(of_quiet(&linked).unwrap().contains("has a link"));
        let cases: [(Change, &str); 7] = [
            (|_| (), "its own number of workers"),
            (|result| result.plan.quiet_rule = None, "counted no waits"),
            (|result| result.environment.proxy_cpus = vec![0], "share a processor"),
            (|result| result.arms[0].kind = ArmKind::External, "already ran"),
            (|result| result.arms[0].hops.clear(), "no proxy"),
            (|result| result.arms[0].hops.push(HopUse::default()), "another proxy"),
            (|result| result.arms[0].asks_companion = true, "calls a service"),
        ];
        for (change, expected) in cases {
            let found = with(change);
            assert!(
                found.starts_with("`baseline` has no quiet slices: ") && found.contains(expected),
                "{found}"
            );
        }
    }

    #[test]
    fn where_the_rule_applies_a_finding_says_why() {
        let mut result = study();
        assert_eq!(reason(&result, &result.arms, CostMeasure::ResponseP99Us), None);
        result.arms[0].loads[0].quiet_share = Some(0.0);
        assert_eq!(of_quiet(&result), None);
    }
}
