//! Replaces the keys in key sets for tokens by keys of the lab of the same kinds, so that requests can present valid tokens.

use hoptax_certs::KeyKind;
use serde_json::{Value, json};

use super::Context;
use super::tls::kind;
use crate::lab_keys::LabKey;
use crate::tree::{self, join};

/// The kind of key that most issuers use.
const USUAL: LabKey = LabKey::Certified(KeyKind::Rsa2048);

pub(super) fn adapt(context: &mut Context<'_>) {
    let has = |node: &Value, key: &str| node.get(key).is_some_and(Value::is_object);
    let providers = context.find(&|_, node| has(node, "local_jwks") || has(node, "remote_jwks"));
    for pointer in providers {
        let Some(node) = context.tree.pointer(&pointer) else { continue };
        let is_local = has(node, "local_jwks");
        let given = node.get("local_jwks").cloned().unwrap_or(Value::Null);
        let kinds = if is_local { read(context, &given) } else { None };
        let known = kinds.is_some();
        let kinds = kinds.unwrap_or_else(|| vec![(Some(USUAL), Value::Null)]);
        let keys: Vec<Value> =
            kinds.iter().filter_map(|(kind, like)| kind.unwrap_or(USUAL).jwk(like)).collect();
        let set = json!({"inline_string": json!({"keys": keys}).to_string()});
        let names: Vec<String> = kinds.iter().map(|(kind, _)| name(*kind, known)).collect();
        let names = names.join("; ");
        let local = join(&pointer, "local_jwks");
        if is_local {
            context.replace(&local, set, "a key set", &format!("as many keys of the lab ({names})"));
        } else {
            if let Some(node) = context.tree.pointer_mut(&pointer) {
                tree::set(node, "local_jwks", set);
            }
            let with = format!(
                "a key of the lab in the configuration ({names}), which Envoy neither fetches nor refreshes"
            );
            context.replace(&join(&pointer, "remote_jwks"), Value::Null, "a key set that is fetched", &with);
        }
        context.remove_key(&pointer, "max_lifetime", "the token of the lab is valid for the whole study");
    }
}

fn name(kind: Option<LabKey>, is_known: bool) -> String {
    match kind {
        Some(kind) if is_known => kind.name(),
        _ => format!("{}, because the kind of the original is not known", USUAL.name()),
    }
}

