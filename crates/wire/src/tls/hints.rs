//! For clients without session resumption, remembers the key exchange group that each server chose.
//!
//! A TLS 1.3 client sends a key share with its first message, for a group that it guesses. If the server wants another,
//! it requests it (`HelloRetryRequest`), and the handshake takes one more round trip. Without this store, each connection
//! would guess wrong again, and every handshake of a load would be a retry.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// The group that each server chose last; no sessions.
#[derive(Debug, Default)]
pub(super) struct GroupHints {
    groups: Mutex<HashMap<ServerName<'static>, NamedGroup>>,
}

impl ClientSessionStore for GroupHints {
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup) {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).insert(server_name, group);
    }

    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).get(&server_name.to_owned()).copied()
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, _: Tls13ClientSessionValue) {}

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}
