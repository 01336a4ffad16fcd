//! A user's configuration: its files, and the files of the lab that replace them.
//!
//! `hoptax_bootstrap` adapts the configuration; this module reads the user's files, and writes those of the lab.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_bootstrap::{Adapted, Configuration, Lab, Loaded, Partly, Place, Problem, Problems, read};
use hoptax_certs::CertificateError;
use hoptax_text::file;
use serde_json::Value;

use crate::lab::Certificates;

/// A configuration of the user.
#[derive(Clone, Debug)]
pub struct Given {
    configuration: Configuration,
    /// The folder of its file, where the files that it names are looked up.
    folder: PathBuf,
    /// Its file, and those that it names for listeners, clusters, routes, endpoints and secrets.
    sources: BTreeSet<PathBuf>,
    /// True if it may neither name files of this machine nor contain code.
    is_alone: bool,
}

/// Reason why a configuration that was read alone cannot be used.
const ALONE: &str = "files of this machine are not read for a configuration that is sent here: write the content into it \
                     (`inline_string`), send a `/config_dump`, or price it with `hoptax price FILE` on the machine itself";

/// Maximum number of certificates for a configuration that was read alone. Each needs its own key, which takes processor time.
const MOST_IDENTITIES: usize = 100;

/// Reason why a configuration cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// Its file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Its content cannot be used.
    #[error(transparent)]
    Content(#[from] Problems),
}

impl Given {
    /// Reads a configuration, and the files that it names for listeners, clusters, routes, endpoints and secrets. The path may end with
    /// `#` and the name of one of several configurations in the file.
    ///
    /// # Errors
    /// When a file cannot be read, and all problems with their contents.
    pub fn read(path: &Path) -> Result<Self, GivenError> {
        let (path, choice) = chosen(path);
        let text = text_of(path)?;
        let folder = folder_of(path);
        let sources = RefCell::new(BTreeSet::from([path.to_owned()]));
        let load = |named: &str| {
            let (path, loaded) = load(&folder, named)?;
            sources.borrow_mut().insert(path);
            Ok(loaded)
        };
        let configuration = read(&path.display().to_string(), &text, choice, &load)?;
        Ok(Self { configuration, folder, sources: sources.into_inner(), is_alone: false })
    }

    /// Reads a configuration from a user who may not read files of this machine or run programs on it. No other file is opened, here or
    /// later.
    ///
    /// # Errors
    /// When its file cannot be read, and all problems with its content. These include files that it names, unless their texts are in the
    /// same file. [`Self::adapt`] finds the other problems, and code in the configuration.
    pub fn read_alone(path: &Path) -> Result<Self, GivenError> {
        let (text, name) = (text_of(path)?, path.display().to_string());
        let named = RefCell::new(BTreeSet::new());
        let refuse = |file: &str| -> Result<Loaded, String> {
            named.borrow_mut().insert(file.to_owned());
            Err(ALONE.to_owned())
        };
        let configuration = read(&name, &text, None, &refuse);
        let named = named.into_inner();
        if !named.is_empty() {
            let place = Place { file: name, line: 0, column: 0, pointer: String::new() };
            return Err(not_alone(named.into_iter().map(|file| (place.clone(), file))).into());
        }
        let sources = BTreeSet::from([path.to_owned()]);
        Ok(Self { configuration: configuration?, folder: folder_of(path), sources, is_alone: true })
    }

    /// The folder of its file, to which its paths are relative.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Describes the document that contains it, and its place there; none if it is the whole file.
    pub fn described(&self) -> Option<&str> {
        self.configuration.described()
    }

