//! The answer of a measurement in a cluster: the costs of each mesh, its functions and the pod network, the most expensive first.

use hoptax_result::{CostMeasure, StudyResult};

use super::plain;
use crate::load_rate::at_load;
use crate::quantity::{Basis, Quantity};
use crate::rows::{Row, baselines, compared_with};
use crate::table::Cell;

/// A sentence for each compared arm, and finally the level of the reference.
pub(super) fn answer(result: &StudyResult, rows: &[Row<'_>]) -> Vec<String> {
    // A measurement of a mesh has a single load.
    let at = result.plan.response_load().map(at_load).unwrap_or_default();
    let compared = rows.iter().filter_map(|row| sentence(result, row, &at));
    compared.chain(baselines(result).first().and_then(|arm| plain(result, arm))).collect()
}

fn sentence(result: &StudyResult, row: &Row<'_>, at: &str) -> Option<String> {
    // A function of a mesh is compared with the mesh without it, which has proxies.
    let mesh = compared_with(result, row.arm).filter(|other| !other.hops.is_empty());
    let cpu = added(row, CostMeasure::CpuUs).map(|amount| match mesh {
        None => format!("costs {amount} of CPU time per request {at}"),
        Some(mesh) => format!("adds {amount} of CPU time per request to `{}` {at}", mesh.id),
    });
    let p50 = added(row, CostMeasure::ResponseP50Us).map(|amount| match (mesh, &cpu) {
        (Some(mesh), None) => format!("adds {amount} to the p50 of `{}`", mesh.id),
        _ => format!("adds {amount} to p50"),
    });
    let parts: Vec<String> = [cpu, p50].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("`{}` {}", row.arm.id, parts.join(", and ")))
}

/// The known part of the cost that an arm adds in a measure; none if it was not measured.
fn added(row: &Row<'_>, measure: CostMeasure) -> Option<String> {
    match row.cost(measure) {
        Cell::Quantity(Quantity { basis: Basis::Unknown(checks), .. }) => {
            Some(format!("an unknown time (withheld by {checks})"))
        }
        Cell::Quantity(quantity) => {
            let text = quantity.clone().with_sign(false).text();
            let doubt = if quantity.has_uncertain_sign { " (its sign is not certain)" } else { "" };
            Some(format!("{} us{doubt}", text.trim_start_matches('+')))
        }
        Cell::Empty | Cell::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmKind, ArmResult, ClusterEnvironment, Interval};

    use super::super::study;
    use super::*;
    use crate::fixture;

    /// The answer of a measurement of one mesh, whose arm is changed.
    fn answer(change: fn(&mut ArmResult)) -> Vec<String> {
        study(&of_one_mesh(change)).answer
    }

    fn of_one_mesh(change: fn(&mut ArmResult)) -> StudyResult {
        let mut result = fixture::study();
        result.environment.cluster = Some(ClusterEnvironment::default());
        result.plan.loads.remove(0);
        result.arms.retain(|arm| ["baseline", "lua", "direct"].contains(&arm.id.as_str()));
        // Without a mesh, there are no proxies.
        result.arms.iter_mut().filter(|arm| arm.id != "lua").for_each(|arm| arm.hops.clear());
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "lua") {
            arm.kind = ArmKind::Position;
            arm.cost.cpu_share = None;
            arm.cost.cpu_us_per_request = Some(Interval::around(412.0, 18.0));
            arm.cost.response_us.p50 = Some(Interval::around(900.0, 100.0));
            change(arm);
        }
        result
    }

    #[test]
    fn each_arm_says_what_it_costs_and_the_mesh_comes_first() {
        let answer = answer(|_| ());
        let [mesh, network, nodes] = answer.as_slice() else { panic!("{answer:#?}") };
        assert_eq!(
            mesh,
            "`lua` costs 412 ±18 us of CPU time per request at 4,000 requests/s, uniform arrivals, and adds 900 ±100 us to p50"
        );
        assert!(network.starts_with("`direct` adds -62.0 ±1.1 us to p50"), "{network}");
        assert!(nodes.contains("a p50 of 95.0 ±1.3 us at 4,000 requests/s"), "{nodes}");
    }

    #[test]
    fn a_function_says_what_it_adds_to_its_mesh() {
        let compared = |change: fn(&mut ArmResult)| {
            let mut result = of_one_mesh(|_| ());
            let mut function = result.arms.iter().find(|arm| arm.id == "lua").unwrap().clone();
            function.id = "lua-authorization".to_owned();
            function.compared_with = Some("lua".to_owned());
            function.cost.cpu_us_per_request = Some(Interval::around(4.0, 1.0));
            function.cost.response_us.p50 = Some(Interval::around(20.0, 5.0));
            change(&mut function);
            result.arms.push(function);
            let answer = study(&result).answer;
            answer.into_iter().find(|sentence| sentence.starts_with("`lua-authorization`")).unwrap()
        };
        let both = compared(|_| ());
        assert!(
            both.starts_with("`lua-authorization` adds 4.0 ±1.0 us of CPU time per request to `lua` at "),
            "{both}"
        );
        assert!(both.ends_with(", and adds 20.0 ±5.0 us to p50"), "{both}");
        let of_time = compared(|function| function.cost.cpu_us_per_request = None);
        assert_eq!(of_time, "`lua-authorization` adds 20.0 ±5.0 us to the p50 of `lua`");
    }

    #[test]
    fn what_may_be_chance_or_is_missing_is_no_cost() {
        let doubtful = answer(|arm| arm.cost.uncertain_signs = vec![CostMeasure::ResponseP50Us]);
        assert!(doubtful[0].ends_with("adds 900 ±100 us (its sign is not certain) to p50"), "{doubtful:?}");
        let missing = answer(|arm| arm.cost.cpu_us_per_request = None);
        assert!(missing.iter().all(|sentence| !sentence.contains("costs")), "{missing:?}");
    }
}
