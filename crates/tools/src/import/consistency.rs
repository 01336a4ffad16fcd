//! Checks the numbers of a report against each other. Impossible numbers are withheld and named with the reason.
//!
//! Tools do print such numbers: wrk a duration of 307,445,734,491 minutes (wrk#327), and latencies of 0 beside requests (wrk#37).

use hoptax_result::{CountRange, Latency, grouped};

use crate::reported::Reported;

/// Maximum length of a run.
const MAX_S: f64 = 366.0 * 86_400.0;
/// Tolerance for rounded numbers: a time of `1.50m` is rounded to a third of a percent.
const ROUNDING: f64 = 0.02;
/// Steps in which short times and low rates are printed.
const STEP_S: f64 = 0.01;
const STEP_PER_S: f64 = 0.01;

/// A rule: removes the numbers that violate it, and names them with the reason.
type Rule = fn(&mut Reported) -> Option<String>;

const RULES: [Rule; 7] = [finite, length, counts, rate, zeros, order, shares];

/// Removes impossible numbers. Returns their names with the reasons.
pub(super) fn withhold_impossible(reported: &mut Reported) -> Vec<String> {
    RULES.iter().filter_map(|rule| rule(reported)).collect()
}

/// JSON supports neither infinity nor NaN, so a result with such a number could not be read back. No number is negative.
fn finite(reported: &mut Reported) -> Option<String> {
    let Reported { target, rate, seconds, .. } = reported;
    let mut removed = Vec::new();
    for (name, number) in [("requested rate", target), ("rate", rate), ("duration", seconds)] {
        remove(number, name, &mut removed, |number| !number.is_finite() || number < 0.0);
    }
    for (name, time) in times(&mut reported.latency) {
        remove(time, name, &mut removed, |time| !time.is_finite() || time < 0.0);
    }
    because(&removed, "not finite, or below 0")
}

/// A run takes more than no time and less than a year.
fn length(reported: &mut Reported) -> Option<String> {
    let seconds = reported.seconds.filter(|seconds| *seconds <= 0.0 || *seconds > MAX_S)?;
    reported.seconds = None;
    Some(if seconds > 0.0 {
        format!("its duration, which is {seconds} s, longer than a year", seconds = grouped(seconds, 0))
    } else {
        "its duration, which is 0".to_owned()
    })
}

/// Parts do not exceed their whole.
fn counts(reported: &mut Reported) -> Option<String> {
    let broken =
        |sum: &&crate::reported::Sum| sum.parts < sum.whole.at_least || sum.whole.at_most < sum.parts;
    let sum = reported.sums.iter().find(broken)?;
    let whole = match sum.whole {
        CountRange { at_least: 0, at_most } => at_most.to_string(),
        CountRange { at_least, at_most: u64::MAX } => at_least.to_string(),
        whole => in_words(whole),
    };
    let problem = format!(
        "numbers of answered and failed requests, which do not add up: {} {} of {whole}",
        sum.parts, sum.name
    );
    (reported.answered, reported.failed, reported.rated) = (None, None, None);
    Some(problem)
}

/// The rate is the number of requests divided by the duration. If they disagree, it is unknown which of them is wrong. Requests that are in
/// the rate but not in the counts may be missing from a truncated text, so they may have been answered or not. Counts above the rate are
/// withheld.
fn rate(reported: &mut Reported) -> Option<String> {
    let (rate, rated) = (reported.rate?, reported.rated?);
    let (least, most) = (rated.at_least as f64, rated.at_most as f64);
    if rate == 0.0 && least > 0.0 {
        reported.rate = None;
        return Some(format!("its rate, which is 0 in spite of {least} requests"));
    }
    let seconds = reported.seconds?;
    let requests = rate * seconds;
    let error = requests * ROUNDING + rate * STEP_S + seconds * STEP_PER_S + 1.0;
    if least - error <= requests && requests <= most + error {
        return None;
    }
    (reported.rate, reported.seconds) = (None, None);
    let lost = (requests - most).ceil() as u64;
    for count in [&mut reported.answered, &mut reported.failed] {
        *count = count
            .filter(|_| requests > most)
            .map(|count| CountRange { at_most: count.at_most.saturating_add(lost), ..count });
    }
    Some(format!(
        "its duration of {seconds} s and its rate of {rate}/s, which do not fit its {} requests, so {}",
        in_words(rated),
        if requests > most {
            format!("up to {lost} more may have been answered or have failed")
        } else {
            "neither answered nor failed requests are known".to_owned()
        }
    ))
}

fn in_words(CountRange { at_least, at_most }: CountRange) -> String {
    if at_least == at_most { at_least.to_string() } else { format!("{at_least} to {at_most}") }
}

/// No request takes zero time: a time of 0 is below the resolution of the tool, or was not measured.
fn zeros(reported: &mut Reported) -> Option<String> {
    let mut removed = Vec::new();
    let has_no_times = [reported.latency.max_us, reported.latency.mean_us].contains(&Some(0.0));
    for (name, time) in times(&mut reported.latency) {
        // Equal times have a deviation of zero.
        let is_allowed = name == DEVIATION && !has_no_times;
        remove(time, name, &mut removed, |time| time == 0.0 && !is_allowed);
    }
    because(&removed, "0: shorter than the resolution of the tool, or not measured")
}