    /// The content of a file that it names: a text in the same file as the configuration, or a separate file. None if there is neither.
    fn content(&self, named: &str) -> io::Result<Option<Vec<u8>>> {
        match (self.configuration.beside(named), locate(&self.folder, named)) {
            (Some(text), _) => Ok(Some(text.as_bytes().to_vec())),
            (None, Some(path)) => fs::read(path).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// A copy in which nodes are replaced, by their pointers, as if the user had written them.
    ///
    /// # Errors
    /// The pointers at which there is no node.
    pub fn with(&self, nodes: &BTreeMap<String, Value>) -> Result<Self, Vec<String>> {
        let configuration = self.configuration.with(nodes)?;
        Ok(Self {
            configuration,
            folder: self.folder.clone(),
            sources: self.sources.clone(),
            is_alone: self.is_alone,
        })
    }

    /// Adapts it to a lab.
    ///
    /// # Errors
    /// All nodes that can be neither replaced nor removed; if it was read alone, also nodes that name a file or contain code.
    pub fn adapt(&self, lab: &Lab) -> Result<Adapted, Problems> {
        if self.is_alone {
            return self.adapt_alone(lab);
        }
        self.configuration.adapt(lab, &|named| self.content(named).ok().flatten())
    }

    fn adapt_alone(&self, lab: &Lab) -> Result<Adapted, Problems> {
        let is_beside = |named: &str| self.configuration.beside(named).is_some();
        let asked = RefCell::new(BTreeSet::new());
        let adapted = self.configuration.adapt(lab, &|named| {
            let text = self.configuration.beside(named);
            if text.is_none() {
                asked.borrow_mut().insert(named.to_owned());
            }
            text.map(|text| text.as_bytes().to_vec())
        });
        // The adaptation asks for the contents of certificates and keys. Other files are copied.
        let asked = asked.into_inner();
        if !asked.is_empty() {
            let place = self.configuration.place("");
            return Err(not_alone(asked.into_iter().map(|file| (place.clone(), file))));
        }
        let adapted = adapted?;
        let copies = adapted.files.copies.iter().filter(|copied| !is_beside(&copied.from));
        let copies: Vec<(Place, String)> =
            copies.map(|copied| (copied.place.clone(), copied.from.clone())).collect();
        if !copies.is_empty() {
            return Err(not_alone(copies.into_iter()));
        }
        if adapted.files.identities.len() > MOST_IDENTITIES {
            let message = format!(
                "it needs more than {MOST_IDENTITIES} certificates: price it with `hoptax price FILE` on the machine itself"
            );
            return Err(Problems::new(vec![Problem { place: self.configuration.place(""), message }]));
        }
        let reaching = adapted.reaching_out();
        if reaching.is_empty() { Ok(adapted) } else { Err(Problems::new(reaching)) }
    }

    /// All files of the user that determine what the proxy runs: those of the configuration, and those that the proxy
    /// reads. Files that do not exist are left out.
    pub fn files(&self, adapted: &Adapted) -> BTreeSet<PathBuf> {
        let own =
            adapted.files.copies.iter().filter(|copied| self.configuration.beside(&copied.from).is_none());
        let copied = own.filter_map(|copied| locate(&self.folder, &copied.from));
        self.sources.iter().cloned().chain(copied).collect()
    }

    /// Checks that the files to copy exist.
    ///
    /// # Errors
    /// The files that do not exist, each with the line that names it.
    pub fn check_files(&self, adapted: &Adapted) -> Result<(), Problems> {
        let is_missing =
            |named: &str| self.configuration.beside(named).is_none() && locate(&self.folder, named).is_none();
        let missing = adapted.files.copies.iter().filter(|copied| is_missing(&copied.from));
        let problems: Vec<Problem> = missing
            .map(|copied| Problem {
                place: copied.place.clone(),
                message: format!("file `{}` does not exist; place it beside the configuration", copied.from),
            })
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(Problems::new(problems)) }
    }

    /// Writes the files that the adapted configuration needs: certificates, copies of the user's files, and folders.
    ///
    /// # Errors
    /// When a certificate cannot be made, a file cannot be written, or files to copy do not exist.
    pub fn write_files(&self, adapted: &Adapted, certificates: &Certificates) -> Result<(), FilesError> {
        self.check_files(adapted).map_err(FilesError::Missing)?;
        if let Some(authority) = &adapted.files.authority {
            write(authority, certificates.authority_pem().as_bytes())?;
        }
        for identity in &adapted.files.identities {
            let signed = certificates.sign(&identity.names, identity.kind)?;
            write(&identity.certificate, signed.certificate.as_bytes())?;
            write(&identity.key, signed.key.as_bytes())?;
        }
        for copied in &adapted.files.copies {
            let content = self.content(&copied.from);
            let content =
                content.map_err(|source| FilesError::File { path: (&copied.from).into(), source })?;
            let Some(bytes) = content else { continue };
            write(&copied.to, &adapted.without_secrets(bytes))?;
        }
        for folder in &adapted.files.folders {
            let created = fs::create_dir_all(folder);
            created.map_err(|source| FilesError::File { path: folder.clone(), source })?;
        }
        Ok(())
    }
}

/// Problems for the files that a configuration names although it was read alone.
fn not_alone(named: impl Iterator<Item = (Place, String)>) -> Problems {
    let problem = |(place, file): (Place, String)| Problem {
        place,
        message: format!("it names the file `{file}`: {ALONE}"),
    };
    Problems::new(named.map(problem).collect())
}

/// Reason why the files of a lab cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A certificate cannot be made.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A file cannot be written, or a user's file cannot be read.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Files that the configuration names do not exist.
    #[error(transparent)]
    Missing(Problems),
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FilesError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(path, bytes));
    written.map_err(|source| FilesError::File { path: path.to_owned(), source })
}

