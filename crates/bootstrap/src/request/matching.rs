//! Route matches: finds a request that a match accepts, and checks if a match accepts a request.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::DerivedRequest;
use crate::matcher::{accepts, matched_text, of_regex, regex_accepts};
use crate::tree::{list, message_type, text};

/// Conditions that cannot be derived from the configuration.
const UNKNOWN: [&str; 5] = [CONNECT, "path_match_policy", "dynamic_metadata", "filter_state", "tls_context"];
/// The condition that only CONNECT requests meet.
pub(super) const CONNECT: &str = "connect_matcher";

/// The condition of a match that only the running proxy can evaluate, if it has one.
pub(super) fn unknown(matching: &Value) -> Option<&'static str> {
    UNKNOWN.into_iter().find(|key| matching.get(*key).is_some_and(|node| !node.is_null()))
}

/// Makes a request satisfy a match. None if it cannot.
pub(super) fn satisfy(matching: &Value, request: &mut DerivedRequest) -> Option<()> {
    if unknown(matching).is_some() {
        return None;
    }
    let of = |key: &str| matching.get(key).and_then(Value::as_str);
    request.path = match (of("path"), of("prefix"), of("path_separated_prefix")) {
        (Some(path), ..) | (_, Some(path), _) | (.., Some(path)) => path.to_owned(),
        _ => of_regex(text(matching, "/safe_regex/regex"))?,
    };
    if !request.path.starts_with('/') {
        request.path.insert(0, '/');
    }
    if matching.get("grpc").is_some_and(Value::is_object) {
        "POST".clone_into(&mut request.method);
        request.set_header("content-type", "application/grpc");
        request.set_header("te", "trailers");
    }
    for header in list(matching, "headers") {
        satisfy_header(header, request)?;
    }
    let mut query = Vec::new();
    for parameter in list(matching, "query_parameters") {
        let value = parameter.get("string_match").map_or(Some("1".to_owned()), matched_text)?;
        query.push(format!("{}={value}", text(parameter, "/name")));
    }
    if !query.is_empty() {
        request.path = format!("{}?{}", request.path, query.join("&"));
    }
    Some(())
}

/// Headers that announce a body. Derived requests have no body, so they must not have these headers.
pub(super) const OF_BODY: [&str; 2] = ["content-length", "transfer-encoding"];
/// Methods to choose from if a request must not have a given method, the usual ones first.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

/// The comparison of a header matcher as a `StringMatcher`, including the fields that preceded that message; none if it does not compare
/// with a text.
fn string_matcher(header: &Value) -> Option<Cow<'_, Value>> {
    if let Some(matcher) = header.get("string_match") {
        return Some(Cow::Borrowed(matcher));
    }
    let old = ["exact", "prefix", "suffix", "contains"].into_iter().find_map(|kind| {
        let text = header.get(format!("{kind}_match")).filter(|text| text.is_string())?;
        Some(json!({kind: text}))
    });
    let expression = || header.get("safe_regex_match").filter(|regex| regex["regex"].is_string());
    old.or_else(|| Some(json!({"safe_regex": expression()?}))).map(Cow::Owned)
}

/// The header that is the input of a matcher; none if the input is not a header.
pub(super) fn header_of_input(matcher: &Value) -> Option<&str> {
    let input = matcher.pointer("/input/typed_config")?;
    message_type(input).ends_with(".HttpRequestHeaderMatchInput").then(|| text(input, "/header_name"))
}

/// Makes a request satisfy a header matcher. None if it cannot.
pub(super) fn satisfy_header(header: &Value, request: &mut DerivedRequest) -> Option<()> {
    let name = text(header, "/name").to_ascii_lowercase();
    if is_inverted(header) {
        return leave_out(header, true, request);
    }
    let value = if let Some(matcher) = string_matcher(header) {
        matched_text(&matcher)?
    } else if let Some(start) = header.pointer("/range_match/start") {
        start.to_string().trim_matches('"').to_owned()
    } else {
        "1".to_owned()
    };
    match name.as_str() {
        ":method" => request.method = value,
        ":authority" | "host" => request.host = value,
        ":path" => request.path = value,
        ":scheme" => {}
        body if OF_BODY.contains(&body) => return None,
        _ => request.set_header(&name, &value),
    }
    Some(())
}

