//! Conditions under which filters and access logs act on requests, besides routes and credentials.
//!
//! An extension has a list of groups of conditions, and one group is enough. A derived request is changed to meet the groups, as long as it
//! still takes its route. [`needs`] describes the conditions that it does not meet.

use std::collections::BTreeMap;

use hoptax_text::list::listed;
use serde_json::Value;

use super::DerivedRequest;
use super::matching::{OF_BODY, header_matches, header_of_input, is_inverted, leave_out, satisfy_header};
use crate::adapt::Adapted;
use crate::matcher::matched_text;
use crate::tree::{extension_type, list, message, message_type, text};

/// A condition on a request.
#[derive(Clone, Debug)]
enum Condition {
    /// A `HeaderMatcher` that must hold.
    Header(Value),
    /// Instances of `HeaderMatcher`, at least one of which must not hold.
    NotAll(Vec<Value>),
    /// A query parameter, with a value if it must have this value.
    Parameter { name: String, value: Option<String> },
    /// The `origin` header of a page on the same host.
    OwnOrigin,
    /// A condition that no change of the request can meet.
    Other(String),
    /// A condition for which requests are not changed. It is not known if a request meets it.
    Perhaps(String),
}

/// Conditions that must hold together.
type Group = Vec<Condition>;

/// The place of a filter: its route and its virtual host.
#[derive(Clone, Copy)]
pub(super) struct Scopes<'a> {
    pub(super) route: &'a Value,
    pub(super) host: &'a Value,
}

impl<'a> Scopes<'a> {
    /// The settings of the route for a filter, or else those of the virtual host; none if neither has any.
    pub(super) fn settings(self, filter: &Value) -> Option<&'a Value> {
        let of = |scope: &'a Value| {
            let own = scope.get("typed_per_filter_config")?.get(text(filter, "/name"))?;
            Some(message(own).fields)
        };
        [self.route, self.host].into_iter().find_map(of)
    }
}

const HTTP: &str = "envoy.extensions.filters.http.";
/// A filter inside of a matcher, which decides if the filter acts.
const WITH_MATCHER: &str = "envoy.extensions.common.matching.v3.ExtensionWithMatcher";
/// A value to use if any value is accepted.
const ANY: &str = "1";

/// Changes a request to meet the conditions of a filter. `takes_route` returns true if a changed request still takes its route.
pub(super) fn satisfy(
    filter: &Value,
    scopes: Scopes<'_>,
    request: &mut DerivedRequest,
    takes_route: &dyn Fn(&DerivedRequest) -> bool,
) {
    meet(&of_filter(filter, scopes), request, takes_route);
}

/// Makes a request meet the filters of access logs.
pub(super) fn satisfy_log(
    log: &Value,
    request: &mut DerivedRequest,
    takes_route: &dyn Fn(&DerivedRequest) -> bool,
) {
    meet(&of_log(log), request, takes_route);
}

/// Changes a request to meet as many groups as possible at once.
fn meet(groups: &[Group], request: &mut DerivedRequest, takes_route: &dyn Fn(&DerivedRequest) -> bool) {
    let mut met: Vec<&Group> = Vec::new();
    for group in groups {
        let mut changed = request.clone();
        let is_met = group.iter().all(|condition| condition.meet(&mut changed));
        let holds = |group: &Group| group.iter().all(|condition| condition.is_met(&changed));
        if is_met && holds(group) && met.iter().all(|group| holds(group)) && takes_route(&changed) {
            *request = changed;
            met.push(group);
        }
    }
}

/// Conditions under which an extension acts on requests.
pub(crate) struct Needs {
    /// The conditions in words, as an object of `exercised by`.
    pub(crate) words: String,
    /// True if the request is not known to meet them.
    pub(crate) is_unmet: bool,
}

