//! Computes the bill of a given proxy configuration from a study of it: the whole, each part, and whether the parts add up.
//! [`second_study`] uses a second study to check a bill whose parts do not add up, and names pairs of parts that interact.

pub mod second_study;

use hoptax_result::{
    ArmKind, ArmResult, BillBody, BillResult, BilledChange, BilledPart, BilledReplacement, BilledRequest,
    BilledSum, BoundOf, Charge, Cost, Decision, Finding, Interval, ResponseCost, RoundMeasure, Severity,
    StudyResult,
};
use hoptax_stats::{DECISIVE, Weighted, decide, rounds_needed};

use crate::comparison::rounds_to_complete;
use crate::precision::{Basis, half_width_at_looks};
use crate::summary::{rounds_of_sum, sum_of_cpu_costs, sum_of_cpu_shares};

/// Inputs of a bill besides the numbers of its study.
#[derive(Clone, Debug)]
pub struct Order {
    /// The file of the configuration, as the user named it.
    pub configuration: String,
    /// The listener that receives the request.
    pub listener: String,
    /// The request.
    pub request: BilledRequest,
    /// The parts in the order of the configuration, without costs. The study has the arms that the parts name, each compared with the arm
    /// [`BillResult::WHOLE`].
    pub parts: Vec<BilledPart>,
    /// The changes, without differences. They name arms as the parts do.
    pub changes: Vec<BilledChange>,
    /// Extensions of the configuration that Envoy lacks.
    pub lacking: Vec<String>,
    /// Parts of the configuration that were replaced.
    pub replacements: Vec<BilledReplacement>,
    /// Price of a core for an hour, if known.
    pub price_per_core_hour: Option<f64>,
}

/// Computes the bill. Numbers that the study withholds are missing, as is every number that depends on them.
///
/// **Method.** The cost of a part is the cost of the arm without it, with the opposite sign. Sums and the interaction are
/// [`sum_of_cpu_costs`]. The interaction as a share of the whole is [`sum_of_cpu_shares`], and [`decide`] says by it whether the parts add
/// up. Cores are requests per second times CPU time per request. Interactions need a second study: [`second_study::second_study`].
pub fn bill(result: &StudyResult, order: Order) -> BillResult {
    let load = result.plan.cpu_load_of(BillResult::WHOLE).filter(|load| load.rate.is_some());
    let rate = load.and_then(|load| load.rate);
    let priced = |charge: Charge| priced(charge, rate, order.price_per_core_hour);
    let arm = |id: &str| result.arm(id);
    let level = |arm: &ArmResult| priced(level(arm));
    let difference = |arm: &ArmResult, sign: f64| priced(difference(arm, sign));
    let mut parts = order.parts;
    for part in &mut parts {
        let without = part.arm.as_deref().and_then(arm);
        part.cost = without.map(|arm| difference(arm, -1.0)).unwrap_or_default();
    }
    let mut changes = order.changes;
    for change in &mut changes {
        let with = change.arm.as_deref().and_then(arm);
        change.difference = with.map(|arm| difference(arm, 1.0)).unwrap_or_default();
    }
    let cpu_us =
        |part: &BilledPart| part.cost.cpu_us_per_request.map_or(f64::NEG_INFINITY, |cpu| cpu.estimate);
    parts.sort_by(|one, other| cpu_us(other).total_cmp(&cpu_us(one)));
    let measured: Vec<&str> = parts.iter().filter_map(|part| part.arm.as_deref()).collect();
    // With a single part, the arm without it is also the arm without all parts.
    let all_off = match measured.as_slice() {
        [only] => arm(only),
        _ => arm(BillResult::ALL_OFF),
    };
    let concerning = result.findings.iter().filter(|finding| concerns(finding, result)).cloned();
    let mut findings: Vec<Finding> = concerning.collect();
    if !findings.iter().any(|finding| finding.severity > Severity::Info) {
        // The verdict is that of the study, and its reasons may be about what is not on the bill.
        findings.extend(result.as_source("the study of the bill"));
    }
    let body = BillBody {
        configuration: order.configuration,
        proxy_version: proxy_version(result),
        listener: order.listener,
        request: order.request,
        confidence: result.plan.confidence,
        rounds: result.plan.rounds_completed,
        rate,
        arrivals: load.and_then(|load| load.arrivals.clone()),
        price_per_core_hour: order.price_per_core_hour,
        hours_per_month: BillResult::HOURS_PER_MONTH,
        whole: arm(BillResult::WHOLE).map(level).unwrap_or_default(),
        sum: sum(result, &measured, BillResult::ALL_OFF),
        second_study: None,
        changes,
        rest: all_off.map(level),
        same_us: arm(BillResult::SAME).and_then(|arm| arm.cost.cpu_us_per_request),
        parts,
        lacking: order.lacking,
        replacements: order.replacements,
    };
    BillResult::new(result.environment.clone(), body).judged(result.verdict, findings)
}

