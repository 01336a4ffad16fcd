//! Route discovery (`envoy.service.route.v3`): answers each request with a table of routes of the next version, so a proxy that
//! accepts a version is sent another. The delay of the call is then the interval between updates.

use super::{Service, field, nested};

pub(super) const SERVICE: Service = Service {
    path: "/envoy.service.route.v3.RouteDiscoveryService/StreamRoutes",
    task: None,
    is_streaming: true,
    reply: |message, _| {
        // `DiscoveryRequest` has `version_info` (1), the version that was accepted last, and `resource_names` (3).
        let text = |field: u64| {
            nested(message, &[field]).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
        };
        let version = text(1).parse::<u64>().unwrap_or(0).saturating_add(1).to_string();
        let name = text(3);
        // `Any` with `type_url` (1) and `value` (2).
        let resource = [field(1, TYPE), field(2, &table(name, &version))].concat();
        // `DiscoveryResponse` has `version_info` (1), `resources` (2), `type_url` (4) and `nonce` (5).
        let version = version.as_bytes();
        Some([field(1, version), field(2, &resource), field(4, TYPE), field(5, version)].concat())
    },
};

const TYPE: &[u8] = b"type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
/// The cluster that all routes lead to.
const CLUSTER: &[u8] = b"origin";
/// Most routes of a table.
const MOST_ROUTES: usize = 10_000;

/// A `RouteConfiguration` with as many routes as the number at the end of its name states, and two if there is none. The first
/// route differs between versions, since a proxy ignores a table that it has already. The last one matches every path.
fn table(name: &str, version: &str) -> Vec<u8> {
    let routes = name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(2);
    let others = (2..usize::min(routes, MOST_ROUTES)).map(|number| format!("/other-{number:05}"));
    let paths = std::iter::once(format!("/version-{version}")).chain(others);
    // `RouteMatch` has `prefix` (1) and `path` (2).
    let matches = paths.map(|path| field(2, path.as_bytes())).chain([field(1, b"/")]);
    // `Route` has `match` (1) and `route` (2), a `RouteAction` with `cluster` (1).
    let routes =
        matches.flat_map(|matched| field(3, &[field(1, &matched), field(2, &field(1, CLUSTER))].concat()));
    // `VirtualHost` has `name` (1), `domains` (2) and `routes` (3).
    let host: Vec<u8> = [field(1, CLUSTER), field(2, b"*")].concat().into_iter().chain(routes).collect();
    // `RouteConfiguration` has `name` (1) and `virtual_hosts` (2).
    [field(1, name.as_bytes()), field(2, &host)].concat()
}

#[cfg(test)]
mod tests {
    use super::super::{ServiceState, fields};
    use super::*;

    fn reply(version: &str, name: &str) -> Vec<u8> {
        let message = [field(1, version.as_bytes()), field(3, name.as_bytes())].concat();
        (SERVICE.reply)(&message, &mut ServiceState::default()).unwrap()
    }

    #[test]
    fn every_version_that_is_accepted_is_followed_by_another() {
        for (accepted, next) in [("", "1"), ("1", "2"), ("99", "100"), ("nonsense", "1")] {
            assert_eq!(nested(&reply(accepted, "routes-5"), &[1]), Some(next.as_bytes()));
        }
        assert_ne!(nested(&reply("1", "routes-5"), &[2, 2]), nested(&reply("2", "routes-5"), &[2, 2]));
    }

    #[test]
    fn a_table_has_as_many_routes_as_its_name_says() {
        for (name, routes) in
            [("routes-2", 2), ("routes-500", 500), ("routes-99999999", MOST_ROUTES), ("other", 2)]
        {
            let reply = reply("", name);
            let table = nested(&reply, &[2, 2]).unwrap();
            assert_eq!(nested(table, &[1]), Some(name.as_bytes()));
            let host = nested(table, &[2]).unwrap();
            assert_eq!(fields(host).filter(|(number, _)| *number == 3).count(), routes, "{name}");
            // The last one matches every path.
            let (_, last) = fields(host).last().unwrap();
            assert_eq!(
                (nested(last, &[1, 1]), nested(last, &[2, 1])),
                (Some(b"/".as_slice()), Some(CLUSTER))
            );
        }
    }
}
