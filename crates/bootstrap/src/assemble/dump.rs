//! The sections of a `/config_dump`.

use serde_json::Value;

use super::{Configuration, Found, Resources};
use crate::place::Problem;
use crate::tree::{message_type, text};

/// A section that holds resources.
struct Section {
    /// Its type.
    of: &'static str,
    /// Its lists, and the pointer of the resource in each item.
    lists: &'static [(&'static str, &'static str)],
    /// Adds a resource to the configuration, or collects it for later.
    take: fn(&mut Configuration, &mut Resources, Found),
}

const SECTIONS: [Section; 6] = [
    Section {
        of: "envoy.admin.v3.ListenersConfigDump",
        lists: &[("static_listeners", "/listener"), ("dynamic_listeners", "/active_state/listener")],
        take: |configuration, _, found| configuration.append("listeners", found),
    },
    Section {
        of: "envoy.admin.v3.ClustersConfigDump",
        // A warming cluster may be the next version of an active one, or be new.
        lists: &[
            ("static_clusters", "/cluster"),
            ("dynamic_active_clusters", "/cluster"),
            ("dynamic_warming_clusters", "/cluster"),
        ],
        take: |configuration, resources, found| {
            if resources.clusters.insert(text(&found.value, "/name").to_owned()) {
                configuration.append("clusters", found);
            }
        },
    },
    Section {
        of: "envoy.admin.v3.RoutesConfigDump",
        lists: &[("static_route_configs", "/route_config"), ("dynamic_route_configs", "/route_config")],
        take: |_, resources, found| {
            drop(resources.routes.insert(text(&found.value, "/name").to_owned(), found));
        },
    },
    Section {
        of: "envoy.admin.v3.EndpointsConfigDump",
        lists: &[
            ("static_endpoint_configs", "/endpoint_config"),
            ("dynamic_endpoint_configs", "/endpoint_config"),
        ],
        take: |_, resources, found| {
            drop(resources.endpoints.insert(text(&found.value, "/cluster_name").to_owned(), found));
        },
    },
    Section {
        of: "envoy.admin.v3.EcdsConfigDump",
        lists: &[("ecds_filters", "/ecds_filter")],
        take: |_, resources, found| {
            drop(resources.filters.insert(text(&found.value, "/name").to_owned(), found));
        },
    },
    Section {
        of: "envoy.admin.v3.SecretsConfigDump",
        lists: &[("static_secrets", "/secret"), ("dynamic_active_secrets", "/secret")],
        take: |configuration, _, found| {
            drop(configuration.secrets.insert(text(&found.value, "/name").to_owned(), found.value));
        },
    },
];

impl Configuration {
    /// Joins the sections of a dump. Routes, endpoints and filters are placed later. Items and resources that are not mappings are left
    /// out.
    pub(super) fn join_dump(
        &mut self,
        mut dump: Value,
        problems: &mut Vec<Problem>,
        malformed: &mut Vec<Problem>,
    ) -> Resources {
        let mut resources = Resources::default();
        let sections =
            dump.get_mut("configs").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
        for (index, section) in sections.iter().enumerate() {
            malformed.extend(self.no_mapping(0, &format!("/configs/{index}"), section));
        }
        let lists: Vec<&str> = SECTIONS.iter().map(|section| section.of).collect();
        let (bootstraps, others): (Vec<_>, Vec<_>) = sections
            .into_iter()
            .enumerate()
            .partition(|(_, section)| message_type(section) == "envoy.admin.v3.BootstrapConfigDump");
        let Some((index, mut bootstrap)) = bootstraps.into_iter().next() else {
            problems.push(self.problem(
                "",
                "the dump has no section BootstrapConfigDump; take all of it: `curl 'http://ADMIN/config_dump?include_eds'`",
            ));
            return resources;
        };
        self.tree = Value::Object(serde_json::Map::new());
        let bootstrap = bootstrap.get_mut("bootstrap").map(Value::take).unwrap_or_default();
        malformed.extend(self.no_mapping(0, &format!("/configs/{index}/bootstrap"), &bootstrap));
        if let Value::Object(entries) = bootstrap {
            for (key, value) in entries {
                let pointer = format!("/configs/{index}/bootstrap/{key}");
                self.graft(&format!("/{key}"), Found { document: 0, pointer, value });
            }
        }
        let has_section = others.iter().any(|(_, section)| message_type(section) == lists[1]);
        self.lacks_clusters =
            !has_section && self.tree.get("dynamic_resources").is_some_and(Value::is_object);
        // The sections repeat the static resources of the bootstrap.
        for (of, list) in [(lists[0], "listeners"), (lists[1], "clusters")] {
            if others.iter().any(|(_, section)| message_type(section) == of)
                && let Some(statics) =
                    self.tree.pointer_mut("/static_resources").and_then(Value::as_object_mut)
            {
                statics.remove(list);
            }
        }
        for (index, mut section) in others {
            let Some(known) = SECTIONS.iter().find(|known| known.of == message_type(&section)) else {
                continue;
            };
            for (list, resource) in known.lists {
                let items = section.get_mut(list).and_then(Value::as_array_mut);
                for (item, value) in items.into_iter().flatten().enumerate() {
                    let at = format!("/configs/{index}/{list}/{item}");
                    malformed.extend(self.no_mapping(0, &at, value));
                    let Some(value) = value.pointer_mut(resource).map(Value::take) else { continue };
                    let pointer = at + resource;
                    if let Some(problem) = self.no_mapping(0, &pointer, &value) {
                        malformed.push(problem);
                        continue;
                    }
                    (known.take)(self, &mut resources, Found { document: 0, pointer, value });
                }
            }
        }
        resources
    }
}
