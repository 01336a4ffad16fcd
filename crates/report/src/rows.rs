//! The rows of a study, for all outputs: one per compared arm, in descending order of cost.

use hoptax_result::{ArmKind, ArmResult, HopUse, Interval, Measure, Place, StudyResult};

use crate::findings::listed;
use crate::numbers::{difference, percent_of};

/// Bytes of a MiB, the unit of memory of processes, and of a kB, that of memory of connections.
pub(crate) const MIB: f64 = 1_048_576.0;
const KB: f64 = 1_000.0;
/// One percent as a share.
const PERCENT: f64 = 0.01;

/// One compared arm.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) arm: &'a ArmResult,
    pub(crate) name: String,
    /// CPU time that it adds, percent of that of the arm compared with.
    pub(crate) cpu_share: Cell,
    /// The same in us.
    pub(crate) cpu: Cell,
    pub(crate) p50: Cell,
    pub(crate) p90: Cell,
    pub(crate) p99: Cell,
    pub(crate) max_rate: Cell,
    pub(crate) max_rate_percent: String,
    /// Resident memory that it adds, MiB.
    pub(crate) memory: Cell,
    /// Resident memory that it adds per connection, kB.
    pub(crate) memory_per_connection: Cell,
    /// Whether its CPU cost is indistinguishable from zero.
    pub(crate) is_near_zero: bool,
}

/// One number of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Whether the number is present.
    is_present: bool,
    /// The checks that withheld it.
    withheld_by: Vec<String>,
}

/// The columns of the main table.
const MEASURES: [Measure; 7] = [
    Measure::Cpu,
    Measure::ResponseP50,
    Measure::ResponseP90,
    Measure::ResponseP99,
    Measure::MaxRate,
    Measure::Memory,
    Measure::MemoryPerConnection,
];

impl Row<'_> {
    /// What stands before its cost in CPU time.
    pub(crate) fn mark(&self) -> &'static str {
        if self.is_near_zero { "~ " } else { "" }
    }

    fn cell(&self, measure: Measure) -> Option<&Cell> {
        match measure {
            Measure::Cpu => Some(&self.cpu),
            Measure::ResponseP50 => Some(&self.p50),
            Measure::ResponseP90 => Some(&self.p90),
            Measure::ResponseP99 => Some(&self.p99),
            Measure::MaxRate => Some(&self.max_rate),
            Measure::Memory => Some(&self.memory),
            Measure::MemoryPerConnection => Some(&self.memory_per_connection),
            Measure::OtherCpu
            | Measure::Rate
            | Measure::NewConnections
            | Measure::LinkBytes
            | Measure::Admitted
            | Measure::StartCpu
            | Measure::Timeline => None,
        }
    }
}

/// The columns of the main table that have a number, and why others are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    shown: Vec<Measure>,
    /// Whether CPU time has a column in percent. There is none if nothing has a share: beside an arm without a proxy.
    pub(crate) has_share: bool,
    /// A note if columns were left out because all of their cells are withheld.
    pub(crate) left_out: Option<String>,
}

impl Columns {
    pub(crate) fn of(rows: &[Row<'_>]) -> Self {
        let has_share = rows.iter().any(|row| row.cpu_share.is_present);
        let mut columns = Self { has_share, ..Self::default() };
        let mut is_of_most = false;
        // The columns left out, by the checks that withheld them.
        let mut left_out: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for measure in MEASURES {
            let cells = || rows.iter().filter_map(|row| row.cell(measure));
            let stated = cells().filter(|cell| cell.is_present).count();
            let withheld = cells().filter(|cell| !cell.withheld_by.is_empty()).count();
            // Most arms share the reason why a tail is withheld: it is given once instead of in each cell.
            let is_tail = matches!(measure, Measure::ResponseP90 | Measure::ResponseP99);
            if stated > 0 && (!is_tail || stated >= withheld) {
                columns.shown.push(measure);
                continue;
            }
            is_of_most |= stated > 0;
            let mut checks: Vec<&str> =
                cells().flat_map(|cell| &cell.withheld_by).map(String::as_str).collect();
            checks.sort_unstable();
            checks.dedup();
            match left_out.iter_mut().find(|(withholding, _)| *withholding == checks) {
                _ if checks.is_empty() => {}
                Some((_, words)) => words.push(measure.as_str()),
                None => left_out.push((checks, vec![measure.as_str()])),
            }
        }
        let by =
            |(checks, words): &(Vec<&str>, Vec<&str>)| format!("{} (by {})", listed(words), listed(checks));
        if !left_out.is_empty() {
            let left_out = left_out.iter().map(by).collect::<Vec<_>>().join("; ");
            let arms = if is_of_most { "most or all arms" } else { "all arms" };
            columns.left_out = Some(format!("not shown, withheld for {arms}: {left_out}"));
        } else if columns.is_empty() && !rows.is_empty() {
            columns.left_out = Some("no arm has a cost".to_owned());
        }
        columns
    }

    /// Whether the measure has a column.
    pub(crate) fn has(&self, measure: Measure) -> bool {
        self.shown.contains(&measure)
    }

    /// Whether the table has no columns.
    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }
}

