use std::time::Duration;

use super::*;

/// A process whose histograms grow.
#[derive(Default)]
struct Process {
    said: Observed,
}

impl Process {
    /// Adds requests of an upstream that took so long.
    fn add(&mut self, upstream: &str, count: u64, us: u64) {
        let text = format!(
            r#"{{"stats":[{{"histograms":{{"details":[{{"name":"hoptax_phases.first_byte_us.upstream.{upstream}","totals":[{{"lower_bound":{us},"width":0,"count":{count}}}]}}]}}}}]}}"#
        );
        let more = crate::observed::read(&text, "").unwrap();
        for (name, phases) in more.phases {
            for (phase, bins) in phases {
                let of = self.said.phases.entry(name.clone()).or_default();
                of.entry(phase).or_default().add(&bins);
            }
        }
    }

    fn add_unanswered(&mut self, upstream: &str, count: u64) {
        *self.said.unanswered.entry(upstream.to_owned()).or_default() += count;
    }
}

const WINDOW: Duration = Duration::from_secs(5);

/// Ten upstreams, of which `u3` takes `slow_us` in windows from `first` on.
fn course(windows: u32, slow_us: impl Fn(u32) -> u64) -> Vec<BTreeMap<String, Known>> {
    let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
    let window = |number: u32| {
        for upstream in 0..10 {
            let us = if upstream == 3 { slow_us(number) } else { 1000 + 10 * upstream };
            process.add(&format!("u{upstream}"), 100, us);
        }
        upstreams.take(WINDOW * (number + 1), 1, process.said.clone());
        upstreams.known()
    };
    (0..windows).map(window).collect()
}

fn slow(known: &BTreeMap<String, Known>) -> Vec<(&str, Slow)> {
    known.iter().filter_map(|(name, known)| Some((name.as_str(), known.slow?))).collect()
}

#[test]
fn the_one_that_becomes_slow_is_named_within_a_minute_with_when_it_began_and_what_was_usual() {
    let known = course(40, |number| if (20..32).contains(&number) { 50_000 } else { 1000 });
    for before in known.get(..24).unwrap() {
        assert_eq!(slow(before), []);
    }
    let expected = Slow::Became { since: WINDOW * 20, usual_us: 1000.0 };
    // It may have begun just after the window before did, the twentieth, and is named at the end of the twenty-fifth.
    assert!(WINDOW * 6 < Duration::from_mins(1));
    for during in known.get(24..36).unwrap() {
        assert_eq!(slow(during), [("u3", expected)]);
    }
    assert_eq!(slow(&known[36]), [], "five windows are as before");
}

#[test]
fn one_that_always_was_slow_is_named_within_a_minute_because_of_the_others() {
    let known = course(12, |_| 50_000);
    assert_eq!(slow(&known[4]), []);
    let expected = Slow::Always { since: Moment::ZERO, others_us: 1050.0 };
    assert_eq!(slow(&known[5]), [("u3", expected)]);
    assert_eq!(slow(&known[11]), [("u3", expected)]);
}

#[test]
fn what_is_slow_before_enough_windows_are_usual_is_compared_with_the_others_only() {
    let known = course(30, |number| if number < 8 { 1000 } else { 50_000 });
    let first = known.iter().position(|known| !slow(known).is_empty()).unwrap();
    assert_eq!(slow(&known[first]), [("u3", Slow::Always { since: Moment::ZERO, others_us: 1050.0 })]);
    assert_eq!(first, 16, "most windows are slow");
}

#[test]
fn a_few_slow_windows_and_a_small_difference_are_nothing() {
    let few = |number| if (20..24).contains(&number) { 50_000 } else { 1000 };
    for slow_us in [few, |number| 1000 + u64::from(number) * 30] {
        let known = course(32, slow_us);
        assert!(known.iter().all(|known| slow(known).is_empty()));
    }
}

#[test]
fn what_jumps_between_two_times_is_not_slow_and_what_is_above_both_is() {
    let is_high =
        |number: u32| number > 12 && (number.is_multiple_of(5) || (11..16).contains(&(number % 20)));
    let jumps = |number: u32| if is_high(number) { 8000 } else { 1000 };
    let known = course(80, |number| if number < 70 { jumps(number) } else { 50_000 });
    assert!(known.get(..74).unwrap().iter().all(|known| slow(known).is_empty()));
    assert_eq!(slow(&known[74]), [("u3", Slow::Became { since: WINDOW * 70, usual_us: 1000.0 })]);
}

#[test]
fn requests_without_a_response_are_the_slowest() {
    let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
    for number in 1..=17 {
        process.add("a", 100, 1000);
        if number > 12 {
            process.add_unanswered("a", 30);
        }
        upstreams.take(WINDOW * number, 1, process.said.clone());
    }
    let known = upstreams.known();
    let a = known.get("a").unwrap();
    assert!(a.compared_us.is_infinite());
    assert!((a.unanswered - 30.0 / 130.0).abs() < 1e-9);
    assert_eq!(a.slow, Some(Slow::Became { since: WINDOW * 12, usual_us: 1000.0 }));
}

#[test]
fn a_successor_begins_anew_and_what_was_usual_stays() {
    let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
    process.add_unanswered("a", 5);
    for number in 1..=12 {
        process.add("a", 100, 1000);
        upstreams.take(WINDOW * number, 1, process.said.clone());
    }
    let mut successor = Process::default();
    successor.add_unanswered("a", 5);
    for number in 13..=17 {
        successor.add("a", 100, 9000);
        upstreams.take(WINDOW * number, 2, successor.said.clone());
    }
    let known = upstreams.known();
    let a = known.get("a").unwrap();
    assert_eq!(a.slow, Some(Slow::Became { since: WINDOW * 12, usual_us: 1000.0 }));
    assert!((a.per_second - 20.0).abs() < 1e-9 && a.unanswered < 1e-9, "{a:?}");
}

#[test]
fn few_requests_are_gathered_until_they_are_enough() {
    let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
    for number in 1..=10 {
        process.add("a", 10, 1000);
        upstreams.take(WINDOW * number, 1, process.said.clone());
        assert_eq!(upstreams.known().contains_key("a"), number >= 5);
    }
    let known = upstreams.known();
    assert!((known.get("a").unwrap().per_second - 2.0).abs() < 1e-9);
}

#[test]
fn what_is_slow_for_a_day_is_usual_and_what_gets_no_requests_is_forgotten() {
    let (mut upstreams, mut process) = (Upstreams::default(), Process::default());
    let hour = Duration::from_hours(1);
    for number in 0..60 {
        process.add("a", 100, if number < 12 { 1000 } else { 9000 });
        upstreams.take(hour * (number + 1), 1, process.said.clone());
        let is_slow = upstreams.known().get("a").is_some_and(|a| a.slow.is_some());
        assert_eq!(is_slow, (16..36).contains(&number), "{number}");
    }
    upstreams.take(hour * 62, 1, process.said.clone());
    assert!(upstreams.known().is_empty());
}