/// The kinds of the keys of a set, each with its key; none if the set cannot be read, or has no keys.
fn read(context: &Context<'_>, source: &Value) -> Option<Vec<(Option<LabKey>, Value)>> {
    let set: Value = serde_json::from_slice(&context.content(source)?).ok()?;
    let keys: Vec<(Option<LabKey>, Value)> = match set.get("keys").and_then(Value::as_array) {
        Some(keys) => keys.iter().map(|key| (LabKey::new(key), key.clone())).collect(),
        // Envoy also accepts a mapping from key identifiers to PEM certificates.
        None => set
            .as_object()?
            .iter()
            .filter_map(|(id, certificate)| Some((id, certificate.as_str()?)))
            .map(|(id, pem)| (kind::of_pem(pem.as_bytes()).map(LabKey::Certified), json!({"kid": id})))
            .collect(),
    };
    (!keys.is_empty()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

    use super::*;
    use crate::fixture::{configuration, lab};
    use crate::tree::text;

    /// Returns the keys of a provider, and their description for the list of replacements.
    fn keys(provider: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> (Vec<Value>, Vec<String>, Value) {
        let text = format!(
            "static_resources: {{listeners: [{{name: a, filter_chains: [{{filters: [{{typed_config: {{http_filters: [{{typed_config: {{\
             '@type': type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication, providers: {{ourIdp: {provider}}}}}}}]}}}}]}}]}}]}}"
        );
        let adapted = configuration(&text).unwrap().adapt(&lab(), read).unwrap();
        let pointer = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters/0/typed_config/providers/ourIdp";
        let node = adapted.bootstrap().pointer(pointer).unwrap().clone();
        let set: Value = serde_json::from_str(crate::tree::text(&node, "/local_jwks/inline_string")).unwrap();
        let list = adapted.replacements.iter().map(|one| format!("{} -> {}", one.node, one.with)).collect();
        (set["keys"].as_array().unwrap().clone(), list, node)
    }

    fn symmetric(secret: &str) -> Value {
        json!({"kty": "oct", "kid": "s", "k": BASE64_URL_SAFE_NO_PAD.encode(secret)})
    }

    #[test]
    fn every_key_of_a_set_is_replaced_by_one_of_its_kind_wherever_the_set_is() {
        let rsa = json!({"kty": "RSA", "kid": "r", "e": "AQAB", "n": BASE64_URL_SAFE_NO_PAD.encode([0xab; 384]), "d": "hunter2"});
        let set = json!({"keys": [rsa, {"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}, symmetric("hunter2hunter2")]});
        let in_file = |path: &str| (path == "/etc/keys.json").then(|| set.to_string().into_bytes());
        let places = [
            json!({"local_jwks": {"inline_string": set.to_string()}}),
            json!({"local_jwks": {"inline_bytes": BASE64_STANDARD.encode(set.to_string())}}),
            json!({"localJwks": {"filename": "/etc/keys.json"}}),
        ];
        for provider in places {
            let (keys, list, _) = keys(&provider.to_string(), &in_file);
            let kinds: Vec<LabKey> = keys.iter().filter_map(LabKey::new).collect();
            assert_eq!(
                kinds,
                [
                    LabKey::Certified(KeyKind::Rsa3072),
                    LabKey::Certified(KeyKind::P384),
                    LabKey::Symmetric("hunter2hunter2".len())
                ]
            );
            assert_eq!(keys[0]["kid"], "r");
            assert!(!json!(keys).to_string().contains(text(&symmetric("hunter2hunter2"), "/k")));
            assert!(
                list.contains(
                    &"a key set -> as many keys of the lab (RSA 3072; ECDSA P-384; symmetric, 14 bytes)"
                        .to_owned()
                ),
                "{list:?}"
            );
        }
    }

    #[test]
    fn a_set_that_is_fetched_becomes_one_in_the_configuration_and_the_list_says_what_that_leaves_out() {
        let provider = "{remote_jwks: {http_uri: {uri: 'https://idp.example/keys', cluster: c, timeout: 1s}}, max_lifetime: 60s}";
        let (keys, list, node) = keys(provider, &|_| None);
        assert_eq!(keys.iter().map(LabKey::new).collect::<Vec<_>>(), [Some(USUAL)]);
        assert!(node.get("remote_jwks").is_none() && node.get("max_lifetime").is_none(), "{node}");
        assert!(list.iter().any(|one| one.contains("which Envoy neither fetches nor refreshes")), "{list:?}");
        assert!(list.iter().any(|one| one.starts_with("`max_lifetime` -> removed")), "{list:?}");
    }

    #[test]
    fn a_set_that_cannot_be_read_gets_the_usual_key() {
        for provider in
            ["{local_jwks: {filename: /missing.json}}", "{local_jwks: {inline_string: '{\"keys\": []}'}}"]
        {
            let (keys, list, _) = keys(provider, &|_| None);
            assert_eq!(keys.iter().map(LabKey::new).collect::<Vec<_>>(), [Some(USUAL)]);
            assert!(list.iter().any(|one| one.contains("the kind of the original is not known")), "{list:?}");
        }
    }

    #[test]
    fn certificates_by_key_identifiers_become_keys_of_their_kind() {
        let authority = hoptax_certs::Authority::new("lab", 60).unwrap();
        let provider =
            json!({"local_jwks": {"inline_string": json!({"one": authority.certificate()}).to_string()}});
        let (keys, ..) = keys(&provider.to_string(), &|_| None);
        assert_eq!(
            (LabKey::new(&keys[0]), &keys[0]["kid"]),
            (Some(LabKey::Certified(KeyKind::P256)), &json!("one"))
        );
    }
}
