//! The rows of a study, for all outputs: one per compared arm, in descending order of cost.

use hoptax_result::{
    ArmKind, ArmResult, Bound, BoundOf, CostMeasure, Finding, HopUse, Interval, LoadSpec, Place,
    RoundMeasure, StudyResult,
};

use crate::findings::checks;
use crate::load_rate;
use crate::quantity::{Form, Quantity};
use crate::sittings;
use crate::table::Cell;

/// Bytes of a MiB, the unit of memory of processes.
pub(crate) const MIB: f64 = 1_048_576.0;
/// One percent as a share.
const PERCENT: f64 = 0.01;

/// The slice measures in the order of tables, with their headings and the priority by which narrow outputs drop them.
pub(crate) const OF_SLICES: [(CostMeasure, &str, u8); 7] = [
    (CostMeasure::CpuShare, "CPU %", 0),
    (CostMeasure::CpuUs, "CPU us", 1),
    (CostMeasure::ResponseP50Us, "p50 us", 2),
    (CostMeasure::ResponseP90Us, "p90 us", 6),
    (CostMeasure::ResponseQuietP99Us, "quiet p99 us", 4),
    (CostMeasure::ResponseP99Us, "p99 us", 4),
    (CostMeasure::MaxRate, "max rate/s", 3),
];

/// One compared arm.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) arm: &'a ArmResult,
    pub(crate) name: String,
    /// The rate of its load in parentheses, after the name, if that load is not the one of the study's costs.
    pub(crate) mark: String,
    /// Its costs in the slice measures, followed by the main round measures, in the order of tables.
    pub(crate) costs: Vec<(CostMeasure, Cell)>,
}

impl Row<'_> {
    /// Its name with its mark.
    pub(crate) fn marked(&self) -> String {
        format!("{}{}", self.name, self.mark)
    }

    /// Its cost in a measure.
    pub(crate) fn cost(&self, measure: CostMeasure) -> &Cell {
        let found = self.costs.iter().find(|(other, _)| *other == measure);
        found.map_or(&Cell::Empty, |(_, cell)| cell)
    }
}

/// The rows in descending order of cost, followed by arms without a CPU cost, and finally the controls. Costs are ordered by share if all
/// have one, otherwise by CPU time.
pub(crate) fn rows(result: &StudyResult) -> Vec<Row<'_>> {
    // A timeline compares no arms.
    let compared = result.arms.iter().filter(|_| result.plan.timeline.is_none());
    let mut rows: Vec<Row<'_>> =
        compared.filter(|arm| arm.kind != ArmKind::Baseline).map(|arm| row(result, arm)).collect();
    let has_shares =
        rows.iter().all(|row| row.arm.cost.cpu_share.is_some() || row.arm.cost.cpu_us_per_request.is_none());
    let cost = |row: &Row<'_>| {
        let cost = &row.arm.cost;
        let cost = if has_shares { cost.cpu_share } else { cost.cpu_us_per_request };
        cost.map_or(f64::NEG_INFINITY, |interval| interval.estimate)
    };
    rows.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    rows.sort_by_key(|row| row.arm.is_control());
    rows
}

/// The reference arms, the main one first.
pub(crate) fn baselines(result: &StudyResult) -> Vec<&ArmResult> {
    let mut baselines: Vec<&ArmResult> =
        result.arms.iter().filter(|arm| arm.kind == ArmKind::Baseline).collect();
    baselines.sort_by_key(|arm| arm.id != result.plan.baseline);
    baselines
}

/// ` to` with the reference arm of `arm`, if that is not the main one, which an answer names as plain proxying; else nothing.
pub(crate) fn to_other(result: &StudyResult, arm: &ArmResult) -> String {
    let main = baselines(result).first().map(|main| main.id.as_str());
    let other = arm.compared_with.as_deref().filter(|other| Some(*other) != main);
    other.map_or_else(String::new, |other| format!(" to `{other}`"))
}

