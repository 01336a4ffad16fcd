//! Replaces certificates in TLS contexts by certificates of the lab, with the same kind of key and the names that their peers check.

pub(super) mod kind;

use std::collections::BTreeSet;

use hoptax_certs::KeyKind;
use serde_json::{Value, json};

use super::{Context, Identity, path_text};
use crate::matcher::matched_text;
use crate::tree::{clear, compact, is_within, items, join, last_step, list, message_type, set, text};

/// The name of the proxy in the certificates that it presents to upstream servers.
const PROXY: &str = "proxy.hoptax.test";

/// Protocols that the origin negotiates. It recognises HTTP/2 and HTTP/1.1 by the first bytes of a connection that negotiates nothing.
const ORIGIN_PROTOCOLS: [&str; 3] = ["h3", "h2", "http/1.1"];

/// Fields of a context that depend on the user's certificates, or would write secrets.
const REMOVED: [&str; 8] = [
    "tls_certificate_sds_secret_configs",
    "tls_certificate_provider_instance",
    "tls_certificate_certificate_provider",
    "tls_certificate_certificate_provider_instance",
    "custom_tls_certificate_selector",
    "combined_validation_context",
    "validation_context_sds_secret_config",
    "key_log",
];

pub(super) fn adapt(context: &mut Context<'_>) {
    let contexts = context.find(&|_, node| node.get("common_tls_context").is_some_and(Value::is_object));
    for pointer in contexts {
        let Some(node) = context.tree.pointer(&pointer) else { continue };
        // Contexts within the settings of QUIC and StartTLS do not state a type.
        let of = message_type(node);
        let is_downstream = of.ends_with("DownstreamTlsContext")
            || of.is_empty() && is_within(&pointer, "/static_resources/listeners");
        let common = node["common_tls_context"].clone();
        let names =
            if is_downstream { server_names(context, &pointer) } else { BTreeSet::from([PROXY.to_owned()]) };
        let at = join(&pointer, "common_tls_context");
        let certificates = certificates(context, &at, &common, &names);
        let validation = validation(context, &at, &common, is_downstream);
        if !is_downstream {
            context.files.presents_certificate |= !certificates.is_null();
            reduce_protocols(context, &join(&at, "alpn_protocols"));
        }
        if let Some(node) = context.tree.pointer_mut(&at) {
            clear(node, &REMOVED);
            set(node, "tls_certificates", certificates);
            set(node, "validation_context", validation);
        }
        for key in ["session_ticket_keys", "session_ticket_keys_sds_secret_config"] {
            context.remove_key(&pointer, key, "Envoy generates a key");
        }
        context.remove_key(
            &pointer,
            "ocsp_staple_policy",
            "the certificates of the lab have no OCSP responder",
        );
    }
    // A client must have the name that a policy requires, or it is denied.
    for pointer in context.find(&|pointer, node| last_step(pointer) == "principal_name" && node.is_object()) {
        let name = context.tree.pointer(&pointer).and_then(matched_text);
        context.files.client_names.extend(name.filter(|name| name.starts_with("spiffe://")));
    }
}

/// Keeps only protocols that the origin supports: it would refuse a connection that offers only others, such as those of a mesh.
fn reduce_protocols(context: &mut Context<'_>, pointer: &str) {
    let given = match context.tree.pointer(pointer) {
        Some(Value::Array(all)) => all.clone(),
        Some(one @ Value::String(_)) => vec![one.clone()],
        _ => return,
    };
    let (kept, others): (Vec<Value>, Vec<Value>) = given
        .into_iter()
        .partition(|protocol| protocol.as_str().is_some_and(|name| ORIGIN_PROTOCOLS.contains(&name)));
    if others.is_empty() {
        return;
    }
    let names: Vec<String> =
        others.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    let kept = if kept.is_empty() { Value::Null } else { Value::Array(kept) };
    let (what, with) = (format!("ALPN {}", names.join(", ")), "removed: the origin does not speak it");
    context.replace(pointer, kept, &what, with);
}

/// The names by which clients select the filter chain that holds a context.
fn server_names(context: &Context<'_>, pointer: &str) -> BTreeSet<String> {
    let chains = context
        .listeners
        .iter()
        .flat_map(|listener| items(&context.tree, &join(&listener.pointer, "filter_chains")));
    let own = chains.into_iter().find(|(chain, _)| is_within(pointer, chain));
    let names = own
        .and_then(|(_, chain)| chain.pointer("/filter_chain_match/server_names").and_then(Value::as_array));
    let mut names: BTreeSet<String> =
        names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    names.extend(["localhost".to_owned(), "127.0.0.1".to_owned()]);
    names
}

