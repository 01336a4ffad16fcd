//! Walking a configuration as a tree of JSON values.
//!
//! A removed node becomes null and is dropped by [`compact`], so the pointers of all other nodes stay valid.

use std::borrow::Cow;

use memchr::memchr2;
use serde_json::{Map, Value};

/// Keys of matchers whose text is compared with a value.
pub(crate) const COMPARED: [&str; 8] = [
    "exact",
    "prefix",
    "suffix",
    "contains",
    "exact_match",
    "prefix_match",
    "suffix_match",
    "contains_match",
];

/// The pointer of the entry `key` of the node at `pointer`.
pub fn join(pointer: &str, key: &str) -> String {
    let mut joined = pointer.to_owned();
    push(&mut joined, key);
    joined
}

/// Extends the pointer of a node to its entry `key`.
pub fn push(pointer: &mut String, key: &str) {
    pointer.push('/');
    if memchr2(b'~', b'/', key.as_bytes()).is_some() {
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(key);
    }
}

/// Extends the pointer of a list to its item `index`. It does not allocate a string for the number, because walks visit millions of nodes.
pub fn push_index(pointer: &mut String, index: usize) {
    fn digits(pointer: &mut String, number: usize) {
        if number > 9 {
            digits(pointer, number / 10);
        }
        pointer.push(char::from(b'0' + (number % 10) as u8));
    }
    pointer.push('/');
    digits(pointer, index);
}

/// The key for a step of a pointer.
pub fn key_of(step: &str) -> Cow<'_, str> {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}

/// The node at a pointer, like [`Value::pointer`], but without copies of the steps, because rules visit millions of nodes.
pub fn at<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    let steps = match pointer.strip_prefix('/') {
        Some(steps) => steps.split('/'),
        None => return pointer.is_empty().then_some(root),
    };
    let mut node = root;
    for step in steps {
        node = match node {
            Value::Object(entries) => entries.get(&*key_of(step))?,
            Value::Array(items) if step == "0" || !step.starts_with(['0', '+']) => {
                items.get(step.parse::<usize>().ok()?)?
            }
            _ => return None,
        };
    }
    Some(node)
}

