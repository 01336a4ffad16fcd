//! The admin interface of a proxy.

use std::fmt;

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

/// Its container, its port and the source of the port, in words.
impl fmt::Display for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { container, port, source } = self;
        if let Some(container) = container {
            write!(f, "container `{container}`, ")?;
        }
        write!(f, "port {port}, {source}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_interface_has_its_port_with_its_source_and_a_container_if_that_is_known() {
        let of = |container: Option<&str>| {
            let container = container.map(str::to_owned);
            Admin { container, port: 15_000, source: "stated".to_owned() }.to_string()
        };
        assert_eq!(of(Some("istio-proxy")), "container `istio-proxy`, port 15000, stated");
        assert_eq!(of(None), "port 15000, stated");
    }
}
