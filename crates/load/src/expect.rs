//! The conditions that a response must meet to count as answered.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hoptax_wire::{ExpectedBody, ExpectedHeader, ExpectedJson, Response};
use serde_json::Value;

use crate::failure::Failure;

/// The statuses of gRPC, in the order of their numbers.
const GRPC_STATUSES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Conditions on every response. By default the status must be below 400.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Permitted statuses; empty for any below 400.
    pub statuses: Vec<u16>,
    /// Required body size, bytes.
    pub size: Option<u64>,
    /// Required headers.
    pub headers: Vec<ExpectedHeader>,
    /// Conditions on the body. With any, bodies are stored and checked, which costs CPU time of the generator.
    pub body: Option<Arc<ExpectedBody>>,
    /// True if responses are gRPC, whose status must be 0.
    pub(crate) is_grpc: bool,
}

impl Expectation {
    /// Combines two expectations. A size and a hash of `other` replace those of `self`.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.statuses.extend(&other.statuses);
        self.size = other.size.or(self.size);
        self.headers.extend(other.headers.iter().cloned());
        if let Some(other) = &other.body {
            let body = self.body_mut();
            body.contains.extend(other.contains.iter().cloned());
            body.json.extend(other.json.iter().cloned());
            body.sha256 = other.sha256.clone().or(body.sha256.take());
        }
        self
    }

    fn body_mut(&mut self) -> &mut ExpectedBody {
        Arc::make_mut(self.body.get_or_insert_default())
    }

    /// The required headers, shared by all connections.
    pub(crate) fn shared_headers(&self) -> Arc<[ExpectedHeader]> {
        self.headers.clone().into()
    }

    /// The failure of a response that does not meet the conditions.
    pub(crate) fn failure(&self, response: &Response) -> Option<Failure> {
        let as_expected = self.statuses.contains(&response.status);
        match response.status {
            500.. if !as_expected => return Some(Failure::Status5xx),
            400..500 if !as_expected => return Some(Failure::Status4xx),
            _ => {}
        }
        if self.is_grpc && response.grpc_status != Some(0) {
            return Some(Failure::GrpcStatus);
        }
        let wrong_status = !self.statuses.is_empty() && !as_expected;
        let wrong_size = self.size.is_some_and(|size| size != response.body_bytes);
        (wrong_status || wrong_size || !response.is_as_expected).then_some(Failure::Mismatch)
    }

    /// Returns the reason why a response fails in this way, if its status does not show it.
    #[cold]
    pub(crate) fn reason(&self, failure: Failure, response: &Response) -> Option<&'static str> {
        match failure {
            Failure::GrpcStatus => Some(match response.grpc_status {
                None => "a response without grpc-status",
                Some(status) => {
                    GRPC_STATUSES.get(usize::from(status)).copied().unwrap_or("an unknown status")
                }
            }),
            Failure::Mismatch if !self.statuses.is_empty() && !self.statuses.contains(&response.status) => {
                Some("another status")
            }
            Failure::Mismatch if self.size.is_some_and(|size| size != response.body_bytes) => {
                Some("another size")
            }
            Failure::Mismatch => Some("other headers, or another body"),
            _ => None,
        }
    }
}

