//! Hashes that identify the subject of a measurement: of files, and of the configurations of proxies.
//!
//! Ports chosen by the kernel and the folder of the run differ between runs and are not part of the subject, so they are replaced by names
//! before hashing. Two runs of one plan then have the same hashes; a differing hash identifies the arm that changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use hoptax_host::known_files;
use hoptax_subject::digest::{sha256, sha256_of_reader};
use hoptax_subject::envoy::process::ProxySpec;
use serde_json::json;

/// The SHA-256 digest of a file in hexadecimal. The digest of a large file is cached until the file changes ([`known_files`]).
///
/// # Errors
/// When the file cannot be read.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    let of =
        |error: io::Error| io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()));
    known_files::fact(path, "sha256", || File::open(path).and_then(sha256_of_reader)).map_err(of)
}

/// Replacements of strings that differ between runs by fixed names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    folder: PathBuf,
    addresses: Vec<(SocketAddr, String)>,
}

impl Names {
    /// The names for one proxy: the folder of its run, the addresses of the next hop, and the companion.
    pub(crate) fn new(folder: &Path, next: &[SocketAddr], companion: Option<SocketAddr>) -> Self {
        let next = next.iter().enumerate().map(|(number, address)| (*address, format!("NEXT-{number}")));
        let companion = companion.map(|address| (address, "COMPANION".to_owned()));
        Self { folder: folder.to_owned(), addresses: next.chain(companion).collect() }
    }

    /// Adds one address.
    pub(crate) fn with(mut self, address: SocketAddr, name: &str) -> Self {
        self.addresses.push((address, name.to_owned()));
        self
    }

    /// Replaces every occurrence of the folder, also in JSON's escaped form, and the ports of addresses, both after their host and in
    /// Envoy's `port_value`.
    fn apply(&self, text: &str) -> String {
        let folder = self.folder.to_string_lossy();
        let in_json = json!(folder).to_string();
        let unquoted = in_json.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&in_json);
        let mut text = text.replace(unquoted, "RUN").replace(&*folder, "RUN");
        for (address, name) in &self.addresses {
            for before in [format!("{}:", address.ip()), "\"port_value\": ".to_owned()] {
                text = replace_number(&text, &before, address.port(), name);
            }
        }
        text
    }
}

/// Replaces `number` by `name` wherever it follows `before` as a whole number.
fn replace_number(text: &str, before: &str, number: u16, name: &str) -> String {
    let wanted = format!("{before}{number}");
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once(&wanted) {
        replaced.push_str(head);
        if tail.starts_with(|next: char| next.is_ascii_digit()) {
            replaced.push_str(&wanted);
        } else {
            replaced.push_str(before);
            replaced.push_str(name);
        }
        rest = tail;
    }
    replaced + rest
}

/// The hash of the specification of an Envoy: its configuration as written, the files that its function adds, its
/// environment, its number of workers and its flags. Certificates are generated anew by each run and are not included.
///
/// # Errors
/// When a file of the configuration cannot be read.
pub(crate) fn envoy_hash(spec: &ProxySpec, names: &Names) -> io::Result<String> {
    let plan = spec.source.plan();
    let watched = plan.and_then(|plan| plan.watched.as_ref()).map(|files| -> io::Result<_> {
        let read = |path: &Path| Ok::<_, io::Error>(names.apply(&fs::read_to_string(path)?));
        Ok([read(&files.listeners)?, read(&files.clusters)?])
    });
    let files = plan.and_then(|plan| plan.fragment.as_ref()).into_iter().flat_map(|fragment| &fragment.files);
    let files: BTreeMap<String, String> =
        files.map(|(path, bytes)| (names.apply(&path.to_string_lossy()), sha256(bytes))).collect();
    let mut parts = vec![
        json!(names.apply(&fs::read_to_string(spec.config())?)),
        json!(watched.transpose()?),
        json!(files),
        json!(spec.environment),
        json!(spec.workers),
    ];
    // Without flags, the hash equals that in results of versions that had no flags.
    parts.extend((!spec.flags.is_empty()).then(|| json!(spec.flags)));
    Ok(sha256(json!(parts).to_string().as_bytes()))
}

/// The hash of the configuration of another proxy.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn file_hash(path: &Path, names: &Names) -> io::Result<String> {
    Ok(sha256(names.apply(&fs::read_to_string(path)?).as_bytes()))
}

/// The hash of an arm, from those of its proxies in their order. None without proxies.
pub(crate) fn arm_hash(proxies: &[String]) -> Option<String> {
    match proxies {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(sha256(several.join("\n").as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_hash_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, "program").unwrap();
        assert_eq!(sha256_of_file(&path).unwrap(), sha256(b"program"));
        let error = sha256_of_file(&folder.path().join("none")).unwrap_err();
        assert!(error.to_string().contains("cannot read `"), "{error}");
    }

    #[test]
    fn ports_and_the_folder_are_names_and_other_numbers_stay() {
        let next = [([127, 0, 0, 1], 4000).into(), ([127, 0, 0, 1], 4001).into()];
        let names = Names::new(Path::new("/runs/a"), &next, Some(([127, 0, 0, 1], 5000).into()));
        let text = r#"{"port_value": 4000, "path": "/runs/a/files/log", "uri": "http://127.0.0.1:5000/", "window": 4000}
            {"port_value": 40001, "port_value": 4001}"#;
        let expected = r#"{"port_value": NEXT-0, "path": "RUN/files/log", "uri": "http://127.0.0.1:COMPANION/", "window": 4000}
            {"port_value": 40001, "port_value": NEXT-1}"#;
        assert_eq!(names.apply(text), expected);
    }

    #[test]
    fn a_folder_that_json_escapes_is_a_name_too() {
        let folder = Path::new("/runs/\\1 my \"run\"");
        let names = Names::new(folder, &[], None);
        let text = json!({"path": folder.join("files/log")}).to_string();
        assert_eq!(names.apply(&text), r#"{"path":"RUN/files/log"}"#);
        assert_eq!(names.apply(&folder.join("files").to_string_lossy()), "RUN/files");
    }

    #[test]
    fn the_hash_of_several_proxies_depends_on_their_order() {
        let [a, b] = ["a", "b"].map(str::to_owned);
        assert_eq!((arm_hash(&[]), arm_hash(std::slice::from_ref(&a))), (None, Some(a.clone())));
        assert_ne!(arm_hash(&[a.clone(), b.clone()]), arm_hash(&[b, a]));
    }
}
