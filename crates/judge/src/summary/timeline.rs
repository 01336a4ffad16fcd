//! Computes the numbers of a timeline from its courses.

use std::collections::BTreeMap;

use hoptax_plan::plan;
use hoptax_result::{
    ConnectionsP99, Course, CourseInterval, Interval, LoadSpec, Phase, PlannedPhase, SpreadSample, StudyPlan,
    StudyRound, Timeline, TimelinePlan, TimelinePoint,
};
use hoptax_stats::{EventCount, event_share, mean_of_steps, mean_over_rounds, median};

/// An interval hurts if a larger share than this of its requests fail or are late.
const HURTS_ABOVE: f64 = 0.01;
/// An interval hurts if fewer than this share of its planned requests end in it.
const HURTS_BELOW: f64 = 0.5;
/// Statistics that should be even are uneven if the largest exceeds their mean by more than this factor.
const UNEVEN_ABOVE: f64 = 1.2;
/// Tolerance of times in seconds, for rounding.
const TOLERANCE_S: f64 = 1e-6;

/// Returns the plan of a timeline, in the form of results.
pub(super) fn planned(timeline: &plan::Timeline) -> TimelinePlan {
    TimelinePlan {
        interval_s: timeline.interval.as_secs_f64(),
        objective_us: timeline.objective.map(|objective| objective.as_secs_f64() * 1e6),
        spread: timeline.spread.clone(),
        phases: timeline
            .phases()
            .into_iter()
            .map(|(at, changes)| PlannedPhase {
                from_s: at.as_secs_f64(),
                events: changes.into_iter().map(ToString::to_string).collect(),
            })
            .collect(),
    }
}

/// The timelines of all arms under all loads, in the order of the plan; empty if the study observed costs.
pub(super) fn timelines(rounds: &[StudyRound], arms: &[&str], plan: &StudyPlan) -> Vec<Timeline> {
    let Some(observed) = &plan.timeline else { return Vec::new() };
    let timeline_of = |arm: &str, load: &LoadSpec| {
        let courses = rounds.iter().flat_map(|round| &round.courses);
        let courses: Vec<&Course> =
            courses.filter(|course| course.arm == arm && course.load == load.name).collect();
        (!courses.is_empty())
            .then(|| Of { courses, load, observed, confidence: plan.confidence }.timeline(arm))
    };
    let pairs = arms.iter().flat_map(|arm| plan.loads.iter().map(move |load| (arm, load)));
    pairs.filter_map(|(arm, load)| timeline_of(arm, load)).collect()
}

/// The courses of an arm under a load, one per round.
struct Of<'a> {
    courses: Vec<&'a Course>,
    load: &'a LoadSpec,
    observed: &'a TimelinePlan,
    confidence: f64,
}

