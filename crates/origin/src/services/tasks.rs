//! The tasks of `hoptax_tasks` as services of external processing (`envoy.service.ext_proc.v3`) and external authorization
//! (`envoy.service.auth.v3`).

use std::time::{SystemTime, UNIX_EPOCH};

use hoptax_tasks::{ADDED_HEADER, ADDED_VALUE, TOKEN_HEADER, is_valid_token, rewrite_json};

use super::{AUTHORIZATION, PROCESSING, Service, field, fields, nested};

/// Adds a header to the request.
pub(super) const ADD_HEADER: Service = Service {
    path: PROCESSING.path,
    task: Some("add-header"),
    is_streaming: true,
    // The option is in `set_headers` (1) of `header_mutation` (2) of a `CommonResponse`.
    reply: |_, _| Some(headers_reply(&field(2, &field(1, &added_header(3))))),
};

/// As [`ADD_HEADER`], for external authorization.
pub(super) const ADD_HEADER_AS_AUTHORIZATION: Service = Service {
    path: AUTHORIZATION.path,
    task: Some("add-header"),
    is_streaming: false,
    // An empty `status` (1) is OK. `ok_response` (3) has the option in `headers` (2).
    reply: |_, _| Some([field(1, &[]), field(3, &field(2, &added_header(2)))].concat()),
};

/// Refuses the request with 401 unless it has a valid token.
pub(super) const CHECK_TOKEN: Service = Service {
    path: PROCESSING.path,
    task: Some("check-token"),
    is_streaming: true,
    reply: |message, _| {
        // `request_headers` (2) has `headers` (1) with a list of `headers` (1): `key` (1) and `raw_value` (3).
        let is_valid = has_valid_token(nested(message, &[2, 1]).unwrap_or_default(), 1, 3);
        Some(if is_valid { headers_reply(&[]) } else { refusal(401) })
    },
};

/// As [`CHECK_TOKEN`], for external authorization.
pub(super) const CHECK_TOKEN_AS_AUTHORIZATION: Service = Service {
    path: AUTHORIZATION.path,
    task: Some("check-token"),
    is_streaming: false,
    reply: |message, state| {
        // `attributes` (1) has `request` (4) with `http` (2), whose `headers` (3) are a map: key (1) and value (2).
        let is_valid = has_valid_token(nested(message, &[1, 4, 2]).unwrap_or_default(), 3, 2);
        if is_valid {
            return (AUTHORIZATION.reply)(message, state);
        }
        // The `code` (1) of `status` (1) is UNAUTHENTICATED. `denied_response` (2) has the HTTP `status` (1).
        Some([field(1, &[8, 16]), field(2, &field(1, &http_status(401)))].concat())
    },
};

/// Rewrites the JSON body of the request, or refuses it with 400.
pub(super) const REWRITE_JSON: Service = Service {
    path: PROCESSING.path,
    task: Some("rewrite-json"),
    is_streaming: true,
    reply: |message, _| {
        // `request_body` (4) has `body` (1).
        let body = rewrite_json(nested(message, &[4, 1]).unwrap_or_default());
        // The new one is `body` (1) of `body_mutation` (3) of a `CommonResponse`, in `response` (1) of the reply's
        // `request_body` (3).
        Some(body.map_or_else(|| refusal(400), |body| field(3, &field(1, &field(3, &field(1, &body))))))
    },
};

/// A `HeaderValueOption` with the added header as `header` (1): a `HeaderValue` with `key` (1) and the value in the field with this
/// number, `value` (2) or `raw_value` (3).
fn added_header(value: u8) -> Vec<u8> {
    field(1, &[field(1, ADDED_HEADER.as_bytes()), field(value, ADDED_VALUE.as_bytes())].concat())
}

/// A reply to headers: the `CommonResponse` is `response` (1) of `request_headers` (1).
fn headers_reply(common: &[u8]) -> Vec<u8> {
    field(1, &field(1, common))
}

/// A reply that ends the request: `status` (1) of `immediate_response` (7).
fn refusal(status: u16) -> Vec<u8> {
    field(7, &field(1, &http_status(status)))
}

/// `HttpStatus` with its `code` (1), which takes two bytes.
fn http_status(status: u16) -> [u8; 3] {
    [8, status as u8 | 0x80, (status >> 7) as u8]
}

/// Returns true if one of the headers, fields with this number in a message, has a valid token.
fn has_valid_token(message: &[u8], number: u64, value: u64) -> bool {
    let mut headers = fields(message).filter(|(own, _)| *own == number).map(|(_, header)| header);
    let token = headers.find(|header| nested(header, &[1]) == Some(TOKEN_HEADER.as_bytes()));
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    token.and_then(|header| nested(header, &[value])).is_some_and(|token| is_valid_token(token, now_s))
}