/// The result of a study of a bill that still measures, with the parts under their names instead of the arms without them: an arm for each
/// part, with the cost that the part adds, and the plain proxies.
pub fn so_far(result: &StudyResult, parts: &[BilledPart]) -> StudyResult {
    let of_part = |part: &BilledPart| {
        let without = result.arm(part.arm.as_deref()?)?;
        let Charge { cpu_us_per_request, cpu_share, response_us, of_rounds, uncertain_signs, bounds, .. } =
            difference(without, -1.0);
        let cost = Cost {
            cpu_us_per_request,
            cpu_share,
            response_us,
            of_rounds,
            uncertain_signs,
            ..Cost::default()
        };
        let compared_with = Some("the whole without it".to_owned());
        Some(ArmResult { id: part.name.clone(), compared_with, cost, bounds, ..without.clone() })
    };
    let mut of_parts = result.clone();
    of_parts.arms.retain(|arm| arm.kind == ArmKind::Baseline);
    of_parts.arms.extend(parts.iter().filter_map(of_part));
    of_parts
}

/// Returns true if a finding is about a number of the bill. The bill has no number of the plain proxy, which every study has, and no
/// difference between the whole and the plain proxy.
fn concerns(finding: &Finding, result: &StudyResult) -> bool {
    match finding.arm.as_deref() {
        Some(BillResult::WHOLE) => !finding.costs_alone,
        arm => arm != Some(result.plan.baseline.as_str()),
    }
}

/// The version of the proxy of the whole.
fn proxy_version(result: &StudyResult) -> Option<String> {
    let whole = result.arm(BillResult::WHOLE)?;
    let hop = whole.subject.as_ref()?.hops.first()?;
    hop.version.clone()
}

/// Returns the use of an arm.
fn level(arm: &ArmResult) -> Charge {
    let hop = arm.hops.first();
    Charge {
        cpu_us_per_request: arm.cpu_us_per_request,
        response_us: arm.response_us.clone(),
        of_rounds: hop.map(|hop| hop.of_rounds).unwrap_or_default(),
        bounds: arm.bounds.signed(BoundOf::Level, 1.0),
        ..Charge::default()
    }
}

/// Returns the difference between the use of an arm and that of the whole, times `sign`. The cost of a part is the opposite of the
/// difference of the arm without it.
fn difference(arm: &ArmResult, sign: f64) -> Charge {
    let added = |cost: Option<Interval>| cost.map(|cost| cost.times(sign));
    let cost = &arm.cost;
    Charge {
        cpu_us_per_request: added(cost.cpu_us_per_request),
        cpu_share: added(cost.cpu_share),
        response_us: ResponseCost {
            p50: added(cost.response_us.p50),
            p90: added(cost.response_us.p90),
            p99: added(cost.response_us.p99),
            quiet_p99: added(cost.response_us.quiet_p99),
        },
        of_rounds: RoundMeasure::ALL
            .iter()
            .map(|measure| (*measure, added(cost.of_rounds.get(*measure))))
            .collect(),
        uncertain_signs: cost.uncertain_signs.clone(),
        bounds: arm.bounds.signed(BoundOf::Cost, sign),
        ..Charge::default()
    }
}

/// Adds the cores at `rate`, and their price.
fn priced(charge: Charge, rate: Option<f64>, price_per_core_hour: Option<f64>) -> Charge {
    let cores = charge.cpu_us_per_request.zip(rate).map(|(cpu, rate)| cpu.times(rate / 1e6));
    let money = |(cores, price): (Interval, f64)| cores.times(price * BillResult::HOURS_PER_MONTH);
    Charge { cores, money_per_month: cores.zip(price_per_core_hour).map(money), ..charge }
}

/// Compares the sum of parts with the whole. `arms` are those without one part each, and `together` is the arm without all of them.
fn sum(result: &StudyResult, arms: &[&str], together: &str) -> Option<BilledSum> {
    if arms.len() < 2 {
        return None;
    }
    let together = Weighted::new(1.0, together);
    let mut terms: Vec<Weighted<&str>> = arms.iter().map(|arm| Weighted::new(-1.0, *arm)).collect();
    let parts_us = sum_of_cpu_costs(result, &terms)?;
    terms.push(together);
    let interaction_us = sum_of_cpu_costs(result, &terms)?;
    let interaction_share = sum_of_cpu_shares(result, &terms)?;
    let (rounds, confidence) = (rounds_of_sum(result, &terms)?, result.plan.quantile_confidence());
    let freedom = interaction_share.degrees_of_freedom.unwrap_or(f64::from(rounds) - 1.0);
    let decision = decide(&interaction_share, freedom, confidence, BilledSum::MARGIN_SHARE)?;
    let until_decided = || {
        let basis = Basis { degrees_of_freedom: freedom, rounds };
        let half_width = half_width_at_looks(&interaction_share, basis, confidence)?;
        let needed = rounds_needed(half_width, rounds, DECISIVE * BilledSum::MARGIN_SHARE)?;
        Some(rounds_to_complete(result, needed, rounds))
    };
    Some(BilledSum {
        parts_us,
        together_us: sum_of_cpu_costs(result, &[together])?.times(-1.0),
        interaction_us,
        interaction_share,
        decision,
        rounds_until_decided: if decision == Decision::Undecided { until_decided() } else { None },
    })
}

#[cfg(test)]
mod tests;
