//! More faults that `hoptax lint` names, on real Envoy: those of routes, filters and certificates, and files that Envoy refuses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hoptax_certs::{Authority, KeyKind, Request};

use super::lint::{PLAIN, Running, bootstrap, cluster, finds, listener, routed, server, shop};
use crate::support::proxied::{Witness, respond};
use crate::support::{origin, proxied, root};

pub(super) const NO_CLUSTER: &str = "  - name: unused\n";

/// The status of the response to a request.
pub(super) fn status(running: &Running, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
    let headers: BTreeMap<String, String> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let response = respond(running.proxy.address, method, path, &headers, &[]);
    response.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_route_behind_a_general_one_is_never_taken() {
    let (general, special) = (
        "- match: {prefix: /}\n  direct_response: {status: 200}\n",
        "- match: {prefix: /special}\n  direct_response: {status: 204}\n",
    );
    for (routes, is_fault, expected) in
        [(general.to_owned() + special, true, "200"), (special.to_owned() + general, false, "204")]
    {
        let text = bootstrap(&listener("in", "127.0.0.1", 0, &routed(&routes, "")), NO_CLUSTER);
        let running = Running::of("unreachable-route", &text, is_fault);
        assert_eq!(status(&running, "GET", "/special", &[]), expected);
    }
}

#[test]
fn a_path_with_dots_gets_around_a_rule_of_paths() {
    let rules = "- name: envoy.filters.http.rbac\n  typed_config:\n    \"@type\": type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC\n    \
                 rules: {action: DENY, policies: {admin: {permissions: [{url_path: {path: {prefix: /admin}}}], principals: [{any: true}]}}}\n";
    for (more, is_fault, expected) in [("", true, "200"), ("\nnormalize_path: true", false, "403")] {
        let fields = routed("- match: {prefix: /}\n  direct_response: {status: 200}", rules) + more;
        let text = bootstrap(&listener("in", "127.0.0.1", 0, &fields), NO_CLUSTER);
        let running = Running::of("path-not-normalised", &text, is_fault);
        assert_eq!(status(&running, "GET", "/admin", &[]), "403");
        assert_eq!(status(&running, "GET", "/public/../admin", &[]), expected);
    }
}

#[test]
fn a_filter_that_asks_for_credentials_refuses_the_question_of_a_browser() {
    let witness = Witness::start();
    let cors = "- name: envoy.filters.http.cors\n  typed_config: {\"@type\": type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}\n";
    let auth = "- name: envoy.filters.http.basic_auth\n  typed_config:\n    \"@type\": \
                type.googleapis.com/envoy.extensions.filters.http.basic_auth.v3.BasicAuth\n    \
                users: {inline_string: 'user:{SHA}hhndxzZ1JYy/gCM0RJ7wkTxaAhk='}\n";
    // Of a route with an answer of its own, Envoy does not look at the policy.
    let route = "- match: {prefix: /}\n  route: {cluster: shop, timeout: 5s}\n  typed_per_filter_config:\n    envoy.filters.http.cors:\n      \
                 \"@type\": type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy\n      \
                 allow_origin_string_match: [{exact: 'http://shop.example'}]\n      allow_methods: GET\n";
    let question = [("origin", "http://shop.example"), ("access-control-request-method", "GET")];
    for (filters, is_fault, expected) in
        [(auth.to_owned() + cors, true, "401"), (cors.to_owned() + auth, false, "200")]
    {
        let text = shop(route, &filters, &[witness.address], "");
        let running = Running::of("cors-after-auth", &text, is_fault);
        assert_eq!(status(&running, "OPTIONS", "/", &question), expected);
        assert_eq!(status(&running, "GET", "/", &[]), "401");
    }
}

#[test]
fn what_a_request_changed_is_changed_again_by_its_retry() {
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    // It does the work, and fails after it.
    let failing = server(move |_, _, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(503)
    });
    for (condition, is_fault, expected) in [("5xx", true, 2), ("connect-failure,refused-stream", false, 1)] {
        let route = format!(
            "- match: {{prefix: /}}\n  route: {{cluster: shop, timeout: 9s, retry_policy: {{num_retries: 1, retry_on: '{condition}'}}}}"
        );
        let text = shop(&route, "", &[failing], "");
        assert_eq!(finds("retry-writes", &text), is_fault);
        done.store(0, Ordering::Relaxed);
        assert_eq!(status(&Running::new(&text), "POST", "/order", &[]), "503");
        assert_eq!(done.load(Ordering::Relaxed), expected, "{condition}");
    }
}

#[test]
fn a_try_that_the_route_has_no_time_for_is_cut_off() {
    for (of_try, is_fault, expected) in [("3.5s", true, "504"), ("2s", false, "200")] {
        // The first request of all hangs, and the others need a second.
        let slow = server(|connection, _, _| {
            std::thread::sleep(Duration::from_secs(if connection == 0 { 6 } else { 1 }));
            Some(200)
        });
        let route = format!(
            "- match: {{prefix: /}}\n  route: {{cluster: shop, timeout: 4s, retry_policy: {{num_retries: 1, retry_on: 5xx, per_try_timeout: {of_try}}}}}"
        );
        let text = shop(&route, "", &[slow], "");
        assert_eq!(Running::of("retry-cut-short", &text, is_fault).status(), expected, "{of_try}");
    }
}

