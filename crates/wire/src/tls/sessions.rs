//! The memory of a TLS client for later handshakes: sessions to resume, and the key exchange group that each server chose.
//!
//! rustls's own store keeps eight TLS 1.3 tickets per server, and a ticket resumes one connection. With more connections than that
//! at once, the others perform full handshakes although the server offered a ticket to each. A load measures the server, not the
//! limit of its client, so this store keeps far more.
//!
//! The group matters without sessions, too. A TLS 1.3 client sends a key share with its first message, for a group that it guesses.
//! If the server wants another, it requests it (`HelloRetryRequest`), and the handshake takes one more round trip. If the client
//! forgot the group, every handshake of a load would be a retry.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Tickets of TLS 1.3 kept per server: one for each of the largest number of connections of a load. A ticket takes about 1 KiB.
const TICKETS_PER_SERVER: usize = 10_000;

/// The store of one client configuration, shared by its connections.
#[derive(Debug)]
pub(super) struct Sessions {
    tickets_per_server: usize,
    servers: Mutex<HashMap<ServerName<'static>, Server>>,
}

/// Sessions and key exchange group of one server.
#[derive(Debug, Default)]
struct Server {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// Oldest first.
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl Sessions {
    /// A store that keeps sessions and groups.
    pub(super) fn kept() -> Self {
        Self { tickets_per_server: TICKETS_PER_SERVER, servers: Mutex::default() }
    }

    /// A store that keeps groups only, so that no session is resumed.
    pub(super) fn groups_only() -> Self {
        Self { tickets_per_server: 0, servers: Mutex::default() }
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<ServerName<'static>, Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup) {
        self.servers().entry(server_name).or_default().group = Some(group);
    }

    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup> {
        self.servers().get(&server_name.to_owned())?.group
    }

    fn set_tls12_session(&self, server_name: ServerName<'static>, session: Tls12ClientSessionValue) {
        if self.tickets_per_server > 0 {
            self.servers().entry(server_name).or_default().tls12 = Some(session);
        }
    }

    fn tls12_session(&self, server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.servers().get(&server_name.to_owned())?.tls12.clone()
    }

    fn remove_tls12_session(&self, server_name: &ServerName<'static>) {
        if let Some(server) = self.servers().get_mut(server_name) {
            server.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, server_name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        if self.tickets_per_server == 0 {
            return;
        }
        let mut servers = self.servers();
        let tickets = &mut servers.entry(server_name).or_default().tickets;
        if tickets.len() == self.tickets_per_server {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, server_name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.servers().get_mut(server_name)?.tickets.pop_back()
    }
}