impl FromStr for Expectation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut expectation = Self::default();
        let mut rest = Some(text);
        while let Some(text) = rest {
            // A text and a JSON value may contain commas, so they extend to the end.
            let is_last = text.starts_with("contains=") || text.starts_with("json=");
            let part;
            (part, rest) = match text.split_once(',') {
                Some((part, rest)) if !is_last => (part, Some(rest)),
                _ => (text, None),
            };
            let taken = match part.split_once('=') {
                Some(("status", statuses)) => {
                    let read =
                        |status: &str| status.parse().ok().filter(|status| (200..600).contains(status));
                    let all: Option<Vec<u16>> = statuses.split('|').map(read).collect();
                    all.map(|all| expectation.statuses = all)
                }
                Some(("size", size)) => size.parse().ok().map(|size| expectation.size = Some(size)),
                Some(("contains", text)) if !text.is_empty() => {
                    expectation.body_mut().contains.push(text.to_owned());
                    Some(())
                }
                Some(("json", json)) => expected_json(json).map(|one| expectation.body_mut().json.push(one)),
                Some(("sha256", hash)) => {
                    hash_bytes(hash).map(|hash| expectation.body_mut().sha256 = Some(hash))
                }
                Some(("header", header)) => expected_header(header).map(|one| expectation.headers.push(one)),
                _ => None,
            };
            taken.ok_or_else(|| {
                format!(
                    "`{part}` is not a valid expectation; use `status=200`, `status=200|429`, `size=1024`, `header=NAME`, `header=NAME:VALUE` \
                     or `sha256=HEX`, or several of them separated by commas, and at the end `contains=TEXT`, `json=/POINTER` or \
                     `json=/POINTER=VALUE`"
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

/// Parses `/POINTER` or `/POINTER=VALUE`. A value that is not JSON is a string.
fn expected_json(text: &str) -> Option<ExpectedJson> {
    let (pointer, value) = match text.split_once('=') {
        Some((pointer, value)) => (pointer, Some(value)),
        None => (text, None),
    };
    let value =
        value.map(|value| serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned())));
    (pointer.is_empty() || pointer.starts_with('/'))
        .then(|| ExpectedJson { pointer: pointer.to_owned(), value })
}

fn hash_bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
    let bytes =
        digits?.chunks(2).map(|pair| pair.iter().fold(0, |sum, digit| sum * 16 + digit) as u8).collect();
    (hex.len() == 64).then_some(bytes)
}

/// The conditions on a body, in the syntax of `--expect`.
fn body_parts(body: &ExpectedBody) -> Vec<String> {
    let hex = |hash: &Vec<u8>| hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let hash = body.sha256.iter().map(|hash| format!("sha256={}", hex(hash)));
    let contains = body.contains.iter().map(|text| format!("contains={text}"));
    let json = body.json.iter().map(|one| match &one.value {
        Some(value) => format!("json={}={value}", one.pointer),
        None => format!("json={}", one.pointer),
    });
    hash.chain(contains).chain(json).collect()
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
        let body = self.body.as_deref().map(body_parts).unwrap_or_default();
        f.write_str(&status.into_iter().chain(size).chain(headers).chain(body).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body_bytes: u64) -> Response {
        Response { status, grpc_status: None, body_bytes, keep_alive: true, is_as_expected: true }
    }

    fn failure(expectation: &str, status: u16, body_bytes: u64) -> Option<Failure> {
        expectation.parse::<Expectation>().unwrap().failure(&response(status, body_bytes))
    }

    #[test]
    fn a_response_that_violates_a_condition_is_a_failure() {
        assert_eq!(failure("status=200,size=10", 200, 10), None);
        assert_eq!(failure("size=10", 200, 9), Some(Failure::Mismatch));
        assert_eq!(failure("status=200", 204, 0), Some(Failure::Mismatch));
        assert_eq!(failure("status=200", 503, 0), Some(Failure::Status5xx));
        assert_eq!(failure("status=429", 429, 0), None, "a permitted error status counts as answered");
        assert_eq!(failure("status=429,size=1", 429, 0), Some(Failure::Mismatch));
        let without = Response { is_as_expected: false, ..response(200, 10) };
        assert_eq!(Expectation::default().failure(&without), Some(Failure::Mismatch));
    }

    #[test]
    fn a_failure_has_the_reason_that_its_status_does_not_tell() {
        let reason = |expectation: &str, response: Response| {
            let expectation = expectation.parse::<Expectation>().unwrap();
            expectation.reason(expectation.failure(&response)?, &response)
        };
        assert_eq!(reason("status=200,size=1", response(204, 0)), Some("another status"));
        assert_eq!(reason("size=10", response(200, 9)), Some("another size"));
        let without = Response { is_as_expected: false, ..response(200, 10) };
        assert_eq!(reason("size=10", without), Some("other headers, or another body"));
        assert_eq!(reason("size=10", response(503, 0)), None);
        let call = Expectation { is_grpc: true, ..Expectation::default() };
        let reason = |grpc_status| {
            let response = Response { grpc_status, ..response(200, 0) };
            call.reason(call.failure(&response).unwrap(), &response)
        };
        assert_eq!(reason(None), Some("a response without grpc-status"));
        assert_eq!(reason(Some(14)), Some("UNAVAILABLE"));
        assert_eq!(reason(Some(99)), Some("an unknown status"));
    }

    #[test]
    fn by_default_the_status_must_be_below_400() {
        let any = Expectation::default();
        let failure = |status| any.failure(&response(status, 1));
        assert_eq!(
            [204, 399, 400, 599].map(failure),
            [None, None, Some(Failure::Status4xx), Some(Failure::Status5xx)]
        );
    }

    #[test]
    fn invalid_expectations_are_rejected() {
        let hash = format!("size=3,sha256={}", "0f".repeat(32));
        let of_body = [
            hash.as_str(),
            "contains=a,b=c",
            "size=3,contains=, ",
            "json=/a/0",
            "json=/a=[1,2]",
            "json=/a=\"x\"",
        ];
        for text in
            ["status=404,size=3", "header=Server:envoy", "status=200,header=ETag"].iter().chain(&of_body)
        {
            assert_eq!(text.parse::<Expectation>().unwrap().to_string(), *text);
        }
        let both =
            "size=3,contains=a".parse::<Expectation>().unwrap().and(&"size=4,json=/b=x".parse().unwrap());
        assert_eq!(both.to_string(), "size=4,contains=a,json=/b=\"x\"");
        for text in ["sha256=0", "contains=", "json=a", "sha256=xyz"] {
            assert!(text.parse::<Expectation>().unwrap_err().contains("not a valid expectation"), "{text}");
        }
        for text in ["", "status", "status=99", "size=-1", "header=", "header=a b", "status=200,"] {
            assert!(text.parse::<Expectation>().unwrap_err().contains("not a valid expectation"), "{text}");
        }
    }
}
