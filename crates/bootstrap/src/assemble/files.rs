//! Places resources to which a bootstrap refers, from its files or from the sections of a dump.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Configuration, Found, Loaded, References, Resources};
use crate::document::{Document, Source};
use crate::place::Problem;
use crate::tree::{self, join, text};

/// Advice if resources come from a control plane.
const TAKE_A_DUMP: &str = "comes from a control plane; give the dump of the running proxy instead: `curl 'http://ADMIN/config_dump?include_eds'`";

/// Reads files once, and collects problems.
struct Files<'a> {
    load: &'a dyn Fn(&str) -> Result<Loaded, String>,
    /// Documents by path.
    numbers: BTreeMap<String, usize>,
    problems: &'a mut Vec<Problem>,
    /// Resources that are not mappings.
    malformed: Vec<Problem>,
}

/// Result of placing all resources to which a bootstrap refers.
pub(super) struct Placed {
    /// Problems with resources that are not mappings, which are left out.
    pub(super) malformed: Vec<Problem>,
    /// True if the bootstrap may have other nodes than before.
    pub(super) is_changed: bool,
}

impl Configuration {
    /// Places all resources to which the bootstrap refers. `references` are the nodes that refer to resources before any is placed.
    pub(super) fn join_files(
        &mut self,
        resources: Resources,
        mut references: References,
        is_dump: bool,
        load: &dyn Fn(&str) -> Result<Loaded, String>,
        problems: &mut Vec<Problem>,
    ) -> Placed {
        let Resources { routes, mut endpoints, filters, clusters: _ } = resources;
        let mut files = Files { load, numbers: BTreeMap::new(), problems, malformed: Vec::new() };
        let mut is_changed = false;
        if !is_dump {
            for (source, list) in [("lds_config", "listeners"), ("cds_config", "clusters")] {
                let pointer = format!("/dynamic_resources/{source}");
                if self.tree.pointer(&pointer).is_none_or(Value::is_null) {
                    continue;
                }
                let before = files.problems.len();
                for found in self.resources_at(&pointer, &mut files, list) {
                    self.append(list, found);
                    is_changed = true;
                }
                self.lacks_clusters |= list == "clusters" && files.problems.len() > before;
            }
        }
        // A control plane may also deliver clusters in this way.
        self.lacks_clusters |=
            !is_dump && self.tree.pointer("/dynamic_resources/cds_resources_locator").is_some();
        // Files that were placed may refer to more.
        if is_changed {
            references = self.references();
        }
        if !references.filters.is_empty() {
            self.place_filters(&references.filters, &filters, &mut files);
            is_changed = true;
            references = self.references();
        }
        self.place_routes(&references, &routes, &mut files);
        self.place_endpoints(&references.endpoints, &mut endpoints, &mut files);
        if !references.routes.is_empty() || !references.endpoints.is_empty() {
            is_changed = true;
            references = self.references();
        }
        self.read_secrets(&references.secrets, &mut files);
        Placed { malformed: files.malformed, is_changed }
    }

    /// Places filters that are discovered separately.
    fn place_filters(&mut self, at: &[String], filters: &BTreeMap<String, Found>, files: &mut Files<'_>) {
        for pointer in at {
            let Some(node) = self.tree.pointer(pointer) else { continue };
            let name = text(node, "/name").to_owned();
            let default = node.pointer("/config_discovery/default_config").cloned();
            let source = format!("{pointer}/config_discovery/config_source");
            let is_in_file = self.path_of(&source).is_some();
            // Several listeners may share one filter.
            let found = match filters.get(&name).cloned() {
                None if is_in_file => self.named_at(&source, files, "filter", "filters", &name),
                of_dump => of_dump,
            };
            match (found, default) {
                (Some(mut found), _) => {
                    found.pointer += "/typed_config";
                    found.value = found.value.get_mut("typed_config").map(Value::take).unwrap_or_default();
                    files.malformed.extend(self.no_mapping(found.document, &found.pointer, &found.value));
                    self.graft_typed(&join(pointer, "typed_config"), found);
                }
                // The problem of the file is already noted.
                (None, _) if is_in_file => {}
                (None, Some(value)) => {
                    if let Some(node) = self.tree.pointer_mut(pointer) {
                        tree::set(node, "typed_config", value);
                    }
                }
                (None, None) => {
                    files.problems.push(self.problem(pointer, &format!("this filter {TAKE_A_DUMP}")));
                }
            }
            self.remove_key(pointer, "config_discovery");
        }
    }

    /// The resource of this name in the file that a `ConfigSource` at a pointer names. `one` and `several` are
    /// the kind in problems, singular and plural.
    fn named_at(
        &mut self,
        source: &str,
        files: &mut Files<'_>,
        one: &str,
        several: &str,
        name: &str,
    ) -> Option<Found> {
        let before = files.problems.len();
        let all = self.resources_at(source, files, several);
        let found = all.into_iter().find(|found| text(&found.value, "/name") == name);
        if found.is_none() && files.problems.len() == before {
            files.problems.push(self.problem(source, &format!("the file has no {one} `{name}`")));
        }
        found
    }

