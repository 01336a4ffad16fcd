//! Cost of one more firewall rule, over arms that differ only in their number of rules.

use hoptax_result::{
    ArmLoad, ArmResult, Decision, Interval, PlannedFirewall, PlannedSubject, RuleCost, Shape,
};
use hoptax_stats::{Line, Point, decide, line, median};

use super::samples::{Pairing, Rounds};
use crate::measures;

/// Largest deviation that still counts as a straight line, as a share of the line's rise.
const LINEAR_SHARE: f64 = 0.1;

/// The costs of all series of arms under each load that they were measured under.
pub(super) fn costs(rounds: &Rounds<'_>, arms: &[ArmResult], confidence: f64) -> Vec<RuleCost> {
    let mut costs = Vec::new();
    for (number, first) in arms.iter().enumerate() {
        // A series is reported with its first arm.
        if arms.iter().take(number).any(|earlier| is_in_series(first, earlier)) {
            continue;
        }
        // Most arms have no firewall.
        let Some(firewall) = firewall(first) else { continue };
        let mut series: Vec<&ArmResult> = arms.iter().filter(|arm| is_in_series(first, arm)).collect();
        series.sort_by_key(|arm| rules(arm));
        let of_load = |load: &ArmLoad| cost(rounds, &series, firewall, &load.load, confidence);
        costs.extend(first.loads.iter().filter_map(of_load));
    }
    costs
}

fn firewall(arm: &ArmResult) -> Option<&PlannedFirewall> {
    arm.network()?.firewall.as_ref()
}

fn rules(arm: &ArmResult) -> u32 {
    firewall(arm).map_or(0, |firewall| firewall.rules)
}

/// Returns true if two arms have a firewall and differ at most in the number of rules.
fn is_in_series(one: &ArmResult, other: &ArmResult) -> bool {
    let without_rules = |arm: &ArmResult| -> Option<PlannedSubject> {
        let mut subject = arm.subject.clone()?;
        subject.network.as_mut()?.firewall.as_mut()?.rules = 0;
        Some(subject)
    };
    let subject = without_rules(one);
    subject.is_some() && subject == without_rules(other) && one.compared_with == other.compared_with
}

/// The cost over a series under one load; none with too few arms or rounds.
fn cost(
    rounds: &Rounds<'_>,
    series: &[&ArmResult],
    firewall: &PlannedFirewall,
    load: &str,
    confidence: f64,
) -> Option<RuleCost> {
    let compared_with = series.first()?.compared_with.as_deref()?;
    let point = |arm: &&ArmResult| -> Point {
        let measure = &measures::ALL_CPU;
        let pairing = Pairing::new(&arm.id, compared_with, load, measure);
        let differences = rounds.pairs(pairing, |own, other| (own - other) * 1e3);
        Point { quantity: f64::from(rules(arm)), rounds: differences }
    };
    let line = line(&series.iter().map(point).collect::<Vec<Point>>(), confidence)?;
    let packets = |arm: &&ArmResult| rounds.level(&arm.id, load, &measures::RECEIVED_PACKETS);
    let packets = series.iter().map(packets).collect::<Option<Vec<Interval>>>();
    let packets =
        packets.and_then(|all| median(&all.iter().map(|packets| packets.estimate).collect::<Vec<f64>>()));
    Some(RuleCost {
        firewall: firewall.firewall.clone(),
        matching: firewall.matching.clone(),
        accept_established: firewall.accept_established,
        load: load.to_owned(),
        arms: series.iter().map(|arm| arm.id.clone()).collect(),
        compared_with: compared_with.to_owned(),
        rules: series.iter().map(|arm| rules(arm)).collect(),
        cpu_ns_per_rule: line.slope,
        cpu_ns_per_rule_and_packet: packets
            // With a rule that accepts established connections, only the first packet of a connection is checked against the other rules.
            .filter(|packets| *packets > 0.0 && !firewall.accept_established)
            .map(|packets| line.slope.in_units(packets)),
        sag_ns: line.sag,
        shape: shape(&line, confidence),
    })
}

