//! The admin interface of a proxy.

/// The admin interface of a proxy in a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// The container of the proxy; none if the user stated a port and the pod has no known proxy.
    pub container: Option<String>,
    /// The port, on the loopback of the pod.
    pub port: u16,
    /// The source of the port, as text.
    pub source: String,
}