/// Returns the conditions under which a filter or an access log acts on a request. None if none are known.
pub(crate) fn needs(adapted: &Adapted, extension: &Value, request: &DerivedRequest) -> Option<Needs> {
    let none = &Value::Null;
    let route = adapted.tree.pointer(&request.route).unwrap_or(none);
    let host = request.route.split_once("/routes/").map_or(request.route.as_str(), |(host, _)| host);
    let host = adapted.tree.pointer(host).unwrap_or(none);
    let is_rate_limit = extension_type(extension).starts_with(&format!("{HTTP}ratelimit."));
    let mut groups = of_filter(extension, Scopes { route, host });
    groups.extend(of_log(extension));
    if groups.is_empty() {
        let message = "a request to a route with rate limit actions of its stage, which this route lacks";
        return is_rate_limit.then(|| Needs { words: message.to_owned(), is_unmet: true });
    }
    let may_hold =
        |condition: &Condition| matches!(condition, Condition::Perhaps(_)) || condition.is_met(request);
    let is_unmet = !groups.iter().any(|group| group.iter().all(may_hold));
    let mut described: Vec<String> = groups.iter().map(words_of).collect();
    described.dedup();
    Some(Needs { words: described.join(", or "), is_unmet })
}

/// Describes a request that meets a group.
fn words_of(group: &Group) -> String {
    let each: Vec<String> = group.iter().map(Condition::words).filter(|words| !words.is_empty()).collect();
    if each.is_empty() {
        return "any request to its route".to_owned();
    }
    format!("a request with {}", listed(&each))
}

impl Condition {
    fn header(matcher: &Value) -> Self {
        Self::Header(matcher.clone())
    }

    /// A header that must be present, with any value or with this one.
    fn present(name: &str, value: Option<&str>) -> Self {
        let matcher = match value {
            Some(value) => serde_json::json!({"name": name, "string_match": {"exact": value}}),
            None => serde_json::json!({"name": name, "present_match": true}),
        };
        Self::Header(matcher)
    }

    /// Changes a request so that the condition holds; false if it cannot.
    fn meet(&self, request: &mut DerivedRequest) -> bool {
        if self.is_met(request) {
            return true;
        }
        match self {
            Self::Header(matcher) => satisfy_header(matcher, request).is_some(),
            Self::NotAll(matchers) => {
                matchers.iter().any(|matcher| leave_out(matcher, false, request).is_some())
            }
            Self::Parameter { name, value } => {
                let separator = if request.path.contains('?') { '&' } else { '?' };
                request.path =
                    format!("{}{separator}{name}={}", request.path, value.as_deref().unwrap_or(ANY));
                true
            }
            // Another filter may require another origin.
            Self::OwnOrigin if request.header("origin").is_none() => {
                let scheme = if request.tls.is_some() { "https" } else { "http" };
                let origin = format!("{scheme}://{}", request.host);
                request.set_header("origin", &origin);
                true
            }
            Self::OwnOrigin | Self::Other(_) | Self::Perhaps(_) => false,
        }
    }

    fn is_met(&self, request: &DerivedRequest) -> bool {
        match self {
            Self::Header(matcher) => header_matches(matcher, request),
            Self::NotAll(matchers) => matchers.iter().any(|matcher| !header_matches(matcher, request)),
            Self::Parameter { name, value } => {
                let (_, query) = request.path.split_once('?').unwrap_or_default();
                let found =
                    query.split('&').find_map(|pair| pair.strip_prefix(name.as_str())?.strip_prefix('='));
                found.is_some_and(|found| value.as_deref().is_none_or(|value| value == found))
            }
            Self::OwnOrigin => request
                .header("origin")
                .is_some_and(|origin| origin.split_once("://").is_some_and(|(_, host)| host == request.host)),
            Self::Other(_) | Self::Perhaps(_) => false,
        }
    }

    /// Describes the condition, to follow `a request with`.
    fn words(&self) -> String {
        match self {
            Self::Header(matcher) => words_of_header(matcher, true),
            Self::NotAll(matchers) => {
                let each: Vec<String> =
                    matchers.iter().map(|matcher| words_of_header(matcher, false)).collect();
                each.join(" or ")
            }
            Self::Parameter { name, value: Some(value) } => format!("the query parameter `{name}={value}`"),
            Self::Parameter { name, value: None } => format!("the query parameter `{name}`"),
            Self::OwnOrigin => "an `origin` of its own host".to_owned(),
            Self::Other(words) | Self::Perhaps(words) => words.clone(),
        }
    }
}

