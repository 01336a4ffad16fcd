//! Timelines: the generator kept its schedule, events happened when they should, and the arm worked before the first.

use hoptax_result::{Course, Finding, Happened, Measure, Measured, Severity, StudyResult, grouped, percent};

use crate::check::{Check, severity_above};
use crate::thresholds;

/// Lag of the generator itself.
pub(super) const SEND_LAG: Check<StudyResult> = Check {
    id: "send-lag",
    protects_from: "send lag of the generator reported as latency of the subject",
    source: "Treadmill (ISCA 2016); wrk2, which documents a lag of one millisecond",
    judge: |result, limits| {
        worst(
            result,
            |course| course.own_lag_p99_us,
            |lag_us| {
                // The response times of a timeline have no floor of their own: failures dominate them.
                let limit = limits.value(&thresholds::OWN_LAG_FAIL_US);
                let message = format!(
                    "send lag p99 was {lag_us} us in the slice with the largest",
                    lag_us = grouped(lag_us, 0)
                );
                let advice = "stop other work on the generator's processor, or keep processors from halting (`--never-halt always`)";
                (lag_us > limit).then(|| {
                    Finding::new("send-lag", Severity::Warn, Measured::us(lag_us, limit), message, advice)
                })
            },
        )
    },
    withhold: None,
};

/// A generator without spare CPU time.
pub(super) const SATURATED: Check<StudyResult> = Check {
    id: "generator-saturated",
    protects_from: "the client's limit reported as the proxy's",
    source: "RFC 9411 (headroom of the test equipment); Lancet (ATC 2019)",
    judge: |result, limits| {
        worst(
            result,
            |course| Some(course.generator_core_share),
            |share| {
                let (warn, fail) = (
                    limits.value(&thresholds::GENERATOR_BUSY),
                    limits.value(&thresholds::GENERATOR_BUSY_FAIL),
                );
                let (severity, threshold) = severity_above(share, warn, fail)?;
                let message =
                    format!("the generator used {} of its core in the busiest slice", percent(share, 0));
                let advice = "lower the rate, or use a machine with more cores";
                Some(Finding::new(
                    "generator-saturated",
                    severity,
                    Measured::percent(share, threshold),
                    message,
                    advice,
                ))
            },
        )
    },
    withhold: None,
};

/// An event that happened after its time.
pub(super) const LATE_EVENT: Check<StudyResult> = Check {
    id: "late-event",
    protects_from: "effects of an event counted in the phase before it",
    source: "own: a phase begins at the planned time of its event",
    judge: |result, limits| {
        let Some(timeline) = &result.plan.timeline else { return Vec::new() };
        let limit_s = limits.value(&thresholds::LATE_EVENT) * timeline.interval_s;
        let latest = |course: &Course| {
            course.events.iter().map(|event| event.began_s - event.planned_s).reduce(f64::max)
        };
        worst(result, latest, |late_s| {
            let message = format!("an event happened {} ms after its time", grouped(late_s * 1e3, 0));
            let advice = "stop other work on this machine, or lengthen the intervals";
            let measured = Measured::count(late_s * 1e3, limit_s * 1e3, "ms");
            (late_s > limit_s).then(|| Finding::new("late-event", Severity::Fail, measured, message, advice))
        })
    },
    withhold: None,
};

/// An event that lasted for the rest of its slice.
pub(super) const UNFINISHED_EVENT: Check<StudyResult> = Check {
    id: "unfinished-event",
    protects_from: "an event that still lasts, read as the state after it",
    source: "own; a cold restart that took 30 s lasted until the load ended, and its proxy received nothing meanwhile",
    judge: |result, limits| {
        // The time that an event took, as a share of the time that was left for it.
        let longest = |course: &Course| {
            let end_s = course.intervals.last()?.to_s;
            let share_of = |event: &Happened| {
                let left_s = end_s - event.began_s;
                (left_s > 0.0).then(|| (event.done_s - event.began_s) / left_s)
            };
            course.events.iter().filter_map(share_of).reduce(f64::max)
        };
        worst(result, longest, |share| {
            let message = "an event was not done before its slice ended".to_owned();
            let advice = "read the log of the proxy that was restarted; numbers from this event on are those of callers while it lasts";
            let measured = Measured::percent(share, limits.value(&thresholds::UNFINISHED_EVENT));
            (share >= limits.value(&thresholds::UNFINISHED_EVENT))
                .then(|| Finding::new("unfinished-event", Severity::Warn, measured, message, advice))
        })
    },
    withhold: None,
};