/// Returns the load from which the costs of an arm are taken, if it differs from the load of the study's costs.
pub(crate) fn own_load<'a>(result: &'a StudyResult, arm: &ArmResult) -> Option<&'a LoadSpec> {
    let plan = &result.plan;
    let of_cpu = plan.cpu_load_of(&arm.id).filter(|own| plan.cpu_load() != Some(*own));
    of_cpu.or_else(|| plan.response_load_of(&arm.id).filter(|own| plan.response_load() != Some(*own)))
}

/// The mark of an arm in tables with several loads: the rate of its load, if it differs from the load in the table's title.
pub(crate) fn mark(result: &StudyResult, arm: &ArmResult) -> String {
    let mark = own_load(result, arm).map(|load| format!(" ({})", load_rate::rate(result, load)));
    mark.unwrap_or_default()
}

/// Returns the level of an arm in a measure ([`ArmResult::level`]), in the unit of tables; for a share, the level that it is a share of.
pub(crate) fn arm_level(arm: &ArmResult, measure: CostMeasure) -> Option<Interval> {
    Some(in_units_of_tables(arm.level(measure)?, measure))
}

/// Returns the level of the reference arm of an arm, under the load of the arm's cost, in the unit of tables.
pub(crate) fn reference_level(
    result: &StudyResult,
    arm: &ArmResult,
    measure: CostMeasure,
) -> Option<Interval> {
    let level = result.level_of_reference(arm, result.reference_of(arm)?, measure)?;
    Some(in_units_of_tables(level, measure))
}

fn in_units_of_tables(level: Interval, measure: CostMeasure) -> Interval {
    match measure {
        CostMeasure::OfRounds(measure) => level.in_units(measure.definition().unit),
        _ => level,
    }
}

/// Returns the value of one proxy in a round measure, in the unit of tables.
pub(crate) fn hop_level(hop: &HopUse, measure: RoundMeasure) -> Option<Interval> {
    hop.of_rounds.get(measure).map(|number| number.in_units(measure.definition().unit))
}

/// A share in percent.
pub(crate) fn in_percent(share: &Interval) -> Interval {
    share.in_units(PERCENT)
}

fn row<'a>(result: &'a StudyResult, arm: &'a ArmResult) -> Row<'a> {
    let baseline = result.reference_of(arm);
    // Without a proxy, there is neither CPU time nor a rate of a proxy.
    let has_proxy = !arm.hops.is_empty();
    // Response times need an open loop.
    let response_load = result.plan.response_load_of(&arm.id);
    let has_schedule = response_load.is_some();
    let is_measurable = |measure: CostMeasure| match measure {
        CostMeasure::CpuShare | CostMeasure::CpuUs => has_proxy,
        CostMeasure::ResponseP50Us | CostMeasure::ResponseP90Us | CostMeasure::ResponseP99Us => has_schedule,
        CostMeasure::ResponseQuietP99Us => {
            has_quiet(arm, response_load) && baseline.is_some_and(|other| has_quiet(other, response_load))
        }
        CostMeasure::MaxRate => has_proxy && arm.kind != ArmKind::Position,
        CostMeasure::OfRounds(_) => has_proxy && baseline.is_some(),
    };
    let cost = |measure: CostMeasure| {
        let asked = Asked { measure, load: None, is_measurable: is_measurable(measure) };
        (measure, cell(result, arm, &asked, measure.interval(&arm.cost)))
    };
    let of_slices = OF_SLICES.into_iter().map(|(measure, ..)| measure);
    Row {
        arm,
        name: match arm.kind {
            ArmKind::Same => format!("{} (A/A)", arm.id),
            ArmKind::Direct => format!("{} (no proxy)", arm.id),
            ArmKind::External => format!("{} (never restarted)", arm.id),
            ArmKind::Baseline | ArmKind::Function | ArmKind::Position => arm.id.clone(),
        },
        mark: mark(result, arm),
        costs: of_slices.chain(CostMeasure::of_rounds()).map(cost).collect(),
    }
}

