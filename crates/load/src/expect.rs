//! The conditions that an answer must meet to count as answered.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hoptax_wire::{ExpectedHeader, Response};

use crate::recording::Failure;

/// Conditions on every answer. By default the status must be below 400.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Permitted statuses; empty for any below 400.
    pub statuses: Vec<u16>,
    /// Required body size, bytes.
    pub size: Option<u64>,
    /// Required headers.
    pub headers: Vec<ExpectedHeader>,
    /// Whether answers are gRPC, whose status must be 0.
    pub(crate) is_grpc: bool,
}

impl Expectation {
    /// The required headers, shared by all connections.
    pub(crate) fn shared_headers(&self) -> Arc<[ExpectedHeader]> {
        self.headers.clone().into()
    }

    /// The failure of an answer that does not meet the conditions.
    pub(crate) fn failure(&self, answer: &Response) -> Option<Failure> {
        let as_expected = self.statuses.contains(&answer.status);
        match answer.status {
            500.. if !as_expected => return Some(Failure::Status5xx),
            400..500 if !as_expected => return Some(Failure::Status4xx),
            _ => {}
        }
        if self.is_grpc && answer.grpc_status != Some(0) {
            return Some(Failure::GrpcStatus);
        }
        let wrong_status = !self.statuses.is_empty() && !as_expected;
        let wrong_size = self.size.is_some_and(|size| size != answer.body_bytes);
        (wrong_status || wrong_size || !answer.has_headers).then_some(Failure::Mismatch)
    }
}

impl FromStr for Expectation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut expectation = Self::default();
        for part in text.split(',') {
            let taken = match part.split_once('=') {
                Some(("status", statuses)) => {
                    let read =
                        |status: &str| status.parse().ok().filter(|status| (200..600).contains(status));
                    let all: Option<Vec<u16>> = statuses.split('|').map(read).collect();
                    all.map(|all| expectation.statuses = all)
                }
                Some(("size", size)) => size.parse().ok().map(|size| expectation.size = Some(size)),
                Some(("header", header)) => expected_header(header).map(|one| expectation.headers.push(one)),
                _ => None,
            };
            taken.ok_or_else(|| {
                format!(
                    "`{part}` is not a valid expectation; use `status=200`, `status=200|429`, `size=1024`, `header=NAME` or `header=NAME:VALUE`, \
                     or several of them separated by commas"
                )
            })?;
        }
        Ok(expectation)
    }
}

fn expected_header(text: &str) -> Option<ExpectedHeader> {
    let (name, value) = match text.split_once(':') {
        Some((name, value)) => (name, Some(value.trim().to_owned())),
        None => (text, None),
    };
    let name = name.trim().to_owned();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    is_name.then_some(ExpectedHeader { name, value })
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statuses: Vec<String> = self.statuses.iter().map(u16::to_string).collect();
        let status = Some(format!("status={}", statuses.join("|"))).filter(|_| !statuses.is_empty());
        let size = self.size.map(|size| format!("size={size}"));
        let headers = self.headers.iter().map(|header| match &header.value {
            Some(value) => format!("header={}:{value}", header.name),
            None => format!("header={}", header.name),
        });
        f.write_str(&status.into_iter().chain(size).chain(headers).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body_bytes: u64) -> Response {
        Response { status, grpc_status: None, body_bytes, keep_alive: true, has_headers: true }
    }

    fn failure(expectation: &str, status: u16, body_bytes: u64) -> Option<Failure> {
        expectation.parse::<Expectation>().unwrap().failure(&answer(status, body_bytes))
    }

    #[test]
    fn an_answer_that_violates_a_condition_is_a_failure() {
        assert_eq!(failure("status=200,size=10", 200, 10), None);
        assert_eq!(failure("size=10", 200, 9), Some(Failure::Mismatch));
        assert_eq!(failure("status=200", 204, 0), Some(Failure::Mismatch));
        assert_eq!(failure("status=200", 503, 0), Some(Failure::Status5xx));
        assert_eq!(failure("status=429", 429, 0), None, "a permitted error status is an answer");
        assert_eq!(failure("status=429,size=1", 429, 0), Some(Failure::Mismatch));
        let without = Response { has_headers: false, ..answer(200, 10) };
        assert_eq!(Expectation::default().failure(&without), Some(Failure::Mismatch));
    }

    #[test]
    fn by_default_the_status_must_be_below_400() {
        let any = Expectation::default();
        let failure = |status| any.failure(&answer(status, 1));
        assert_eq!(
            [204, 399, 400, 599].map(failure),
            [None, None, Some(Failure::Status4xx), Some(Failure::Status5xx)]
        );
    }

    #[test]
    fn invalid_expectations_are_rejected() {
        for text in ["status=404,size=3", "header=Server:envoy", "status=200,header=ETag"] {
            assert_eq!(text.parse::<Expectation>().unwrap().to_string(), text);
        }
        for text in ["", "status", "status=99", "size=-1", "header=", "header=a b", "status=200,"] {
            assert!(text.parse::<Expectation>().unwrap_err().contains("not a valid expectation"), "{text}");
        }
    }
}