    /// Like `graft`, for a configuration that keeps its type.
    fn graft_typed(&mut self, at: &str, found: Found) {
        let kind = found.value.get("@type").cloned();
        self.graft(at, found);
        if let (Some(kind), Some(node)) = (kind, self.tree.pointer_mut(at)) {
            tree::set(node, "@type", kind);
        }
    }

    fn place_routes(
        &mut self,
        references: &References,
        routes: &BTreeMap<String, Found>,
        files: &mut Files<'_>,
    ) {
        for pointer in &references.scopes {
            let message = "scoped routes are not supported; give the connection manager one `route_config`";
            files.problems.push(self.problem(&join(pointer, "scoped_routes"), message));
        }
        for pointer in &references.routes {
            let rds = join(pointer, "rds");
            let name = self
                .tree
                .pointer(&rds)
                .map(|rds| text(rds, "/route_config_name").to_owned())
                .unwrap_or_default();
            let source = join(&rds, "config_source");
            // Several listeners may share one table.
            let of_dump = routes.get(&name).cloned();
            let found = of_dump.or_else(|| self.named_at(&source, files, "route table", "routes", &name));
            self.remove_key(pointer, "rds");
            if let Some(found) = found {
                self.graft(&join(pointer, "route_config"), found);
            }
        }
    }

    fn place_endpoints(
        &mut self,
        at: &[String],
        endpoints: &mut BTreeMap<String, Found>,
        files: &mut Files<'_>,
    ) {
        for pointer in at {
            let Some(node) = self.tree.pointer(pointer) else { continue };
            let service = text(node, "/eds_cluster_config/service_name");
            let name = if service.is_empty() { text(node, "/name") } else { service }.to_owned();
            let found = endpoints.remove(&name).or_else(|| {
                let source = format!("{pointer}/eds_cluster_config/eds_config");
                // If its endpoints are not in a file, a cluster gets a single stub.
                self.path_of(&source)?;
                let all = self.resources_at(&source, files, "endpoints");
                all.into_iter().find(|found| text(&found.value, "/cluster_name") == name)
            });
            if let Some(found) = found {
                self.graft(&join(pointer, "load_assignment"), found);
            }
        }
    }

    /// Reads secrets in files, if possible, only for their kind and length.
    fn read_secrets(&mut self, at: &[String], files: &mut Files<'_>) {
        let statics = self.tree.pointer("/static_resources/secrets").and_then(Value::as_array).cloned();
        let mut secrets = statics.unwrap_or_default();
        for pointer in at {
            let Some(path) = self.path_of(&join(pointer, "sds_config")) else { continue };
            let Ok(source) = self.load(&path, files.load) else { continue };
            match Document::parse(&source) {
                Ok(document) => {
                    let items = document.value.get("resources").and_then(Value::as_array);
                    secrets.extend(items.into_iter().flatten().cloned());
                }
                Err(problem) => files.problems.push(problem),
            }
        }
        for secret in secrets {
            self.secrets.entry(text(&secret, "/name").to_owned()).or_insert(secret);
        }
    }

    /// The text of a file: a text next to the configuration, or a separate file.
    fn load(&self, path: &str, load: &dyn Fn(&str) -> Result<Loaded, String>) -> Result<Source, String> {
        if let Some(beside) = self.source_beside(path) {
            return Ok(beside.clone());
        }
        load(path).map(|loaded| Source::file(&loaded.name, &loaded.text))
    }

    /// The file that a `ConfigSource` at a pointer names.
    fn path_of(&self, pointer: &str) -> Option<String> {
        let source = self.tree.pointer(pointer)?;
        let path = source.pointer("/path_config_source/path").or_else(|| source.get("path"))?;
        path.as_str().map(str::to_owned)
    }

    /// The resources of the file that a `ConfigSource` at a pointer names.
    fn resources_at(&mut self, pointer: &str, files: &mut Files<'_>, what: &str) -> Vec<Found> {
        let document = match self.document_at(pointer, files, what) {
            Ok(document) => document,
            Err(problem) => {
                files.problems.push(problem);
                return Vec::new();
            }
        };
        let items = self.origins.document(document).value.get("resources").and_then(Value::as_array);
        let items = items.into_iter().flatten().enumerate();
        let found: Vec<Found> = items
            .map(|(index, value)| Found {
                document,
                pointer: format!("/resources/{index}"),
                value: value.clone(),
            })
            .collect();
        for one in &found {
            files.malformed.extend(self.no_mapping(document, &one.pointer, &one.value));
        }
        found.into_iter().filter(|one| one.value.is_object()).collect()
    }

    /// The index of that file, which is read only once.
    fn document_at(&mut self, pointer: &str, files: &mut Files<'_>, what: &str) -> Result<usize, Problem> {
        let path = self.path_of(pointer);
        let path = path.ok_or_else(|| self.problem(pointer, &format!("the list of {what} {TAKE_A_DUMP}")))?;
        if let Some(&number) = files.numbers.get(&path) {
            return Ok(number);
        }
        let source = self.load(&path, files.load).map_err(|cause| {
            let message =
                format!("the file of its {what} cannot be read: {cause}; place it beside the configuration");
            self.problem(pointer, &message)
        })?;
        let number = self.origins.add(Document::parse(&source)?);
        files.numbers.insert(path, number);
        Ok(number)
    }
}
