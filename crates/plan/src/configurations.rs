//! The Envoy configurations of the user that a study names, as its plan uses them. The caller reads each file once, before planning.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use hoptax_bootstrap::{Adapted, Lab};
use hoptax_subject::digest::sha256;
use hoptax_subject::envoy::given::Given;
use serde_json::Value;

use crate::file::{ArmEntry, HopEntry, StudyFile};

/// The address that stands for the origin behind a proxy until it runs; nothing connects to it.
pub const ORIGIN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
/// The address that stands for the companion until it runs; nothing connects to it.
pub const COMPANION: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 2);

/// The configurations by their paths, as in the study file.
#[derive(Clone, Default)]
pub struct Configurations(BTreeMap<String, Result<Arc<Configuration>, String>>);

/// A configuration that can be adapted.
#[derive(Debug)]
pub struct Configuration {
    /// Its files.
    pub given: Given,
    /// The configuration as adapted to a lab, with addresses that lead nowhere.
    pub adapted: Adapted,
    /// See [`Configurations::hashes`].
    sha256: String,
    /// See [`Configurations::hashes_of_files`].
    files: BTreeMap<String, String>,
}

/// Lists their paths only: configurations hold secrets.
impl fmt::Debug for Configurations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Configurations {
    /// Reads the configurations that a study file names, as `read` returns them for their paths. A fault in one is reported where the
    /// study is planned, with the other problems of the study.
    pub fn named_by(file: &StudyFile, read: impl Fn(&str) -> Result<Configuration, String>) -> Self {
        let hops = file.arms.iter().filter_map(|entry| match entry {
            ArmEntry::Chain(chain) => chain.hops.as_ref(),
            _ => None,
        });
        let named = hops.flatten().filter_map(|hop| match hop {
            HopEntry::Hop(section) => section.config.as_ref(),
            HopEntry::Name(_) => None,
        });
        let mut all = BTreeMap::new();
        for config in named {
            all.entry(config.clone()).or_insert_with(|| read(config).map(Arc::new));
        }
        Self(all)
    }

    /// The configuration with this path.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    pub fn get(&self, config: &str) -> Result<&Arc<Configuration>, String> {
        match self.0.get(config) {
            Some(Ok(configuration)) => Ok(configuration),
            Some(Err(why)) => Err(why.clone()),
            None => Err(format!("`{config}` was not read")),
        }
    }

    /// A note for each configuration that was taken from inside another file, with its place there.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let read = self.0.iter().filter_map(|(path, read)| Some((path, read.as_ref().ok()?)));
        read.filter_map(|(path, one)| {
            let described = one.given.described()?;
            Some(format!("the configuration in `{path}` is {described}"))
        })
    }

    /// SHA-256 of the contents of each configuration, by path: of its file, of the files that it names for listeners,
    /// clusters, routes, endpoints and secrets, and of those that the proxy reads.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let read = self.0.iter().filter_map(|(path, read)| Some((path, read.as_ref().ok()?)));
        read.map(|(path, one)| (path.clone(), one.sha256.clone())).collect()
    }

    /// SHA-256 of each of these files, by the path of the configuration, and by the path of the file from the folder of the configuration.
    pub fn hashes_of_files(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let read = self.0.iter().filter_map(|(path, read)| Some((path, read.as_ref().ok()?)));
        read.map(|(path, one)| (path.clone(), one.files.clone())).collect()
    }
}

impl Configuration {
    /// A configuration that was read, as it becomes in a lab. `sha256_of_file` hashes each of its files.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    pub fn new(given: Given, sha256_of_file: impl Fn(&Path) -> io::Result<String>) -> Result<Self, String> {
        let adapted = given.adapt(&nowhere()).map_err(|problems| problems.to_string())?;
        let files = given.files(&adapted).into_iter().map(|file| Ok((sha256_of_file(&file)?, file)));
        let files = files.collect::<io::Result<Vec<_>>>().map_err(|error| error.to_string())?;
        // In the order of the paths, without the paths: the folder may have moved.
        let hashes: Vec<&str> = files.iter().map(|(hash, _)| hash.as_str()).collect();
        let sha256 = sha256(hashes.join("\n").as_bytes());
        let folder = given.folder();
        let inside = |file: &Path| file.strip_prefix(folder).unwrap_or(file).display().to_string();
        let files = files.iter().map(|(hash, file)| (inside(file), hash.clone())).collect();
        Ok(Self { given, adapted, sha256, files })
    }

    /// Returns the adapted configuration with other nodes ([`Given::with`]), with addresses that lead nowhere.
    ///
    /// # Errors
    /// The reason why it cannot be adapted, or the nodes that do not exist.
    pub fn adapted_with(&self, nodes: &BTreeMap<String, Value>) -> Result<Adapted, String> {
        if nodes.is_empty() {
            return Ok(self.adapted.clone());
        }
        let changed = self.given.with(nodes).map_err(|missing| missing_nodes(&missing))?;
        changed.adapt(&nowhere()).map_err(|problems| problems.to_string())
    }
}

/// Returns the message that a configuration lacks the nodes at these pointers.
pub fn missing_nodes(pointers: &[String]) -> String {
    format!(
        "no node `{}`: write JSON pointers such as `/static_resources/listeners/0`",
        pointers.join("`, `")
    )
}

/// A lab with addresses that lead nowhere.
fn nowhere() -> Lab {
    Lab::new(ORIGIN, COMPANION, "/lab".into())
}
