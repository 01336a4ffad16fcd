//! TLS between proxies, one-way or mutual, set up as in a mesh: a private certificate authority, SPIFFE names, and verification of every
//! certificate that a side presents.

use std::path::Path;

use hoptax_functions::KeyExchangeGroup;
use serde_json::{Map, Value, json};

use super::codec::Codec;
use crate::lab::TlsSettings;

/// The transport socket of a listener that accepts TLS only.
///
/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/extensions/transport_sockets/tls/v3/tls.proto>
pub(super) fn downstream(
    tls: &TlsSettings,
    codec: Codec,
    group: KeyExchangeGroup,
    certificate_source: &Map<String, Value>,
) -> Value {
    let mut context = downstream_context(tls, codec, group);
    if let Some((certificate, _)) = tls.identity.as_ref().filter(|_| !certificate_source.is_empty()) {
        fetch_on_demand(&mut context, certificate, certificate_source);
    }
    socket("tls", "tls.v3.DownstreamTlsContext", context)
}

/// Fetches the certificate during the first handshake that needs it, instead of reading it at the start. Envoy does not support
/// this together with session resumption.
///
/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/extensions/transport_sockets/tls/cert_selectors/on_demand_secret/v3/config.proto>
fn fetch_on_demand(context: &mut Value, certificate: &Path, source: &Map<String, Value>) {
    const TLS: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls";
    context["disable_stateless_session_resumption"] = json!(true);
    context["disable_stateful_session_resumption"] = json!(true);
    let common = &mut context["common_tls_context"];
    if let Some(common) = common.as_object_mut() {
        common.remove("tls_certificates");
    }
    common["custom_tls_certificate_selector"] = json!({
        "name": "envoy.tls.certificate_selectors.on_demand_secret",
        "typed_config": {
            "@type": format!("{TLS}.cert_selectors.on_demand_secret.v3.Config"),
            "config_source": source,
            "certificate_mapper": {
                "name": "envoy.tls.certificate_mappers.static_name",
                "typed_config": {
                    "@type": format!("{TLS}.cert_mappers.static_name.v3.StaticName"),
                    "name": certificate.file_stem().map(|stem| stem.to_string_lossy()),
                },
            },
        },
    });
}

/// The transport socket of a cluster that uses TLS.
pub(super) fn upstream(tls: &TlsSettings, codec: Codec, group: KeyExchangeGroup) -> Value {
    socket("tls", "tls.v3.UpstreamTlsContext", upstream_context(tls, codec, group))
}

/// The transport socket of a listener that accepts QUIC only. Envoy negotiates HTTP/3, so no ALPN protocol is set.
///
/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/extensions/transport_sockets/quic/v3/quic_transport.proto>
pub(super) fn quic_downstream(tls: &TlsSettings, group: KeyExchangeGroup) -> Value {
    let context = json!({"downstream_tls_context": downstream_context(tls, Codec::Tcp, group)});
    socket("quic", "quic.v3.QuicDownstreamTransport", context)
}

/// The transport socket of a cluster that uses QUIC.
pub(super) fn quic_upstream(tls: &TlsSettings, group: KeyExchangeGroup) -> Value {
    let context = json!({"upstream_tls_context": upstream_context(tls, Codec::Tcp, group)});
    socket("quic", "quic.v3.QuicUpstreamTransport", context)
}

/// A transport socket with its settings, whose message type is `message`.
fn socket(name: &str, message: &str, mut settings: Value) -> Value {
    settings["@type"] = json!(format!("type.googleapis.com/envoy.extensions.transport_sockets.{message}"));
    json!({"name": format!("envoy.transport_sockets.{name}"), "typed_config": settings})
}

fn downstream_context(tls: &TlsSettings, codec: Codec, group: KeyExchangeGroup) -> Value {
    json!({
        "require_client_certificate": tls.peer.is_some(),
        "common_tls_context": common(tls, codec, group),
    })
}

fn upstream_context(tls: &TlsSettings, codec: Codec, group: KeyExchangeGroup) -> Value {
    json!({"sni": "localhost", "common_tls_context": common(tls, codec, group)})
}

/// Settings of both sides. Version and group are stated because their defaults differ between releases: since 1.40
/// Envoy prefers X25519MLKEM768, which makes a handshake more expensive, and requests it from a client that sent a key
/// share for X25519 only. TLS 1.3 on both sides keeps a handshake at one round trip; its cipher suites are not
/// configurable.
fn common(tls: &TlsSettings, codec: Codec, group: KeyExchangeGroup) -> Value {
    let mut common = json!({
        "tls_params": {
            "tls_minimum_protocol_version": "TLSv1_3",
            "tls_maximum_protocol_version": "TLSv1_3",
            "ecdh_curves": [group.envoy_name()],
        },
    });
    if let Some((certificate, key)) = &tls.identity {
        common["tls_certificates"] =
            json!([{"certificate_chain": {"filename": certificate}, "private_key": {"filename": key}}]);
    }
    if let Some(peer) = &tls.peer {
        common["validation_context"] = json!({
            "trusted_ca": {"filename": tls.authority},
            "match_typed_subject_alt_names": [{"san_type": "URI", "matcher": {"exact": peer}}],
        });
    }
    match codec {
        Codec::Http1 | Codec::WebSocket => common["alpn_protocols"] = json!(["http/1.1"]),
        Codec::Http2 | Codec::Http2ToHttp1 => common["alpn_protocols"] = json!(["h2"]),
        Codec::Tcp => {}
    }
    common
}