/// Describes the condition of a header matcher if `holds`, or else its opposite. Values of secret headers are left out.
fn words_of_header(matcher: &Value, holds: bool) -> String {
    let name = text(matcher, "/name");
    let sample = matcher.get("string_match").and_then(matched_text);
    let old = ["exact_match", "prefix_match", "suffix_match", "contains_match"];
    let sample = sample.or_else(|| {
        let old = old.iter().find_map(|key| matcher.get(*key).and_then(Value::as_str));
        old.map(str::to_owned)
    });
    let sample = sample.filter(|_| !hoptax_text::secrets::is_name(name));
    let no = if holds == is_inverted(matcher) { "not " } else { "" };
    match (name, sample) {
        (":method", Some(value)) => format!("{no}the method {value}"),
        (":path", Some(value)) => format!("{no}the path `{value}`"),
        (":authority" | "host", Some(value)) => format!("{no}the host `{value}`"),
        (_, Some(value)) if OF_BODY.contains(&name.to_ascii_lowercase().as_str()) => {
            format!("{no}the header `{name}: {value}` (no derived request has a body)")
        }
        (_, Some(value)) => format!("{no}the header `{name}: {value}`"),
        (_, None) => format!("{no}the header `{name}`"),
    }
}

/// The conditions of an HTTP filter.
fn of_filter(filter: &Value, scopes: Scopes<'_>) -> Vec<Group> {
    let configuration = filter.get("typed_config").unwrap_or(&Value::Null);
    let of = extension_type(filter);
    let settings = message(configuration).fields;
    let of_scope = scopes.settings(filter).unwrap_or(&Value::Null);
    let effective = if of_scope.is_object() { of_scope } else { settings };
    if of == WITH_MATCHER {
        return of_matcher(settings.get("xds_matcher").or(settings.get("matcher")).unwrap_or(&Value::Null));
    }
    let Some((kind, _)) = of.strip_prefix(HTTP).and_then(|rest| rest.split_once('.')) else {
        return Vec::new();
    };
    match kind {
        "ratelimit" => of_rate_limits(settings, of_scope, scopes, &BTreeMap::new()),
        "local_ratelimit" => {
            let descriptors = list(effective, "descriptors");
            if descriptors.is_empty() {
                return Vec::new();
            }
            let entries = descriptors.iter().flat_map(|one| list(one, "entries"));
            let values =
                entries.map(|entry| (text(entry, "/key").to_owned(), text(entry, "/value").to_owned()));
            of_rate_limits(effective, effective, scopes, &values.collect())
        }
        "fault" => {
            let mut group = of_headers(effective);
            let by_header = |pointer: &str| effective.pointer(pointer).is_some_and(Value::is_object);
            for (pointer, header) in [
                ("/delay/header_delay", "x-envoy-fault-delay-request"),
                ("/response_rate_limit/header_limit", "x-envoy-fault-throughput-response"),
            ] {
                if by_header(pointer) {
                    group.push(Condition::present(header, None));
                }
            }
            if by_header("/abort/header_abort") {
                // The filter itself responds to a request with this header, instead of the upstream server.
                let header = "the header `x-envoy-fault-abort-request: STATUS`, which the filter answers with that status";
                group.push(Condition::Other(header.to_owned()));
            }
            if group.is_empty() { Vec::new() } else { vec![group] }
        }
        "csrf" => {
            let host = of_scope.get("additional_origins").or(settings.get("additional_origins"));
            let origin = host.and_then(|origins| origins.get(0)).and_then(matched_text);
            let method = Condition::present(":method", Some("POST"));
            match origin {
                Some(origin) => vec![vec![method, Condition::present("origin", Some(&origin))]],
                None => vec![vec![method, Condition::OwnOrigin]],
            }
        }
        "header_to_metadata" => {
            let rules = list(settings, "request_rules").iter();
            let named = rules.filter(|rule| rule.get("on_header_present").is_some_and(Value::is_object));
            let header = |rule: &Value| match (text(rule, "/header"), text(rule, "/cookie")) {
                ("", "") => None,
                ("", cookie) => Some(vec![Condition::Other(format!("the cookie `{cookie}`"))]),
                (header, _) => Some(vec![Condition::present(header, None)]),
            };
            named.filter_map(header).collect()
        }
        "health_check" => {
            let group = of_headers(settings);
            // The filter responds to such requests itself, so none is derived.
            let words = format!(
                "{}, which the filter answers itself",
                words_of(&group).trim_start_matches("a request with ")
            );
            if group.is_empty() { Vec::new() } else { vec![vec![Condition::Other(words)]] }
        }
        "grpc_web" => {
            said("the header `content-type: application/grpc-web`, as clients of gRPC-Web in browsers send")
        }
        "grpc_http1_bridge" | "grpc_stats" => {
            said("the header `content-type: application/grpc`, a call of gRPC")
        }
        "grpc_json_transcoder" => {
            let services: Vec<&str> = list(settings, "services").iter().filter_map(Value::as_str).collect();
            let of = if services.is_empty() {
                "its services".to_owned()
            } else {
                format!("`{}`", services.join("`, `"))
            };
            said(&format!("the path of a method in {of}"))
        }
        "cache" => said("the method GET and no `authorization`, whose response has `cache-control`"),
        "on_demand" => said("a route or a cluster that Envoy discovers on demand"),
        "tap" => {
            let headers = settings.pointer("/common_config/static_config/match/http_request_headers_match");
            let group = headers.map(of_headers).unwrap_or_default();
            if group.is_empty() { Vec::new() } else { vec![group] }
        }
        _ => Vec::new(),
    }
}

