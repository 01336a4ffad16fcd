//! What an answer must be to count as one.

use std::fmt;
use std::str::FromStr;

use hoptax_wire::http1::Answer;

use crate::recording::Failure;

/// What is expected of every answer. A status is below 400 unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// This status and no other.
    pub status: Option<u16>,
    /// A body of this size, bytes.
    pub size: Option<u64>,
}

impl Expectation {
    /// How an answer falls short, if it does.
    pub(crate) fn failure(&self, answer: &Answer) -> Option<Failure> {
        let as_expected = self.status.is_some_and(|status| status == answer.status);
        match answer.status {
            500.. if !as_expected => return Some(Failure::Status5xx),
            400..500 if !as_expected => return Some(Failure::Status4xx),
            _ => {}
        }
        let wrong_status = self.status.is_some() && !as_expected;
        let wrong_size = self.size.is_some_and(|size| size != answer.body_bytes);
        (wrong_status || wrong_size).then_some(Failure::Mismatch)
    }
}

impl FromStr for Expectation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut expectation = Self::default();
        for part in text.split(',') {
            let taken = match part.split_once('=') {
                Some(("status", status)) => {
                    status.parse().ok().filter(|status| (200..600).contains(status)).map(|status| {
                        expectation.status = Some(status);
                    })
                }
                Some(("size", size)) => size.parse().ok().map(|size| expectation.size = Some(size)),
                _ => None,
            };
            taken.ok_or_else(|| {
                format!("`{part}` is no expectation: write `status=200`, `size=1024`, or both with a comma between them")
            })?;
        }
        Ok(expectation)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map(|status| format!("status={status}"));
        let size = self.size.map(|size| format!("size={size}"));
        f.write_str(&status.into_iter().chain(size).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(expectation: &str, status: u16, body_bytes: u64) -> Option<Failure> {
        let expectation: Expectation = expectation.parse().unwrap();
        expectation.failure(&Answer { status, body_bytes, keep_alive: true })
    }

    #[test]
    fn an_answer_that_is_not_what_was_expected_is_a_failure() {
        assert_eq!(failure("status=200,size=10", 200, 10), None);
        assert_eq!(failure("size=10", 200, 9), Some(Failure::Mismatch));
        assert_eq!(failure("status=200", 204, 0), Some(Failure::Mismatch));
        assert_eq!(failure("status=200", 503, 0), Some(Failure::Status5xx));
        assert_eq!(failure("status=429", 429, 0), None, "an expected refusal is an answer");
        assert_eq!(failure("status=429,size=1", 429, 0), Some(Failure::Mismatch));
    }

    #[test]
    fn without_a_status_it_must_be_below_400() {
        let any = Expectation::default();
        let failure = |status| any.failure(&Answer { status, body_bytes: 1, keep_alive: true });
        assert_eq!(
            [204, 399, 400, 599].map(failure),
            [None, None, Some(Failure::Status4xx), Some(Failure::Status5xx)]
        );
    }

    #[test]
    fn what_is_no_expectation_is_told() {
        assert_eq!("size=3,status=404".parse::<Expectation>().unwrap().to_string(), "status=404,size=3");
        for text in ["", "status", "status=99", "size=-1", "header=a", "status=200,"] {
            assert!(text.parse::<Expectation>().unwrap_err().contains("no expectation"), "{text}");
        }
    }
}
