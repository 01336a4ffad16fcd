//! Names of the numbers of a study: those of `numbers.csv`, of the store and of `hoptax runs history`.

use super::{ArmLoad, ArmResult, Cost, CostMeasure, HopUse, Phase, StudyResult};
use crate::{Interval, RoundMeasure, RoundNumbers};

/// A number of a result by its name, as in `numbers.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedNumber<'a> {
    /// The arm.
    pub arm: &'a str,
    /// The arm that the arm is compared with; none if there is none.
    pub compared_with: Option<&'a str>,
    /// The load; none if the number belongs to none, or to the usual one.
    pub load: Option<&'a str>,
    /// The proxy that the number describes; none for all together.
    pub proxy: Option<&'a str>,
    /// The name, with its unit.
    pub name: String,
    /// The number.
    pub interval: Interval,
    /// True if the sign of a cost is supported once all costs of its measure are judged together; None for other numbers.
    pub has_certain_sign: Option<bool>,
}

/// Numbers with intervals, each with its name and unit.
type Table<T> = [(&'static str, fn(&T) -> Option<Interval>)];

const OF_ARM: &Table<ArmResult> = &[
    ("cpu_us_per_request", |arm| arm.cpu_us_per_request),
    ("companion_cpu_us_per_request", |arm| arm.companion_cpu_us_per_request),
    ("max_rate", |arm| arm.max_rate),
    ("response_p50_us", |arm| arm.response_us.p50),
    ("response_p90_us", |arm| arm.response_us.p90),
    ("response_p99_us", |arm| arm.response_us.p99),
    ("response_quiet_p99_us", |arm| arm.response_us.quiet_p99),
];

const OF_PROXY: &Table<HopUse> = &[("cpu_us_per_request", |hop| hop.cpu_us_per_request)];

const OF_LOAD: &Table<ArmLoad> = &[
    ("cpu_us_per_request", |load| load.cpu_us_per_request),
    ("rate", |load| load.rate),
    ("connections_per_second", |load| load.connections_per_second),
    ("full_handshakes_per_second", |load| load.full_handshakes_per_second),
    ("resumed_handshakes_per_second", |load| load.resumed_handshakes_per_second),
    ("response_p50_us", |load| load.response_us.p50),
    ("response_p90_us", |load| load.response_us.p90),
    ("response_p99_us", |load| load.response_us.p99),
    ("response_quiet_p99_us", |load| load.response_us.quiet_p99),
];

/// Costs of an arm, overall or under a load. The maximum rate is that of the arm.
const OF_COST: &[(&str, CostMeasure)] = &[
    ("cost_cpu_us_per_request", CostMeasure::CpuUs),
    ("cost_cpu_share", CostMeasure::CpuShare),
    ("cost_response_p50_us", CostMeasure::ResponseP50Us),
    ("cost_response_p90_us", CostMeasure::ResponseP90Us),
    ("cost_response_p99_us", CostMeasure::ResponseP99Us),
    ("cost_response_quiet_p99_us", CostMeasure::ResponseQuietP99Us),
];
const RATE_OF_ARM: &[(&str, CostMeasure)] = &[("cost_max_rate", CostMeasure::MaxRate)];

/// The same without a judgement of their signs.
const OF_COST_ALONE: &Table<Cost> = &[("cost_over_1_ms_share", |cost| cost.over_1_ms_share)];

/// Numbers of a phase of a timeline, and of its whole slice.
const OF_PHASE: &Table<Phase> = &[
    ("failed_per_million", |phase| phase.failed_per_million),
    ("late_per_million", |phase| phase.late_per_million),
    ("hurt_s", |phase| phase.hurt_s),
    ("worst_p99_us", |phase| phase.worst_p99_us),
    ("imbalance", |phase| phase.imbalance),
    ("uneven_s", |phase| phase.uneven_s),
    ("restart_s", |phase| phase.restart_s),
    ("generations_bytes", |phase| phase.generations_bytes),
];

impl StudyResult {
    /// All numbers of arms that have an interval and are not withheld, by their names.
    pub fn named_numbers(&self) -> Vec<NamedNumber<'_>> {
        let mut all = Vec::new();
        for arm in &self.arms {
            let at = |load, proxy| Place {
                arm: &arm.id,
                compared_with: arm.compared_with.as_deref(),
                load,
                proxy,
            };
            add(&mut all, OF_ARM, arm, &at(None, None));
            add_costs(&mut all, RATE_OF_ARM, &arm.cost, &at(None, None));
            add_costs(&mut all, OF_COST, &arm.cost, &at(None, None));
            add(&mut all, OF_COST_ALONE, &arm.cost, &at(None, None));
            add_costs_of_rounds(&mut all, &arm.cost, &at(None, None));
            for hop in &arm.hops {
                let place = at(None, Some(&hop.name));
                add(&mut all, OF_PROXY, hop, &place);
                add_of_rounds(&mut all, &hop.of_rounds, &place);
            }
            for load in &arm.loads {
                let place = at(Some(&load.load), None);
                add(&mut all, OF_LOAD, load, &place);
                add_costs(&mut all, OF_COST, &load.cost, &place);
                add(&mut all, OF_COST_ALONE, &load.cost, &place);
            }
        }
        for timeline in &self.timelines {
            let place =
                Place { arm: &timeline.arm, compared_with: None, load: Some(&timeline.load), proxy: None };
            add(&mut all, OF_PHASE, &timeline.whole, &place);
            for phase in &timeline.phases {
                let numbers = all.len();
                add(&mut all, OF_PHASE, phase, &place);
                for number in all.iter_mut().skip(numbers) {
                    number.name += &format!("_from_{}_s", phase.from_s);
                }
            }
        }
        all
    }
}

/// Address of a number: its arm, the arm that this is compared with, its load and its proxy, where it has one.
struct Place<'a> {
    arm: &'a str,
    compared_with: Option<&'a str>,
    load: Option<&'a str>,
    proxy: Option<&'a str>,
}

