//! CPU time by frame as flame graphs: one for each arm, compared with its reference arm.

use hoptax_result::{ArmResult, FrameUse, StudyResult};
use hoptax_stats::mean_over_rounds;

use crate::chart::{Flame, FlameAdded, FlameArm, FlameFrame, FlameTime, drawn};
use crate::numbers::{difference, level, percent};

/// None if no arm has frames.
pub(crate) fn flame(result: &StudyResult) -> Option<Flame> {
    let confidence = result.plan.quantile_confidence();
    let arms: Vec<FlameArm> = result.arms.iter().filter_map(|arm| of_arm(arm, confidence)).collect();
    (!arms.is_empty()).then(|| Flame {
        title: "CPU time of each arm by frame".to_owned(),
        axis: "CPU time per request, us".to_owned(),
        unit: "us",
        arms,
    })
}

/// None without frames, and with fewer than two rounds, which allow no interval.
fn of_arm(arm: &ArmResult, confidence: f64) -> Option<FlameArm> {
    let rounds = arm.frames.iter().map(|frame| frame.own_us.len()).max()?;
    let is_compared = arm.frames.iter().any(|frame| !frame.compared_us.is_empty());
    let wholes = with_calls(&arm.frames, rounds);
    // The first frame encloses all others.
    let all_us = mean_over_rounds(&wholes.first()?.own_us, confidence)?.estimate;
    let time = |times: &Times| times.time(is_compared, confidence, all_us);
    let frame = |(frame, whole): (&FrameUse, Times)| {
        let own = Times::from_frame(frame, rounds);
        let has_own = !(frame.own_us.is_empty() && frame.compared_us.is_empty());
        Some(FlameFrame {
            name: frame.name.clone(),
            depth: frame.depth,
            whole: time(&whole)?,
            own: if has_own { Some(time(&own)?) } else { None },
        })
    };
    let frames = arm.frames.iter().zip(wholes).map(frame);
    Some(FlameArm {
        arm: arm.id.clone(),
        compared_with: arm.compared_with.clone().filter(|_| is_compared),
        frames: frames.collect::<Option<Vec<FlameFrame>>>()?,
    })
}

/// CPU times per request by round, us.
#[derive(Clone)]
struct Times {
    own_us: Vec<f64>,
    /// The times of the reference arm.
    compared_us: Vec<f64>,
}

impl Times {
    /// The times of a frame itself, without its callees. A frame without samples has zero in all rounds.
    fn from_frame(frame: &FrameUse, rounds: usize) -> Self {
        let all = |us: &[f64]| if us.is_empty() { vec![0.0; rounds] } else { us.to_vec() };
        Self { own_us: all(&frame.own_us), compared_us: all(&frame.compared_us) }
    }

    fn add(&mut self, other: &Self) {
        for (sum, us) in self.own_us.iter_mut().zip(&other.own_us) {
            *sum += us;
        }
        for (sum, us) in self.compared_us.iter_mut().zip(&other.compared_us) {
            *sum += us;
        }
    }

    /// The means over rounds. `all_us` is the CPU time of the arm.
    fn time(&self, is_compared: bool, confidence: f64, all_us: f64) -> Option<FlameTime> {
        let own = mean_over_rounds(&self.own_us, confidence)?;
        let added = || {
            let pairs = self.own_us.iter().zip(&self.compared_us);
            let added: Vec<f64> = pairs.map(|(own, compared)| own - compared).collect();
            let added = mean_over_rounds(&added, confidence)?;
            Some(FlameAdded {
                us: drawn(added.estimate),
                text: difference(&added),
                is_near_zero: added.contains(0.0),
            })
        };
        let added = if is_compared { Some(added()?) } else { None };
        let us = own.estimate.max(0.0);
        Some(FlameTime { us: drawn(us), text: level(&own), share: share(us, all_us), added })
    }
}