/// Returns true if an arm has quiet slices under the load from which response times are taken.
fn has_quiet(arm: &ArmResult, load: Option<&LoadSpec>) -> bool {
    let under = load.and_then(|load| arm.under(&load.name));
    under.is_some_and(|under| under.quiet_share.is_some())
}

/// The number to show in a cell.
pub(crate) struct Asked<'a> {
    /// Its measure.
    pub(crate) measure: CostMeasure,
    /// Its load; none for the default load of the measure.
    pub(crate) load: Option<&'a LoadSpec>,
    /// True if it can be measured at all.
    pub(crate) is_measurable: bool,
}

/// The cell of a cost, in the unit of tables: with its interval, with its bounds, or unknown because of the checks that withheld it. Empty
/// if it was not measured.
pub(crate) fn cell(result: &StudyResult, arm: &ArmResult, asked: &Asked<'_>, cost: Option<Interval>) -> Cell {
    let (scale, unit) = (sittings::unit(asked.measure), unit_name(asked.measure));
    let under = asked.load.map(|load| arm.under(&load.name));
    let (costs, bounds) = match under {
        None => (Some(&arm.cost), Some(&arm.bounds)),
        Some(load) => (load.map(|one| &one.cost), load.map(|one| &one.bounds)),
    };
    if let Some(cost) = cost {
        let is_uncertain = costs.is_some_and(|costs| costs.uncertain_signs.contains(&asked.measure));
        return Cell::Quantity(Quantity::difference(&cost.times(scale), unit).with_sign(is_uncertain));
    }
    if let Some(bound) = bounds.and_then(|bounds| bounds.cost(asked.measure)) {
        return Cell::Quantity(bounded(bound));
    }
    let measure = asked.measure.measure();
    let load = asked
        .load
        .map(|load| load.name.as_str())
        .or_else(|| result.plan.usual_load_name(&arm.id, asked.measure));
    let place = Place { arm: &arm.id, compared_with: arm.compared_with.as_deref(), load, measure };
    let is_withholding = |finding: &&Finding| asked.is_measurable && finding.withholds_number(&place);
    let withholding = result.findings.iter().filter(is_withholding).map(|finding| finding.id.as_str());
    checks(withholding).map(|why| Quantity::unknown(why, unit)).into()
}

/// A bounded level or cost, in the unit of tables.
pub(crate) fn bounded(bound: &Bound) -> Quantity {
    let scale = sittings::unit(bound.measure);
    let [low, high] = [bound.low, bound.high].map(|end| end.map(|end| end * scale));
    let form = if bound.of == BoundOf::Cost { Form::Difference } else { Form::Level };
    Quantity::bounded(low, high, unit_name(bound.measure), form)
}

/// The bounds of the cost of an arm in the unit of tables, without the unit: `-20 to +300`. None if the cost has an interval, or nothing
/// bounds it.
pub fn bounds_of_cost(arm: &ArmResult, measure: CostMeasure) -> Option<String> {
    arm.bounds.cost(measure).map(|bound| bounded(bound).text())
}