/// Changes the method of a request so that a header matcher accepts it, or refuses it. Its headers are unchanged, because other conditions
/// require them. None if that is not enough.
pub(super) fn leave_out(header: &Value, accepts: bool, request: &mut DerivedRequest) -> Option<()> {
    if header_matches(header, request) == accepts {
        return Some(());
    }
    if !text(header, "/name").eq_ignore_ascii_case(":method") {
        return None;
    }
    let mut changed = request.clone();
    for method in METHODS {
        method.clone_into(&mut changed.method);
        if header_matches(header, &changed) == accepts {
            method.clone_into(&mut request.method);
            return Some(());
        }
    }
    None
}

/// True if a header matcher is inverted: it accepts the requests that its condition does not.
pub(super) fn is_inverted(header: &Value) -> bool {
    header.get("invert_match").and_then(Value::as_bool).unwrap_or(false)
        || header.get("present_match").and_then(Value::as_bool) == Some(false)
}

/// True if a match accepts a request. A match with conditions that cannot be derived accepts none.
pub(super) fn is_matched(matching: &Value, request: &DerivedRequest) -> bool {
    if unknown(matching).is_some() {
        return false;
    }
    if matching.pointer("/runtime_fraction/default_value/numerator").and_then(Value::as_u64) == Some(0) {
        return false;
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let of = |key: &str| matching.get(key).and_then(Value::as_str);
    let is_path = match (of("path"), of("prefix"), of("path_separated_prefix")) {
        (Some(exact), ..) => path == exact,
        (_, Some(prefix), _) => path.starts_with(prefix),
        (.., Some(prefix)) => {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        _ => regex_accepts(text(matching, "/safe_regex/regex"), path),
    };
    let is_grpc = request.header("content-type").is_some_and(|kind| kind.starts_with("application/grpc"));
    is_path
        && (is_grpc || !matching.get("grpc").is_some_and(Value::is_object))
        && list(matching, "headers").iter().all(|header| header_matches(header, request))
        && list(matching, "query_parameters").iter().all(|parameter| {
            let prefix = format!("{}=", text(parameter, "/name"));
            let value = query.split('&').find_map(|pair| pair.strip_prefix(prefix.as_str()));
            value.is_some_and(|value| {
                parameter.get("string_match").is_none_or(|matcher| accepts(matcher, value))
            })
        })
}

/// The value of a header of a request, or of a part of its first line.
pub(super) fn value_of<'r>(header: &str, request: &'r DerivedRequest) -> Option<&'r str> {
    let name = header.to_ascii_lowercase();
    match name.as_str() {
        ":method" => Some(request.method.as_str()),
        ":authority" | "host" => Some(request.host.as_str()),
        ":path" => Some(request.path.as_str()),
        ":scheme" => Some(if request.tls.is_some() { "https" } else { "http" }),
        _ => request.header(&name),
    }
}

pub(super) fn header_matches(header: &Value, request: &DerivedRequest) -> bool {
    let value = value_of(text(header, "/name"), request);
    let holds = value.is_some_and(|value| {
        if let Some(matcher) = string_matcher(header) {
            accepts(&matcher, value)
        } else if let Some(range) = header.get("range_match") {
            let bound = |key: &str| {
                range.get(key).map(|n| n.to_string().trim_matches('"').parse::<i64>().unwrap_or(0))
            };
            value.parse::<i64>().is_ok_and(|number| {
                number >= bound("start").unwrap_or(0) && bound("end").is_none_or(|end| number < end)
            })
        } else {
            true
        }
    });
    holds != is_inverted(header)
}