/// An arm that fails before anything happens.
pub(super) const FAILS_BEFORE: Check<StudyResult> = Check {
    id: "fails-before-events",
    protects_from: "a broken setup read as the effect of an event",
    source: "own",
    judge: |result, limits| {
        let limit = limits.value(&thresholds::FAILS_BEFORE);
        let judged = result.timelines.iter().filter_map(|timeline| {
            let first = timeline.phases.first().filter(|phase| phase.events.is_empty())?;
            // A timeline without events is about failures.
            let share = first.failed_per_million.filter(|_| timeline.phases.len() > 1)?.estimate / 1e6;
            let message = format!("{} of the requests failed before the first event", percent(share, 1));
            let advice = "read the log of the proxy; lower the rate if it does not sustain it";
            let one = Finding::new(
                "fails-before-events",
                Severity::Warn,
                Measured::percent(share, limit),
                message,
                advice,
            );
            (share > limit).then(|| Finding {
                arm: Some(timeline.arm.clone()),
                load: Some(timeline.load.clone()),
                ..one
            })
        });
        judged.collect()
    },
    withhold: None,
};

/// The findings about the worst course of each arm under each load.
fn worst(
    result: &StudyResult,
    value: impl Fn(&Course) -> Option<f64>,
    judge: impl Fn(f64) -> Option<Finding>,
) -> Vec<Finding> {
    let worst_of = |arm: &str, load: &str| {
        let courses = result.rounds.iter().flat_map(|round| &round.courses);
        let values = courses.filter(|course| course.arm == arm && course.load == load).filter_map(&value);
        let found = judge(values.reduce(f64::max)?)?;
        Some(Finding {
            arm: Some(arm.to_owned()),
            load: Some(load.to_owned()),
            measures: vec![Measure::Timeline, Measure::ResponseP50, Measure::ResponseP99],
            ..found
        })
    };
    result.timelines.iter().filter_map(|timeline| worst_of(&timeline.arm, &timeline.load)).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        Course, CourseInterval, Happened, Interval, Phase, Severity, StudyResult, StudyRound, Timeline,
        TimelinePlan, Verdict,
    };

    use crate::judge_study;
    use crate::study::tests::sound;
    use crate::thresholds::Limits;

    fn interval(estimate: f64) -> Interval {
        Interval::new(estimate, 0.0, 2.0 * estimate)
    }

    /// A sound timeline of two arms.
    fn timeline() -> StudyResult {
        let names = ["plain", "ejecting"];
        let course = |arm: &str| Course {
            arm: arm.to_owned(),
            load: "course".to_owned(),
            generator_core_share: 0.1,
            own_lag_p99_us: Some(90.0),
            events: vec![Happened {
                planned_s: 10.0,
                began_s: 10.001,
                done_s: 10.002,
                ..Happened::default()
            }],
            intervals: vec![CourseInterval { to_s: 30.0, ..CourseInterval::default() }],
            ..Course::default()
        };
        let phase = |events: &[&str], failed: f64| Phase {
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            failed_per_million: Some(interval(failed)),
            hurt_s: Some(interval(1.0)),
            worst_p99_us: Some(interval(900.0)),
            ..Phase::default()
        };
        let of = |arm: &str| Timeline {
            arm: arm.to_owned(),
            load: "course".to_owned(),
            whole: phase(&[], 50_000.0),
            phases: vec![phase(&[], 0.0), phase(&["origin 2 silent"], 100_000.0)],
            ..Timeline::default()
        };
        let mut result = sound();
        result.generator.clear();
        result.arms.truncate(2);
        for (arm, name) in result.arms.iter_mut().zip(names) {
            (arm.id, arm.compared_with) = (name.to_owned(), None);
            arm.loads.clear();
        }
        result.plan.timeline = Some(TimelinePlan { interval_s: 1.0, ..TimelinePlan::default() });
        result.timelines = names.map(of).to_vec();
        result.rounds = vec![StudyRound { courses: names.map(course).to_vec(), ..StudyRound::default() }];
        result
    }

    fn judged(invalidate: impl FnOnce(&mut StudyResult)) -> StudyResult {
        let mut result = timeline();
        invalidate(&mut result);
        judge_study(&mut result, &Limits::default());
        result
    }

    fn fired(result: &StudyResult, id: &str) -> Option<Severity> {
        result.findings.iter().find(|finding| finding.id == id).map(|finding| finding.severity)
    }

    #[test]
    fn a_clean_timeline_is_sound() {
        let result = judged(|_| {});
        assert_eq!(result.findings, []);
        assert_eq!((result.verdict, result), (Verdict::Sound, timeline()));
    }

    #[test]
    fn a_lagging_generator_is_named_with_its_arm() {
        let result = judged(|result| result.rounds[0].courses[1].own_lag_p99_us = Some(700.0));
        assert_eq!(fired(&result, "send-lag"), Some(Severity::Warn));
        assert_eq!(result.findings[0].arm.as_deref(), Some("ejecting"));
    }

    #[test]
    fn a_saturated_generator_loses_the_numbers_of_its_arm() {
        let result = judged(|result| result.rounds[0].courses[1].generator_core_share = 0.99);
        assert_eq!(fired(&result, "generator-saturated"), Some(Severity::Fail));
        let left = |number: usize| result.timelines[number].whole.hurt_s.is_some();
        assert!(left(0) && !left(1));
        assert_eq!(result.verdict, Verdict::Caution);
    }

    #[test]
    fn a_late_event_loses_the_numbers_of_its_arm() {
        let late = |began_s: f64| {
            judged(|result| {
                for course in &mut result.rounds[0].courses {
                    course.events[0].began_s = began_s;
                }
            })
        };
        assert_eq!(fired(&late(10.4), "late-event"), None);
        let result = late(10.6);
        assert_eq!(fired(&result, "late-event"), Some(Severity::Fail));
        assert_eq!((result.verdict, result.timelines[0].phases[1].worst_p99_us), (Verdict::Void, None));
    }

    #[test]
    fn an_event_that_lasts_until_the_end_of_its_slice_is_named() {
        let lasting = |done_s: f64| judged(|result| result.rounds[0].courses[1].events[0].done_s = done_s);
        assert_eq!(fired(&lasting(29.0), "unfinished-event"), None);
        let result = lasting(30.0);
        assert_eq!(fired(&result, "unfinished-event"), Some(Severity::Warn));
        assert_eq!(result.findings[0].arm.as_deref(), Some("ejecting"));
    }

    #[test]
    fn failures_before_the_first_event_are_named() {
        let failing = |result: &mut StudyResult| {
            result.timelines[0].phases[0].failed_per_million = Some(interval(30_000.0));
        };
        assert_eq!(fired(&judged(failing), "fails-before-events"), Some(Severity::Warn));
        let without_events = |result: &mut StudyResult| {
            failing(result);
            result.timelines[0].phases.truncate(1);
        };
        assert_eq!(fired(&judged(without_events), "fails-before-events"), None);
    }

    #[test]
    fn a_single_round_has_no_numbers() {
        let result = judged(|result| result.plan.rounds_completed = 1);
        assert_eq!(result.verdict, Verdict::Void);
        assert!(result.timelines.iter().all(|timeline| timeline.whole.failed_per_million.is_none()));
    }
}