impl Of<'_> {
    fn timeline(&self, arm: &str) -> Timeline {
        let planned = &self.observed.phases;
        let ends = planned.iter().skip(1).map(|next| next.from_s).chain([self.load.slice_s]);
        let phases = planned.iter().zip(ends).map(|(phase, to_s)| self.phase(phase, to_s)).collect();
        let all = PlannedPhase { from_s: 0.0, events: Vec::new() };
        Timeline {
            arm: arm.to_owned(),
            load: self.load.name.clone(),
            whole: self.phase(&all, self.load.slice_s),
            connection_p99_us: self.of_connections(|p99| p99.median_us),
            worst_connection_p99_us: self.of_connections(|p99| p99.worst_us),
            best_worker_p99_us: self.of_workers(f64::min),
            worst_worker_p99_us: self.of_workers(f64::max),
            phases,
            points: self.points(),
        }
    }

    fn of_connections(&self, of: fn(&ConnectionsP99) -> f64) -> Option<Interval> {
        let rounds = self.courses.iter().filter_map(|course| course.connections_p99.as_ref().map(of));
        mean_over_rounds(&rounds.collect::<Vec<f64>>(), self.confidence).map(positive)
    }

    /// Selects one of the workers of each round by their 99th percentile. None unless at least two workers of a round have one.
    fn of_workers(&self, choose: fn(f64, f64) -> f64) -> Option<Interval> {
        let of_round = |course: &&Course| {
            let all: Vec<f64> = course.workers.iter().filter_map(|worker| worker.response_p99_us).collect();
            all.into_iter().reduce(choose).filter(|_| course.workers.len() > 1)
        };
        let rounds: Vec<f64> = self.courses.iter().filter_map(of_round).collect();
        mean_over_rounds(&rounds, self.confidence).map(positive)
    }

    fn phase(&self, planned: &PlannedPhase, to_s: f64) -> Phase {
        let PlannedPhase { from_s, events } = planned;
        let is_in = |time_s: f64| time_s > from_s + TOLERANCE_S && time_s <= to_s + TOLERANCE_S;
        let courses: Vec<Vec<&CourseInterval>> = self
            .courses
            .iter()
            .map(|course| course.intervals.iter().filter(|interval| is_in(interval.to_s)).collect())
            .collect();
        let share = |of: fn(&CourseInterval) -> u64| {
            let sums = courses.iter().map(|intervals| {
                let sum = |of: fn(&CourseInterval) -> u64| {
                    intervals.iter().map(|interval| of(interval)).sum::<u64>()
                };
                EventCount { events: sum(of), trials: sum(CourseInterval::ended) }
            });
            let share = event_share(&sums.collect::<Vec<EventCount>>(), self.confidence)?;
            Some(share.times(1e6))
        };
        let hurt: Vec<f64> = courses.iter().map(|intervals| self.hurt_s(intervals)).collect();
        let length_s = to_s - from_s;
        let within =
            |hurt: Interval| Interval { low: hurt.low.max(0.0), high: hurt.high.min(length_s), ..hurt };
        let worst = courses.iter().filter_map(|intervals| {
            intervals.iter().filter_map(|interval| interval.response_p99_us).reduce(f64::max)
        });
        let mut failures: BTreeMap<String, u64> = BTreeMap::new();
        for interval in courses.iter().flatten() {
            for (kind, count) in interval.failures.iter().chain(&interval.unsent) {
                *failures.entry(kind.clone()).or_default() += count;
            }
        }
        let imbalances: Vec<Vec<f64>> = self
            .courses
            .iter()
            .map(|course| {
                let in_it = course.spread.iter().filter(|sample| is_in(sample.at_s));
                in_it.filter_map(SpreadSample::imbalance).collect()
            })
            .collect();
        let uneven: Vec<f64> = imbalances
            .iter()
            .map(|of_round| {
                of_round.iter().filter(|one| **one > UNEVEN_ABOVE).count() as f64 * self.observed.interval_s
            })
            .collect();
        // The restarts in this phase, or in the whole slice.
        let restarts = |of: fn(&hoptax_result::Happened) -> f64| {
            let rounds = self.courses.iter().filter_map(|course| {
                let in_it = course.events.iter().filter(|event| {
                    !event.generations_bytes.is_empty()
                        && event.planned_s >= from_s - TOLERANCE_S
                        && event.planned_s < to_s - TOLERANCE_S
                });
                let values: Vec<f64> = in_it.map(of).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            });
            mean_over_rounds(&rounds.collect::<Vec<f64>>(), self.confidence).map(positive)
        };
        Phase {
            from_s: *from_s,
            to_s,
            events: events.clone(),
            ended: courses.iter().flatten().map(|interval| interval.ended()).sum(),
            failures,
            failed_per_million: share(CourseInterval::failed),
            late_per_million: self.observed.objective_us.and_then(|_| share(|interval| interval.late)),
            hurt_s: mean_of_steps(&hurt, self.observed.interval_s, self.confidence).map(within),
            worst_p99_us: mean_over_rounds(&worst.collect::<Vec<f64>>(), self.confidence).map(positive),
            imbalance: mean_over_rounds(&means(&imbalances), self.confidence),
            uneven_s: (!means(&imbalances).is_empty())
                .then(|| mean_of_steps(&uneven, self.observed.interval_s, self.confidence).map(within))
                .flatten(),
            restart_s: restarts(|event| event.done_s - event.began_s),
            generations_bytes: restarts(|event| event.generations_bytes.iter().sum::<u64>() as f64),
        }
    }

    /// The length of the intervals that hurt.
    fn hurt_s(&self, intervals: &[&CourseInterval]) -> f64 {
        let length_s = self.observed.interval_s;
        let planned = self.load.rate.unwrap_or_default() * length_s;
        let hurts = |interval: &&&CourseInterval| {
            let (ended, bad) = (interval.ended() as f64, (interval.failed() + interval.late) as f64);
            ended < HURTS_BELOW * planned || bad > HURTS_ABOVE * ended
        };
        intervals.iter().filter(hurts).count() as f64 * length_s
    }

    fn points(&self) -> Vec<TimelinePoint> {
        let count = self.courses.iter().map(|course| course.intervals.len()).max().unwrap_or(0);
        (0..count).map(|number| self.point(number)).collect()
    }

    fn point(&self, number: usize) -> TimelinePoint {
        let length_s = self.observed.interval_s;
        let all: Vec<&CourseInterval> =
            self.courses.iter().filter_map(|course| course.intervals.get(number)).collect();
        let per_second = |of: fn(&CourseInterval) -> u64| {
            let sum: u64 = all.iter().map(|interval| of(interval)).sum();
            sum as f64 / all.len().max(1) as f64 / length_s
        };
        let middle = |of: fn(&CourseInterval) -> Option<f64>| {
            median(&all.iter().filter_map(|interval| of(interval)).collect::<Vec<f64>>())
        };
        let imbalances: Vec<f64> = self
            .courses
            .iter()
            .filter_map(|course| course.spread.get(number).and_then(SpreadSample::imbalance))
            .collect();
        let mut shares: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for sample in self.courses.iter().filter_map(|course| course.spread.get(number)) {
            for (name, share) in sample.shares() {
                shares.entry(name.to_owned()).or_default().push(share);
            }
        }
        TimelinePoint {
            shares: shares.into_iter().map(|(name, shares)| (name, Some(mean(&shares)))).collect(),
            imbalance: (!imbalances.is_empty()).then(|| mean(&imbalances)),
            to_s: (number + 1) as f64 * length_s,
            answered_per_second: per_second(|interval| interval.answered),
            failed_per_second: per_second(CourseInterval::failed),
            late_per_second: per_second(|interval| interval.late),
            response_p50_us: middle(|interval| interval.response_p50_us),
            response_p99_us: middle(|interval| interval.response_p99_us),
        }
    }
}