/// The certificates of a context, which replace the user's.
fn certificates(context: &mut Context<'_>, at: &str, common: &Value, names: &BTreeSet<String>) -> Value {
    let mut kinds: Vec<(String, Option<KeyKind>)> = Vec::new();
    for (index, certificate) in list(common, "tls_certificates").iter().enumerate() {
        kinds.push((format!("{at}/tls_certificates/{index}"), kind::of_certificate(context, certificate)));
    }
    for (index, secret) in list(common, "tls_certificate_sds_secret_configs").iter().enumerate() {
        let secret = context.configuration.secrets.get(text(secret, "/name"));
        let known = secret.and_then(|secret| secret.get("tls_certificate"));
        kinds.push((
            format!("{at}/tls_certificate_sds_secret_configs/{index}"),
            known.and_then(|certificate| kind::of_certificate(context, certificate)),
        ));
    }
    let others = &REMOVED[1..5];
    if kinds.is_empty()
        && let Some(key) = others.iter().find(|key| common.get(**key).is_some_and(|node| !node.is_null()))
    {
        kinds.push((join(at, key), None));
    }
    let mut replaced = Vec::new();
    for (pointer, kind) in kinds {
        let identity = identity(context, names, kind.unwrap_or_default());
        let with = match kind {
            Some(kind) => {
                format!("a certificate of the lab with the same kind of key ({})", kind.name())
            }
            None => format!(
                "a certificate of the lab ({}; the kind of the original is not known)",
                KeyKind::default().name()
            ),
        };
        context.list(&pointer, "a certificate and its key", &with);
        replaced.push(json!({
            "certificate_chain": {"filename": path_text(&identity.certificate)},
            "private_key": {"filename": path_text(&identity.key)},
        }));
    }
    if replaced.is_empty() { Value::Null } else { Value::Array(replaced) }
}

/// A certificate with these names, shared by all uses with the same names and kind.
fn identity(context: &mut Context<'_>, names: &BTreeSet<String>, kind: KeyKind) -> Identity {
    let folder = context.lab.folder.join("certificates");
    context.files.authority = Some(folder.join("ca.pem"));
    let same = context.files.identities.iter().find(|known| known.names == *names && known.kind == kind);
    if let Some(known) = same {
        return known.clone();
    }
    let number = context.files.identities.len() + 1;
    let identity = Identity {
        certificate: folder.join(format!("{number}.pem")),
        key: folder.join(format!("{number}.key")),
        names: names.clone(),
        kind,
    };
    context.files.identities.push(identity.clone());
    identity
}

/// Returns the settings by which a context verifies its peer, with the authority of the lab; null if it does not verify the peer.
fn validation(context: &mut Context<'_>, at: &str, common: &Value, is_downstream: bool) -> Value {
    let combined = common.pointer("/combined_validation_context/default_validation_context");
    let (given, pointer) = match (common.get("validation_context"), combined) {
        (Some(given), _) if given.is_object() => (given.clone(), join(at, "validation_context")),
        (_, Some(given)) => {
            (given.clone(), format!("{at}/combined_validation_context/default_validation_context"))
        }
        _ if common.get("validation_context_sds_secret_config").is_some() => {
            (json!({}), join(at, "validation_context_sds_secret_config"))
        }
        _ => return Value::Null,
    };
    let mut validation = compact(&given);
    let authority = context.lab.folder.join("certificates").join("ca.pem");
    context.list(&pointer, "the authorities of a peer", "the authority of the lab");
    set(&mut validation, "trusted_ca", json!({"filename": path_text(&authority)}));
    context.files.authority = Some(authority);
    for key in [
        "ca_certificate_provider_instance",
        "system_root_certs",
        "watched_directory",
        "crl",
        "verify_certificate_spki",
        "verify_certificate_hash",
        "custom_validator_config",
    ] {
        if validation.get(key).is_some() {
            set(&mut validation, key, Value::Null);
            context.list(
                &join(&pointer, key),
                &format!("`{key}`"),
                "removed: the lab makes new certificates in each run",
            );
        }
    }
    let mut names = BTreeSet::new();
    for (key, matcher) in [("match_typed_subject_alt_names", "/matcher"), ("match_subject_alt_names", "")] {
        for matching in list(&validation, key) {
            names.extend(matching.pointer(matcher).and_then(matched_text));
        }
    }
    if is_downstream {
        context.files.client_names.extend(names);
    } else {
        context.files.origin_names.extend(names);
    }
    validation
}
