//! CPU time of containers in a time span, from readings that nodes take.
//!
//! A kubelet reads the counter of a container every 10 to 20 seconds; a reader of control groups reads it whenever it is asked. Between two
//! readings taken while the load ran, the load was constant, so their difference divided by their distance is the container's use of a
//! processor under the load. The distance is by one clock, that of the node. This machine's clock alone decides if a reading was taken
//! within the span: the reading was not there at one poll, and was there at the next.
//!
//! A Prometheus has the readings of the kubelets, but later: a new reading may have been taken before the poll in which it was still
//! missing. It was taken after the scrape of the reading before it, though, because that was the latest one then. So of the readings that
//! arrive while the load runs, all except the first were taken while it ran.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_cluster::usage::{Container, Reading};
use hoptax_result::LimitPeriods;

/// The answers of all nodes to one poll for their latest readings.
#[derive(Clone, Debug, Default)]
pub struct Poll {
    /// The time before the question, since 1970, seconds.
    pub asked_s: f64,
    /// The time after the answer.
    pub answered_s: f64,
    /// The latest readings.
    pub readings: BTreeMap<Container, Reading>,
    /// Containers that existed before and certainly no longer exist.
    pub gone: BTreeSet<Container>,
    /// True if readings arrive some time after they were taken.
    pub is_late: bool,
}

/// The processor use of a container, or of several shared ones together, over some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    /// The share of a processor.
    pub share: f64,
    /// The time between the readings behind it, seconds; the shortest for several containers.
    pub seconds: f64,
    /// Periods of its CPU limit, or of its pod's limit if that throttled it more or is the only one; none if unknown, and without a limit.
    pub limit: Option<LimitPeriods>,
}

/// A span of time, seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its start.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

impl Span {
    /// All time.
    pub const ALL: Self = Self { from_s: 0.0, to_s: f64::INFINITY };
}

/// The use of a container between the first and the last reading that its node took in this span. None if there are fewer than two, or if
/// the container ended or restarted between them: a restart resets its counter, which may since have passed the old value.
pub fn used(polls: &[Poll], container: &Container, Span { from_s, to_s }: Span) -> Option<Used> {
    let is_within = |pair: &&[Poll]| pair[0].asked_s >= from_s && pair[1].answered_s <= to_s;
    let within: Vec<&[Poll]> = polls.windows(2).filter(is_within).collect();
    if within.iter().any(|pair| pair[1].gone.contains(container)) {
        return None;
    }
    let came = within.iter().filter_map(|pair| {
        let (old, new) = (pair[0].readings.get(container)?, pair[1].readings.get(container)?);
        (old.at_us != new.at_us).then_some(new)
    });
    let before = usize::from(within.iter().any(|pair| pair[0].is_late));
    let taken: Vec<&Reading> = came.skip(before).collect();
    let is_one_count = |pair: &[&Reading]| pair[0].group == pair[1].group && pair[0].cpu_s <= pair[1].cpu_s;
    if !taken.windows(2).all(is_one_count) {
        return None;
    }
    let (first, last) = (taken.first()?, taken.last()?);
    let seconds = last.at_us.saturating_sub(first.at_us) as f64 / 1e6;
    let cpu_s = last.cpu_s - first.cpu_s;
    (seconds > 0.0).then(|| Used { share: cpu_s / seconds, seconds, limit: tighter(first, last) })
}

/// The periods between two readings of the limit that throttled a container in the larger share of periods: its own, or that of its pod. A
/// container without a limit of its own has that of its pod. The sum of both would halve the share, because they count the same time.
fn tighter(first: &Reading, last: &Reading) -> Option<LimitPeriods> {
    let between = |of: fn(&Reading) -> Option<LimitPeriods>| {
        of(last).zip(of(first)).and_then(|(last, first)| last.since(first))
    };
    match (between(|reading| reading.limit), between(|reading| reading.limit_of_pod)) {
        (Some(own), Some(of_pod)) if of_pod.throttled_share() > own.throttled_share() => Some(of_pod),
        (own, of_pod) => own.or(of_pod),
    }
}

/// The longest time between two readings of any of these containers, seconds. None until each has three readings.
pub fn longest_gap_s(polls: &[Poll], containers: &[Container]) -> Option<f64> {
    let gap_of = |container: &Container| {
        let mut times: Vec<i64> =
            polls.iter().filter_map(|poll| Some(poll.readings.get(container)?.at_us)).collect();
        times.dedup();
        let gaps = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e6);
        (times.len() >= 3).then(|| gaps.fold(0.0, f64::max))
    };
    let gaps: Option<Vec<f64>> = containers.iter().map(gap_of).collect();
    gaps?.into_iter().reduce(f64::max)
}