/// The last step of a pointer.
pub fn last_step(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

/// The last step of a pointer that is not an index: the name of the field with the node, or with the list around it.
pub fn last_name(pointer: &str) -> &str {
    pointer.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or_default()
}

/// True if `pointer` is `root` or leads through it.
pub(crate) fn is_within(pointer: &str, root: &str) -> bool {
    pointer.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Calls `visit` for every node with its pointer, a node before its children.
pub fn walk<'a>(root: &'a Value, pointer: &str, visit: &mut dyn FnMut(&str, &'a Value)) {
    fn step<'a>(node: &'a Value, pointer: &mut String, visit: &mut dyn FnMut(&str, &'a Value)) {
        visit(pointer, node);
        let length = pointer.len();
        match node {
            Value::Object(entries) => {
                for (key, value) in entries {
                    push(pointer, key);
                    step(value, pointer, visit);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    push_index(pointer, index);
                    step(item, pointer, visit);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }
    step(root, &mut pointer.to_owned(), visit);
}

/// The pointers of all nodes for which `is_meant` holds.
pub(crate) fn find(root: &Value, is_meant: &dyn Fn(&str, &Value) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    walk(root, "", &mut |pointer, node| {
        if is_meant(pointer, node) {
            found.push(pointer.to_owned());
        }
    });
    found
}

/// A copy without nulls.
pub(crate) fn compact(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let kept = entries.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), compact(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().filter(|item| !item.is_null()).map(compact).collect(),
        other => other.clone(),
    }
}

/// Removes the node at a pointer. A transport socket that wraps another is replaced by the inner one. An inner socket is replaced by a
/// plain socket, which its wrapper needs.
pub(crate) fn remove(root: &mut Value, pointer: &str) {
    let wrapper = pointer.strip_suffix(WRAPPED).filter(|wrapper| root.pointer(wrapper).is_some());
    let is_wrapped = wrapper.is_some();
    let Some(node) = root.pointer_mut(pointer) else { return };
    let inner = node.pointer_mut(WRAPPED).filter(|inner| inner.is_object()).map(Value::take);
    *node = inner.or_else(|| is_wrapped.then(plain_socket)).unwrap_or(Value::Null);
}

/// Removes nodes, the innermost first, so that pointers of nodes inside of others stay valid until they are used.
pub(crate) fn remove_all<'p>(root: &mut Value, pointers: impl IntoIterator<Item = &'p String>) {
    let mut pointers: Vec<&String> = pointers.into_iter().collect();
    pointers.sort_by_key(|pointer| std::cmp::Reverse(pointer.len()));
    for pointer in pointers {
        remove(root, pointer);
    }
}

/// Pointer from a transport socket to the socket that it wraps.
pub(crate) const WRAPPED: &str = "/typed_config/transport_socket";

fn plain_socket() -> Value {
    serde_json::json!({
        "name": "envoy.transport_sockets.raw_buffer",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer",
        },
    })
}

/// The transport sockets of a filter chain or a cluster, each wrapped by the one before it, with their pointers.
pub fn sockets<'a>(owner: &'a Value, pointer: &str) -> Vec<(String, &'a Value)> {
    let mut found = Vec::new();
    let mut at = join(pointer, "transport_socket");
    let mut next = owner.get("transport_socket");
    while let Some(socket) = next.filter(|socket| socket.is_object()) {
        found.push((at.clone(), socket));
        at += WRAPPED;
        next = socket.pointer(WRAPPED);
    }
    found
}

/// True if a transport socket is TLS from the first byte.
pub fn is_tls(socket: &Value) -> bool {
    let configuration = &socket["typed_config"];
    configuration.get("common_tls_context").is_some_and(|context| !context.is_null())
        || message_type(configuration).ends_with("TlsContext")
}

/// Sets an entry of a mapping. A null node becomes a mapping. Any other node is left unchanged for Envoy to reject.
pub(crate) fn set(node: &mut Value, key: &str, value: Value) {
    if node.is_null() {
        *node = Value::Object(Map::new());
    }
    if let Some(entries) = node.as_object_mut() {
        entries.insert(key.to_owned(), value);
    }
}

/// Sets these entries of a node to null, if they exist.
pub(crate) fn clear(node: &mut Value, keys: &[&str]) {
    for key in keys {
        if let Some(entry) = node.get_mut(*key) {
            *entry = Value::Null;
        }
    }
}

/// Appends a resource to a list of `static_resources`, which is created if it is missing.
pub(crate) fn append(root: &mut Value, list: &str, resource: Value) {
    let is_missing = |node: Option<&Value>| node.is_none_or(Value::is_null);
    if is_missing(root.get("static_resources")) {
        set(root, "static_resources", Value::Object(Map::new()));
    }
    let Some(statics) = root.get_mut("static_resources") else { return };
    match statics.get_mut(list).and_then(Value::as_array_mut) {
        Some(items) => items.push(resource),
        None => set(statics, list, Value::Array(vec![resource])),
    }
}

/// The items of a list that are not removed, with their pointers; none if the node is not a list.
pub fn items<'a>(root: &'a Value, pointer: &str) -> Vec<(String, &'a Value)> {
    let items = root.pointer(pointer).and_then(Value::as_array);
    let items = items.into_iter().flatten().enumerate().filter(|(_, item)| !item.is_null());
    items.map(|(index, item)| (join(pointer, &index.to_string()), item)).collect()
}

/// The pointers of these items.
pub(crate) fn pointers(root: &Value, pointer: &str) -> Vec<String> {
    items(root, pointer).into_iter().map(|(pointer, _)| pointer).collect()
}