/// Minimum, quantiles and maximum ascend, and the mean is between minimum and maximum.
fn order(reported: &mut Reported) -> Option<String> {
    let Latency { min_us, mean_us, p50_us, p90_us, p99_us, p99_9_us, max_us, .. } = reported.latency;
    let chains: [Vec<(&str, Option<f64>)>; 2] = [
        vec![
            ("minimum", min_us),
            ("p50", p50_us),
            ("p90", p90_us),
            ("p99", p99_us),
            ("p99.9", p99_9_us),
            ("maximum", max_us),
        ],
        vec![("minimum", min_us), ("mean", mean_us), ("maximum", max_us)],
    ];
    let mut wrong: Vec<&str> = Vec::new();
    for chain in chains {
        let known: Vec<(&str, f64)> = chain.into_iter().filter_map(|(name, us)| Some((name, us?))).collect();
        for (index, (low, low_us)) in known.iter().enumerate() {
            for (high, high_us) in known.iter().skip(index + 1) {
                if *low_us > high_us * (1.0 + ROUNDING) {
                    wrong.extend([low, high]);
                }
            }
        }
    }
    let mut removed = Vec::new();
    for (name, time) in times(&mut reported.latency) {
        remove(time, name, &mut removed, |_| wrong.contains(&name));
    }
    let is_removed = |percentile: f64| removed.contains(&format!("p{percentile}").as_str());
    reported.buckets.retain(|bucket| !is_removed(bucket.percentile));
    because(&removed, "not in ascending order")
}

/// A run has at least one connection and one thread.
fn shares(reported: &mut Reported) -> Option<String> {
    let mut removed = Vec::new();
    for (name, number) in [("connections", &mut reported.connections), ("workers", &mut reported.workers)] {
        if *number == Some(0) {
            *number = None;
            removed.push(name);
        }
    }
    because(&removed, "0")
}

const DEVIATION: &str = "standard deviation";

/// All times of a distribution, with their names.
pub(super) fn times(latency: &mut Latency) -> [(&'static str, &mut Option<f64>); 8] {
    [
        ("minimum", &mut latency.min_us),
        ("mean", &mut latency.mean_us),
        (DEVIATION, &mut latency.standard_deviation_us),
        ("p50", &mut latency.p50_us),
        ("p90", &mut latency.p90_us),
        ("p99", &mut latency.p99_us),
        ("p99.9", &mut latency.p99_9_us),
        ("maximum", &mut latency.max_us),
    ]
}

fn remove<'n>(
    number: &mut Option<f64>,
    name: &'n str,
    removed: &mut Vec<&'n str>,
    is_wrong: impl FnOnce(f64) -> bool,
) {
    if number.is_some_and(is_wrong) {
        *number = None;
        removed.push(name);
    }
}

fn because(removed: &[&str], reason: &str) -> Option<String> {
    let verb = if removed.len() == 1 { "is" } else { "are" };
    (!removed.is_empty()).then(|| format!("{}, which {verb} {reason}", removed.join(", ")))
}

#[cfg(test)]
mod tests {
    use hoptax_result::ImportedRange;

    use super::*;
    use crate::reported::Sum;

    /// A report whose numbers fit.
    fn sound() -> Reported {
        let latency = Latency {
            min_us: Some(1.0),
            mean_us: Some(5.0),
            standard_deviation_us: Some(2.0),
            p50_us: Some(4.0),
            p90_us: Some(8.0),
            p99_us: Some(9.0),
            p99_9_us: Some(9.5),
            max_us: Some(9.5),
            ..Latency::default()
        };
        Reported {
            target: Some(100.0),
            connections: Some(1),
            workers: Some(1),
            answered: Some(CountRange::exactly(900)),
            failed: Some(CountRange::exactly(100)),
            rate: Some(100.0),
            rated: Some(CountRange::exactly(1_000)),
            seconds: Some(10.0),
            latency,
            sums: vec![Sum::some("refused", 100, 1_000)],
            ..Reported::default()
        }
    }

    /// Returns the remainder of a sound report after a change, and the message about the numbers that were withheld.
    fn after(change: impl FnOnce(&mut Reported)) -> (Reported, String) {
        let mut reported = sound();
        change(&mut reported);
        let said = withhold_impossible(&mut reported);
        (reported, said.join("; "))
    }

    #[test]
    fn numbers_that_fit_are_kept() {
        let (left, said) = after(|_| ());
        assert_eq!((left, said.as_str()), (sound(), ""));
        // Rounded to a hundredth of a minute.
        let (_, said) = after(|one| (one.seconds, one.rate) = (Some(0.17 * 60.0), Some(99.5)));
        assert_eq!(said, "");
    }

    #[test]
    fn infinite_and_negative_numbers_are_not_stated() {
        let (left, said) = after(|one| (one.rate, one.latency.p99_us) = (Some(f64::NAN), Some(-1.0)));
        assert_eq!((left.rate, left.latency.p99_us, left.latency.p90_us), (None, None, Some(8.0)));
        assert_eq!(said, "rate, p99, which are not finite, or below 0");
    }

