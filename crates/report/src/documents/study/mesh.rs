//! The answer of a measurement in a cluster: the costs of each mesh, its functions and the pod network, the most expensive first, and the
//! maximum rates of all arms if they were measured.

use hoptax_result::{ArmLoad, ArmResult, CostMeasure, LoadSpec, StudyResult};

use super::plain;
use crate::load_rate::at_load;
use crate::numbers::counted;
use crate::quantity::{Basis, Form, Quantity};
use crate::rows::{Row, baselines, bounded, in_percent};
use crate::table::{Cell, Table};

/// A sentence for each compared arm, and finally the level of the reference.
pub(super) fn answer(result: &StudyResult, rows: &[Row<'_>]) -> Vec<String> {
    // A measurement of a mesh has a single open loop.
    let at = result.plan.response_load().map(at_load).unwrap_or_default();
    let compared = rows.iter().filter_map(|row| with_max_rate(result, row.arm, sentence(result, row, &at)));
    let reference = baselines(result).first().copied();
    compared.chain(reference.and_then(|arm| with_max_rate(result, arm, plain(result, arm)))).collect()
}

/// The maximum rate of each arm beside that of the arm that it is compared with; none if maximum rates were not measured in a cluster.
pub(super) fn max_rates(result: &StudyResult) -> Option<Table> {
    result.environment.cluster.as_ref()?;
    let load = result.plan.rate_load()?;
    let row = |arm: &ArmResult| {
        let under = arm.under(&load.name)?;
        let share = share_of_max_rate(result, arm, load);
        let cells: Vec<Cell> = vec![max_rate(under).into(), share.into(), arm.compared_with.clone().into()];
        Some((arm.id.clone(), cells))
    };
    let title = format!("maximum rate, {}", in_closed_loop(load));
    let headings = ["arm", "max rate/s", "%", "of the rate of"];
    Some(Table::of_cells(title, headings, result.arms.iter().filter_map(row)))
}

/// The load that maximum rates are taken from: with more connections, they may be higher.
fn in_closed_loop(load: &LoadSpec) -> String {
    format!("in a closed loop of {}", counted(u64::from(load.connections), "connection"))
}

/// The rate under a closed loop, or what is known of it.
fn max_rate(under: &ArmLoad) -> Option<Quantity> {
    let rate = under.rate.map(|rate| Quantity::level(&rate, "requests/s"));
    rate.or_else(|| under.bounds.level(CostMeasure::MaxRate).map(bounded))
}

/// The maximum rate of an arm as a share of that of the arm that it is compared with, %: bounded if one of the two rates is, and none if
/// both have an interval and a check withholds their ratio.
fn share_of_max_rate(result: &StudyResult, arm: &ArmResult, load: &LoadSpec) -> Option<Quantity> {
    let under = arm.under(&load.name)?;
    if let Some(ratio) = &under.rate_ratio {
        return Some(Quantity::level(&in_percent(ratio), "%"));
    }
    let other = result.reference_of(arm)?.under(&load.name)?;
    if under.rate.is_some() && other.rate.is_some() {
        return None;
    }
    let share = max_rate(under)?.bounded_share(&max_rate(other)?);
    // That no rate is below zero is no news.
    let low = share.low.filter(|low| *low > 0.0);
    low.or(share.high)?;
    Some(Quantity { low, form: Form::Level, ..share })
}

/// The sentence about an arm with its maximum rate, where that is known.
fn with_max_rate(result: &StudyResult, arm: &ArmResult, sentence: Option<String>) -> Option<String> {
    let known = result.plan.rate_load().and_then(|load| Some((load, max_rate(arm.under(&load.name)?)?)));
    let Some((load, rate)) = known else { return sentence };
    let of_other = share_of_max_rate(result, arm, load)
        .zip(arm.compared_with.as_ref())
        .map(|(share, other)| format!(", {} of the rate of `{other}`", share.with_unit()));
    let max = format!(
        "its maximum rate {} is {}{}",
        in_closed_loop(load),
        rate.with_unit(),
        of_other.unwrap_or_default()
    );
    Some(sentence.map_or_else(|| format!("`{}`: {max}", arm.id), |sentence| format!("{sentence}; {max}")))
}

fn sentence(result: &StudyResult, row: &Row<'_>, at: &str) -> Option<String> {
    // A function of a mesh is compared with the mesh without it, which has proxies.
    let mesh = result.reference_of(row.arm).filter(|other| !other.hops.is_empty());
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
    use hoptax_result::{ArmKind, Bound, BoundOf, ClusterEnvironment, Interval, Loop};

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
    fn maximum_rates_are_stated_beside_each_other_and_one_that_the_caller_limited_as_a_bound() {
        let mut result = of_one_mesh(|_| ());
        let in_use = result.plan.loads[0].clone();
        let name = "saturation".to_owned();
        result.plan.loads.push(LoadSpec { name, loop_: Loop::Closed, rate: None, ..in_use });
        for arm in &mut result.arms {
            let is_mesh = arm.id == "lua";
            let mut under = ArmLoad { load: "saturation".to_owned(), ..ArmLoad::default() };
            if is_mesh || arm.id == "direct" {
                let rate = if is_mesh { 6_000.0 } else { 20_000.0 };
                under.rate = Some(Interval::around(rate, 100.0));
                under.rate_ratio = is_mesh.then(|| Interval::around(0.3, 0.01));
            } else {
                under.bounds.0.extend(Bound::new(BoundOf::Level, CostMeasure::MaxRate, Some(25_000.0), None));
            }
            arm.loads.retain(|load| load.load != under.load);
            arm.loads.push(under);
        }
        let document = study(&result);
        let [mesh, network, nodes] = document.answer.as_slice() else { panic!("{:#?}", document.answer) };
        let max = "; its maximum rate in a closed loop of 16 connections is ";
        let of_mesh = format!("{max}6,000 ±100 requests/s, 30.0 ±1.0 % of the rate of `baseline`");
        assert!(mesh.starts_with("`lua` costs 412 ±18 us") && mesh.ends_with(&of_mesh), "{mesh}");
        // 20,100 of at least 25,000.
        let of_network = format!("{max}20,000 ±100 requests/s, ≤ 80.4 % of the rate of `baseline`");
        assert!(network.ends_with(&of_network), "{network}");
        assert!(nodes.ends_with(&format!("{max}≥ 25,000 requests/s")), "{nodes}");
        let table = max_rates(&result).unwrap();
        assert_eq!(table.title.as_str(), "maximum rate, in a closed loop of 16 connections");
        assert_eq!(table.texts_of("lua"), ["6,000 ±100", "30.0 ±1.0", "baseline"]);
        assert_eq!(table.texts_of("direct"), ["20,000 ±100", "≤ 80.4", "baseline"]);
        assert_eq!(table.texts_of("baseline")[..2], ["≥ 25,000", "-"]);
        result.plan.loads.iter_mut().for_each(|load| load.connections = 1);
        let answer = study(&result).answer;
        assert!(
            answer.iter().all(|one| one.contains("; its maximum rate in a closed loop of 1 connection is ")),
            "{answer:?}"
        );
        result.environment.cluster = None;
        assert!(max_rates(&result).is_none(), "studies on one host have it in their main table");
        assert!(max_rates(&of_one_mesh(|_| ())).is_none());
    }

    #[test]
    fn the_share_of_a_rate_that_is_only_bounded_is_bounded_too() {
        type Ends = (f64, Option<f64>);
        let share = |own: Ends, other: Ends| {
            let mut result = of_one_mesh(|_| ());
            let in_use = result.plan.loads[0].clone();
            let load = LoadSpec { name: "saturation".to_owned(), loop_: Loop::Closed, rate: None, ..in_use };
            for arm in &mut result.arms {
                let (low, high) = if arm.id == "lua" { own } else { other };
                let mut under = ArmLoad { load: load.name.clone(), ..ArmLoad::default() };
                under.rate = high.map(|high| Interval::new(f64::midpoint(low, high), low, high));
                let is_bounded = under.rate.is_none();
                let bound = Bound::new(BoundOf::Level, CostMeasure::MaxRate, Some(low), None);
                under.bounds.0.extend(bound.filter(|_| is_bounded));
                arm.loads.retain(|one| one.load != under.load);
                arm.loads.push(under);
            }
            let lua = result.arm("lua").unwrap();
            share_of_max_rate(&result, lua, &load).map(|share| share.text())
        };
        assert_eq!(share((5_900.0, Some(6_100.0)), (20_000.0, None)).as_deref(), Some("≤ 30.5"));
        assert_eq!(share((6_000.0, None), (19_000.0, Some(20_000.0))).as_deref(), Some("≥ 30.0"));
        assert_eq!(share((6_000.0, None), (20_000.0, None)), None);
        let both = share((5_900.0, Some(6_100.0)), (19_000.0, Some(20_000.0)));
        assert_eq!(both, None, "a check withholds the ratio");
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
        let wide = |arm: &mut ArmResult| {
            arm.cost.cpu_us_per_request = Some(Interval::around(30.0, 70.0));
            arm.cost.uncertain_signs = vec![CostMeasure::CpuUs];
        };
        let found = answer(wide);
        let expected = "`lua` costs 30 ±70 us (its sign is not certain) of CPU time per request ";
        assert!(found[0].starts_with(expected), "{found:?}");
        let document = study(&of_one_mesh(wide));
        let table = document.table.as_ref().unwrap();
        assert!(table.texts_of("lua").contains(&"+30 ±70 ?".to_owned()), "{:?}", table.texts_of("lua"));
        let missing = answer(|arm| arm.cost.cpu_us_per_request = None);
        assert!(missing.iter().all(|sentence| !sentence.contains("costs")), "{missing:?}");
    }
}