fn shape(line: &Line, confidence: f64) -> Shape {
    if line.slope.low <= 0.0 && line.slope.high >= 0.0 {
        return Shape::None;
    }
    match decide(&line.sag, f64::from(line.rounds) - 1.0, confidence, LINEAR_SHARE * line.rise.abs()) {
        Some(Decision::Equivalent) => Shape::Linear,
        Some(Decision::Different) => Shape::Bent,
        Some(Decision::Undecided) | None => Shape::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{PlannedNetwork, StudyRound};

    use super::*;
    use crate::summary::tests::one_slice;

    const LOAD: &str = "full";

    fn arm(id: &str, rules: Option<u32>, matching: &str) -> ArmResult {
        let firewall = rules.map(|rules| PlannedFirewall {
            firewall: "iptables".to_owned(),
            rules,
            matching: matching.to_owned(),
            accept_established: false,
        });
        let network = Some(PlannedNetwork { firewall, ..PlannedNetwork::default() });
        ArmResult {
            id: id.to_owned(),
            subject: Some(PlannedSubject { network, ..PlannedSubject::default() }),
            compared_with: rules.map(|_| "none".to_owned()),
            loads: vec![ArmLoad { load: LOAD.to_owned(), ..ArmLoad::default() }],
            ..ArmResult::default()
        }
    }

    /// A round in which each arm takes this much CPU time per request, us, and receives two packets.
    fn round(cpu_us: &[(&str, f64)]) -> StudyRound {
        let sample = |(arm, cpu_us): &(&str, f64)| {
            one_slice(arm, LOAD, &[(&measures::ALL_CPU, *cpu_us), (&measures::RECEIVED_PACKETS, 2.0)])
        };
        StudyRound { samples: cpu_us.iter().map(sample).collect(), ..StudyRound::default() }
    }

    #[test]
    fn arms_that_differ_in_their_number_of_rules_are_one_line() {
        let arms = [
            arm("none", None, ""),
            arm("b", Some(1_000), "last"),
            arm("a", Some(10), "last"),
            arm("c", Some(20_000), "last"),
            arm("first", Some(10), "first"),
        ];
        let at = |ns_per_rule: f64, error: f64| {
            let us = |rules: f64| 53.0 + error + rules * ns_per_rule / 1e3;
            let [a, b, c] = [10.0, 1_000.0, 20_000.0].map(us);
            round(&[("none", 50.0 + error), ("a", a), ("b", b), ("c", c), ("first", 53.0)])
        };
        let all = [at(9.9, 0.0), at(10.0, 5.0), at(10.1, -3.0)];
        let rounds = Rounds { all: &all, times: &[], confidence: 0.95 };
        let costs = costs(&rounds, &arms, 0.95);
        assert_eq!(costs.len(), 1, "one arm is no line: {costs:#?}");
        let cost = &costs[0];
        assert_eq!(cost.arms, ["a", "b", "c"]);
        assert_eq!(cost.rules, [10, 1_000, 20_000]);
        assert!((cost.cpu_ns_per_rule.estimate - 10.0).abs() < 1e-6, "{cost:?}");
        assert!((cost.cpu_ns_per_rule_and_packet.unwrap().estimate - 5.0).abs() < 1e-6, "{cost:?}");
    }

    #[test]
    fn the_shape_is_decided_by_the_sag_as_a_share_of_the_rise() {
        let of = |slope, sag| shape(&Line { slope, sag, rise: 100.0, rounds: 10 }, 0.95);
        assert_eq!(of(Interval::around(1.0, 2.0), Interval::around(0.0, 1.0)), Shape::None);
        assert_eq!(of(Interval::around(1.0, 0.1), Interval::around(2.0, 3.0)), Shape::Linear);
        assert_eq!(of(Interval::around(1.0, 0.1), Interval::around(-20.0, 3.0)), Shape::Bent);
        assert_eq!(of(Interval::around(1.0, 0.1), Interval::around(8.0, 30.0)), Shape::Undecided);
    }
}
