//! Checks the routes of a listener: their hosts and expressions are valid, and each route is reachable.

use std::collections::BTreeMap;

use super::{Resolver, expression};
use crate::file::{HostSplitSection, ListenerSection, RouteSection, check_of};
use crate::tree::shortened;

impl Resolver<'_> {
    /// Checks the hosts of a route, which may begin with `*.`.
    pub(super) fn check_hosts(&mut self, route: &RouteSection, path: &str) {
        let check = check_of("host-or-address");
        for (index, host) in route.hosts.iter().enumerate() {
            let name = host.strip_prefix("*.").unwrap_or(host);
            if let Some(Err(why)) = check.map(|check| check(name)) {
                self.add(&format!("{path}/hosts/{index}"), format!("`{}`: {why}", shortened(host)));
            }
        }
    }

    /// Checks that each host is in only one list of hosts, with all of its paths: Envoy selects by host first.
    pub(super) fn check_shared_hosts(&mut self, section: &ListenerSection, path: &str) {
        // Envoy compares domains case-insensitively.
        let mut lists: BTreeMap<String, &[String]> = BTreeMap::new();
        for (index, route) in section.routes.iter().enumerate() {
            for (number, host) in route.hosts.iter().enumerate() {
                let before = lists.entry(host.to_ascii_lowercase()).or_insert(&route.hosts);
                if *before != route.hosts.as_slice() {
                    let message = format!(
                        "`{}` is also in another list of hosts; give both routes the same list",
                        shortened(host)
                    );
                    self.add(&format!("{path}/routes/{index}/hosts/{number}"), message);
                } else if route.hosts.iter().take(number).any(|other| other.eq_ignore_ascii_case(host)) {
                    let message = format!("`{}` is in the list twice", shortened(host));
                    self.add(&format!("{path}/routes/{index}/hosts/{number}"), message);
                }
            }
        }
    }

    /// Reports a route after another one that matches all of its requests.
    pub(super) fn check_reached(&mut self, section: &ListenerSection, has_target: bool, path: &str) {
        let prefix = |route: &RouteSection| route.prefix.clone().unwrap_or_else(|| "/".to_owned());
        for (index, route) in section.routes.iter().enumerate() {
            let takes_it = |earlier: &RouteSection| {
                (earlier.hosts.is_empty() || earlier.hosts == route.hosts)
                    && prefix(route).starts_with(&prefix(earlier))
            };
            if let Some(first) = section.routes.iter().take(index).position(takes_it) {
                let message = format!("is never reached: entry {} of `routes` takes its requests", first + 1);
                self.add(&format!("{path}/routes/{index}"), message);
            }
        }
        let all = section.routes.iter().position(|route| route.hosts.is_empty() && prefix(route) == "/");
        if let Some(first) = all.filter(|_| has_target) {
            let message =
                format!("its own upstream gets no requests: entry {} of `routes` takes all", first + 1);
            self.add(path, message);
        }
    }

    /// Checks the expression of a split.
    pub(super) fn check_expression(&mut self, split: &HostSplitSection, path: &str) {
        if let Err(why) = expression::check(&split.host_regex) {
            self.add(&format!("{path}/host_regex"), why);
        }
    }
}
