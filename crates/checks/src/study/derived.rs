//! Numbers that are computed from several arms or from profiles. They have no address of their own, and are withheld with
//! the numbers that they are computed from.

use hoptax_result::{Finding, Measure, Place, StudyResult};

/// Withholds the series of rules, the layers and the functions that `findings` invalidate. An arm whose level stands keeps its layers and
/// functions, without their differences from an arm that it is not to be compared with. Series and layers have intervals of their own, so a
/// check of how wide an interval is does not concern them.
pub(crate) fn withhold(result: &mut StudyResult, findings: &[Finding]) {
    let is_invalid = |place: &Place<'_>| findings.iter().any(|finding| finding.withholds_number(place));
    result.rule_costs.retain(|cost| !cost.places().any(|place| is_invalid(&place)));
    let plan = &result.body.plan;
    for arm in &mut result.body.arms {
        let load = plan.cpu_load_of(&arm.id).map(|load| load.name.clone());
        let level = Place { arm: &arm.id, compared_with: None, load: load.as_deref(), measure: Measure::Cpu };
        let difference = Place { compared_with: arm.compared_with.as_deref(), ..level };
        let (has_level, has_difference) = (!is_invalid(&level), !is_invalid(&difference));
        if !has_level {
            arm.layers.clear();
            arm.frames.clear();
            arm.top_down.clear();
            arm.profiler_share = None;
        }
        if !has_difference {
            for layer in &mut arm.layers {
                layer.added_us_per_request = None;
            }
            for frame in &mut arm.frames {
                frame.compared_us.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{FrameUse, Interval, LayerUse, RuleCost, Shape, StudyResult};

    use crate::study::tests::{fired, only_closed};

    /// Adds a layer and a frame to each arm and a series over the last one.
    fn add_derived(result: &mut StudyResult) {
        for arm in &mut result.arms {
            arm.layers = vec![LayerUse {
                layer: "TCP".to_owned(),
                cpu_us_per_request: Interval::around(10.0, 0.1),
                added_us_per_request: arm.compared_with.is_some().then(|| Interval::around(1.0, 0.1)),
            }];
            arm.frames = vec![FrameUse {
                name: "all".to_owned(),
                own_us: vec![10.0; 2],
                compared_us: if arm.compared_with.is_some() { vec![9.0; 2] } else { Vec::new() },
                ..FrameUse::default()
            }];
        }
        result.rule_costs = vec![RuleCost {
            firewall: "iptables".to_owned(),
            matching: "last".to_owned(),
            accept_established: false,
            load: "saturation".to_owned(),
            arms: vec!["lua".to_owned()],
            compared_with: "baseline".to_owned(),
            rules: vec![100],
            cpu_ns_per_rule: Interval::around(5.0, 0.1),
            cpu_ns_per_rule_and_packet: None,
            sag_ns: Interval::around(0.0, 0.1),
            shape: Shape::Linear,
        }];
    }

    /// Judges an invalidated result. Returns the rest: true if the series is left, and for each arm the number of layers
    /// and of their differences. There are as many functions, and differences of functions.
    fn left(invalidate: impl FnOnce(&mut StudyResult)) -> (bool, Vec<(usize, usize)>) {
        let (_, result) = fired("", |result| {
            add_derived(result);
            invalidate(result);
        });
        let layers = result.arms.iter().map(|arm| {
            let added = arm.layers.iter().filter(|layer| layer.added_us_per_request.is_some()).count();
            let compared = arm.frames.iter().filter(|frame| !frame.compared_us.is_empty()).count();
            assert_eq!((arm.frames.len(), compared), (arm.layers.len(), added), "{arm:?}");
            (arm.layers.len(), added)
        });
        (!result.rule_costs.is_empty(), layers.collect())
    }

    #[test]
    fn a_sound_study_keeps_series_and_layers() {
        assert_eq!(left(|_| {}), (true, vec![(1, 0), (1, 1), (1, 1)]));
    }

    #[test]
    fn series_and_layers_fall_with_a_cost_that_is_withheld_without_a_failure() {
        let idle = |result: &mut StudyResult| {
            only_closed(result);
            if let Some(used) = &mut result.arms[2].proxy_use {
                used.core_share = 0.3;
            }
        };
        assert_eq!(left(idle), (false, vec![(1, 0), (1, 1), (1, 0)]));
    }

    #[test]
    fn layers_are_not_compared_with_those_of_a_failed_baseline() {
        let unproven = |result: &mut StudyResult| {
            result.arms[0].unproven = vec!["nothing moved".to_owned()];
        };
        assert_eq!(left(unproven), (false, vec![(0, 0), (1, 0), (1, 0)]));
    }

    #[test]
    fn series_and_layers_have_their_own_precision() {
        let vague = |result: &mut StudyResult| {
            result.arms[2].cost.cpu_us_per_request = Some(Interval::around(30.0, 25.0));
            result.arms[2].cpu_us_per_request = Some(Interval::around(40.0, 21.0));
        };
        assert_eq!(left(vague), (true, vec![(1, 0), (1, 1), (1, 1)]));
    }
}
