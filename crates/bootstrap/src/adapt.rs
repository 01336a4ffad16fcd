//! Adapts a configuration to a lab: every address, file and secret is replaced, and each replacement is listed.
//!
//! The passes change the same tree one after another. A pass that removes a node leaves null, so that pointers remain valid;
//! [`Adapted::bootstrap`] drops the nulls.

mod addresses;
mod clusters;
mod credentials;
mod environment;
mod expressions;
mod extensions;
mod files;
mod key_sets;
mod limits;
mod line_mask;
mod listeners;
pub(crate) mod masks;
mod process;
mod secrets;
mod tls;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::slice;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hoptax_certs::KeyKind;
use hoptax_text::nearest::hint;
use hoptax_text::secrets::users_of_urls;
use serde_json::{Value, json};

use crate::assemble::{Configuration, Origins};
use crate::lab::Lab;
use crate::outside::{Code, addresses_of_code, finding_clusters, outside_addresses};
use crate::place::{Place, Problem, Problems};
use crate::tree;

use self::masks::{Masks, Syntax};

pub(crate) use clusters::service_clusters;
pub(crate) use credentials::BASIC_USER;
pub(crate) use extensions::find as extensions;
pub use extensions::missing_extension;
pub use line_mask::LineMask;
pub use listeners::Listener;
pub use masks::without_secrets;

/// The passes, in their order. The last ones replace what the others left.
const PASSES: [fn(&mut Context<'_>); 12] = [
    extensions::adapt,
    listeners::adapt,
    clusters::adapt,
    tls::adapt,
    key_sets::adapt,
    credentials::adapt,
    secrets::adapt,
    environment::adapt,
    limits::adapt,
    files::adapt,
    process::adapt,
    addresses::adapt,
];

/// Placeholder that Envoy writes into a dump instead of secrets.
const REDACTED: &[u8] = b"[redacted]";

/// A node of the configuration that was replaced or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Its place in the user's file.
    pub place: Place,
    /// The original node in words. Secrets are described, never quoted.
    pub node: String,
    /// Its replacement, or `removed` with the reason.
    pub with: String,
    /// True for an extension that was left out because it cannot run in a lab. No number includes its cost.
    pub is_left_out: bool,
}

/// Problem with a server in the settings of code that is not part of Envoy.
const SERVER_OF_CODE: &str = "code outside of Envoy may connect to this server, and hoptax cannot know what may replace it: change it to \
     a loopback address, or remove the extension from the file";
/// Replacement of an extension that Envoy lacks.
const LACKING: &str = "removed: this Envoy has no such extension; leave it out of the file, or measure with an Envoy that has it: `--envoy PATH`";

impl Replacement {
    /// True for an extension that Envoy lacks.
    pub fn is_lacking(&self) -> bool {
        self.with == LACKING
    }
}

/// A configuration that is ready for a lab.
#[derive(Clone, Debug)]
pub struct Adapted {
    /// The configuration with its removed nodes as null: pointers are those before the removal.
    pub(crate) tree: Value,
    origins: Origins,
    /// Everything that was replaced or removed, in the order of the passes.
    pub replacements: Vec<Replacement>,
    /// The files that it needs.
    pub files: LabFiles,
    /// Its listeners.
    pub listeners: Vec<Listener>,
    masks: Masks,
}

/// The files that an adapted configuration needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabFiles {
    /// The certificate of the authority that signs all others, if one is needed.
    pub authority: Option<PathBuf>,
    /// Certificates of the proxy.
    pub identities: Vec<Identity>,
    /// Names that the proxy expects in the certificate of an upstream server: DNS names and SPIFFE names.
    pub origin_names: BTreeSet<String>,
    /// True if the proxy presents a certificate to upstream servers that request one.
    pub presents_certificate: bool,
    /// Names that the proxy expects in the certificate of a client.
    pub client_names: BTreeSet<String>,
    /// The user's files to copy.
    pub copies: Vec<Copied>,
    /// Folders that it writes to.
    pub folders: BTreeSet<PathBuf>,
}

