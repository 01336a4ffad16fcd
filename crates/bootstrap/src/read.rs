//! Reads a configuration from its text and the files that it names, and reports all its problems at once.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;

use crate::assemble::{Configuration, Joined, Loaded, join_all};
use crate::document::Document;
use crate::given::{Accepted, Given, given};
use crate::lab::Lab;
use crate::place::{Problem, Problems};
use crate::resource::{is_list, is_one};

/// Reads a configuration: a bootstrap or a `/config_dump`, alone in a text or inside of objects of Kubernetes. `name` is the name of the
/// text in problems, and `choice` that of the configuration, if there are several. `load` reads the files that it names for listeners,
/// clusters, routes, endpoints and secrets, or returns the reason why it cannot.
///
/// # Errors
/// All problems: a file is not YAML or JSON, is not an Envoy configuration or cannot be loaded, or resources come from a control plane and
/// are not in the file. They include the problems of [`Configuration::adapt`] for the part that could be read, unless a resource is not a
/// mapping.
pub fn read(
    name: &str,
    text: &str,
    choice: Option<&str>,
    load: &dyn Fn(&str) -> Result<Loaded, String>,
) -> Result<Configuration, Problems> {
    let Joined { configuration, mut unread } = join_all(given(name, text, choice, Accepted::Whole)?, load)?;
    unread.extend(configuration.merge_keys());
    if unread.is_empty() {
        return Ok(configuration);
    }
    // A node that cannot be adapted fails in every lab, so any addresses will do.
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let lab = Lab::new(server, server, "/lab".into());
    let is_read = configuration.tree.is_object();
    let more = is_read.then(|| configuration.adapt(&lab, &|_| None).err()).flatten();
    Err(Problems::new(unread).joined(more))
}

/// A configuration, as far as it could be read.
#[derive(Debug)]
pub struct Partly {
    /// The configuration, as far as it was read.
    pub configuration: Configuration,
    /// Problems with the rest: files that do not exist, and resources that come from a control plane.
    pub unread: Vec<Problem>,
    /// True if the text is not a bootstrap, but contains resources.
    pub is_part: bool,
}

/// Like [`read`], for callers that inspect a configuration without running it. Resources may be missing, and a text may also be a list of
/// `resources`, as in files of listeners and clusters, or a single listener or cluster.
///
/// # Errors
/// All problems that make Envoy refuse the text, or leave no configuration.
pub fn read_partly(
    name: &str,
    text: &str,
    choice: Option<&str>,
    load: &dyn Fn(&str) -> Result<Loaded, String>,
) -> Result<Partly, Problems> {
    partly(given(name, text, choice, Accepted::Resources)?, load)
}

/// Like [`read_partly`], for a bootstrap without a text that names no files. Places have pointers instead of lines.
///
/// # Errors
/// All problems that make Envoy refuse it.
pub fn of_value(name: &str, bootstrap: Value) -> Result<Partly, Problems> {
    let document = Document::from_value(name, bootstrap);
    let given = Given { document, described: None, beside: BTreeMap::new() };
    partly(given, &|_| Err("there are no files beside it".to_owned()))
}

fn partly(given: Given, load: &dyn Fn(&str) -> Result<Loaded, String>) -> Result<Partly, Problems> {
    let is_part = is_list(&given.document.value) || is_one(&given.document.value);
    let Joined { configuration, unread } = join_all(given, load)?;
    let refused = configuration.merge_keys();
    if refused.is_empty() {
        Ok(Partly { configuration, unread, is_part })
    } else {
        Err(Problems::new(refused))
    }
}

#[cfg(test)]
mod tests;
