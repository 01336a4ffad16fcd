//! Addresses of all numbers of a study, for withholding them and for reporting them as withheld.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::{ArmLoad, ArmResult, Cost, Interval, Parts, ResponseCost, RoundMeasure, StudyResult, Timeline};
use crate::Finding;

/// The measure of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = with_measures_of_rounds)]
pub enum Measure {
    /// CPU time of the proxies.
    Cpu,
    /// CPU time of origin and companion, and of all together.
    OtherCpu,
    /// Requests per second, whatever limited them.
    Rate,
    /// Highest rate of a proxy, requests per second.
    MaxRate,
    /// Median response time.
    ResponseP50,
    /// 90th percentile of response time.
    ResponseP90,
    /// 99th percentile of response time, and shares of slow responses.
    ResponseP99,
    /// Bytes on a link.
    LinkBytes,
    /// Requests that a limit admitted.
    Admitted,
    /// Connections opened, and handshakes, per second.
    NewConnections,
    /// What callers saw over time: failed and late requests, and how long it hurt.
    Timeline,
    /// A measure that an arm has once per round, by its id.
    #[serde(untagged)]
    #[schemars(skip)]
    OfRounds(RoundMeasure),
}

fn with_measures_of_rounds(schema: &mut Schema) {
    let measures = RoundMeasure::ALL.into_iter().map(RoundMeasure::definition);
    let described = measures.map(|measure| (measure.id, measure.summary));
    RoundMeasure::insert_into(schema, Some("new-connections"), described);
}

impl Measure {
    /// Quantiles of response time.
    pub const RESPONSES: [Self; 3] = [Self::ResponseP50, Self::ResponseP90, Self::ResponseP99];
    /// Measures that depend on the timing of requests and responses.
    pub const TIMED: [Self; 6] = [
        Self::Rate,
        Self::MaxRate,
        Self::NewConnections,
        Self::ResponseP50,
        Self::ResponseP90,
        Self::ResponseP99,
    ];

    /// Measures that depend on the rate of a load: all but the bytes of requests and what an arm has once per round.
    pub fn of_the_rate() -> Vec<Self> {
        let others = [Self::Cpu, Self::OtherCpu, Self::Admitted, Self::Timeline];
        Self::TIMED.into_iter().chain(others).collect()
    }

    /// Its name in findings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::OtherCpu => "CPU time of origin and companion",
            Self::Rate => "rate",
            Self::MaxRate => "maximum rate",
            Self::ResponseP50 => "p50",
            Self::ResponseP90 => "p90",
            Self::ResponseP99 => "p99",
            Self::LinkBytes => "bytes",
            Self::Admitted => "admitted",
            Self::NewConnections => "new connections",
            Self::Timeline => "timeline",
            Self::OfRounds(measure) => measure.definition().words,
        }
    }
}

/// The address of a number in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The arm.
    pub arm: &'a str,
    /// The arm that it is a difference from; none for the arm's own level.
    pub compared_with: Option<&'a str>,
    /// The load that it was measured under; none if all loads contribute.
    pub load: Option<&'a str>,
    /// Its measure.
    pub measure: Measure,
}

/// A number at its address.
#[derive(Debug)]
pub enum Number<'a> {
    /// With its interval.
    Interval(&'a mut Option<Interval>),
    /// Without one.
    Share(&'a mut Option<f64>),
}

impl Number<'_> {
    /// Removes it.
    pub fn clear(self) {
        match self {
            Self::Interval(interval) => *interval = None,
            Self::Share(share) => *share = None,
        }
    }

    /// Whether it is present.
    pub fn is_some(&self) -> bool {
        match self {
            Self::Interval(interval) => interval.is_some(),
            Self::Share(share) => share.is_some(),
        }
    }
}

impl Finding {
    /// Whether the finding withholds the number at `place`: one in its scope, or a difference from one in its scope.
    pub fn withholds_number(&self, place: &Place<'_>) -> bool {
        self.withholds && self.concerns(place)
    }

    /// Whether the number at `place`, or one that it is a difference from, is in the scope of the finding. A finding about
    /// costs alone does not concern differences from its arm. All loads contribute to a measure of rounds, so a finding about
    /// everything under one of them concerns it too.
    pub fn concerns(&self, place: &Place<'_>) -> bool {
        let is_reference = |arm: &String| !self.costs_alone && Some(arm.as_str()) == place.compared_with;
        let is_arm = |arm: &String| arm == place.arm || is_reference(arm);
        let is_of_all_loads = place.load.is_none() && matches!(place.measure, Measure::OfRounds(_));
        let is_load = |load: &String| {
            Some(load.as_str()) == place.load || (is_of_all_loads && self.measures.is_empty())
        };
        (place.compared_with.is_some() || !self.costs_alone)
            && (self.measures.is_empty() || self.measures.contains(&place.measure))
            && self.arm.as_ref().is_none_or(is_arm)
            && self.load.as_ref().is_none_or(is_load)
    }
}