/// A time as a share of the total; a dash if the total is zero.
fn share(us: f64, all_us: f64) -> String {
    if all_us > 0.0 { percent(us / all_us, 1) } else { "-".to_owned() }
}

/// The times of frames including their callees, in the order of the frames.
fn with_calls(frames: &[FrameUse], rounds: usize) -> Vec<Times> {
    // Go backwards, because callees come after their caller. `open` has the frames whose caller has not been reached, the nearest last.
    let mut open: Vec<(u32, Times)> = Vec::new();
    let mut sums: Vec<Times> = Vec::new();
    for frame in frames.iter().rev() {
        let mut sum = Times::from_frame(frame, rounds);
        while let Some((_, called)) = open.pop_if(|(depth, _)| *depth > frame.depth) {
            sum.add(&called);
        }
        open.push((frame.depth, sum.clone()));
        sums.push(sum);
    }
    sums.reverse();
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn frame(name: &str, depth: u32, own_us: &[f64], compared_us: &[f64]) -> FrameUse {
        FrameUse { name: name.to_owned(), depth, own_us: own_us.to_vec(), compared_us: compared_us.to_vec() }
    }

    /// The frames of the first arm of a study.
    fn first(frames: Vec<FrameUse>) -> Option<Flame> {
        let mut result = fixture::study();
        result.arms[0].compared_with = Some("other".to_owned());
        result.arms[0].frames = frames;
        flame(&result)
    }

    #[test]
    fn a_frame_has_the_time_of_all_that_it_calls_and_its_own_beside_the_reference() {
        assert!(flame(&fixture::study()).is_none());
        let flame = first(vec![
            frame("all", 0, &[], &[]),
            frame("main", 1, &[1.0, 1.0], &[1.0, 1.0]),
            frame("verify", 2, &[9.0, 11.0], &[]),
            frame("sign", 3, &[4.0, 4.0], &[]),
            frame("writev", 2, &[20.0, 20.0], &[18.0, 22.0]),
            frame("idle", 1, &[], &[2.0, 2.0]),
        ])
        .unwrap();
        let [arm] = flame.arms.as_slice() else { panic!("{flame:?}") };
        let shown: Vec<(f64, f64, bool)> = arm
            .frames
            .iter()
            .map(|frame| {
                let added = frame.whole.added.as_ref().unwrap();
                (frame.whole.us, added.us, added.is_near_zero)
            })
            .collect();
        let expected = [
            // In the first round 34 beside 21, in the second 36 beside 25: the interval of two rounds is wide.
            (35.0, 12.0, true),
            (35.0, 14.0, false),
            (14.0, 14.0, false),
            (4.0, 4.0, false),
            (20.0, 0.0, true),
            (0.0, -2.0, false),
        ];
        assert_eq!(shown, expected);
        let shares: Vec<&str> = arm.frames.iter().map(|frame| frame.whole.share.as_str()).collect();
        assert_eq!(shares, ["100.0 %", "100.0 %", "40.0 %", "11.4 %", "57.1 %", "0.0 %"]);
        assert!(arm.frames[0].own.is_none(), "{arm:?}");
        let own = arm.frames[2].own.as_ref().unwrap();
        assert_eq!((own.text.as_str(), own.share.as_str()), ("10 ±13", "28.6 %"));
        assert_eq!(arm.frames[5].own.as_ref().unwrap().added.as_ref().unwrap().text, "-2.00 ±0.00");
        assert_eq!(arm.compared_with.as_deref(), Some("other"));
    }

    #[test]
    fn without_another_arm_there_are_no_differences_and_with_one_round_there_is_no_graph() {
        let flame = first(vec![frame("all", 0, &[1.0, 3.0], &[])]).unwrap();
        assert!(flame.arms[0].compared_with.is_none() && flame.arms[0].frames[0].whole.added.is_none());
        assert!(first(vec![frame("all", 0, &[1.0], &[])]).is_none());
    }
}
