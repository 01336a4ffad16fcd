//! Tokens that the JWT filter requires, signed with keys of the lab.

use serde_json::{Value, json};

use super::DerivedRequest;
use super::matching::is_matched;
use crate::lab_keys;
use crate::matcher::matched_text;
use crate::tree::{list, text};

/// 2099-12-31T23:59:59Z, later than any study.
const EXPIRY_S: u64 = 4_102_444_799;
/// Value of a claim if the configuration requires none.
const ANY: &str = "lab";
/// Header and parameter in which Envoy looks for tokens by default.
const HEADER: &str = "authorization";
const PARAMETER: &str = "access_token";
/// Fields in which a provider lists the locations of tokens.
const PLACES: [&str; 3] = ["from_headers", "from_params", "from_cookies"];

/// A token that a requirement needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted<'a> {
    provider: &'a str,
    /// The audience, if the requirement names one; otherwise the provider's audience applies.
    audience: Option<&'a str>,
}

/// Adds the tokens that the request's route requires. `of_scope` is the configuration of the filter for the route or its virtual host. If
/// the user already states a token for a provider, by a header in `stated` or in the path, no other token is added: the user may want it to
/// be refused.
pub(super) fn add(
    filter: &Value,
    of_scope: Option<&Value>,
    stated: &[(String, String)],
    request: &mut DerivedRequest,
) {
    let Some(requirement) = requirement(filter, of_scope, request) else { return };
    let mut wanted = tokens(requirement);
    if wanted.is_empty() {
        // A token is optional here, but a token that is present is verified.
        let first = filter.get("providers").and_then(Value::as_object).and_then(|all| all.keys().next());
        wanted.extend(first.map(|provider| Wanted { provider, audience: None }));
    }
    wanted.dedup();
    let path = request.path.clone();
    for one in wanted {
        let Some(provider) = filter.get("providers").and_then(|all| all.get(one.provider)) else { continue };
        if is_stated(provider, stated, &path) {
            continue;
        }
        if let Some(token) = token(provider, one.audience) {
            present(provider, &token, request);
        }
    }
}

/// The requirement that a request must meet: that of its route, or of the first rule that matches.
fn requirement<'a>(
    filter: &'a Value,
    of_scope: Option<&'a Value>,
    request: &DerivedRequest,
) -> Option<&'a Value> {
    let named = |name: &Value| filter.get("requirement_map")?.get(name.as_str()?);
    if let Some(scope) = of_scope {
        if scope.get("disabled").and_then(Value::as_bool) == Some(true) {
            return None;
        }
        if let Some(name) = scope.get("requirement_name") {
            return named(name);
        }
    }
    let is_meant = |rule: &&Value| rule.get("match").is_some_and(|matching| is_matched(matching, request));
    let rule = list(filter, "rules").iter().find(is_meant)?;
    rule.get("requires").or_else(|| rule.get("requirement_name").and_then(named))
}

/// The tokens that meet a requirement; empty if it also admits requests without a token.
fn tokens(requirement: &Value) -> Vec<Wanted<'_>> {
    let all = |key: &str| list(&requirement[key], "requirements").iter();
    if let Some(provider) = requirement.get("provider_name").and_then(Value::as_str) {
        return vec![Wanted { provider, audience: None }];
    }
    if let Some(inner) = requirement.get("provider_and_audiences") {
        let audience = inner.pointer("/audiences/0").and_then(Value::as_str);
        return vec![Wanted { provider: text(inner, "/provider_name"), audience }];
    }
    if requirement.get("requires_any").is_some() {
        return all("requires_any").map(tokens).find(|tokens| !tokens.is_empty()).unwrap_or_default();
    }
    all("requires_all").flat_map(tokens).collect()
}