/// The list at a key of a node; an empty one if there is none.
pub(crate) fn list<'a>(node: &'a Value, key: &str) -> &'a [Value] {
    node.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// True if a step of a message type is its version: `v3`, `v3alpha`.
pub(crate) fn is_version(step: &str) -> bool {
    step.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// The text at `pointer` below a node; empty if there is none.
pub fn text<'a>(node: &'a Value, pointer: &str) -> &'a str {
    at(node, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The message type of a typed configuration, without the part before the slash; empty if it has none.
pub fn message_type(node: &Value) -> &str {
    last_step(node.get("@type").and_then(Value::as_str).unwrap_or_default())
}

/// The message of a typed configuration: the configuration itself, or the content of a `TypedStruct`, in which Istio and others wrap
/// configurations.
pub struct Message<'a> {
    /// Its type, without the part before the slash; empty if it has none.
    pub of: &'a str,
    /// Its JSON pointer below the typed configuration.
    pub at: &'static str,
    /// Its fields.
    pub fields: &'a Value,
}

/// The message of a typed configuration.
pub fn message(configuration: &Value) -> Message<'_> {
    match message_type(configuration) {
        "xds.type.v3.TypedStruct" | "udpa.type.v1.TypedStruct" => Message {
            // Below the user's own fields, names have their original spelling.
            of: match last_step(text(configuration, "/type_url")) {
                "" => last_step(text(configuration, "/typeUrl")),
                of => of,
            },
            at: "/value",
            fields: configuration.get("value").unwrap_or(&Value::Null),
        },
        of => Message { of, at: "", fields: configuration },
    }
}

/// The name of an extension; its type if it has none.
pub(crate) fn extension_name(extension: &Value) -> &str {
    match text(extension, "/name") {
        "" => extension_type(extension),
        name => name,
    }
}

/// The message type of the configuration of an extension: of its `typed_config`, or its name if it has none.
pub fn extension_type(extension: &Value) -> &str {
    match extension.get("typed_config").map(|configuration| message(configuration).of) {
        None | Some("") => text(extension, "/name"),
        Some(of) => of,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_leads_where_that_of_a_value_leads() {
        let root = json!({"a": [{"b/c~": 1}, 2], "": {"": null}, "0": "x"});
        for pointer in [
            "",
            "/",
            "//",
            "/a",
            "/a/0",
            "/a/1",
            "/a/2",
            "/a/00",
            "/a/01",
            "/a/+1",
            "/a/-",
            "/a/0/b~1c~0",
            "/a/0/b",
            "/0",
            "/a/1/x",
            "a",
            "/a/",
            "/a/99999999999999999999",
        ] {
            assert_eq!(at(&root, pointer), root.pointer(pointer), "{pointer}");
        }
    }

    #[test]
    fn the_type_of_wrapped_settings_is_found_in_both_spellings() {
        for field in ["type_url", "typeUrl"] {
            let wrapped = json!({"@type": "type.googleapis.com/xds.type.v3.TypedStruct", field: "a/b.v3.C", "value": {}});
            assert_eq!((message(&wrapped).of, message(&wrapped).at), ("b.v3.C", "/value"));
        }
    }

    #[test]
    fn the_pointers_of_a_walk_lead_to_its_nodes() {
        let items: Vec<Value> = (0..102).map(Value::from).collect();
        let root = json!({"a": items, "b/c~": {"": [[null]]}});
        let mut pointers = Vec::new();
        walk(&root, "", &mut |pointer, node| {
            assert_eq!(root.pointer(pointer), Some(node), "{pointer}");
            pointers.push(pointer.to_owned());
        });
        assert_eq!(pointers.len(), 108);
        assert!(
            ["/a/9", "/a/10", "/a/101", "/b~1c~0//0/0"]
                .iter()
                .all(|one| pointers.contains(&(*one).to_owned()))
        );
    }
}