/// True if the times of readings are those at which a Prometheus asked for them: then all containers of a node have the same ones, but a
/// kubelet reads each container at another moment.
pub fn have_times_of_scrapes(polls: &[Poll]) -> bool {
    let readings = polls.iter().flat_map(|poll| &poll.readings);
    let readings: BTreeSet<(i64, &Container)> = readings.map(|(one, reading)| (reading.at_us, one)).collect();
    let times: BTreeSet<i64> = readings.iter().map(|(at_us, _)| *at_us).collect();
    !times.is_empty() && times.len() * 2 <= readings.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container() -> Container {
        Container { namespace: "ns".to_owned(), pod: "origin".to_owned(), name: "proxy".to_owned() }
    }

    fn between(cpu_s: f64, seconds: f64) -> Used {
        Used { share: cpu_s / seconds, seconds, limit: None }
    }

    /// Polls every second from 100 s on. The node reads every 10 s, its clock is an hour off, and the container uses half a processor.
    fn polls(seconds: u32) -> Vec<Poll> {
        let poll = |second: u32| {
            let reading = f64::from(second / 10 * 10);
            let (at_us, cpu_s) = (3_600_000_000 + (reading * 1e6) as i64, 7.0 + reading / 2.0);
            let reading = Reading { group: "/a".to_owned(), at_us, cpu_s, ..Reading::default() };
            Poll {
                asked_s: 100.0 + f64::from(second),
                answered_s: 100.1 + f64::from(second),
                readings: [(container(), reading)].into(),
                ..Poll::default()
            }
        };
        (0..seconds).map(poll).collect()
    }

    #[test]
    fn a_container_is_measured_between_readings_that_were_taken_meanwhile() {
        let polls = polls(60);
        let used = |from_s: f64, to_s: f64| used(&polls, &container(), Span { from_s, to_s });
        // Readings at 10, 20, 30, 40 and 50 s; that of 0 s was there before.
        assert_eq!(used(100.0, 160.0), Some(between(20.0, 40.0)));
        assert!((used(100.0, 160.0).unwrap().share - 0.5).abs() < 1e-9);
        // The reading of 10 s may have been taken before 109.5 s.
        assert_eq!(used(109.5, 160.0), Some(between(15.0, 30.0)));
        assert_eq!(used(100.0, 149.0), Some(between(15.0, 30.0)));
        assert_eq!(used(100.0, 119.0), None, "one reading");
        assert_eq!(super::used(&polls, &Container::default(), Span { from_s: 100.0, to_s: 160.0 }), None);
    }

    #[test]
    fn the_first_reading_that_came_late_may_have_been_taken_before() {
        let mut polls = polls(60);
        for poll in &mut polls {
            poll.is_late = true;
        }
        let used = |from_s: f64, to_s: f64| used(&polls, &container(), Span { from_s, to_s });
        // Those of 10, 20, 30, 40 and 50 s come.
        assert_eq!(used(100.0, 160.0), Some(between(15.0, 30.0)));
        assert_eq!(used(100.0, 135.0), Some(between(5.0, 10.0)));
        assert_eq!(used(100.0, 125.0), None, "two come");
    }

    #[test]
    fn containers_that_always_have_the_time_of_another_one_have_that_of_a_scrape() {
        // Another container, which is read so much later by every second reading, or by all.
        let of = |every: usize, later_us: i64| {
            let mut polls = polls(60);
            for (second, poll) in polls.iter_mut().enumerate() {
                let mut reading = poll.readings[&container()].clone();
                if (second / 10).is_multiple_of(every) {
                    reading.at_us += later_us;
                }
                poll.readings.insert(Container::default(), reading);
            }
            have_times_of_scrapes(&polls)
        };
        assert!(of(1, 0));
        assert!(!of(1, 1_000));
        assert!(!of(2, 1_000), "some are read at the same time by chance");
        assert!(!have_times_of_scrapes(&polls(60)), "a container alone may have any times");
        assert!(!have_times_of_scrapes(&[]));
    }

    #[test]
    fn a_counter_that_began_again_is_no_number() {
        let used = |change: fn(&mut Reading)| {
            let mut polls = polls(50);
            for poll in polls.iter_mut().skip(20).take(10) {
                poll.readings.values_mut().for_each(change);
            }
            super::used(&polls, &container(), Span { from_s: 100.0, to_s: 160.0 })
        };
        // Readings of 10, 20, 30 and 40 s.
        assert_eq!(used(|_| ()), Some(between(15.0, 30.0)));
        // It has passed the first reading at the end, in which alone nothing would be seen.
        assert_eq!(used(|reading| reading.cpu_s = 0.1), None);
        assert_eq!(used(|reading| reading.group = "/b".to_owned()), None);
    }

    #[test]
    fn a_container_that_is_surely_gone_has_no_number() {
        let used = |second: usize| {
            let mut polls = polls(50);
            for poll in polls.iter_mut().skip(second) {
                poll.readings.clear();
                poll.gone.insert(container());
            }
            super::used(&polls, &container(), Span { from_s: 105.0, to_s: 145.0 })
        };
        // It went after the slice, and in it, when it had two readings.
        assert_eq!(used(46), Some(between(15.0, 30.0)));
        assert_eq!(used(44), None);
        assert_eq!(used(35), None);
    }

    #[test]
    fn the_periods_of_a_limit_are_those_between_the_readings() {
        let used = |change: fn(&mut Reading, u64)| {
            let mut polls = polls(50);
            for (poll, second) in polls.iter_mut().zip(0..) {
                poll.readings.values_mut().for_each(|reading| change(reading, second / 10 * 10));
            }
            super::used(&polls, &container(), Span { from_s: 100.0, to_s: 160.0 }).unwrap().limit
        };
        let limit = |periods, throttled, throttled_s| LimitPeriods { periods, throttled, throttled_s };
        assert_eq!(used(|_, _| ()), None);
        // Ten periods a second, in half of which the limit stopped it. The readings are from 10 to 40 s.
        let grows: fn(&mut Reading, u64) = |reading, second| {
            let (periods, throttled) = (second * 10, second * 5);
            reading.limit = Some(LimitPeriods { periods, throttled, throttled_s: second as f64 });
        };
        assert_eq!(used(grows), Some(limit(300, 150, 30.0)));
        let shrinks: fn(&mut Reading, u64) = |reading, second| {
            reading.limit = Some(LimitPeriods { periods: 1_000 - second, throttled: 0, throttled_s: 0.0 });
        };
        assert_eq!(used(shrinks), None, "its counters began again");
        // The pod is stopped in all periods, its container, of which each period is one of the pod too, in half of them.
        let both: fn(&mut Reading, u64) = |reading, second| {
            let of = |throttled| LimitPeriods { periods: second * 10, throttled, throttled_s: second as f64 };
            (reading.limit, reading.limit_of_pod) = (Some(of(second * 5)), Some(of(second * 10)));
        };
        assert_eq!(used(both), Some(limit(300, 300, 30.0)));
        let swapped: fn(&mut Reading, u64) = |reading, second| {
            let of = |throttled| LimitPeriods { periods: second * 10, throttled, throttled_s: second as f64 };
            (reading.limit, reading.limit_of_pod) = (Some(of(second * 10)), Some(of(0)));
        };
        assert_eq!(used(swapped), Some(limit(300, 300, 30.0)));
        let of_pod_alone: fn(&mut Reading, u64) = |reading, second| {
            let (periods, throttled) = (second * 10, second * 2);
            reading.limit_of_pod = Some(LimitPeriods { periods, throttled, throttled_s: second as f64 });
        };
        assert_eq!(used(of_pod_alone), Some(limit(300, 60, 30.0)), "the container has no limit of its own");
    }

    #[test]
    fn a_reading_after_an_answer_without_the_container_may_be_an_old_one() {
        let mut polls = polls(50);
        polls[15].readings.clear();
        assert_eq!(
            used(&polls, &container(), Span { from_s: 100.0, to_s: 160.0 }),
            Some(between(15.0, 30.0))
        );
        // The reading of 10 s is in the next answer, and was taken before.
        assert_eq!(
            used(&polls, &container(), Span { from_s: 115.0, to_s: 160.0 }),
            Some(between(10.0, 20.0))
        );
    }

    #[test]
    fn the_distance_of_readings_is_known_after_three() {
        let containers = [container()];
        assert_eq!(longest_gap_s(&polls(20), &containers), None);
        assert_eq!(longest_gap_s(&polls(30), &containers), Some(10.0));
        assert_eq!(longest_gap_s(&polls(30), &[container(), Container::default()]), None);
        assert_eq!(longest_gap_s(&polls(30), &[]), None);
    }
}
