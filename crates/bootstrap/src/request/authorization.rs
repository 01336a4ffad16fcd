//! Headers with which the policies of a role-based access control filter admit a request.
//!
//! Only headers are derived. Conditions on paths, methods and hosts belong to the route, and those on addresses, certificates and metadata
//! to the connection; a policy that needs them is skipped.

use serde_json::Value;

use super::DerivedRequest;
use super::matching::{header_matches, header_of_input, satisfy_header};
use crate::matcher::{accepts, matched_text};
use crate::tree::{list, text};

/// Makes a request satisfy the filter's `rules` or `matcher`, as far as headers can.
pub(super) fn satisfy(rbac: &Value, request: &mut DerivedRequest) {
    let rules = rbac.get("rules").filter(|rules| rules.is_object());
    let satisfied = match (rules, rbac.get("matcher")) {
        (Some(rules), _) => satisfy_rules(rules, request),
        (None, Some(matcher)) => satisfy_matcher(matcher, request),
        (None, None) => None,
    };
    if let Some(satisfied) = satisfied {
        *request = satisfied;
    }
}

fn satisfy_rules(rules: &Value, request: &DerivedRequest) -> Option<DerivedRequest> {
    let policies = rules.get("policies").and_then(Value::as_object)?;
    match text(rules, "/action") {
        "" | "ALLOW" => policies.values().find_map(|policy| {
            let permitted = any(list(policy, "permissions"), request)?;
            any(list(policy, "principals"), &permitted)
        }),
        "DENY" => {
            // A policy does not match if any of its conditions fails.
            let mut satisfied = request.clone();
            for policy in policies.values() {
                let mut all = list(policy, "permissions").iter().chain(list(policy, "principals"));
                let inner = all.find_map(|one| one.get("not_rule").or_else(|| one.get("not_id")));
                if let Some(changed) = inner.and_then(|inner| holds(inner, &satisfied)) {
                    satisfied = changed;
                }
            }
            Some(satisfied)
        }
        _ => None,
    }
}

fn any(conditions: &[Value], request: &DerivedRequest) -> Option<DerivedRequest> {
    conditions.iter().find_map(|condition| holds(condition, request))
}

/// The request with headers for which a permission or a principal holds; none if headers cannot do that.
fn holds(condition: &Value, request: &DerivedRequest) -> Option<DerivedRequest> {
    let (kind, inner) = condition.as_object()?.iter().find(|(_, inner)| !inner.is_null())?;
    let all =
        |key: &str| list(inner, key).iter().try_fold(request.clone(), |request, one| holds(one, &request));
    let first = |key: &str| any(list(inner, key), request);
    match kind.as_str() {
        "any" => Some(request.clone()),
        "header" => with_header(inner, request),
        "url_path" => {
            let path = request.path.split('?').next().unwrap_or_default();
            accepts(inner.get("path")?, path).then(|| request.clone())
        }
        "and_rules" => all("rules"),
        "or_rules" => first("rules"),
        "and_ids" => all("ids"),
        "or_ids" => first("ids"),
        "not_rule" | "not_id" => {
            let is_without = inner.get("header").is_some_and(|header| !header_matches(header, request));
            is_without.then(|| request.clone())
        }
        _ => None,
    }
}

fn with_header(header: &Value, request: &DerivedRequest) -> Option<DerivedRequest> {
    if header_matches(header, request) {
        return Some(request.clone());
    }
    let name = text(header, "/name").to_ascii_lowercase();
    if name.starts_with(':') || name == "host" {
        return None;
    }
    let mut changed = request.clone();
    satisfy_header(header, &mut changed)?;
    header_matches(header, &changed).then_some(changed)
}

