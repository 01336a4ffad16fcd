//! Recognises the kind of a subject, or of a part of it, by its text: a server, a configuration, a property, an Envoy.

use std::path::Path;

/// Keys of parts that state properties of the proxy.
pub(super) const KEYS: [&str; 3] = ["flags", "env", "workers"];

/// True if a subject is the URL of a server that already runs. The value of a part may contain a URL, too.
pub(super) fn is_url(subject: &str) -> bool {
    subject.split_once("://").is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// True if a part of a subject names a configuration.
pub(super) fn is_config(part: &str) -> bool {
    let is_known = |file: &str| {
        let extension = Path::new(file).extension();
        extension.is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
    };
    let is_property = part.split_once('=').is_some_and(|(key, _)| KEYS.contains(&key));
    // A `#` separates the file from the name of one of its configurations.
    let file = part.split_once('#').map_or(part, |(file, _)| file);
    !is_property && (is_known(part) || is_known(file))
}

/// True if a part of a subject names an Envoy: a release, or a path.
pub(super) fn is_envoy(part: &str) -> bool {
    part.starts_with(['/', '.'])
        || (part.contains('.') && part.chars().all(|c| c.is_ascii_digit() || c == '.'))
}