/// The rows in descending order of cost, followed by arms without a CPU cost. Costs are in order of their shares, if all
/// of them have one, and otherwise in order of their CPU time.
pub(crate) fn rows(result: &StudyResult) -> Vec<Row<'_>> {
    // In a timeline, no arm is compared with another.
    let compared = result.arms.iter().filter(|_| result.plan.timeline.is_none());
    let mut rows: Vec<Row<'_>> =
        compared.filter(|arm| arm.kind != ArmKind::Baseline).map(|arm| row(result, arm)).collect();
    let has_shares = rows.iter().all(|row| row.cpu_share.is_present || !row.cpu.is_present);
    let cost = |row: &Row<'_>| {
        let cost = &row.arm.cost;
        let cost = if has_shares { cost.cpu_share } else { cost.cpu_us_per_request };
        cost.map_or(f64::NEG_INFINITY, |interval| interval.estimate)
    };
    rows.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    rows
}

/// The arms that others are compared with, the main one first.
pub(crate) fn baselines(result: &StudyResult) -> Vec<&ArmResult> {
    let mut baselines: Vec<&ArmResult> =
        result.arms.iter().filter(|arm| arm.kind == ArmKind::Baseline).collect();
    baselines.sort_by_key(|arm| arm.id != result.plan.baseline);
    baselines
}

/// The arm that `arm` is compared with.
pub(crate) fn compared_with<'a>(result: &'a StudyResult, arm: &ArmResult) -> Option<&'a ArmResult> {
    result.arms.iter().find(|other| Some(&other.id) == arm.compared_with.as_ref())
}

/// Resident memory of all proxies of an arm together, MiB; none without one, or if that of one of them is not known.
pub(crate) fn memory_mib(arm: &ArmResult) -> Option<Interval> {
    sum(arm.hops.iter().map(hop_memory_mib))
}

