//! A node of a configuration with its pointer.

use hoptax_bootstrap::tree;
use serde_json::Value;

use super::is_loopback;
use crate::found::Found;

/// A node of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    /// Its pointer.
    pub(crate) at: String,
    /// Its value, which is not null.
    pub(crate) value: &'a Value,
}

impl<'a> Node<'a> {
    /// The node at a pointer below this one.
    pub(crate) fn get(&self, pointer: &str) -> Option<Self> {
        let value = tree::at(self.value, pointer).filter(|value| !value.is_null())?;
        Some(Self { at: self.field(pointer), value })
    }

    /// Returns true if there is a node at a pointer below this one.
    pub(crate) fn has(&self, pointer: &str) -> bool {
        tree::at(self.value, pointer).is_some_and(|value| !value.is_null())
    }

    /// The text at a pointer below this one; empty if there is none.
    pub(crate) fn text(&self, pointer: &str) -> &'a str {
        tree::text(self.value, pointer)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'a str {
        self.text("/name")
    }

    /// Returns the name of a listener for messages: its name, or its address.
    pub(crate) fn label(&self) -> String {
        let socket = "/address/socket_address";
        let port = self.number(&format!("{socket}/port_value")).unwrap_or_default();
        match self.name() {
            "" => format!("{}:{port}", self.text(&format!("{socket}/address"))),
            name => name.to_owned(),
        }
    }

    /// The addresses of a listener.
    pub(crate) fn sockets(&self) -> Vec<Self> {
        let more = self.items("/additional_addresses").into_iter();
        let more = more.filter_map(|address| address.get("/address/socket_address"));
        self.get("/address/socket_address").into_iter().chain(more).collect()
    }

    /// Returns true if other machines can connect to a listener.
    pub(crate) fn is_open_to_others(&self) -> bool {
        self.sockets().iter().any(|socket| !is_loopback(socket.text("/address")))
    }

    /// The items of a list below this one; a value that is not a list is a single item.
    pub(crate) fn items(&self, pointer: &str) -> Vec<Self> {
        match tree::at(self.value, pointer) {
            Some(Value::Array(items)) => {
                let list = self.field(pointer);
                let item = |(index, value)| {
                    let mut at = list.clone();
                    tree::push_index(&mut at, index);
                    Self { at, value }
                };
                items.iter().enumerate().filter(|(_, item)| !item.is_null()).map(item).collect()
            }
            None | Some(Value::Null) => Vec::new(),
            Some(value) => vec![Self { at: self.field(pointer), value }],
        }
    }

    /// The entries of a mapping below this one.
    pub(crate) fn entries(&self, pointer: &str) -> Vec<(&'a str, Self)> {
        let Some(entries) = tree::at(self.value, pointer).and_then(Value::as_object) else {
            return Vec::new();
        };
        let at = self.field(pointer);
        let entries = entries.iter().filter(|(_, value)| !value.is_null());
        entries.map(|(key, value)| (key.as_str(), Self { at: tree::join(&at, key), value })).collect()
    }

    /// A duration in seconds.
    pub(crate) fn seconds(&self, pointer: &str) -> Option<f64> {
        self.text(pointer).strip_suffix('s')?.parse().ok()
    }

    /// A number, which may be written as a string.
    pub(crate) fn number(&self, pointer: &str) -> Option<f64> {
        let value = tree::at(self.value, pointer)?;
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    }

    /// A boolean; false if there is none.
    pub(crate) fn is_set(&self, pointer: &str) -> bool {
        tree::at(self.value, pointer).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Returns true if a boolean is explicitly false.
    pub(crate) fn is_off(&self, pointer: &str) -> bool {
        tree::at(self.value, pointer).and_then(Value::as_bool) == Some(false)
    }

    /// The type of an extension, or its name if it states none.
    pub(crate) fn extension(&self) -> &'a str {
        tree::extension_type(self.value)
    }

    /// The fields of the configuration of an extension.
    pub(crate) fn fields(&self) -> Self {
        let Some(typed) = self.get("/typed_config") else { return self.clone() };
        let message = tree::message(typed.value);
        Self { at: typed.field(message.at), value: message.fields }
    }

    /// The message of this node, which is a typed configuration.
    pub(crate) fn message(&self) -> (&'a str, Self) {
        let message = tree::message(self.value);
        (message.of, Self { at: self.field(message.at), value: message.fields })
    }

    /// A finding about one of its fields, or about the node itself if it lacks the field.
    pub(crate) fn found(&self, pointer: &str, message: impl Into<String>) -> Found {
        let field = if self.has(pointer) { pointer } else { "" };
        Found::new(self.field(field), message)
    }

    /// The pointer of a field of it.
    pub(crate) fn field(&self, pointer: &str) -> String {
        // `concat` is fast, and rules make millions of pointers.
        [self.at.as_str(), pointer].concat()
    }
}