/// The conditions in the field `headers` of a node.
fn of_headers(node: &Value) -> Group {
    list(node, "headers").iter().map(Condition::header).collect()
}

/// Returns a condition for which requests are not changed, because they would need another protocol, or because only the response decides.
fn said(words: &str) -> Vec<Group> {
    vec![vec![Condition::Perhaps(words.to_owned())]]
}

/// The conditions of the rate limits that apply to a route: of the filter, of the route, or of its virtual host.
fn of_rate_limits(
    settings: &Value,
    of_scope: &Value,
    scopes: Scopes<'_>,
    values: &BTreeMap<String, String>,
) -> Vec<Group> {
    let stage = |limit: &Value| limit.get("stage").and_then(Value::as_u64).unwrap_or(0);
    let wanted = stage(settings);
    let own = [of_scope, settings]
        .into_iter()
        .map(|owner| list(owner, "rate_limits"))
        .find(|limits| !limits.is_empty());
    let limits: Vec<&Value> = own.map_or_else(|| of_the_route(of_scope, scopes), |own| own.iter().collect());
    let of_stage = limits.into_iter().filter(|limit| stage(limit) == wanted || own.is_some());
    let group = |limit: &Value| -> Group {
        list(limit, "actions").iter().flat_map(|action| of_action(action, scopes.route, values)).collect()
    };
    of_stage.map(group).collect()
}

/// The rate limits of a route, and those of its virtual host if the route includes them or has none.
fn of_the_route<'a>(of_scope: &Value, Scopes { route, host }: Scopes<'a>) -> Vec<&'a Value> {
    let action = route.get("route").unwrap_or(&Value::Null);
    let of_route = list(action, "rate_limits");
    let includes = match text(of_scope, "/vh_rate_limits") {
        "INCLUDE" => true,
        "IGNORE" => false,
        _ => {
            of_route.is_empty() || action.get("include_vh_rate_limits").and_then(Value::as_bool) == Some(true)
        }
    };
    let of_host = if includes { list(host, "rate_limits") } else { &[] };
    of_route.iter().chain(of_host).collect()
}