/// The unit of a measure in tables.
pub(crate) fn unit_name(measure: CostMeasure) -> &'static str {
    match measure {
        CostMeasure::CpuShare => "%",
        CostMeasure::CpuUs
        | CostMeasure::ResponseP50Us
        | CostMeasure::ResponseP90Us
        | CostMeasure::ResponseP99Us
        | CostMeasure::ResponseQuietP99Us => "us",
        CostMeasure::MaxRate => "requests/s",
        CostMeasure::OfRounds(measure) => measure.definition().unit_name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::quantity::Basis;

    fn row_of<'a>(result: &'a StudyResult, id: &str) -> Row<'a> {
        rows(result).into_iter().find(|row| row.arm.id == id).unwrap()
    }

    #[test]
    fn every_compared_arm_has_one_row_and_the_most_expensive_comes_first() {
        let result = fixture::study();
        let mut rows = rows(&result);
        let compared = result.arms.iter().filter(|arm| arm.kind != ArmKind::Baseline);
        assert_eq!(rows.len(), compared.count());
        let controls = rows.split_off(rows.iter().position(|row| row.arm.is_control()).unwrap());
        assert!(controls.iter().all(|row| row.arm.is_control()), "after all other rows");
        let costs: Vec<f64> =
            rows.iter().filter_map(|row| row.arm.cost.cpu_share).map(|cost| cost.estimate).collect();
        assert!(costs.windows(2).all(|pair| pair[0] >= pair[1]), "{costs:?}");
        assert_eq!(rows.last().unwrap().arm.kind, ArmKind::Direct);
        assert_eq!(
            (rows.last().unwrap().cost(CostMeasure::CpuUs).text().as_str(), costs.len()),
            ("-", rows.len() - 1)
        );
    }

    #[test]
    fn without_shares_the_order_is_that_of_cpu_time() {
        let mut result = fixture::study();
        let order = |result: &StudyResult| {
            super::rows(result).iter().map(|row| row.arm.id.clone()).collect::<Vec<String>>()
        };
        // `lua` costs more than `rbac` in us, and now less as a share.
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "lua") {
            arm.cost.cpu_share = Some(Interval::new(0.001, 0.0, 0.002));
        }
        let place = |order: &[String], id: &str| order.iter().position(|arm| arm == id).unwrap();
        let by_share = order(&result);
        assert!(place(&by_share, "rbac") < place(&by_share, "lua"), "{by_share:?}");
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "jwt") {
            arm.cost.cpu_share = None;
        }
        let by_us = order(&result);
        assert!(place(&by_us, "lua") < place(&by_us, "rbac"), "{by_us:?}");
    }

    #[test]
    fn a_withheld_number_is_unknown_by_its_checks() {
        let result = fixture::study();
        let row = row_of(&result, "control/delay");
        let Cell::Quantity(rate) = row.cost(CostMeasure::MaxRate) else { panic!("a quantity") };
        assert_eq!(rate.basis, Basis::Unknown("not-saturated".to_owned()));
        let void = fixture::void();
        assert!(super::rows(&void).iter().all(|row| !row.cost(CostMeasure::ResponseP50Us).is_stated()));
    }

    #[test]
    fn a_bounded_number_is_stated_by_its_bounds_in_the_unit_of_tables() {
        let mut result = fixture::study();
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "lua") {
            arm.cost.cpu_share = None;
            arm.cost.response_us.p99 = None;
            let bound = |measure, low, high| Bound::new(BoundOf::Cost, measure, low, high).unwrap();
            arm.bounds.0 = vec![
                bound(CostMeasure::CpuShare, Some(-0.012), Some(0.034)),
                bound(CostMeasure::ResponseP99Us, Some(-20.0), Some(300.0)),
            ];
        }
        let lua = row_of(&result, "lua");
        let [share, p50, p99] =
            [CostMeasure::CpuShare, CostMeasure::ResponseP50Us, CostMeasure::ResponseP99Us]
                .map(|one| lua.cost(one));
        assert_eq!((share.text(), p99.text()), ("-1.2 to +3.4".to_owned(), "-20 to +300".to_owned()));
        assert!(p99.is_faint() && p99.is_stated() && !p50.is_faint());
    }

    #[test]
    fn memory_is_that_of_all_proxies_above_the_baselines() {
        let result = fixture::study();
        let of = |id: &str, measure| row_of(&result, id).cost(CostMeasure::OfRounds(measure)).text();
        assert_eq!(of("lua", RoundMeasure::MEMORY), "+0.99 ±0.57");
        assert_eq!(of("direct", RoundMeasure::MEMORY), "-");
        assert_eq!(of("lua", RoundMeasure::MEMORY_PER_CONNECTION), "+0.25 ±0.90");
    }
}
