//! Finds the Services that containers name in their environment and their arguments.

use hoptax_text::yaml::Placed;

use super::super::{at, field, items, string};

/// The values of environment variables, the commands and the arguments of all containers of a pod.
pub(super) fn texts(pod: &Placed) -> Vec<String> {
    let mut found = Vec::new();
    for container in at(pod, &["spec", "containers"]).map_or(&[][..], items) {
        let variables = field(container, "env").map_or(&[][..], items);
        found.extend(variables.iter().filter_map(|one| field(one, "value")).filter_map(string));
        for key in ["command", "args"] {
            found.extend(field(container, key).map_or(&[][..], items).iter().filter_map(string));
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// Returns true if a text names the Service `name` of `namespace` as a host: with a port, a scheme, or its namespace. `is_near` is true
/// if the name alone means this Service, as in its own namespace.
pub(super) fn mentions(text: &str, name: &str, namespace: &str, is_near: bool) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(is_part)).map(|place| from + place) {
        let rest = text.get(found..).unwrap_or_default();
        let end = found + rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let host = text.get(found..end).unwrap_or_default();
        let (before, behind) = (text.get(..found).unwrap_or_default(), text.get(end..).unwrap_or_default());
        let has_port = behind
            .strip_prefix(':')
            .is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit() || c == '$'));
        let is_host = has_port || before.ends_with("://") || before.ends_with('@');
        let of_namespace = host.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        let is_qualified = of_namespace.is_some_and(|rest| {
            rest == namespace && is_host
                || rest == format!("{namespace}.svc")
                || rest.starts_with(&format!("{namespace}.svc."))
        });
        if is_qualified || (host == name && is_near && is_host) {
            return true;
        }
        from = end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_port_a_scheme_or_its_namespace() {
        for (text, is_near, expected) in [
            ("cart:7070", true, true),
            ("cart:7070", false, false),
            ("http://cart", true, true),
            ("redis://user@cart/0", true, true),
            ("--db=cart:$(PORT)", true, true),
            ("cart.shop.svc", false, true),
            ("https://cart.shop.svc.cluster.local:8443/x", false, true),
            ("a:1,cart.shop:80", false, true),
            ("cart", true, false),
            ("cart.shop", false, false),
            ("cart.other.svc", true, false),
            ("my-cart:7070", true, false),
            ("cart-2:7070", true, false),
            ("cart:latest", true, false),
            ("", true, false),
        ] {
            assert_eq!(mentions(text, "cart", "shop", is_near), expected, "{text}");
        }
    }
}