/// The sum of what the proxies of an arm have; none without proxies, or if that of one of them is not known.
pub(crate) fn sum(proxies: impl Iterator<Item = Option<Interval>>) -> Option<Interval> {
    let proxies: Option<Vec<Interval>> = proxies.collect();
    let proxies = proxies.filter(|proxies| !proxies.is_empty())?;
    let estimate = proxies.iter().map(|proxy| proxy.estimate).sum::<f64>();
    let half = proxies.iter().fold(0.0, |half: f64, proxy| half.hypot(proxy.half_width()));
    Some(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// Resident memory per connection of an arm's first proxy, kB; none if it has no connections.
pub(crate) fn memory_per_connection_kb(arm: &ArmResult) -> Option<Interval> {
    hop_memory_per_connection_kb(arm.hops.first()?)
}

/// Resident memory of one proxy, MiB.
pub(crate) fn hop_memory_mib(hop: &HopUse) -> Option<Interval> {
    hop.memory_bytes.as_ref().map(|bytes| in_units(bytes, MIB))
}

/// Resident memory of one proxy per connection, kB.
pub(crate) fn hop_memory_per_connection_kb(hop: &HopUse) -> Option<Interval> {
    hop.memory_per_connection_bytes.as_ref().map(|bytes| in_units(bytes, KB))
}

/// A share in percent.
pub(crate) fn in_percent(share: &Interval) -> Interval {
    in_units(share, PERCENT)
}

pub(crate) fn in_units(interval: &Interval, unit: f64) -> Interval {
    Interval { estimate: interval.estimate / unit, low: interval.low / unit, high: interval.high / unit }
}

/// Resident memory of an arm less that of the arm it is compared with, MiB. Results of earlier versions only have both
/// levels: processes share nothing that varies from round to round, so the errors of both are treated as independent.
fn added_memory_mib(arm: &ArmResult, baseline: &ArmResult) -> Option<Interval> {
    if let Some(cost) = &arm.cost.memory_bytes {
        return Some(in_units(cost, MIB));
    }
    let (own, other) = (memory_mib(arm)?, memory_mib(baseline)?);
    let (estimate, half) = (own.estimate - other.estimate, own.half_width().hypot(other.half_width()));
    Some(Interval { estimate, low: estimate - half, high: estimate + half })
}

fn row<'a>(result: &'a StudyResult, arm: &'a ArmResult) -> Row<'a> {
    let cost = &arm.cost;
    let baseline = compared_with(result, arm);
    let share = |cost: Option<Interval>, whole: Option<Interval>| {
        cost.zip(whole)
            .and_then(|(cost, whole)| percent_of(cost.estimate, whole.estimate))
            .unwrap_or_default()
    };
    // Without a proxy there is neither its CPU time nor its rate to measure.
    let has_proxy = !arm.hops.is_empty();
    // Response times require an open loop.
    let has_schedule = result.plan.response_load().is_some();
    let response =
        |measure, cost| cell(result, arm, (measure, usual_load(result, measure)), cost, has_schedule);
    let of_proxy = |measure, cost, measurable| {
        cell(result, arm, (measure, usual_load(result, measure)), cost, has_proxy && measurable)
    };
    let is_compared = arm.kind != ArmKind::Position;
    Row {
        arm,
        name: match arm.kind {
            ArmKind::Same => format!("{} (A/A)", arm.id),
            ArmKind::Direct => format!("{} (no proxy)", arm.id),
            ArmKind::External => format!("{} (never restarted)", arm.id),
            ArmKind::Baseline | ArmKind::Function | ArmKind::Position => arm.id.clone(),
        },
        cpu_share: of_proxy(Measure::Cpu, cost.cpu_share.as_ref().map(in_percent), true),
        cpu: of_proxy(Measure::Cpu, cost.cpu_us_per_request, true),
        p50: response(Measure::ResponseP50, cost.response_us.p50),
        p90: response(Measure::ResponseP90, cost.response_us.p90),
        p99: response(Measure::ResponseP99, cost.response_us.p99),
        max_rate: of_proxy(Measure::MaxRate, cost.max_rate, is_compared),
        max_rate_percent: share(cost.max_rate, baseline.and_then(|other| other.max_rate)),
        memory: of_proxy(
            Measure::Memory,
            baseline.and_then(|other| added_memory_mib(arm, other)),
            baseline.is_some(),
        ),
        memory_per_connection: of_proxy(
            Measure::MemoryPerConnection,
            cost.memory_per_connection_bytes.as_ref().map(|bytes| in_units(bytes, KB)),
            baseline.is_some(),
        ),
        is_near_zero: cost
            .cpu_share
            .or(cost.cpu_us_per_request)
            .is_some_and(|interval| interval.contains(0.0)),
    }
}

/// A formatted cost: with its interval, `withheld` if a finding withheld it, `-` if not measured.
pub(crate) fn cell(
    result: &StudyResult,
    arm: &ArmResult,
    (measure, load): (Measure, Option<&str>),
    cost: Option<Interval>,
    measurable: bool,
) -> Cell {
    if let Some(cost) = cost {
        return Cell { text: difference(&cost), is_present: true, withheld_by: Vec::new() };
    }
    let place = Place { arm: &arm.id, compared_with: arm.compared_with.as_deref(), load, measure };
    let withholding = result.findings.iter().filter(|finding| measurable && finding.withholds_number(&place));
    let withheld_by: Vec<String> = withholding.map(|finding| finding.id.clone()).collect();
    let text = if withheld_by.is_empty() { "-" } else { "withheld" };
    Cell { text: text.to_owned(), is_present: false, withheld_by }
}

/// The load that a cost is taken from by default.
fn usual_load(result: &StudyResult, measure: Measure) -> Option<&str> {
    let load = match measure {
        Measure::Memory | Measure::MemoryPerConnection | Measure::StartCpu => None,
        Measure::MaxRate => result.plan.rate_load(),
        Measure::ResponseP50 | Measure::ResponseP90 | Measure::ResponseP99 => result.plan.response_load(),
        _ => result.plan.cpu_load(),
    };
    load.map(|load| load.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_compared_arm_has_one_row_and_the_most_expensive_comes_first() {
        let result = fixture::study();
        let rows = rows(&result);
        let compared = result.arms.iter().filter(|arm| arm.kind != ArmKind::Baseline);
        assert_eq!(rows.len(), compared.count());
        let costs: Vec<f64> =
            rows.iter().filter_map(|row| row.arm.cost.cpu_share).map(|cost| cost.estimate).collect();
        assert!(costs.windows(2).all(|pair| pair[0] >= pair[1]), "{costs:?}");
        assert_eq!(rows.last().unwrap().arm.kind, ArmKind::Direct);
        assert_eq!((rows.last().unwrap().cpu.text.as_str(), costs.len()), ("-", rows.len() - 1));
    }

    #[test]
    fn without_shares_the_order_is_that_of_cpu_time() {
        let mut result = fixture::study();
        let order = |result: &StudyResult| {
            super::rows(result).iter().map(|row| row.arm.id.clone()).collect::<Vec<String>>()
        };
        // `lua` costs more than `rbac` in us, and now less as a share.
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "lua") {
            arm.cost.cpu_share = Some(Interval { estimate: 0.001, low: 0.0, high: 0.002 });
        }
        let place = |order: &[String], id: &str| order.iter().position(|arm| arm == id).unwrap();
        let by_share = order(&result);
        assert!(place(&by_share, "rbac") < place(&by_share, "lua"), "{by_share:?}");
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "jwt") {
            arm.cost.cpu_share = None;
        }
        let by_us = order(&result);
        assert!(place(&by_us, "lua") < place(&by_us, "rbac"), "{by_us:?}");
        assert!(Columns::of(&super::rows(&result)).has_share);
        for arm in &mut result.arms {
            arm.cost.cpu_share = None;
        }
        let columns = Columns::of(&super::rows(&result));
        assert!(!columns.has_share && columns.has(Measure::Cpu));
    }

    #[test]
    fn withheld_numbers_are_marked() {
        let result = fixture::study();
        let rows = rows(&result);
        let delay = rows.iter().find(|row| row.arm.id == "fault/delay").unwrap();
        assert_eq!(delay.max_rate.text, "withheld");
        let void = fixture::void();
        assert!(super::rows(&void).iter().all(|row| row.p50.text == "withheld"));
    }

    #[test]
    fn a_column_that_is_withheld_for_all_arms_is_not_shown_and_its_reason_is() {
        let result = fixture::study();
        let columns = Columns::of(&super::rows(&result));
        assert!(MEASURES.iter().all(|measure| columns.has(*measure)) && columns.left_out.is_none());
        let mut result = fixture::study();
        result.findings[0].withholds = true;
        result.findings[0].measures = vec![Measure::ResponseP99];
        for arm in &mut result.arms {
            arm.cost.response_us.p99 = None;
        }
        let columns = Columns::of(&super::rows(&result));
        assert!(!columns.has(Measure::ResponseP99) && columns.has(Measure::ResponseP50));
        assert_eq!(columns.left_out.as_deref(), Some("not shown, withheld for all arms: p99 (by steal)"));
        let void = Columns::of(&super::rows(&fixture::void()));
        let all = "not shown, withheld for all arms: CPU time, p50, p90, p99, maximum rate, memory and \
                   memory per connection (by steal)";
        assert!(void.is_empty());
        assert_eq!(void.left_out.as_deref(), Some(all));
    }

    #[test]
    fn a_tail_that_is_withheld_for_most_arms_is_not_shown() {
        let mut result = fixture::study();
        let count = result.arms.len();
        result.findings[0].withholds = true;
        result.findings[0].measures = vec![Measure::ResponseP90, Measure::ResponseP50];
        for arm in result.arms.iter_mut().take(count - 1) {
            (arm.cost.response_us.p90, arm.cost.response_us.p50) = (None, None);
        }
        let columns = Columns::of(&super::rows(&result));
        assert!(!columns.has(Measure::ResponseP90) && columns.has(Measure::ResponseP50));
        assert_eq!(
            columns.left_out.as_deref(),
            Some("not shown, withheld for most or all arms: p90 (by steal)")
        );
    }

    #[test]
    fn memory_is_that_of_all_proxies_above_the_baselines() {
        let result = fixture::study();
        let rows = rows(&result);
        let memory = |id: &str| rows.iter().find(|row| row.arm.id == id).unwrap().memory.text.clone();
        assert_eq!(memory("lua"), "+0.99 ±0.57");
        assert_eq!(memory("direct"), "-");
        let lua = rows.iter().find(|row| row.arm.id == "lua").unwrap();
        assert_eq!(lua.memory_per_connection.text, "+0.25 ±0.90");
    }
}
