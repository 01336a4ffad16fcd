//! The rules, one file each.

mod address_with_scheme;
mod admin_exposed;
mod admin_in_limit;
mod circuit_breaker_default;
mod circuit_breaker_http2;
mod circuit_breaker_off;
mod circuit_breaker_partial;
mod client_address_trusted;
mod connect_timeout_default;
mod connection_age;
mod connection_limit;
mod cors_after_auth;
mod deprecated_field;
mod duplicate_address;
mod duplicate_cluster;
mod duplicate_domain;
mod duplicate_key;
mod failure_mode_unstated;
mod fault_not_first;
mod forwarded_proto_appended;
mod grpc_without_http2;
mod header_case_half;
mod histogram_cardinality;
mod internal_address;
mod keepalive_chain;
mod keepalive_default;
mod keepalive_race;
mod listener_ipv4_only;
mod localhost_leak;
mod no_health_check;
mod outlier_ejects_none;
mod path_not_normalised;
mod per_route_without_filter;
mod plain_text_to_443;
mod rate_limit_off;
mod request_id_changed;
mod requests_per_connection;
mod retry_budget;
mod retry_cut_short;
mod retry_multiplied;
mod retry_same_host;
mod retry_without_try_timeout;
mod retry_writes;
mod route_timeout_default;
mod sni_and_host;
mod sni_without_inspector;
mod stream_idle_timeout;
mod timeout_chain;
mod timeout_off;
mod tls_any_name;
mod tls_unverified;
mod tracing_every_request;
mod unknown_cluster;
mod unknown_secret;
mod unreachable_route;
mod unused_cluster;

use crate::found::Found;
use crate::rule::{Rule, Severity};
use hoptax_text::nearest;

/// Maximum number of findings of a rule with a suggestion for an unknown name. A search among ten thousand names for each of ten thousand
/// unknown ones would take hours.
const MOST_SUGGESTED: usize = 20;

/// The suggestion for an unknown name; empty if `found` already has too many findings.
fn hint<'k>(name: &str, known: impl IntoIterator<Item = &'k str>, found: &[Found]) -> String {
    if found.len() < MOST_SUGGESTED { nearest::hint(name, known) } else { String::new() }
}

/// All rules, in the order of their names.
pub static ALL: &[&Rule] = &[
    &address_with_scheme::RULE,
    &admin_exposed::RULE,
    &admin_in_limit::RULE,
    &ALLOWED_FOR_NO_REASON,
    &ALLOWED_WITHOUT_EFFECT,
    &circuit_breaker_default::RULE,
    &circuit_breaker_http2::RULE,
    &circuit_breaker_off::RULE,
    &circuit_breaker_partial::RULE,
    &client_address_trusted::RULE,
    &connect_timeout_default::RULE,
    &connection_age::RULE,
    &connection_limit::RULE,
    &cors_after_auth::RULE,
    &deprecated_field::RULE,
    &duplicate_address::RULE,
    &duplicate_cluster::RULE,
    &duplicate_domain::RULE,
    &duplicate_key::RULE,
    &failure_mode_unstated::RULE,
    &fault_not_first::RULE,
    &forwarded_proto_appended::RULE,
    &grpc_without_http2::RULE,
    &header_case_half::RULE,
    &histogram_cardinality::RULE,
    &internal_address::RULE,
    &keepalive_chain::RULE,
    &keepalive_default::RULE,
    &keepalive_race::RULE,
    &listener_ipv4_only::RULE,
    &localhost_leak::RULE,
    &no_health_check::RULE,
    &outlier_ejects_none::RULE,
    &path_not_normalised::RULE,
    &per_route_without_filter::RULE,
    &plain_text_to_443::RULE,
    &rate_limit_off::RULE,
    &request_id_changed::RULE,
    &requests_per_connection::RULE,
    &retry_budget::RULE,
    &retry_cut_short::RULE,
    &retry_multiplied::RULE,
    &retry_same_host::RULE,
    &retry_without_try_timeout::RULE,
    &retry_writes::RULE,
    &route_timeout_default::RULE,
    &sni_and_host::RULE,
    &sni_without_inspector::RULE,
    &stream_idle_timeout::RULE,
    &timeout_chain::RULE,
    &timeout_off::RULE,
    &tls_any_name::RULE,
    &tls_unverified::RULE,
    &tracing_every_request::RULE,
    &unknown_cluster::RULE,
    &unknown_secret::RULE,
    &unreachable_route::RULE,
    &unused_cluster::RULE,
];

/// A comment that allows a finding without a reason.
pub(crate) static ALLOWED_FOR_NO_REASON: Rule = Rule {
    id: "allowed-for-no-reason",
    severity: Severity::Warning,
    title: "a comment allows a finding and does not say why",
    why: "The next person cannot tell whether the reason still holds.",
    cure: "Write the reason after the name of the rule: `# hoptax-lint: allow RULE-ID the reason`.",
    source: "hoptax",
    check: |_, _| {},
};

/// A comment, or an entry in a file of allowances, that allows a finding which does not exist.
pub(crate) static ALLOWED_WITHOUT_EFFECT: Rule = Rule {
    id: "allowed-without-effect",
    severity: Severity::Warning,
    title: "a comment or an entry of `--allow` allows a finding that does not exist",
    why: "It would hide the finding if the fault came back, long after the reason is gone.",
    cure: "Remove it; or move the comment to the line of the finding or the line above, or correct the path of the entry.",
    source: "hoptax",
    check: |_, _| {},
};