/// A certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// File of the certificate.
    pub certificate: PathBuf,
    /// File of its key.
    pub key: PathBuf,
    /// Names in it.
    pub names: BTreeSet<String>,
    /// Its key.
    pub kind: KeyKind,
}

/// A file of the user that the proxy reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Place in the configuration that names it.
    pub place: Place,
    /// Its path as the configuration names it.
    pub from: String,
    /// Its path in the lab.
    pub to: PathBuf,
}

/// State that the passes share.
struct Context<'a> {
    lab: &'a Lab,
    configuration: &'a Configuration,
    /// Reads a user's certificate, key set or secret, to determine its kind or length; none if it cannot be read.
    read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    tree: Value,
    replacements: Vec<Replacement>,
    problems: Vec<Problem>,
    files: LabFiles,
    listeners: Vec<Listener>,
    masks: Masks,
}

impl Configuration {
    /// Adapts it to a lab. `read` gives the contents of a file that it names, or none; only certificates and
    /// key sets are read, for their kinds, and secrets, for their lengths.
    ///
    /// # Errors
    /// All nodes that can be neither replaced nor removed.
    pub fn adapt(&self, lab: &Lab, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Adapted, Problems> {
        let mut context = Context {
            lab,
            configuration: self,
            read,
            tree: self.tree.clone(),
            replacements: Vec::new(),
            problems: Vec::new(),
            files: LabFiles::default(),
            listeners: Vec::new(),
            masks: Masks::default(),
        };
        // Passes before the one for secrets quote addresses in the list of replacements.
        context.know_users_of_urls();
        for pass in PASSES {
            pass(&mut context);
        }
        for pointer in outside_addresses(&context.tree, &lab.folder) {
            context.problem(
                &pointer,
                "this address would lead out of the lab; remove it from the configuration",
            );
        }
        for pointer in finding_clusters(&context.tree) {
            let message =
                "this cluster would find servers outside of the lab; remove it from the configuration";
            context.problem(&pointer, message);
        }
        for pointer in addresses_of_code(&context.tree, Code::Loaded) {
            context.problem(&pointer, SERVER_OF_CODE);
        }
        context.sweep_lists();
        let Context { tree, replacements, problems, files, listeners, masks, .. } = context;
        if !problems.is_empty() {
            return Err(Problems::new(problems));
        }
        Ok(Adapted { tree, origins: self.origins.clone(), replacements, files, listeners, masks })
    }
}

impl Adapted {
    /// Checks the settings of extensions that are not part of Envoy, after those that this Envoy lacks have been removed.
    ///
    /// # Errors
    /// The servers on other machines that the settings name.
    pub fn check_extensions(&self) -> Result<(), Problems> {
        let found = addresses_of_code(&self.tree, Code::Extension).into_iter();
        let problem =
            |pointer: String| Problem { place: self.place(&pointer), message: SERVER_OF_CODE.to_owned() };
        let problems: Vec<Problem> = found.map(problem).collect();
        if problems.is_empty() { Ok(()) } else { Err(Problems::new(problems)) }
    }

