//! The subjects of a comparison as a user gives them: `next.yaml`, `1.39.3+jwt`, `jwt+flags=--disable-extensions a`,
//! `http://127.0.0.1:8080/+pid=4711`.

use std::path::{self, Path, PathBuf};

use hoptax_functions::{Catalogue, FunctionCall};
use hoptax_host::running::Running;
use hoptax_plan::file::{ArmEntry, ChainEntry, ConditionsSection, ExternalEntry, HopEntry, HopSection};

use super::names::shown;
use super::part::{KEYS, is_config, is_envoy, is_url};

/// Name of the only proxy of a subject.
const PROXY: &str = "proxy";
/// Keys of parts that state the processes of a server, as in `--account`.
const ACCOUNTS: [&str; 4] = ["pid", "process", "cgroup", "unit"];

/// A subject.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subject {
    /// A proxy that hoptax starts. The path of its configuration is as the user gave it.
    Proxy(Box<HopSection>),
    /// A server that already runs, with its processes if its CPU time is compared.
    Server { url: String, account: Option<Running> },
}

impl Subject {
    /// Parses parts joined by `+`.
    ///
    /// # Errors
    /// The part of the subject that is invalid. Parts that a study file refuses, such as unknown functions, are not errors here.
    pub(super) fn parse(given: &str) -> Result<Self, String> {
        let parsed = if is_url(given) { server(given) } else { proxy(given) };
        parsed.map_err(|message| format!("subject `{}`: {message}", shown(given)))
    }

    /// Invalid functions and a missing configuration file. They are reported here because a study file would report them at its own lines,
    /// which the user has never seen.
    pub(super) fn problems(&self, catalogue: &Catalogue) -> Vec<String> {
        let Self::Proxy(hop) = self else { return Vec::new() };
        let of_call = |call: &String| -> Vec<String> {
            match FunctionCall::parse(call) {
                Err(error) => vec![error.to_string()],
                Ok(call) => {
                    let errors = catalogue.resolve(&call).err().unwrap_or_default();
                    errors.iter().map(ToString::to_string).collect()
                }
            }
        };
        let mut problems: Vec<String> = hop.functions.iter().flat_map(of_call).collect();
        let missing = hop.config.iter().filter(|config| !is_there(config));
        problems.extend(missing.map(|config| format!("the configuration `{config}` does not exist")));
        problems
    }

    /// The path of its configuration.
    pub(super) fn config(&self) -> Option<&str> {
        match self {
            Self::Proxy(hop) => hop.config.as_deref(),
            Self::Server { .. } => None,
        }
    }

    /// True if its CPU time is counted: hoptax starts it, or its processes are named.
    pub(super) fn has_cpu_time(&self) -> bool {
        !matches!(self, Self::Server { account: None, .. })
    }

    /// The proxy as an arm of a study file in the current folder. None for a server that already runs.
    pub(super) fn proxy(&self) -> Option<ArmEntry> {
        match self {
            Self::Proxy(hop) => Some(chain(PROXY.to_owned(), (**hop).clone(), None)),
            Self::Server { .. } => None,
        }
    }

    /// Returns it as an arm of a study file.
    pub(super) fn arm(&self, name: &str, compared_with: Option<&str>) -> ArmEntry {
        let (name, compared_with) = (name.to_owned(), compared_with.map(str::to_owned));
        match self {
            Self::Proxy(hop) => {
                // Relative paths in a study file start at its folder, which is temporary.
                let absolute =
                    |config: &String| path::absolute(config).unwrap_or_else(|_| PathBuf::from(config));
                let config = hop.config.as_ref().map(|config| absolute(config).display().to_string());
                chain(name, HopSection { config, ..(**hop).clone() }, compared_with)
            }
            Self::Server { url, account } => ArmEntry::External(ExternalEntry {
                name,
                url: url.clone(),
                account: account.clone(),
                request: None,
                compared_with,
                protocol: None,
                at: ConditionsSection::default(),
            }),
        }
    }
}

/// True if a configuration is a file, or a key after `#` in a file. Also true for several configurations, which the study file refuses
/// later.
fn is_there(config: &str) -> bool {
    let file = config.rsplit_once('#').map_or(config, |(file, _)| file);
    config.contains('+') || [config, file].iter().any(|path| Path::new(path).exists())
}

/// An arm of one proxy.
fn chain(name: String, hop: HopSection, compared_with: Option<String>) -> ArmEntry {
    let hops = Some(vec![HopEntry::Hop(Box::new(hop))]);
    ArmEntry::Chain(ChainEntry { name, hops, compared_with, ..ChainEntry::default() })
}