impl<'a> Place<'a> {
    fn number(&self, name: String, interval: Interval, has_certain_sign: Option<bool>) -> NamedNumber<'a> {
        let &Self { arm, compared_with, load, proxy } = self;
        NamedNumber { arm, compared_with, load, proxy, name, interval, has_certain_sign }
    }

    /// A cost with the judgement of its sign, if it is present.
    fn cost(&self, name: String, cost: &Cost, measure: CostMeasure) -> Option<NamedNumber<'a>> {
        let is_certain = !cost.uncertain_signs.contains(&measure);
        Some(self.number(name, measure.interval(cost)?, Some(is_certain)))
    }
}

/// Adds those numbers of a table that are present.
fn add<'a, T>(all: &mut Vec<NamedNumber<'a>>, table: &Table<T>, whole: &T, place: &Place<'a>) {
    let number = |(name, number): &(&str, fn(&T) -> Option<Interval>)| {
        Some(place.number((*name).to_owned(), number(whole)?, None))
    };
    all.extend(table.iter().filter_map(number));
}

/// Adds those costs that are present.
fn add_costs<'a>(
    all: &mut Vec<NamedNumber<'a>>,
    table: &[(&str, CostMeasure)],
    cost: &Cost,
    place: &Place<'a>,
) {
    all.extend(table.iter().filter_map(|(name, measure)| place.cost((*name).to_owned(), cost, *measure)));
}

/// Adds the numbers of rounds that are present.
fn add_of_rounds<'a>(all: &mut Vec<NamedNumber<'a>>, numbers: &RoundNumbers, place: &Place<'a>) {
    all.extend(RoundMeasure::ALL.into_iter().filter_map(|measure| {
        Some(place.number(measure.definition().field.to_owned(), numbers.get(measure)?, None))
    }));
}

/// Adds the costs in measures of rounds that are present.
fn add_costs_of_rounds<'a>(all: &mut Vec<NamedNumber<'a>>, cost: &Cost, place: &Place<'a>) {
    all.extend(RoundMeasure::ALL.into_iter().filter_map(|measure| {
        place.cost(format!("cost_{}", measure.definition().field), cost, CostMeasure::OfRounds(measure))
    }));
}