    /// The listener that `wanted` names: the one with this name, or the only one whose name begins with it. Control planes append addresses
    /// to names, like Consul in `public_listener:127.0.0.1:21001`. All listeners if `wanted` is None.
    ///
    /// # Errors
    /// A message with the names of the listeners, if no listener or several match.
    pub fn named_listeners(&self, wanted: Option<&str>) -> Result<&[Listener], String> {
        let Some(wanted) = wanted else { return Ok(&self.listeners) };
        if let Some(exact) = self.listeners.iter().find(|listener| listener.name == wanted) {
            return Ok(slice::from_ref(exact));
        }
        let quoted = |listeners: &[&Listener]| {
            let names: Vec<String> =
                listeners.iter().map(|listener| format!("`{}`", listener.name)).collect();
            names.join(", ")
        };
        let all: Vec<&Listener> = self.listeners.iter().collect();
        let begins_so = |listener: &&Listener| !wanted.is_empty() && listener.name.starts_with(wanted);
        let meant: Vec<&Listener> = all.iter().copied().filter(begins_so).collect();
        match meant.as_slice() {
            [only] => Ok(slice::from_ref(only)),
            [] => {
                let hint = hint(wanted, all.iter().map(|listener| listener.name.as_str()));
                Err(format!("no listener `{wanted}`{hint}; listeners: {}", quoted(&all)))
            }
            several => Err(format!(
                "the names of several listeners begin with `{wanted}`: {}; give the full name",
                quoted(several)
            )),
        }
    }

    /// The complete bootstrap of Envoy.
    pub fn bootstrap(&self) -> Value {
        tree::compact(&self.tree)
    }

    /// The bootstrap without some nodes.
    pub fn without<'p>(&self, pointers: impl IntoIterator<Item = &'p String>) -> Value {
        let mut rest = self.tree.clone();
        tree::remove_all(&mut rest, pointers);
        tree::compact(&rest)
    }

    /// True if it has a node at a pointer.
    pub fn has(&self, pointer: &str) -> bool {
        self.tree.pointer(pointer).is_some_and(|node| !node.is_null())
    }

    /// Removes nodes; the pointers of all others remain valid.
    pub fn remove<'p>(&mut self, pointers: impl IntoIterator<Item = &'p String>) {
        tree::remove_all(&mut self.tree, pointers);
    }

    /// The place of a node in the user's files.
    pub fn place(&self, pointer: &str) -> Place {
        self.origins.place(pointer)
    }

    /// The content of a file to copy, without secrets that it states next to their names or that are also in the configuration, and without
    /// commands for environment variables. Binary files are unchanged.
    pub fn without_secrets(&self, bytes: Vec<u8>) -> Vec<u8> {
        match String::from_utf8(bytes) {
            Ok(text) => {
                let masked = self.masks.clone().text(&text, Syntax::Code).unwrap_or(text);
                environment::without_variables(&masked).into_owned().into_bytes()
            }
            Err(error) => error.into_bytes(),
        }
    }

    /// The pointers of every extension with this name or type.
    pub fn extensions(&self, name: &str) -> Vec<String> {
        extensions::find(&self.tree, name)
    }

    /// Removes every extension that this Envoy lacks, by the name or the type that it reported, and lists it. False if
    /// there is none.
    pub fn remove_extension(&mut self, name: &str) -> bool {
        let found = self.extensions(name);
        for pointer in &found {
            let node = extensions::described(&self.tree, pointer);
            tree::remove(&mut self.tree, pointer);
            let (place, with) = (self.place(pointer), LACKING.to_owned());
            self.replacements.push(Replacement { place, node, with, is_left_out: false });
        }
        !found.is_empty()
    }
}

