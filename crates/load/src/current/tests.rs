use std::sync::mpsc::channel;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::course::Course;

proptest! {
    #[test]
    fn every_sample_and_every_interval_that_is_due_is_taken(
        steps in prop::collection::vec((0_u64..400_000, 0_usize..9), 1..50),
    ) {
        let (from_ns, end_ns, length_ns) = (1_000_000, 9_000_000, 700_000);
        let mut course = Course::new(from_ns, end_ns, 1, 7);
        let (sender, parts) = channel();
        let sink = IntervalSink { length: Duration::from_nanos(length_ns), sender };
        let mut recording = Recording::default().with_course(course.clone());
        let run = Run {
            intervals: vec![sink],
            ..Run::new(Release::Closed, from_ns, end_ns, 0)
        };
        let mut current = Current::new(run, &mut recording, &mut []);
        let (mut now_ns, mut ended) = (0, 0);
        for (gap_ns, in_flight) in steps {
            now_ns += gap_ns;
            course.sample(now_ns, in_flight, in_flight);
            current.sample(now_ns, in_flight, in_flight);
            let complete = now_ns.saturating_sub(from_ns) / length_ns;
            ended += parts.try_iter().count() as u64;
            prop_assert_eq!(ended, complete);
        }
        let sampled = current.first().course.as_ref().unwrap();
        prop_assert_eq!(sampled.in_flight(), course.in_flight());
        prop_assert_eq!(&sampled.windows, &course.windows);
    }
}

/// The recording of a run from 1,000 to 3,000 that records from 2,000.
fn recorded(book: impl FnOnce(&mut Current)) -> Recording {
    let mut recording = Recording::default();
    let run = Run { record_from_ns: 2_000, ..Run::new(Release::Closed, 1_000, 3_000, 0) };
    book(&mut Current::new(run, &mut recording, &mut []));
    recording
}

#[test]
fn events_of_the_warm_up_are_not_recorded() {
    let recording = recorded(|current| {
        current.record_goaway(1_999, 0);
        current.record_goaway(2_000, 2);
        current.record_waiting(1_999, 50);
        current.record_waiting(2_000, 3);
    });
    assert_eq!((recording.drained, recording.max_waiting), ([(2, 1)].into(), 3));
}

#[test]
fn the_longest_turn_is_that_within_the_record() {
    let turns = |times_ns: &[u64]| {
        recorded(|current| times_ns.iter().for_each(|now_ns| current.begin_turn(*now_ns))).longest_turn_ns
    };
    assert_eq!(turns(&[1_000, 1_900, 2_050, 2_250, 2_300]), 200);
    // A stop of which only the end lies within the record, and one beyond its end.
    assert_eq!(turns(&[1_000, 2_900]), 900);
    assert_eq!(turns(&[2_900, 9_900]), 7_000);
}
