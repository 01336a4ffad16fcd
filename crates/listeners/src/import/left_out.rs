//! Describes a part of a bootstrap that a listeners file does not express.

/// Start of the path of a listener's filters, as differences name it.
const FILTERS: &str = "/filter_chains/0/filters/";
/// End of the name of the filter for HTTP.
const MANAGER: &str = "http_connection_manager";

/// A part of a bootstrap that the file does not express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The part in words, after the listener or the cluster that has it.
    pub words: String,
    /// Its JSON pointer in the bootstrap; None if it is not a single node.
    pub pointer: Option<String>,
    /// True for a name by which Envoy counts or logs, such as `stat_prefix`: no request depends on it.
    pub is_name: bool,
}

impl LeftOut {
    /// A part that is not a single node.
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), pointer: None, is_name: false }
    }

    /// A field of `owner`. In its path, items of lists have their names; in its pointer, their numbers.
    pub(super) fn of_field(owner: &str, path: &str, pointer: &str) -> Self {
        let words = format!("{owner}: {}", field_in_words(path));
        Self { words, pointer: Some(pointer.to_owned()), is_name: is_name(path) }
    }

    /// Sets the pointer.
    #[must_use]
    pub(super) fn at(self, pointer: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), ..self }
    }
}

/// The filters and logs of a listener by what they are, other fields by their path.
fn field_in_words(path: &str) -> String {
    let Some(inside) = path.strip_prefix(FILTERS) else { return path.to_owned() };
    let Some((filter, field)) = inside.split_once("/typed_config/") else {
        return if inside.contains('/') { path.to_owned() } else { format!("the network filter `{inside}`") };
    };
    if !filter.ends_with(MANAGER) {
        return path.to_owned();
    }
    match field.split_once('/') {
        Some(("http_filters", name)) if !name.contains('/') => format!("the HTTP filter `{name}`"),
        Some(("access_log", name)) if !name.contains('/') => format!("the access log `{name}`"),
        _ => format!("/{field} of its connection manager"),
    }
}

/// True if a path leads to a name that no request depends on. A header or a runtime key also has a name, but decides about requests.
fn is_name(path: &str) -> bool {
    let mut steps = path.rsplit('/');
    match steps.next() {
        Some("stat_prefix" | "alt_stat_name") => true,
        Some("name") => {
            let (item, list) = (steps.next(), steps.next());
            item == Some("route_config") || matches!(list, Some("virtual_hosts" | "routes" | "filter_chains"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str =
        "/filter_chains/0/filters/envoy.filters.network.http_connection_manager/typed_config";

    fn of(path: &str) -> (String, bool) {
        let left = LeftOut::of_field("listener `a`", path, "");
        (left.words, left.is_name)
    }

    #[test]
    fn filters_and_logs_are_named_by_what_they_are_and_fields_by_short_paths() {
        for (path, words) in [
            (format!("{CONFIG}/http_filters/lua"), "the HTTP filter `lua`"),
            (format!("{CONFIG}/access_log/file"), "the access log `file`"),
            (format!("{CONFIG}/access_log/file/filter"), "/access_log/file/filter of its connection manager"),
            (format!("{CONFIG}/via"), "/via of its connection manager"),
            (format!("{FILTERS}rbac"), "the network filter `rbac`"),
            (format!("{FILTERS}rbac/typed_config/rules"), "/filter_chains/0/filters/rbac/typed_config/rules"),
            ("/address".to_owned(), "/address"),
        ] {
            assert_eq!(of(&path), (format!("listener `a`: {words}"), false), "{path}");
        }
    }

    #[test]
    fn names_that_no_request_depends_on_are_told_from_those_of_headers() {
        for (field, is_name) in [
            ("stat_prefix", true),
            ("route_config/name", true),
            ("route_config/virtual_hosts/all/name", true),
            ("route_config/virtual_hosts/all/routes/0/name", true),
            ("route_config/virtual_hosts/all/routes/0/match/headers/0/name", false),
            ("server_name", false),
        ] {
            assert_eq!(of(&format!("{CONFIG}/{field}")).1, is_name, "{field}");
        }
    }
}
