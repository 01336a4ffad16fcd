//! Differences of the answers of two arms.

use hoptax_result::{Answer, BodyBytes};

fn answer(statuses: &[(u16, u64)], bytes: u64, reached_origin: u64) -> Answer {
    Answer {
        statuses: statuses.iter().copied().collect(),
        body_bytes: Some(BodyBytes { total: 10 * bytes, ..BodyBytes::new(bytes) }),
        reached_origin: Some(reached_origin),
        ..Answer::default()
    }
}

#[test]
fn the_same_work_has_no_differences() {
    let mixed = answer(&[(200, 6), (503, 4)], 5, 6);
    assert_eq!(mixed.differences(&mixed), [""; 0]);
    // Chance decides how many.
    assert_eq!(mixed.differences(&answer(&[(200, 3), (503, 7)], 5, 3)), [""; 0]);
    // A retry is a second request to the origin.
    assert_eq!(answer(&[(200, 10)], 5, 10).differences(&answer(&[(200, 10)], 5, 12)), [""; 0]);
}

#[test]
fn each_difference_is_a_sentence() {
    let of = |other: &Answer| answer(&[(200, 10)], 5, 10).differences(other);
    assert_eq!(
        of(&answer(&[(403, 10)], 19, 0)),
        [
            "status 403 instead of status 200",
            "bodies of 19 bytes instead of 5",
            "no requests reach the origin instead of all requests"
        ]
    );
    assert_eq!(of(&answer(&[(200, 6), (503, 4)], 5, 10)), ["statuses 200 and 503 instead of status 200"]);
    assert_eq!(of(&answer(&[(200, 10)], 5, 4)), ["some requests reach the origin instead of all requests"]);
    assert_eq!(of(&Answer::default()), ["no response instead of status 200"]);
}

#[test]
fn what_varies_or_is_not_known_is_not_compared() {
    let one = answer(&[(200, 10)], 5, 10);
    let body_bytes = Some(BodyBytes { smallest: 5, largest: 9, total: 70 });
    assert_eq!(one.differences(&Answer { body_bytes, ..one.clone() }), [""; 0]);
    assert_eq!(one.differences(&Answer { body_bytes: None, reached_origin: None, ..one.clone() }), [""; 0]);
}
