//! All numbers of a study with their addresses, for withholding them and for reporting them as withheld.

use super::{ArmLoad, ArmResult, Cost, CostMeasure, CostShares, ResponseCost, StudyResult, Timeline};
use crate::{Interval, Measure, Parts, Place, RoundMeasure};

/// A number at its address.
#[derive(Debug)]
pub enum Number<'a> {
    /// A number with an interval.
    Interval(&'a mut Option<Interval>),
    /// A cost as a share of the level of the arm compared with. It has the address of the cost.
    CostShare(&'a mut Option<Interval>),
    /// A share without an interval.
    Share(&'a mut Option<f64>),
}

impl Number<'_> {
    /// Removes it.
    pub fn clear(self) {
        match self {
            Self::Interval(interval) | Self::CostShare(interval) => *interval = None,
            Self::Share(share) => *share = None,
        }
    }

    /// True if it is present.
    pub fn is_some(&self) -> bool {
        match self {
            Self::Interval(interval) | Self::CostShare(interval) => interval.is_some(),
            Self::Share(share) => share.is_some(),
        }
    }
}

impl StudyResult {
    /// Visits every number of an arm in the result.
    pub fn for_each_number(&mut self, visit: &mut dyn FnMut(&Place<'_>, Number<'_>)) {
        let name = |load: Option<&super::LoadSpec>| load.map(|load| load.name.clone());
        let super::StudyBody { plan, arms, timelines, .. } = &mut self.body;
        for arm in arms {
            let usual = Usual {
                cpu: name(plan.cpu_load_of(&arm.id)),
                rate: name(plan.rate_load_of(&arm.id)),
                response: name(plan.response_load_of(&arm.id)),
            };
            visit_arm(arm, &usual, visit);
        }
        for timeline in timelines {
            visit_timeline(timeline, visit);
        }
    }
}

fn visit_timeline(timeline: &mut Timeline, visit: &mut dyn FnMut(&Place<'_>, Number<'_>)) {
    let Timeline {
        arm,
        load,
        whole,
        phases,
        points,
        connection_p99_us,
        worst_connection_p99_us,
        best_worker_p99_us,
        worst_worker_p99_us,
    } = timeline;
    let (arm, load) = (arm.as_str(), load.as_str());
    let place = |measure| Place { arm, compared_with: None, load: Some(load), measure };
    for phase in std::iter::once(whole).chain(phases) {
        for number in [
            &mut phase.failed_per_million,
            &mut phase.late_per_million,
            &mut phase.hurt_s,
            &mut phase.imbalance,
            &mut phase.uneven_s,
            &mut phase.restart_s,
        ] {
            visit(&place(Measure::Timeline), Number::Interval(number));
        }
        visit(&place(Measure::ResponseP99), Number::Interval(&mut phase.worst_p99_us));
        let memory = Measure::OfRounds(RoundMeasure::MEMORY);
        visit(&place(memory), Number::Interval(&mut phase.generations_bytes));
    }
    for p99 in [connection_p99_us, worst_connection_p99_us, best_worker_p99_us, worst_worker_p99_us] {
        visit(&place(Measure::ResponseP99), Number::Interval(p99));
    }
    for point in points {
        for share in std::iter::once(&mut point.imbalance).chain(point.shares.values_mut()) {
            visit(&place(Measure::Timeline), Number::Share(share));
        }
        visit(&place(Measure::ResponseP50), Number::Share(&mut point.response_p50_us));
        visit(&place(Measure::ResponseP99), Number::Share(&mut point.response_p99_us));
    }
}

/// The loads that the numbers of an arm come from.
struct Usual {
    cpu: Option<String>,
    rate: Option<String>,
    response: Option<String>,
}

fn visit_arm(arm: &mut ArmResult, usual: &Usual, visit: &mut dyn FnMut(&Place<'_>, Number<'_>)) {
    let (id, other) = (arm.id.as_str(), arm.compared_with.as_deref());
    let (cpu, rate, response) = (usual.cpu.as_deref(), usual.rate.as_deref(), usual.response.as_deref());
    let level = |load, measure| Place { arm: id, compared_with: None, load, measure };
    let cost = |load, measure| Place { arm: id, compared_with: other, load, measure };
    visit(&level(cpu, Measure::Cpu), Number::Interval(&mut arm.cpu_us_per_request));
    visit(&level(cpu, Measure::OtherCpu), Number::Interval(&mut arm.companion_cpu_us_per_request));
    visit(&level(rate, Measure::MaxRate), Number::Interval(&mut arm.max_rate));
    visit_responses(&mut arm.response_us, |measure| level(response, measure), visit);
    visit(&cost(cpu, Measure::Cpu), Number::Interval(&mut arm.cost.cpu_us_per_request));
    visit(&cost(cpu, Measure::Cpu), Number::Interval(&mut arm.cost.cpu_share));
    visit(&cost(rate, Measure::MaxRate), Number::Interval(&mut arm.cost.max_rate));
    visit(&cost(response, Measure::ResponseP99), Number::Interval(&mut arm.cost.over_1_ms_share));
    visit_responses(&mut arm.cost.response_us, |measure| cost(response, measure), visit);
    for (measure, number) in arm.cost.of_rounds.iter_mut() {
        visit(&cost(None, Measure::OfRounds(measure)), Number::Interval(number));
    }
    let load_of = |measure: CostMeasure| match measure {
        CostMeasure::OfRounds(_) => None,
        CostMeasure::MaxRate => rate,
        _ => response,
    };
    let of_share = |measure: CostMeasure| cost(load_of(measure), measure.measure());
    visit_shares(&mut arm.cost.shares, CostShares::measures(), of_share, visit);
    for hop in &mut arm.hops {
        visit(&level(cpu, Measure::Cpu), Number::Interval(&mut hop.cpu_us_per_request));
        for (measure, number) in hop.of_rounds.iter_mut() {
            visit(&level(None, Measure::OfRounds(measure)), Number::Interval(number));
        }
    }
    for load in &mut arm.loads {
        visit_load(load, id, other, visit);
    }
}

fn visit_load(
    load: &mut ArmLoad,
    id: &str,
    other: Option<&str>,
    visit: &mut dyn FnMut(&Place<'_>, Number<'_>),
) {
    let name = Some(load.load.as_str());
    let level = |measure| Place { arm: id, compared_with: None, load: name, measure };
    let cost = |measure| Place { arm: id, compared_with: other, load: name, measure };
    visit(&level(Measure::Rate), Number::Interval(&mut load.rate));
    visit(&cost(Measure::Rate), Number::Interval(&mut load.rate_ratio));
    visit(&level(Measure::Cpu), Number::Interval(&mut load.cpu_us_per_request));
    for part in load.parts.iter_mut().flat_map(Parts::all_mut) {
        visit(&level(Measure::Cpu), Number::Interval(part));
    }
    for part in load.added_parts.iter_mut().flat_map(Parts::all_mut) {
        visit(&cost(Measure::Cpu), Number::Interval(part));
    }
    for other_cpu in [
        &mut load.origin_cpu_us_per_request,
        &mut load.companion_cpu_us_per_request,
        &mut load.together_cpu_us_per_request,
        &mut load.all_cpu_us_per_request,
    ] {
        visit(&level(Measure::OtherCpu), Number::Interval(other_cpu));
    }
    visit(&level(Measure::LinkBytes), Number::Interval(&mut load.link_bytes_per_request));
    visit(&level(Measure::LinkBytes), Number::Interval(&mut load.received_packets_per_request));
    visit(&level(Measure::Admitted), Number::Interval(&mut load.admitted_ratio));
    visit(&level(Measure::ResponseP99), Number::Share(&mut load.within_1_ms_share));
    visit(&level(Measure::ResponseP99), Number::Share(&mut load.over_10_ms_share));
    visit_responses(&mut load.response_us, level, visit);
    for rate in [
        &mut load.connections_per_second,
        &mut load.full_handshakes_per_second,
        &mut load.resumed_handshakes_per_second,
    ] {
        visit(&level(Measure::NewConnections), Number::Interval(rate));
    }
    // Measures of rounds are not measured by load.
    let Cost { cpu_us_per_request, cpu_share, response_us, over_1_ms_share, max_rate, shares, .. } =
        &mut load.cost;
    visit(&cost(Measure::Cpu), Number::Interval(cpu_us_per_request));
    visit(&cost(Measure::Cpu), Number::Interval(cpu_share));
    visit(&cost(Measure::MaxRate), Number::Interval(max_rate));
    visit(&cost(Measure::ResponseP99), Number::Interval(over_1_ms_share));
    visit_responses(response_us, cost, visit);
    let of_slices = CostShares::measures().filter(|measure| !matches!(measure, CostMeasure::OfRounds(_)));
    visit_shares(shares, of_slices, |measure| cost(measure.measure()), visit);
    for status in &mut load.statuses {
        visit(&level(Measure::Rate), Number::Interval(&mut status.per_second));
        visit_responses(&mut status.response_us, level, visit);
    }
}

/// Visits the shares of all costs, also those that are not known, so that results of one study have the same numbers.
fn visit_shares<'a>(
    shares: &mut CostShares,
    measures: impl Iterator<Item = CostMeasure>,
    place: impl Fn(CostMeasure) -> Place<'a>,
    visit: &mut dyn FnMut(&Place<'_>, Number<'_>),
) {
    for measure in measures {
        let mut share = shares.get(measure).map(|one| one.share);
        visit(&place(measure), Number::CostShare(&mut share));
        shares.set(measure, share);
    }
}

fn visit_responses<'a>(
    responses: &mut ResponseCost,
    place: impl Fn(Measure) -> Place<'a>,
    visit: &mut dyn FnMut(&Place<'_>, Number<'_>),
) {
    visit(&place(Measure::ResponseP50), Number::Interval(&mut responses.p50));
    visit(&place(Measure::ResponseP90), Number::Interval(&mut responses.p90));
    visit(&place(Measure::ResponseP99), Number::Interval(&mut responses.p99));
    visit(&place(Measure::ResponseQuietP99), Number::Interval(&mut responses.quiet_p99));
}