/// Reads the configurations of a file as far as possible: all configurations in it, unless the path names one.
///
/// # Errors
/// When the file cannot be read, and all problems that make Envoy refuse its content.
pub fn read_partly(path: &Path) -> Result<Vec<Partly>, GivenError> {
    let (path, choice) = chosen(path);
    let text = text_of(path)?;
    let (name, folder) = (path.display().to_string(), folder_of(path));
    let read = |choice: Option<&str>| {
        let load = |named: &str| load(&folder, named).map(|(_, loaded)| loaded);
        hoptax_bootstrap::read_partly(&name, &text, choice, &load).map_err(GivenError::from)
    };
    let error = match read(choice) {
        Ok(one) => return Ok(vec![one]),
        Err(error) => error,
    };
    // The file may contain several configurations.
    let names = if choice.is_none() { hoptax_bootstrap::choices(&name, &text) } else { Vec::new() };
    if names.is_empty() { Err(error) } else { names.iter().map(|name| read(Some(name))).collect() }
}

fn text_of(path: &Path) -> Result<String, GivenError> {
    file::configuration(path).map_err(|source| GivenError::File { path: path.to_owned(), source })
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// A file that a configuration in a folder names, with its path.
fn load(folder: &Path, named: &str) -> Result<(PathBuf, Loaded), String> {
    let path = locate(folder, named).ok_or_else(|| format!("`{named}` does not exist"))?;
    let text = file::configuration(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let name = path.display().to_string();
    Ok((path, Loaded { name, text }))
}

/// The file of a path, and the name of a configuration in it after `#`. If a file with the whole name exists, `#` is part of its name.
pub fn chosen(path: &Path) -> (&Path, Option<&str>) {
    let parts = path.to_str().filter(|_| !path.exists()).and_then(|text| text.split_once('#'));
    parts.map_or((path, None), |(file, choice)| (Path::new(file), Some(choice)))
}

/// Finds a file that a configuration names. The configuration may come from another machine, so a missing file is also looked up in
/// `folder`, by the same path or by its name.
fn locate(folder: &Path, named: &str) -> Option<PathBuf> {
    let path = Path::new(named);
    let candidates = [
        folder.join(path),
        folder.join(named.trim_start_matches('/')),
        folder.join(path.file_name().unwrap_or_default()),
    ];
    candidates.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    fn lab(folder: &Path) -> Lab {
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Lab::new(server, server, folder.join("lab"))
    }

    #[test]
    fn files_are_found_where_named_or_beside_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("certs")).unwrap();
        for name in ["certs/a.pem", "cds.yaml"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = |named: &str| {
            locate(folder.path(), named).map(|path| path.strip_prefix(folder.path()).unwrap().to_owned())
        };
        assert_eq!(found("certs/a.pem"), Some("certs/a.pem".into()));
        assert_eq!(found("/certs/a.pem"), Some("certs/a.pem".into()));
        assert_eq!(found("/var/lib/envoy/cds.yaml"), Some("cds.yaml".into()));
        assert_eq!(found("lds.yaml"), None);
    }

    #[test]
    fn all_files_to_copy_that_are_missing_are_named_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("envoy.yaml");
        let text = "static_resources: {listeners: [{name: a}]}\nscripts:\n  - {filename: a.lua}\n  - {filename: b.lua}\n  - {filename: c.lua}\n";
        fs::write(&path, text).unwrap();
        fs::write(folder.path().join("b.lua"), "").unwrap();
        let given = Given::read(&path).unwrap();
        let adapted = given.adapt(&lab(folder.path())).unwrap();
        let error = given.check_files(&adapted).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 2, "{error}");
        assert!(lines[0].contains("envoy.yaml:3: file `a.lua` does not exist"), "{error}");
        assert!(lines[1].contains("envoy.yaml:5: file `c.lua` does not exist"), "{error}");
    }

    #[test]
    fn one_of_several_configurations_is_named_behind_its_file_and_what_is_beside_it_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.yaml");
        let map = |name: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  a.lua: -- {name}\n  envoy.yaml: |\n    \
                 static_resources: {{listeners: [{{name: {name}}}]}}\n    script: {{filename: /etc/envoy/a.lua}}\n"
            )
        };
        fs::write(&path, format!("{}---\n{}", map("one"), map("two"))).unwrap();
        let read = |choice: &str| Given::read(Path::new(&format!("{}{choice}", path.display())));
        assert!(read("").unwrap_err().to_string().contains("map.yaml#two/envoy.yaml` is this one"));
        let given = read("#two/envoy.yaml").unwrap();
        assert!(given.described().unwrap().contains("ConfigMap `two`, "), "{:?}", given.described());
        let adapted = given.adapt(&lab(folder.path())).unwrap();
        let certificates =
            crate::lab::Lab::create(&folder.path().join("certs"), [], &crate::lab::PeerNames::default())
                .unwrap();
        given.write_files(&adapted, certificates.certificates()).unwrap();
        assert_eq!(fs::read_to_string(&adapted.files.copies[0].to).unwrap(), "-- two");
        assert_eq!(given.files(&adapted), BTreeSet::from([path.clone()]));
        fs::write(folder.path().join("a#b.yaml"), "static_resources: {}\n").unwrap();
        assert!(Given::read(&folder.path().join("a#b.yaml")).is_ok());
    }

    #[test]
    fn a_file_that_is_missing_is_named_with_the_line_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("envoy.yaml");
        fs::write(&path, "dynamic_resources:\n  lds_config:\n    path_config_source: {path: lds.yaml}\n")
            .unwrap();
        let error = Given::read(&path).unwrap_err().to_string();
        assert!(error.contains("envoy.yaml:2") && error.contains("`lds.yaml` does not exist"), "{error}");
    }

    /// A configuration in a folder that also has all files that it names.
    fn alone(text: &str) -> Result<Adapted, String> {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.lua", "a.pem", "lds.yaml"] {
            fs::write(folder.path().join(name), "resources: []").unwrap();
        }
        let path = folder.path().join("envoy.yaml");
        fs::write(&path, text).unwrap();
        let given = Given::read_alone(&path).map_err(|error| error.to_string())?;
        given.adapt(&lab(folder.path())).map_err(|error| error.to_string())
    }

    #[test]
    fn a_configuration_that_is_read_alone_names_no_file_and_brings_no_code() {
        let secret = "static_resources: {listeners: [{name: a}], secrets: [{name: s, generic_secret: {secret: {filename: /etc/passwd}}}]}";
        for (text, file) in [
            ("dynamic_resources: {lds_config: {path_config_source: {path: lds.yaml}}}", "lds.yaml"),
            ("dynamic_resources: {lds_config: {path: /etc/passwd}}", "/etc/passwd"),
            ("static_resources: {listeners: [{name: a}]}\nscript: {filename: a.lua}", "a.lua"),
            ("static_resources: {listeners: [{name: a}]}\nscript: {filename: /etc/passwd}", "/etc/passwd"),
            (
                "static_resources: {listeners: [{name: a}]}\nscript: {filename: ../../etc/passwd}",
                "../../etc/passwd",
            ),
            (secret, "/etc/passwd"),
        ] {
            let refused = alone(text).unwrap_err();
            assert!(refused.contains(&format!("it names the file `{file}`")), "{text}: {refused}");
            assert!(refused.contains("`inline_string`") && !refused.contains("root:"), "{refused}");
        }
        let lua = "static_resources: {listeners: [{name: a}]}\nown: {name: x, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua}}";
        let refused = alone(lua).unwrap_err();
        assert!(refused.contains("envoy.yaml:2") && refused.contains("code"), "{refused}");
        assert!(alone("static_resources: {listeners: [{name: a}]}\nscript: {inline_string: a}").is_ok());
    }

    #[test]
    fn a_configuration_that_is_read_alone_gets_a_hundred_certificates() {
        let with = |count: usize| {
            let tls = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext";
            let chain = |number: usize| {
                format!(
                    "{{filter_chain_match: {{server_names: [a{number}.example]}}, filters: [], transport_socket: {{name: t, typed_config: \
                     {{'@type': {tls}, common_tls_context: {{tls_certificates: [{{certificate_chain: {{inline_string: a}}, private_key: \
                     {{inline_string: b}}}}]}}}}}}}}"
                )
            };
            let chains: Vec<String> = (0..count).map(chain).collect();
            alone(&format!(
                "static_resources: {{listeners: [{{name: a, filter_chains: [{}]}}]}}",
                chains.join(", ")
            ))
        };
        assert_eq!(with(100).unwrap().files.identities.len(), 100);
        let refused = with(101).unwrap_err();
        assert!(refused.contains("more than 100 certificates"), "{refused}");
    }

    #[test]
    fn a_text_beside_a_configuration_that_is_read_alone_is_part_of_it() {
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  a.json: '{}'\n  envoy.yaml: |\n    \
                   static_resources: {listeners: [{name: a}]}\n    schema: {filename: /etc/envoy/a.json}\n";
        let adapted = alone(map).unwrap();
        assert_eq!(adapted.files.copies.len(), 1);
    }
}