/// The conditions of a rate limit action. If they fail, its rate limit has no descriptor, and nothing is limited.
fn of_action(action: &Value, route: &Value, values: &BTreeMap<String, String>) -> Group {
    let stated = action.as_object().and_then(|kinds| kinds.iter().find(|(_, inner)| !inner.is_null()));
    let Some((kind, inner)) = stated else { return Vec::new() };
    let may_lack = inner.get("skip_if_absent").and_then(Value::as_bool) == Some(true);
    // If a descriptor has its own bucket, its value must be the value of that bucket.
    let wanted =
        || values.get(text(inner, "/descriptor_key")).filter(|value| !value.is_empty()).map(String::as_str);
    let expects = inner.get("expect_match").and_then(Value::as_bool) != Some(false);
    match kind.as_str() {
        "request_headers" if !may_lack => vec![Condition::present(text(inner, "/header_name"), wanted())],
        "query_parameters" if !may_lack => vec![Condition::Parameter {
            name: text(inner, "/query_parameter_name").to_owned(),
            value: wanted().map(str::to_owned),
        }],
        "header_value_match" if expects => of_headers(inner),
        "header_value_match" => vec![Condition::NotAll(list(inner, "headers").to_vec())],
        "query_parameter_value_match" if expects => {
            let parameter = |parameter: &Value| Condition::Parameter {
                name: text(parameter, "/name").to_owned(),
                value: parameter.get("string_match").and_then(matched_text),
            };
            list(inner, "query_parameters").iter().map(parameter).collect()
        }
        "metadata" | "dynamic_metadata" => {
            let has_default = !text(inner, "/default_value").is_empty();
            let is_of_route = text(inner, "/source") == "ROUTE_ENTRY" && route.get("metadata").is_some();
            let key = text(inner, "/metadata_key/key");
            if has_default || may_lack || is_of_route {
                return Vec::new();
            }
            vec![Condition::Other(format!("metadata of `{key}`, which a filter before it sets"))]
        }
        "extension" => {
            let of = message_type(inner.get("typed_config").unwrap_or(&Value::Null));
            vec![Condition::Other(format!("properties that `{of}` requires"))]
        }
        _ => Vec::new(),
    }
}

/// The conditions of a matcher around a filter: those of the branches in which the filter acts.
fn of_matcher(matcher: &Value) -> Vec<Group> {
    let acts = |branch: Option<&Value>| {
        let action = branch.and_then(|branch| branch.pointer("/action/typed_config"));
        action.is_some_and(|action| {
            !message_type(action).ends_with(".SkipFilterAction")
                && !message_type(action).ends_with(".SkipFilter")
        })
    };
    let conditions = |header: Option<&str>, value: Option<&Value>| match (header, value) {
        (Some(name), Some(value)) => {
            vec![Condition::Header(serde_json::json!({"name": name, "string_match": value}))]
        }
        _ => vec![Condition::Other("properties that its matcher requires".to_owned())],
    };
    if matcher.get("on_no_match").is_some_and(|branch| acts(Some(branch))) {
        return Vec::new();
    }
    let mut groups = Vec::new();
    for one in matcher.pointer("/matcher_list/matchers").and_then(Value::as_array).into_iter().flatten() {
        let single = one.pointer("/predicate/single_predicate");
        if acts(one.get("on_match")) {
            let value = single.and_then(|single| single.get("value_match"));
            groups.push(conditions(single.and_then(header_of_input), value));
        }
    }
    let tree = matcher.get("matcher_tree").unwrap_or(&Value::Null);
    let header = header_of_input(tree);
    for (map, kind) in [("exact_match_map", "exact"), ("prefix_match_map", "prefix")] {
        let branches = tree.get(map).and_then(|map| map.get("map")).and_then(Value::as_object);
        for (value, _) in branches.into_iter().flatten().filter(|(_, branch)| acts(Some(branch))) {
            groups.push(conditions(header, Some(&serde_json::json!({kind: value}))));
        }
    }
    groups
}

/// The conditions on requests in the filter of an access log.
fn of_log(log: &Value) -> Vec<Group> {
    let filter = log.get("filter").unwrap_or(&Value::Null);
    let header = |filter: &Value| filter.pointer("/header_filter/header").map(Condition::header);
    if let Some(header) = header(filter) {
        return vec![vec![header]];
    }
    let group: Group = list(&filter["and_filter"], "filters").iter().filter_map(header).collect();
    if group.is_empty() { Vec::new() } else { vec![group] }
}

#[cfg(test)]
mod tests;
