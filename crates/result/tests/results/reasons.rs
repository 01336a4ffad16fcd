//! Reasons of failures.

use hoptax_result::Reasons;

#[test]
fn failures_are_named_with_their_most_frequent_reasons_and_the_number_of_others() {
    let mut reasons = Reasons::default();
    let words = |reasons: &Reasons, failed| reasons.words("malformed", failed, |count| count.to_string());
    assert_eq!(words(&reasons, 5), "5 malformed");
    reasons.add("malformed", "a", 2);
    reasons.add("malformed", "b", 3);
    reasons.add("reset", "c", 9);
    assert_eq!(words(&reasons, 5), "5 malformed: b (3), a (2)");
    assert_eq!(words(&reasons, 6), "6 malformed: b (3), a (2), others (1)");
    let failures = [("malformed".to_owned(), 5), ("reset".to_owned(), 9)].into();
    let listed = |reasons: &Reasons| {
        reasons.listed(&failures, vec!["1 unfinished".to_owned()], |count| format!("{count}.0"))
    };
    assert_eq!(listed(&reasons), "5.0 malformed: b (3.0), a (2.0); 9.0 reset: c; 1 unfinished");
    assert_eq!(listed(&Reasons::default()), "5.0 malformed, 9.0 reset, 1 unfinished");
    reasons.add("timed-out", "never sent", 1);
    let timed_out = reasons.words_as("timed-out", "timed out", 2, |count| count.to_string());
    assert_eq!(timed_out, "2 timed out: never sent (1), others (1)");
    let failures = [("tls".to_owned(), 5)].into();
    let all = reasons.listed(&failures, vec![timed_out], |count| count.to_string());
    assert_eq!(all, "5 tls; 2 timed out: never sent (1), others (1)");
    for (number, reason) in ["d", "e"].iter().enumerate() {
        reasons.add("malformed", reason, 10 * (number as u64 + 1));
    }
    assert_eq!(words(&reasons, 35), "35 malformed: e (20), d (10), b (3), others (2)");
}

#[test]
fn the_number_of_reasons_is_bounded_and_merged_counts_are_those_of_all() {
    let mut all = Reasons::default();
    for number in 0..100 {
        let mut one = Reasons::default();
        one.add("reset", &format!("reason {}", number % 20), 1);
        all.merge(&one);
    }
    let kept = all.by_frequency("reset");
    assert_eq!((kept.len(), kept.iter().map(|(_, count)| count).sum::<u64>()), (8, 40));
}