impl Context<'_> {
    /// Replaces a node, which is `node` in words.
    fn replace(&mut self, pointer: &str, value: Value, node: &str, with: &str) {
        if let Some(old) = self.tree.pointer_mut(pointer) {
            *old = value;
        }
        self.list(pointer, node, with);
    }

    fn remove(&mut self, pointer: &str, node: &str, why: &str) {
        self.replace(pointer, Value::Null, node, &format!("removed: {why}"));
    }

    /// Removes a key of a node if the node has it.
    fn remove_key(&mut self, pointer: &str, key: &str, why: &str) {
        let pointer = tree::join(pointer, key);
        if self.tree.pointer(&pointer).is_some_and(|node| !node.is_null()) {
            self.remove(&pointer, &format!("`{key}`"), why);
        }
    }

    fn list(&mut self, pointer: &str, node: &str, with: &str) {
        let place = self.configuration.place(pointer);
        let (node, with) = (node.to_owned(), with.to_owned());
        self.replacements.push(Replacement { place, node, with, is_left_out: false });
    }

    /// Removes an extension that cannot run in a lab.
    fn remove_extension(&mut self, pointer: &str, why: &str) {
        let node = extensions::described(&self.tree, pointer);
        tree::remove(&mut self.tree, pointer);
        let (place, with) = (self.configuration.place(pointer), format!("removed: {why}"));
        self.replacements.push(Replacement { place, node, with, is_left_out: true });
    }

    /// Returns the content of a user's data source; None if it cannot be read.
    fn content(&self, source: &Value) -> Option<Vec<u8>> {
        let of = |key: &str| source.get(key).and_then(Value::as_str);
        let content = match (of("filename"), of("inline_string"), of("inline_bytes")) {
            (Some(path), ..) => (self.read)(path)?,
            (_, Some(text), _) => text.as_bytes().to_vec(),
            (.., Some(bytes)) => BASE64_STANDARD.decode(bytes).ok()?,
            _ => return None,
        };
        (content != REDACTED).then_some(content)
    }

    fn problem(&mut self, pointer: &str, message: &str) {
        let place = self.configuration.place(pointer);
        self.problems.push(Problem { place, message: message.to_owned() });
    }

    /// Collects the user information of all URLs as secrets.
    fn know_users_of_urls(&mut self) {
        let masks = &mut self.masks;
        tree::walk(&self.tree, "", &mut |_, node| {
            let text = node.as_str().unwrap_or_default();
            for user in users_of_urls(text) {
                masks.value(text.get(user).unwrap_or_default());
            }
        });
    }

    /// Removes secrets from the lists, which quote paths, names and addresses. Pointers contain keys of mappings, which may be secret too.
    fn sweep_lists(&mut self) {
        let masks = &mut self.masks;
        let mut swept = |text: &mut String| {
            if let Some(masked) = masks.text(text, Syntax::Other) {
                *text = masked;
            }
        };
        for one in &mut self.replacements {
            swept(&mut one.node);
            swept(&mut one.with);
            swept(&mut one.place.pointer);
        }
        for problem in &mut self.problems {
            swept(&mut problem.message);
            swept(&mut problem.place.pointer);
        }
        self.listeners.iter_mut().for_each(|listener| swept(&mut listener.address));
    }

    /// The pointers of all nodes for which `is_meant` holds.
    fn find(&self, is_meant: &dyn Fn(&str, &Value) -> bool) -> Vec<String> {
        tree::find(&self.tree, is_meant)
    }

    /// The text at a pointer; none if there is none.
    fn text(&self, pointer: &str) -> Option<String> {
        self.tree.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
    }
}

/// An address as the configuration writes it.
fn socket_address(address: SocketAddr) -> Value {
    json!({"socket_address": {"address": address.ip().to_string(), "port_value": address.port()}})
}

/// An address of the lab for a list of replacements, without a port if the server does not run yet.
fn described_server(address: SocketAddr, role: &str) -> String {
    if address.port() == 0 { role.to_owned() } else { format!("{address}, {role}") }
}

/// A user's address for a list of replacements: `host:port`, a path, or the name of an internal listener.
fn described_address(address: &Value) -> String {
    let text = |pointer| tree::text(address, pointer);
    let port = address.pointer("/socket_address/port_value").map(Value::to_string);
    match (text("/socket_address/address"), text("/pipe/path"), port) {
        ("", "", _) => match text("/envoy_internal_address/server_listener_name") {
            "" => "no address".to_owned(),
            name => format!("internal listener `{name}`"),
        },
        ("", path, _) => path.to_owned(),
        (host, _, Some(port)) => format!("{host}:{port}"),
        (host, _, None) => host.to_owned(),
    }
}

/// A path in the lab as text.
fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