/// The interval of a quantity that is not negative, such as a time.
fn positive(interval: Interval) -> Interval {
    Interval { low: interval.low.max(0.0), ..interval }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean of each round, without rounds that have no values.
fn means(rounds: &[Vec<f64>]) -> Vec<f64> {
    rounds.iter().filter(|values| !values.is_empty()).map(|values| mean(values)).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Book, Happened, WorkerConnections};

    use super::*;
    use crate::fixture;

    /// A second of 100 planned requests of which this many are answered, failed and late.
    fn second(number: u32, answered: u64, failed: u64, late: u64) -> CourseInterval {
        CourseInterval {
            to_s: f64::from(number),
            sent: answered + failed,
            answered,
            late,
            failures: (failed > 0).then(|| ("status-5xx".to_owned(), failed)).into_iter().collect(),
            response_p50_us: Some(1_000.0),
            response_p99_us: Some(1_000.0 * f64::from(number)),
            ..CourseInterval::default()
        }
    }

    fn round(intervals: Vec<CourseInterval>) -> StudyRound {
        let course = Course {
            arm: "lua".to_owned(),
            load: "saturation".to_owned(),
            book: Book::default(),
            events: vec![Happened {
                planned_s: 2.0,
                began_s: 2.0,
                done_s: 2.5,
                generations_bytes: vec![30, 40],
                ..Happened::default()
            }],
            spread: [(1, 3, 1), (2, 2, 2), (3, 4, 0), (4, 0, 0)]
                .map(|(at, one, two)| SpreadSample {
                    at_s: f64::from(at),
                    values: [("one".to_owned(), one), ("two".to_owned(), two)].into(),
                })
                .to_vec(),
            workers: [(6, Some(1_000.0)), (1, None), (3, Some(3_000.0))]
                .map(|(connections, response_p99_us)| WorkerConnections {
                    connections,
                    response_p99_us,
                    ..WorkerConnections::default()
                })
                .to_vec(),
            intervals,
            ..Course::default()
        };
        StudyRound { courses: vec![course], ..StudyRound::default() }
    }

    fn summed() -> Timeline {
        let mut plan = fixture::study().body.plan;
        plan.loads[0].rate = Some(100.0);
        plan.loads[0].slice_s = 4.0;
        let phase = |from_s: f64, events: &[&str]| PlannedPhase {
            from_s,
            events: events.iter().map(|e| (*e).to_owned()).collect(),
        };
        plan.timeline = Some(TimelinePlan {
            interval_s: 1.0,
            objective_us: Some(5e3),
            phases: vec![phase(0.0, &[]), phase(2.0, &["hot restart"])],
            ..TimelinePlan::default()
        });
        let rounds = [
            round(vec![
                second(1, 100, 0, 0),
                second(2, 100, 0, 1),
                second(3, 80, 20, 0),
                second(4, 40, 0, 0),
            ]),
            round(vec![
                second(1, 100, 0, 0),
                second(2, 100, 0, 0),
                second(3, 90, 10, 0),
                second(4, 100, 0, 2),
            ]),
        ];
        let mut all = timelines(&rounds, &["baseline", "lua"], &plan);
        assert_eq!(all.len(), 1, "the other arm has no courses");
        all.remove(0)
    }

    fn is_near(interval: Option<Interval>, value: f64) -> bool {
        (interval.unwrap().estimate - value).abs() < 1e-6
    }

    #[test]
    fn phases_have_the_requests_that_ended_in_them() {
        let timeline = summed();
        let [before, after] = &timeline.phases[..] else { panic!("two phases") };
        assert_eq!((before.ended, after.ended, timeline.whole.ended), (400, 340, 740));
        assert!(is_near(before.failed_per_million, 0.0));
        assert!(is_near(after.failed_per_million, 30.0 / 340.0 * 1e6));
        assert!(is_near(before.late_per_million, 2_500.0));
        assert_eq!(after.failures, [("status-5xx".to_owned(), 30)].into());
        assert!(is_near(after.worst_p99_us, 4_000.0));
    }

    #[test]
    fn an_interval_hurts_with_failures_late_requests_or_a_standstill() {
        let timeline = summed();
        // One late request of a hundred is not more than one in a hundred.
        assert!(is_near(timeline.phases[0].hurt_s, 0.0));
        // In both rounds the third second has failures; the fourth has a standstill in one and late requests in the other.
        assert!(is_near(timeline.phases[1].hurt_s, 2.0));
        assert!(is_near(timeline.whole.hurt_s, 2.0));
    }

    #[test]
    fn restarts_and_spread_belong_to_their_phase() {
        let timeline = summed();
        let [before, after] = &timeline.phases[..] else { panic!("two phases") };
        assert_eq!((before.restart_s, before.generations_bytes), (None, None));
        assert!(is_near(after.restart_s, 0.5));
        assert!(is_near(after.generations_bytes, 70.0));
        // 3 of a mean of 2, and 2 of 2; then 4 of 2, and nothing.
        assert!(is_near(before.imbalance, 1.25) && is_near(after.imbalance, 2.0));
        assert!(is_near(before.uneven_s, 1.0) && is_near(after.uneven_s, 1.0));
    }

    #[test]
    fn the_best_and_the_worst_worker_are_those_with_enough_responses() {
        let timeline = summed();
        assert!(is_near(timeline.best_worker_p99_us, 1_000.0));
        assert!(is_near(timeline.worst_worker_p99_us, 3_000.0));
    }

    #[test]
    fn points_are_means_over_rounds() {
        let timeline = summed();
        let third = &timeline.points[2];
        assert_eq!((third.answered_per_second, third.failed_per_second), (85.0, 15.0));
        assert_eq!((third.response_p99_us, third.imbalance), (Some(3_000.0), Some(2.0)));
        let shares =
            |number: usize| timeline.points[number].shares.values().flatten().copied().collect::<Vec<f64>>();
        assert_eq!((shares(0), shares(2), shares(3)), (vec![0.75, 0.25], vec![1.0, 0.0], Vec::new()));
    }
}