/// A token that a provider accepts. None if the provider has no key of the lab.
fn token(provider: &Value, audience: Option<&str>) -> Option<String> {
    let set: Value = serde_json::from_str(text(provider, "/local_jwks/inline_string")).ok()?;
    let signs = |key: &&Value| text(key, "/use") != "enc";
    let key = set.get("keys")?.as_array()?.iter().find(signs)?;
    let issuer = Some(text(provider, "/issuer")).filter(|issuer| !issuer.is_empty());
    let subject = provider.get("subjects").and_then(matched_text);
    let mut claims = json!({"iss": issuer.unwrap_or(ANY), "sub": subject.unwrap_or_else(|| ANY.to_owned()), "exp": EXPIRY_S});
    let of_provider = || provider.pointer("/audiences/0").and_then(Value::as_str);
    if let Some(audience) = audience.or_else(of_provider) {
        claims["aud"] = audience.into();
    }
    lab_keys::token(key, &claims)
}

/// True if the user states a value in a location where a provider looks for tokens.
fn is_stated(provider: &Value, stated: &[(String, String)], path: &str) -> bool {
    let has_header = |name: &str| stated.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let query = path.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let has_parameter = |name: &str| query.split('&').any(|pair| pair.split('=').next() == Some(name));
    list(provider, "from_headers").iter().any(|header| has_header(text(header, "/name")))
        || !list(provider, "from_cookies").is_empty() && has_header("cookie")
        || list(provider, "from_params").iter().filter_map(Value::as_str).any(has_parameter)
        || names_no_place(provider) && (has_header(HEADER) || has_parameter(PARAMETER))
}

fn names_no_place(provider: &Value) -> bool {
    PLACES.iter().all(|place| list(provider, place).is_empty())
}

