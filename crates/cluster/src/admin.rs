//! The admin interface of a proxy.

/// The admin interface of a proxy in a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// The container of the proxy; none if the user stated a port of a pod without a known one.
    pub container: Option<String>,
    /// The port, on the loopback of the pod.
    pub port: u16,
    /// Where the port is from, in words.
    pub source: String,
}