    #[test]
    fn a_run_of_a_year_or_of_no_time_has_no_duration() {
        let (left, said) = after(|one| (one.seconds, one.rate) = (Some(1.8e13), Some(0.0)));
        assert_eq!((left.seconds, left.rate), (None, None));
        assert!(
            said.contains("longer than a year") && said.contains("its rate, which is 0 in spite of 1000"),
            "{said}"
        );
        let (left, said) = after(|one| one.seconds = Some(0.0));
        assert_eq!((left.seconds, left.rate, said.as_str()), (None, Some(100.0), "its duration, which is 0"));
    }

    #[test]
    fn a_rate_that_does_not_fit_is_not_stated_nor_is_the_duration() {
        for (seconds, rate) in [(10.0, 120.0), (1.0, 100.0), (10.0, 1.0)] {
            let (left, said) = after(|one| (one.seconds, one.rate) = (Some(seconds), Some(rate)));
            assert_eq!((left.seconds, left.rate), (None, None), "{seconds} {rate}");
            assert!(said.contains("do not fit its 1000 requests"), "{said}");
        }
        let range = CountRange { at_least: 500, at_most: 1_000 };
        let (left, _) = after(|one| (one.rate, one.rated) = (Some(70.0), Some(range)));
        assert_eq!(left.rate, Some(70.0));
        let (_, said) = after(|one| (one.rate, one.rated) = (Some(40.0), Some(range)));
        assert!(said.contains("500 to 1000 requests"), "{said}");
    }

    #[test]
    fn counts_that_do_not_fit_the_rate_are_bounds_or_not_known() {
        let (left, said) = after(|one| one.rate = Some(150.0));
        assert_eq!(left.answered, Some(CountRange { at_least: 900, at_most: 1_400 }));
        assert_eq!(left.failed, Some(CountRange { at_least: 100, at_most: 600 }));
        assert!(said.ends_with("up to 500 more may have been answered or have failed"), "{said}");
        let (left, said) = after(|one| one.rate = Some(50.0));
        assert_eq!((left.answered, left.failed), (None, None));
        assert!(said.ends_with("neither answered nor failed requests are known"), "{said}");
        // Unknown numbers stay unknown.
        let (left, _) = after(|one| (one.rate, one.failed) = (Some(150.0), None));
        assert_eq!(left.failed, None);
    }

    #[test]
    fn parts_above_their_whole_are_not_stated() {
        let (left, said) = after(|one| one.sums[0].parts = 1_001);
        assert_eq!((left.answered, left.failed), (None, None));
        assert!(said.contains("do not add up: 1001 refused of 1000"), "{said}");
        let (left, said) = after(|one| one.sums[0] = Sum::all("refused", 100, 1_000));
        assert_eq!((left.answered, said.contains("100 refused of 1000")), (None, true), "{said}");
        let whole = CountRange { at_least: 101, at_most: 103 };
        let (left, said) = after(|one| one.sums[0].whole = whole);
        assert_eq!((left.failed, said.contains("100 refused of 101 to 103")), (None, true), "{said}");
    }

    #[test]
    fn times_of_0_are_not_stated() {
        let (left, said) = after(|one| {
            (one.latency.mean_us, one.latency.max_us, one.latency.standard_deviation_us) =
                (Some(0.0), Some(0.0), Some(0.0));
        });
        let latency = left.latency;
        assert_eq!((latency.mean_us, latency.max_us, latency.standard_deviation_us), (None, None, None));
        assert!(said.starts_with("mean, standard deviation, maximum, which are 0"), "{said}");
        let (left, said) = after(|one| one.latency.standard_deviation_us = Some(0.0));
        assert_eq!((left.latency.standard_deviation_us, said.as_str()), (Some(0.0), ""));
    }

    #[test]
    fn times_in_another_order_are_not_stated() {
        let (left, said) = after(|one| {
            one.latency.p90_us = Some(80.0);
            one.buckets = vec![ImportedRange { percentile: 90.0, low_us: 1.0, high_us: 2.0 }];
        });
        let latency = left.latency;
        assert_eq!(
            (latency.p90_us, latency.p99_us, latency.p99_9_us, latency.max_us),
            (None, None, None, None)
        );
        assert_eq!((latency.p50_us, latency.mean_us, left.buckets.len()), (Some(4.0), Some(5.0), 0));
        assert!(said.contains("p90, p99, p99.9, maximum, which are not in ascending order"), "{said}");
        let (left, _) = after(|one| one.latency.mean_us = Some(10.0));
        assert_eq!((left.latency.mean_us, left.latency.max_us, left.latency.min_us), (None, None, Some(1.0)));
    }

    #[test]
    fn a_run_without_connections_or_workers_has_none_stated() {
        let (left, said) = after(|one| (one.connections, one.workers) = (Some(0), Some(0)));
        assert_eq!(
            (left.connections, left.workers, said.as_str()),
            (None, None, "connections, workers, which are 0")
        );
    }
}
