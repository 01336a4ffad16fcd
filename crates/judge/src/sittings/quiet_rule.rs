//! Sittings that classify quiet slices by different rules: their quiet p99 are not comparable and are not combined.

use hoptax_result::{Bound, CostMeasure, Finding, Measure, Measured, QuietRule, Severity};

use super::Part;

/// If sittings classify quiet slices by different rules, removes their quiet p99 and returns a finding that says so. Otherwise returns them
/// unchanged.
pub fn with_one_quiet_rule(mut parts: Vec<Part>) -> (Vec<Part>, Option<Finding>) {
    let rules: Vec<Option<QuietRule>> = parts.iter().map(|part| part.result.plan.quiet_rule).collect();
    let mut different: Vec<Option<QuietRule>> = Vec::new();
    for rule in &rules {
        if !different.contains(rule) {
            different.push(*rule);
        }
    }
    if different.len() < 2 {
        return (parts, None);
    }
    for part in &mut parts {
        clear(part);
    }
    let sittings_of = |rule: &Option<QuietRule>| {
        let numbered = (1..).zip(&rules).filter(|(_, one)| *one == rule);
        let numbers: Vec<String> = numbered.map(|(number, _): (u32, _)| number.to_string()).collect();
        format!("{} in sitting {}", in_words(rule.as_ref()), numbers.join(", "))
    };
    let sittings: Vec<String> = different.iter().map(sittings_of).collect();
    let message = format!(
        "the sittings classify quiet slices by different rules, so no quiet p99 is combined: {}",
        sittings.join("; ")
    );
    let advice = "combine sittings with one `--threshold quiet-wait`; each sitting states its own quiet p99 in its report";
    let measured = Measured::count(different.len() as f64, 1.0, "rules");
    let finding = Finding::new("quiet-slices", Severity::Info, measured, message, advice);
    (parts, Some(Finding { measures: vec![Measure::ResponseQuietP99], withholds: true, ..finding }))
}

/// A rule in words; a sitting without quiet slices has none.
fn in_words(rule: Option<&QuietRule>) -> String {
    rule.map_or_else(
        || "no rule".to_owned(),
        |rule| format!("waits of at most {} % of the time", (rule.max_wait_share * 1e4).round() / 100.0),
    )
}

/// Removes everything that is computed from quiet slices.
fn clear(part: &mut Part) {
    let result = &mut part.result;
    result.plan.quiet_rule = None;
    result.for_each_number(&mut |place, number| {
        if place.measure == Measure::ResponseQuietP99 {
            number.clear();
        }
    });
    let is_other = |bound: &Bound| bound.measure != CostMeasure::ResponseQuietP99Us;
    for arm in &mut result.arms {
        arm.bounds.0.retain(is_other);
        for load in &mut arm.loads {
            load.bounds.0.retain(is_other);
            (load.quiet_share, load.quiet_effective_responses) = (None, None);
            load.cost_quiet_p99_half_width_us = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmLoad, BoundOf, Interval};

    use super::*;
    use crate::fixture;

    /// A sitting with this rule, whose arm `lua` has a p99, a quiet p99, and a bound of its cost in quiet p99.
    fn part(max_wait_share: Option<f64>) -> Part {
        let mut result = fixture::study();
        result.plan.quiet_rule = max_wait_share.map(|max_wait_share| QuietRule { max_wait_share });
        let lua = fixture::arm(&mut result, "lua");
        let mut load = ArmLoad { load: "open".to_owned(), quiet_share: Some(0.8), ..ArmLoad::default() };
        load.response_us.p99 = Some(Interval::around(900.0, 90.0));
        load.response_us.quiet_p99 = Some(Interval::around(300.0, 10.0));
        let bound = Bound::new(BoundOf::Cost, CostMeasure::ResponseQuietP99Us, Some(1.0), Some(2.0));
        load.bounds.0.extend(bound);
        lua.loads = vec![load];
        Part { folder: String::new(), result }
    }

    #[test]
    fn a_quiet_p99_of_different_rules_is_left_out_with_a_finding_that_names_them() {
        let (parts, finding) =
            with_one_quiet_rule(vec![part(Some(0.01)), part(Some(0.025)), part(None), part(Some(0.01))]);
        for part in &parts {
            let load = &part.result.arms.last().unwrap().loads[0];
            assert!(load.response_us.p99.is_some() && load.response_us.quiet_p99.is_none(), "{load:?}");
            assert!(load.bounds.0.is_empty() && load.quiet_share.is_none(), "{load:?}");
            assert_eq!(part.result.plan.quiet_rule, None);
        }
        let finding = finding.unwrap();
        assert!(
            finding.message.ends_with(
                "waits of at most 1 % of the time in sitting 1, 4; waits of at most 2.5 % of the time in sitting 2; no rule in sitting 3"
            ),
            "{}",
            finding.message
        );
        assert_eq!((finding.measures, finding.withholds), (vec![Measure::ResponseQuietP99], true));
    }

    #[test]
    fn sittings_of_one_rule_stay_as_they_are() {
        for rule in [Some(0.01), None] {
            let before = vec![part(rule), part(rule)];
            let (parts, finding) = with_one_quiet_rule(before.clone());
            assert_eq!(finding, None);
            for (part, before) in parts.iter().zip(&before) {
                assert_eq!(part.result, before.result);
            }
        }
        assert!(with_one_quiet_rule(Vec::new()).0.is_empty());
    }
}
