//! Names of the numbers of a study: those of `numbers.csv`, of the store and of `hoptax runs history`.

use super::{ArmLoad, ArmResult, Cost, HopUse, Phase, StudyResult};
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
    ("cost_max_rate", |arm| arm.cost.max_rate),
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
];

/// Costs of an arm, overall or under a load.
const OF_COST: &Table<Cost> = &[
    ("cost_cpu_us_per_request", |cost| cost.cpu_us_per_request),
    ("cost_cpu_share", |cost| cost.cpu_share),
    ("cost_response_p50_us", |cost| cost.response_us.p50),
    ("cost_response_p90_us", |cost| cost.response_us.p90),
    ("cost_response_p99_us", |cost| cost.response_us.p99),
    ("cost_over_1_ms_share", |cost| cost.over_1_ms_share),
];

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
            add(&mut all, OF_COST, &arm.cost, &at(None, None));
            add_of_rounds(&mut all, "cost_", &arm.cost.of_rounds, &at(None, None));
            for hop in &arm.hops {
                let place = at(None, Some(&hop.name));
                add(&mut all, OF_PROXY, hop, &place);
                add_of_rounds(&mut all, "", &hop.of_rounds, &place);
            }
            for load in &arm.loads {
                let place = at(Some(&load.load), None);
                add(&mut all, OF_LOAD, load, &place);
                add(&mut all, OF_COST, &load.cost, &place);
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

/// What numbers belong to.
struct Place<'a> {
    arm: &'a str,
    compared_with: Option<&'a str>,
    load: Option<&'a str>,
    proxy: Option<&'a str>,
}

/// Adds those numbers of a table that are present.
fn add<'a, T>(all: &mut Vec<NamedNumber<'a>>, table: &Table<T>, whole: &T, place: &Place<'a>) {
    let &Place { arm, compared_with, load, proxy } = place;
    all.extend(table.iter().filter_map(|(name, number)| {
        let interval = number(whole)?;
        Some(NamedNumber { arm, compared_with, load, proxy, name: (*name).to_owned(), interval })
    }));
}

/// Adds the numbers of rounds that are present, with `prefix` before their names.
fn add_of_rounds<'a>(
    all: &mut Vec<NamedNumber<'a>>,
    prefix: &str,
    numbers: &RoundNumbers,
    place: &Place<'a>,
) {
    let &Place { arm, compared_with, load, proxy } = place;
    all.extend(RoundMeasure::ALL.into_iter().filter_map(|measure| {
        let (interval, field) = (numbers.get(measure)?, measure.definition().field);
        Some(NamedNumber { arm, compared_with, load, proxy, name: format!("{prefix}{field}"), interval })
    }));
}
