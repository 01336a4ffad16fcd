//! CPU time of the proxies by frame: the stacks of profiles as one tree for each arm. As for layers, profiles give the shares, and slices
//! without the profiler give the CPU time.

use hoptax_plan::profile::folded::Folded;
use hoptax_plan::profile::tree::{TreeFrame, tree};
use hoptax_result::{ArmResult, FrameUse, StudyResult, StudyRound};

use super::samples::Rounds;
use crate::measures;

/// The stacks of an arm, by round, with the CPU time per request of the slices of that round, us.
type ByRound = (Vec<Folded>, Vec<f64>);

/// Sets the frames of all arms of a judged result. `stacks` returns the stacks of an arm, by its id, in a round; empty if there are none.
///
/// An arm whose layers are withheld has no frames, and one whose differences of layers are withheld has no differences of frames.
pub fn add_frames(result: &mut StudyResult, stacks: impl Fn(&str, u32) -> Folded) {
    let frames: Vec<Vec<FrameUse>> = result.arms.iter().map(|arm| frames_of(result, arm, &stacks)).collect();
    for (arm, frames) in result.arms.iter_mut().zip(frames) {
        arm.frames = frames;
    }
}

fn frames_of(result: &StudyResult, arm: &ArmResult, stacks: &impl Fn(&str, u32) -> Folded) -> Vec<FrameUse> {
    let load = result.plan.cpu_load_of(&arm.id).filter(|_| !arm.layers.is_empty());
    let Some(load) = load else { return Vec::new() };
    let is_compared = arm.layers.iter().any(|layer| layer.added_us_per_request.is_some());
    let other = arm.compared_with.as_deref().filter(|_| is_compared);
    let rounds = Rounds { all: &result.rounds, times: &[], confidence: result.plan.quantile_confidence() };
    let of = |id: &str| -> Vec<Option<(Folded, f64)>> {
        let of_round = |(round, cpu_us): (&StudyRound, Option<f64>)| {
            let stacks = stacks(id, round.round);
            Some((stacks, cpu_us?)).filter(|(stacks, _)| stacks.cpu_ns() > 0)
        };
        result.rounds.iter().zip(rounds.medians(id, &load.name, &measures::CPU)).map(of_round).collect()
    };
    let own = of(&arm.id);
    let (own, compared): (ByRound, ByRound) = match other.map(of) {
        None => (own.into_iter().flatten().unzip(), ByRound::default()),
        // Differences are those within a round.
        Some(others) => own.into_iter().zip(others).filter_map(|(own, other)| Some((own?, other?))).unzip(),
    };
    let (own_us, compared_us) = (us_of_ns(&own), us_of_ns(&compared));
    let frame = |frame: TreeFrame| FrameUse {
        name: frame.name,
        depth: frame.depth,
        own_us: us_per_request(&frame.own_ns, &own_us),
        compared_us: us_per_request(&frame.compared_ns, &compared_us),
    };
    tree(&own.0, &compared.0).into_iter().map(frame).collect()
}

/// CPU time per request that a nanosecond of samples represents, for each round, us.
fn us_of_ns((stacks, cpu_us): &ByRound) -> Vec<f64> {
    stacks.iter().zip(cpu_us).map(|(stacks, cpu_us)| cpu_us / stacks.cpu_ns() as f64).collect()
}

/// CPU time per request of samples by round, us; empty without a sample.
fn us_per_request(ns: &[u64], us_of_ns: &[f64]) -> Vec<f64> {
    if ns.iter().all(|ns| *ns == 0) {
        return Vec::new();
    }
    ns.iter().zip(us_of_ns).map(|(ns, us_of_ns)| stored(*ns as f64 * us_of_ns)).collect()
}

/// A time rounded as it is stored: to a hundredth of a nanosecond, so that the frames of an arm still add up.
fn stored(us: f64) -> f64 {
    (us * 1e5).round() / 1e5
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmKind, Interval, LayerUse};

    use super::*;
    use crate::summary::tests::one_slice;

    /// The only load of the sample.
    const LOAD: &str = "saturation";

    /// Two rounds of `plain`, at 20 and 22 us per request, and of `jwt`, at 40 and 44.
    fn result() -> StudyResult {
        let round = |(round, factor): (u32, f64)| StudyRound {
            round,
            samples: [("plain", 20.0), ("jwt", 40.0)]
                .map(|(arm, us)| one_slice(arm, LOAD, &[(&measures::CPU, us * factor)]))
                .into(),
            ..StudyRound::default()
        };
        let layer = |added: Option<Interval>| LayerUse {
            layer: "libc".to_owned(),
            cpu_us_per_request: Interval::around(20.0, 1.0),
            added_us_per_request: added,
        };
        let mut result = hoptax_result::sample::study("frames", "2026-11-29T00:00:00Z", 5.0);
        result.rounds = [(0, 1.0), (1, 1.1)].map(round).into();
        let plain = ArmResult {
            id: "plain".to_owned(),
            kind: ArmKind::Baseline,
            layers: vec![layer(None)],
            ..ArmResult::default()
        };
        let jwt = ArmResult {
            id: "jwt".to_owned(),
            kind: ArmKind::Function,
            compared_with: Some("plain".to_owned()),
            layers: vec![layer(Some(Interval::around(20.0, 1.0)))],
            ..ArmResult::default()
        };
        result.arms = vec![plain, jwt];
        result
    }

    fn stacks(arm: &str, round: u32) -> Folded {
        match (arm, round) {
            ("plain", _) => Folded::read("main;writev 1000\n"),
            // The second profile took twice as many samples, of the same kind.
            ("jwt", 0) => Folded::read("main;writev 500\nmain;verify 500\n"),
            ("jwt", _) => Folded::read("main;writev 1000\nmain;verify 1000\n"),
            _ => Folded::default(),
        }
    }

    #[test]
    fn frames_have_their_shares_of_the_cpu_time_of_each_round_beside_the_other_arm() {
        let mut result = result();
        add_frames(&mut result, stacks);
        let of = |arm: usize, name: &str| {
            let frame = result.arms[arm].frames.iter().find(|frame| frame.name == name).unwrap();
            (frame.depth, frame.own_us.clone(), frame.compared_us.clone())
        };
        assert_eq!(of(0, "writev"), (2, vec![20.0, 22.0], Vec::new()));
        assert_eq!(of(1, "writev"), (2, vec![20.0, 22.0], vec![20.0, 22.0]));
        assert_eq!(of(1, "verify"), (2, vec![20.0, 22.0], Vec::new()));
        assert_eq!(of(1, "main"), (1, Vec::new(), Vec::new()));
    }

    #[test]
    fn a_withheld_arm_has_no_frames_and_a_withheld_difference_is_not_stated() {
        let mut result = result();
        result.arms[0].layers.clear();
        result.arms[1].layers[0].added_us_per_request = None;
        add_frames(&mut result, stacks);
        assert!(result.arms[0].frames.is_empty());
        let frames = &result.arms[1].frames;
        assert!(!frames.is_empty() && frames.iter().all(|frame| frame.compared_us.is_empty()), "{frames:?}");
    }

    #[test]
    fn a_round_without_a_profile_is_left_out_on_both_sides() {
        let mut result = result();
        add_frames(&mut result, |arm, round| {
            if (arm, round) == ("plain", 1) { Folded::default() } else { stacks(arm, round) }
        });
        let writev = result.arms[1].frames.iter().find(|frame| frame.name == "writev").unwrap();
        assert_eq!((writev.own_us.len(), writev.compared_us.len()), (1, 1));
    }
}