/// Satisfies matchers in order: matchers that deny must not match, and the first that allows must match, unless everything else is allowed.
fn satisfy_matcher(matcher: &Value, request: &DerivedRequest) -> Option<DerivedRequest> {
    let is_denied = |on_match: Option<&Value>| {
        on_match.is_none_or(|on_match| text(on_match, "/action/typed_config/action") == "DENY")
    };
    let mut satisfied = request.clone();
    for one in matcher.pointer("/matcher_list/matchers").and_then(Value::as_array)? {
        let predicate = one.get("predicate")?;
        if is_denied(one.get("on_match")) {
            if let Some(changed) =
                predicate.get("not_matcher").and_then(|inner| predicate_holds(inner, &satisfied))
            {
                satisfied = changed;
            }
        } else if is_denied(matcher.get("on_no_match")) {
            return predicate_holds(predicate, &satisfied);
        }
    }
    Some(satisfied)
}

fn predicate_holds(predicate: &Value, request: &DerivedRequest) -> Option<DerivedRequest> {
    if let Some(single) = predicate.get("single_predicate") {
        let name = header_of_input(single)?.to_ascii_lowercase();
        let mut changed = request.clone();
        if !name.starts_with(':') && name != "host" {
            changed.set_header(&name, &matched_text(single.get("value_match")?)?);
            return Some(changed);
        }
        return None;
    }
    if let Some(all) = predicate.get("and_matcher") {
        let mut all = list(all, "predicate").iter();
        return all.try_fold(request.clone(), |request, one| predicate_holds(one, &request));
    }
    list(&predicate["or_matcher"], "predicate").iter().find_map(|one| predicate_holds(one, request))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(rbac: &Value) -> Vec<(String, String)> {
        let mut request = DerivedRequest { path: "/cart?a=1".to_owned(), ..DerivedRequest::default() };
        satisfy(rbac, &mut request);
        request.headers
    }

    fn one(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    fn header(name: &str, value: &str) -> Value {
        json!({"header": {"name": name, "string_match": {"exact": value}}})
    }

    #[test]
    fn the_first_policy_that_headers_satisfy_admits_the_request() {
        let policies = json!({
            "a": {"permissions": [{"url_path": {"path": {"prefix": "/admin"}}}], "principals": [{"any": true}]},
            "b": {"permissions": [{"destination_port": 80}], "principals": [{"any": true}]},
            "c": {
                "permissions": [{"and_rules": {"rules": [{"url_path": {"path": {"exact": "/cart"}}}, {"any": true}]}}],
                "principals": [{"or_ids": {"ids": [{"authenticated": {}}, header("x-role", "buyer")]}}],
            },
        });
        let rules = json!({"rules": {"action": "ALLOW", "policies": policies}});
        assert_eq!(headers(&rules), one("x-role", "buyer"));
    }

    #[test]
    fn a_policy_that_denies_is_not_matched() {
        let deny = |permission: Value| {
            let policy = json!({"permissions": [permission], "principals": [{"any": true}]});
            json!({"rules": {"action": "DENY", "policies": {"a": policy}}})
        };
        assert_eq!(headers(&deny(json!({"not_rule": header("x-key", "k")}))), one("x-key", "k"));
        assert_eq!(headers(&deny(header("x-key", "k"))), []);
        // The method belongs to the route.
        assert_eq!(headers(&deny(json!({"not_rule": header(":method", "PUT")}))), []);
    }

    #[test]
    fn matchers_are_satisfied_in_their_order() {
        let input = json!({"typed_config": {
            "@type": "type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput", "header_name": "referer"}});
        let predicate =
            json!({"single_predicate": {"input": input, "value_match": {"prefix": "https://shop.example"}}});
        let action = |action: &str| json!({"action": {"typed_config": {"action": action}}});
        let unless = json!({"matcher": {
            "matcher_list": {"matchers": [{"predicate": {"not_matcher": predicate}, "on_match": action("DENY")}]},
            "on_no_match": action("ALLOW"),
        }});
        assert_eq!(headers(&unless), one("referer", "https://shop.example"));
        let only = json!({"matcher": {"matcher_list": {"matchers": [{"predicate": predicate, "on_match": action("ALLOW")}]}}});
        assert_eq!(headers(&only), one("referer", "https://shop.example"));
        let never = json!({"matcher": {
            "matcher_list": {"matchers": [{"predicate": predicate, "on_match": action("DENY")}]},
            "on_no_match": action("ALLOW"),
        }});
        assert_eq!(headers(&never), []);
    }
}