/// A certificate of an authority for a name.
pub(super) fn certified(folder: &Path, name: &str, authority: &Authority) -> [String; 2] {
    let names = vec![name.to_owned()];
    let request = Request { names, spiffe: Vec::new(), key: KeyKind::P256, seconds: 3600 };
    let signed = authority.sign(&request).unwrap();
    let write = |end: &str, text: String| {
        let path = folder.join(format!("{name}.{end}"));
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    [write("pem", signed.certificate), write("key", signed.key)]
}

#[test]
fn certificates_of_strangers_and_with_other_names_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let authority = |name: &str| {
        let authority = Authority::new(name, 3600).unwrap();
        let path = folder.path().join(format!("{name}.pem"));
        fs::write(&path, authority.certificate()).unwrap();
        (authority, path.display().to_string())
    };
    let ((public, of_public), (_, of_others)) = (authority("public"), authority("others"));
    let [certificate, key] = certified(folder.path(), "someone.example", &public);
    let (_origin, url) = origin(&["--cert", &certificate, "--key", &key]);
    let address = url.trim_end_matches('/').rsplit('/').next().unwrap().parse().unwrap();
    let trusted = |path: &str| format!("validation_context: {{trusted_ca: {{filename: {path}}}}}");
    let named = |name: &str| {
        format!(
            "validation_context: {{trusted_ca: {{filename: {of_public}}}, match_typed_subject_alt_names: [{{san_type: DNS, matcher: {{exact: {name}}}}}]}}"
        )
    };
    for (context, faults, expected) in [
        (String::new(), ["tls-unverified"].as_slice(), "200"),
        (trusted(&of_others), &["tls-any-name"], "503"),
        (trusted(&of_public), &["tls-any-name"], "200"),
        (named("shop.example"), &[], "503"),
        (named("someone.example"), &[], "200"),
    ] {
        let socket = format!(
            "transport_socket:\n  name: envoy.transport_sockets.tls\n  typed_config:\n    \"@type\": \
             type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext\n    common_tls_context: {{{context}}}"
        );
        let text = shop(PLAIN, "", &[address], &socket);
        for rule in ["tls-unverified", "tls-any-name"] {
            assert_eq!(finds(rule, &text), faults.contains(&rule), "{rule}: {context}");
        }
        assert_eq!(Running::new(&text).status(), expected, "{context}");
    }
}

/// Returns the message by which Envoy refuses a text; none if it accepts it.
fn refusal(text: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("envoy.yaml");
    fs::write(&path, text).unwrap();
    proxied::refusal(&path)
}

#[test]
fn envoy_refuses_what_is_there_twice_and_what_is_not_there() {
    let text =
        |rule: &str| fs::read_to_string(root().join("crates/lint/tests/rules").join(rule).join("fires.yaml"));
    for (rule, fault, cure, reason) in [
        ("duplicate-cluster", "- name: shop # here", "- name: cart", "duplicate cluster 'shop'"),
        ("duplicate-domain", "- SHOP.example # here", "- cart.example", "Only unique values for domains"),
        ("unknown-secret", "name: sever # here", "name: server", "Unknown static secret: sever"),
    ] {
        let faulty = text(rule).unwrap();
        assert!(
            finds(rule, &faulty) && refusal(&faulty).is_some_and(|why| why.contains(reason)),
            "{rule}: {:?}",
            refusal(&faulty)
        );
        let cured = faulty.replace(fault, cure);
        assert!(cured != faulty && !finds(rule, &cured), "{rule}");
        // A certificate that is in no file is refused for another reason.
        let left = refusal(&cured);
        assert!(left.as_ref().is_none_or(|why| !why.contains(reason)), "{rule}: {left:?}");
    }
    let witness = Witness::start();
    let to = |named: &str| {
        let route = format!("- match: {{prefix: /}}\n  route: {{cluster: {named}, timeout: 5s}}");
        shop(&route, "", &[witness.address], "")
    };
    let twice = |port: u16| {
        let fields = routed(PLAIN, "");
        let listeners =
            listener("a", "127.0.0.1", 28_080, &fields) + &listener("b", "127.0.0.1", port, &fields);
        bootstrap(&listeners, &cluster("shop", &[witness.address], ""))
    };
    let (faulty, cured) = (twice(28_080), twice(28_081));
    assert!(finds("duplicate-address", &faulty) && !finds("duplicate-address", &cured));
    assert!(refusal(&faulty).is_some_and(|why| why.contains("duplicate address")), "{:?}", refusal(&faulty));
    assert_eq!(refusal(&cured), None);
    let (faulty, cured) = (to("shpo"), to("shop"));
    assert!(finds("unknown-cluster", &faulty) && !finds("unknown-cluster", &cured));
    assert!(refusal(&faulty).is_some_and(|why| why.contains("unknown cluster 'shpo'")));
    assert_eq!(refusal(&cured), None);
}

#[test]
fn envoy_takes_the_last_of_equal_keys() {
    let witness = Witness::start();
    let text = shop(PLAIN, "", &[witness.address], "");
    let (sound, wrong) = ("    connect_timeout: 0.25s\n", "    connect_timeout: -1s\n");
    for (keys, is_fault, is_refused) in [
        (sound.to_owned(), false, false),
        (sound.to_owned() + wrong, true, true),
        (wrong.to_owned() + sound, true, false),
    ] {
        let text = text.replace(sound, &keys);
        assert_eq!(finds("duplicate-key", &text), is_fault);
        assert_eq!(refusal(&text).is_some(), is_refused, "{keys}");
    }
}