impl StudyResult {
    /// Visits every number of an arm in the result.
    pub fn for_each_number(&mut self, visit: &mut dyn FnMut(&Place<'_>, Number<'_>)) {
        let name = |load: Option<&super::LoadSpec>| load.map(|load| load.name.clone());
        let usual = Usual {
            cpu: name(self.plan.cpu_load()),
            rate: name(self.plan.rate_load()),
            response: name(self.plan.response_load()),
        };
        for arm in &mut self.arms {
            visit_arm(arm, &usual, visit);
        }
        for timeline in &mut self.timelines {
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

/// The loads that numbers come from by default.
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
    for hop in &mut arm.hops {
        visit(&level(cpu, Measure::Cpu), Number::Interval(&mut hop.cpu_us_per_request));
        for (measure, number) in hop.of_rounds.iter_mut() {
            visit(&level(None, Measure::OfRounds(measure)), Number::Interval(number));
        }
    }
    for load in &mut arm.loads {
        visit_load(load, (id, other), visit);
    }
}

fn visit_load(
    load: &mut ArmLoad,
    (id, other): (&str, Option<&str>),
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
    let Cost { cpu_us_per_request, cpu_share, response_us, over_1_ms_share, max_rate, .. } = &mut load.cost;
    visit(&cost(Measure::Cpu), Number::Interval(cpu_us_per_request));
    visit(&cost(Measure::Cpu), Number::Interval(cpu_share));
    visit(&cost(Measure::MaxRate), Number::Interval(max_rate));
    visit(&cost(Measure::ResponseP99), Number::Interval(over_1_ms_share));
    visit_responses(response_us, cost, visit);
    for status in &mut load.statuses {
        visit(&level(Measure::Rate), Number::Interval(&mut status.per_second));
        visit_responses(&mut status.response_us, level, visit);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    /// A finding about the arm `whole` that withholds.
    fn about_whole(measures: Vec<Measure>) -> Finding {
        Finding {
            id: "test".to_owned(),
            severity: Severity::Info,
            arm: Some("whole".to_owned()),
            sitting: None,
            load: None,
            measures,
            withholds: true,
            bounds: false,
            numbers: Vec::new(),
            costs_alone: false,
            message: String::new(),
            value: 0.0,
            threshold: 0.0,
            unit: String::new(),
            advice: String::new(),
        }
    }

    #[test]
    fn a_finding_about_everything_under_one_load_withholds_measures_of_rounds() {
        let memory = Measure::OfRounds(RoundMeasure::MEMORY);
        let level = |arm, measure, load| Place { arm, compared_with: None, load, measure };
        let of_rounds = level("whole", memory, None);
        let difference = Place { arm: "part", compared_with: Some("whole"), ..of_rounds };
        let under = |measures| Finding { load: Some("saturation".to_owned()), ..about_whole(measures) };
        let errors = under(Vec::new());
        assert!(errors.withholds_number(&of_rounds) && errors.withholds_number(&difference));
        assert!(errors.withholds_number(&level("whole", Measure::Cpu, Some("saturation"))));
        assert!(!errors.withholds_number(&level("part", memory, None)), "another arm");
        assert!(!errors.withholds_number(&level("whole", Measure::Cpu, None)), "no measure of rounds");
        assert!(!errors.withholds_number(&level("whole", Measure::Cpu, Some("fixed-rate"))), "another load");
        assert!(!errors.withholds_number(&level("whole", memory, Some("course"))), "of another load alone");
        assert!(!under(Measure::TIMED.to_vec()).withholds_number(&of_rounds), "about times alone");
    }

    #[test]
    fn a_finding_about_the_cost_of_an_arm_keeps_its_level_and_what_is_compared_with_it() {
        let finding = |costs_alone| Finding { costs_alone, ..about_whole(vec![Measure::Cpu]) };
        let place = |arm, compared_with| Place { arm, compared_with, load: None, measure: Measure::Cpu };
        let (level, cost) = (place("whole", None), place("whole", Some("baseline")));
        let (of_other, other) = (place("part", Some("whole")), place("part", None));
        for (costs_alone, withheld) in
            [(true, [false, true, false, false]), (false, [true, true, true, false])]
        {
            let found =
                [&level, &cost, &of_other, &other].map(|place| finding(costs_alone).withholds_number(place));
            assert_eq!(found, withheld, "{costs_alone}");
        }
    }
}
