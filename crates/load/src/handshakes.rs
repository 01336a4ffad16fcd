//! TLS handshakes: their number, durations, and negotiated parameters.

use hoptax_result::{Latency, TlsResult};
use hoptax_stats::quantile_supported;
use hoptax_wire::tls::Handshake;

use crate::distribution::Distribution;

/// TLS handshakes of one worker or of several.
#[derive(Clone, Debug, Default)]
pub struct Handshakes {
    full: u64,
    resumed: u64,
    /// Handshakes with a `HelloRetryRequest`.
    retried: u64,
    durations: Distribution,
    /// The last handshake. Handshakes differ only if servers do.
    last: Option<Handshake>,
    /// Group of the last key exchange. A resumed handshake of TLS 1.2 has none.
    group: Option<String>,
}

impl Handshakes {
    /// Number of full handshakes.
    pub fn full(&self) -> u64 {
        self.full
    }

    /// Number of resumed handshakes.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Their durations.
    pub(crate) fn durations(&self) -> &Distribution {
        &self.durations
    }

    pub(crate) fn record(&mut self, duration_ns: u64, handshake: &Handshake) {
        self.full += u64::from(!handshake.is_resumed);
        self.resumed += u64::from(handshake.is_resumed);
        self.retried += u64::from(handshake.is_retried);
        self.durations.record(duration_ns);
        if handshake.key_exchange_group.is_some() && self.group != handshake.key_exchange_group {
            self.group.clone_from(&handshake.key_exchange_group);
        }
        if self.last.as_ref() != Some(handshake) {
            self.last = Some(handshake.clone());
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.full += other.full;
        self.resumed += other.resumed;
        self.retried += other.retried;
        self.durations += &other.durations;
        if other.group.is_some() {
            self.group.clone_from(&other.group);
        }
        if other.last.is_some() {
            self.last.clone_from(&other.last);
        }
    }

    /// The summary for a result; None without handshakes.
    pub(crate) fn summary(&self) -> Option<TlsResult> {
        let last = self.last.as_ref()?;
        Some(TlsResult {
            version: last.version.to_owned(),
            cipher: last.cipher.clone(),
            key_exchange_group: self.group.clone(),
            alpn: last.alpn.as_ref().map(|alpn| String::from_utf8_lossy(alpn).into_owned()),
            full_handshakes: self.full,
            resumed_handshakes: self.resumed,
            hello_retry_requests: self.retried,
            resumption_share: self.resumed as f64 / (self.full + self.resumed) as f64,
            handshake: supported(self.durations.summary()),
        })
    }
}

/// Durations without the quantiles that their number does not support.
pub(crate) fn supported(mut durations: Latency) -> Latency {
    let count = durations.count;
    for (quantile, share) in [
        (&mut durations.p50_us, 0.5),
        (&mut durations.p90_us, 0.9),
        (&mut durations.p99_us, 0.99),
        (&mut durations.p99_9_us, 0.999),
    ] {
        *quantile = quantile.filter(|_| quantile_supported(count, share));
    }
    durations
}