/// Puts a token into the first free location where the provider looks for one.
fn present(provider: &Value, token: &str, request: &mut DerivedRequest) {
    for header in list(provider, "from_headers") {
        let name = text(header, "/name").to_ascii_lowercase();
        if request.header(&name).is_none() {
            return request.set_header(&name, &format!("{}{token}", text(header, "/value_prefix")));
        }
    }
    if let Some(name) = list(provider, "from_cookies").iter().find_map(Value::as_str) {
        let before = request.header("cookie").map(|before| format!("{before}; ")).unwrap_or_default();
        return request.set_header("cookie", &format!("{before}{name}={token}"));
    }
    let is_default = names_no_place(provider);
    if is_default && request.header(HEADER).is_none() {
        return request.set_header(HEADER, &format!("Bearer {token}"));
    }
    let parameter = list(provider, "from_params").iter().find_map(Value::as_str);
    let parameter = parameter.or(is_default.then_some(PARAMETER));
    if let Some(name) = parameter {
        let separator = if request.path.contains('?') { '&' } else { '?' };
        request.path = format!("{}{separator}{name}={token}", request.path);
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;

    use super::*;
    use crate::lab_keys::LabKey;

    fn provider(more: &Value) -> Value {
        let key = LabKey::Symmetric(32).jwk(&json!({"kid": "one"})).unwrap();
        let mut provider = json!({
            "issuer": "https://idp.example", "audiences": ["shop", "cart"],
            "local_jwks": {"inline_string": json!({"keys": [{"kty": "oct", "k": "AA", "use": "enc"}, key]}).to_string()},
        });
        provider.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        provider
    }

    /// The request for `/cart` with the tokens for a requirement of providers `a`, in the usual places, and `b`.
    fn request_for(requires: &Value, b: &Value) -> DerivedRequest {
        let filter = json!({
            "providers": {"a": provider(&json!({})), "b": provider(b)},
            "rules": [
                {"match": {"prefix": "/health"}},
                {"match": {"prefix": "/"}, "requires": requires},
            ],
        });
        let mut request = DerivedRequest { path: "/cart".to_owned(), ..DerivedRequest::default() };
        add(&filter, None, &[], &mut request);
        request
    }

    fn claims(token: &str) -> Value {
        let claims = token.split('.').nth(1).unwrap_or_else(|| panic!("no token: {token}"));
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
    }

    #[test]
    fn a_token_has_the_issuer_the_audience_and_the_subject_that_its_provider_accepts() {
        let request = request_for(&json!({"provider_name": "a"}), &json!({}));
        let token = request.header("authorization").unwrap().strip_prefix("Bearer ").unwrap();
        assert_eq!(
            claims(token),
            json!({"iss": "https://idp.example", "sub": "lab", "exp": EXPIRY_S, "aud": "shop"})
        );
        let requires = json!({"provider_and_audiences": {"provider_name": "b", "audiences": ["admin"]}});
        let request = request_for(&requires, &json!({"subjects": {"prefix": "user-"}}));
        let claims = claims(request.header("authorization").unwrap());
        assert_eq!((&claims["aud"], &claims["sub"]), (&json!("admin"), &json!("user-")));
    }

    #[test]
    fn a_token_is_where_its_provider_looks_for_it() {
        let of = |places: Value| request_for(&json!({"provider_name": "b"}), &places);
        let header =
            of(json!({"from_headers": [{"name": "X-Token", "value_prefix": "JWT "}], "from_params": ["t"]}));
        assert_eq!(claims(header.header("x-token").unwrap().strip_prefix("JWT ").unwrap())["sub"], "lab");
        assert!(header.header("authorization").is_none() && header.path == "/cart");
        let parameter = of(json!({"from_params": ["t"]}));
        assert_eq!(claims(parameter.path.strip_prefix("/cart?t=").unwrap())["sub"], "lab");
        let cookie = of(json!({"from_cookies": ["session"]}));
        assert_eq!(claims(cookie.header("cookie").unwrap().strip_prefix("session=").unwrap())["sub"], "lab");
    }

    #[test]
    fn what_the_user_states_stays_alone() {
        let with = |places: Value, stated: &[(&str, &str)], path: &str| {
            let filter = json!({
                "providers": {"a": provider(&places)},
                "rules": [{"match": {"prefix": "/"}, "requires": {"provider_name": "a"}}],
            });
            let stated: Vec<(String, String)> =
                stated.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let mut request = DerivedRequest {
                path: path.to_owned(),
                headers: stated.clone(),
                ..DerivedRequest::default()
            };
            add(&filter, None, &stated, &mut request);
            (request.path, request.headers.len())
        };
        assert_eq!(with(json!({}), &[("authorization", "none")], "/a"), ("/a".to_owned(), 1));
        let parameter = json!({"from_params": ["t"]});
        assert_eq!(with(parameter.clone(), &[], "/a?t=1"), ("/a?t=1".to_owned(), 0));
        assert!(with(parameter, &[("authorization", "none")], "/a?tt=1").0.starts_with("/a?tt=1&t=eyJ"));
        assert_eq!(with(json!({"from_cookies": ["c"]}), &[("Cookie", "c=1")], "/"), ("/".to_owned(), 1));
    }

    #[test]
    fn a_requirement_of_several_gets_what_it_needs() {
        let named = |name: &str| json!({"provider_name": name});
        let missing = json!({"allow_missing": {}});
        let places = json!({"from_headers": [{"name": "x-b"}]});
        let of = |requires: Value| {
            let request = request_for(&requires, &places);
            (request.header("authorization").is_some(), request.header("x-b").is_some())
        };
        assert_eq!(of(json!({"requires_any": {"requirements": [missing, named("b")]}})), (false, true));
        assert_eq!(of(json!({"requires_all": {"requirements": [named("a"), named("b")]}})), (true, true));
        assert_eq!(of(missing), (true, false), "the first provider");
        // Both look in the same places.
        let request =
            request_for(&json!({"requires_all": {"requirements": [named("a"), named("b")]}}), &json!({}));
        assert!(request.header("authorization").is_some() && request.path.starts_with("/cart?access_token="));
    }

    #[test]
    fn a_route_may_name_its_requirement_or_have_none() {
        let filter = json!({
            "providers": {"a": provider(&json!({}))},
            "requirement_map": {"strict": {"provider_name": "a"}},
            "rules": [{"match": {"prefix": "/open"}}, {"match": {"prefix": "/"}, "requirement_name": "strict"}],
        });
        let has_token = |path: &str, scope: Option<Value>| {
            let mut request = DerivedRequest { path: path.to_owned(), ..DerivedRequest::default() };
            add(&filter, scope.as_ref(), &[], &mut request);
            request.header("authorization").is_some()
        };
        assert!(has_token("/cart", None) && !has_token("/open", None));
        assert!(has_token("/open", Some(json!({"requirement_name": "strict"}))));
        assert!(!has_token("/cart", Some(json!({"disabled": true}))));
    }
}