fn proxy(given: &str) -> Result<Subject, String> {
    let mut hop = HopSection { name: Some(PROXY.to_owned()), ..HopSection::default() };
    let (mut configs, mut envoys) = (Vec::new(), Vec::new());
    for part in given.split('+').map(str::trim).filter(|part| *part != "baseline") {
        match part.split_once('=').filter(|(key, _)| KEYS.contains(key)) {
            Some((key, value)) => property(&mut hop, key, value.trim())?,
            None if is_config(part) => configs.push(part),
            None if is_envoy(part) => envoys.push(part),
            None => hop.functions.push(part.to_owned()),
        }
    }
    // Join several values: the study file refuses them, and names them.
    let joined = |parts: &[&str]| (!parts.is_empty()).then(|| parts.join("+"));
    (hop.config, hop.envoy) = (joined(&configs), joined(&envoys));
    Ok(Subject::Proxy(Box::new(hop)))
}

/// Sets a property of a proxy, named as in study files.
fn property(hop: &mut HopSection, key: &str, value: &str) -> Result<(), String> {
    match key {
        "flags" if value.is_empty() => return Err("`flags=` names no flag".to_owned()),
        "flags" => hop.flags.extend(value.split_whitespace().map(str::to_owned)),
        "env" => {
            let variable = value.split_once('=').filter(|(name, _)| !name.is_empty());
            let (name, value) =
                variable.ok_or_else(|| format!("`env={value}`: write it as `env=NAME=VALUE`"))?;
            if hop.env.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(format!("`env={name}` is given twice: remove one of them"));
            }
        }
        _ => {
            let workers = value.parse().map_err(|_| format!("`workers={value}` is not a number"))?;
            hop.workers = Some(workers);
        }
    }
    Ok(())
}

fn server(given: &str) -> Result<Subject, String> {
    let is_account = |part: &str| part.split_once('=').is_some_and(|(key, _)| ACCOUNTS.contains(&key));
    let (url, account) = match given.rsplit_once('+').filter(|(_, part)| is_account(part)) {
        Some((url, part)) => (url, Some(part.parse::<Running>()?)),
        // A URL may have a `+` of its own.
        None => (given, None),
    };
    Ok(Subject::Server { url: url.to_owned(), account })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(given: &str) -> HopSection {
        match Subject::parse(given).unwrap() {
            Subject::Proxy(hop) => *hop,
            server @ Subject::Server { .. } => panic!("{server:?}"),
        }
    }

    #[test]
    fn a_proxy_has_functions_an_envoy_a_configuration_and_properties() {
        let found = hop(
            "1.39.3 + jwt+lua+flags=--disable-extensions a/b.yaml +env=A=b=c+env=D=+workers=2+flags=-l info",
        );
        let expected = HopSection {
            name: Some(PROXY.to_owned()),
            functions: vec!["jwt".to_owned(), "lua".to_owned()],
            envoy: Some("1.39.3".to_owned()),
            flags: ["--disable-extensions", "a/b.yaml", "-l", "info"].map(str::to_owned).to_vec(),
            env: [("A", "b=c"), ("D", "")].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            workers: Some(2),
            ..HopSection::default()
        };
        assert_eq!(found, expected);
        assert_eq!(
            (hop("conf/a.yaml").config.as_deref(), hop("baseline").functions),
            (Some("conf/a.yaml"), vec![])
        );
        assert_eq!(hop("map.yaml#one/envoy+lua").config.as_deref(), Some("map.yaml#one/envoy"));
        assert_eq!(hop("baseline+env=PROXY=http://127.0.0.1/").env["PROXY"], "http://127.0.0.1/");
    }

    #[test]
    fn a_server_may_have_processes() {
        let of = |given: &str| match Subject::parse(given).unwrap() {
            Subject::Server { url, account } => (url, account),
            proxy @ Subject::Proxy(_) => panic!("{proxy:?}"),
        };
        let url = "http://127.0.0.1:1/a+b?c=d".to_owned();
        assert_eq!(of("http://127.0.0.1:1/a+b?c=d"), (url.clone(), None));
        assert_eq!(of("http://127.0.0.1:1/a+b?c=d+pid=12"), (url.clone(), Some(Running::Pid(12))));
        for (part, account) in [
            ("process=envoy", Running::Process("envoy".to_owned())),
            ("cgroup=/a.slice/b.service", Running::Cgroup("/a.slice/b.service".into())),
            ("unit=envoy.service", Running::Unit("envoy.service".to_owned())),
        ] {
            assert_eq!(of(&format!("{url}+{part}")), (url.clone(), Some(account)));
        }
    }

    #[test]
    fn parts_that_say_nothing_are_errors() {
        for (given, expected) in [
            ("jwt+flags=", "names no flag"),
            ("jwt+env=A", "`env=NAME=VALUE`"),
            ("jwt+env==a", "`env=NAME=VALUE`"),
            ("jwt+env=A=1+env=A=2", "is given twice"),
            ("jwt+workers=two", "`workers=two` is not a number"),
            ("http://127.0.0.1/+pid=envoy", "`envoy` is not the id of a process"),
            ("http://127.0.0.1/+process=", "needs a name"),
        ] {
            let error = Subject::parse(given).unwrap_err();
            assert!(error.contains(expected) && error.contains(given), "{error}");
        }
    }
}
