//! The laboratory in which arms of a configuration are tried: its files, the servers behind the proxy, and Envoy.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Instant;

use hoptax_bootstrap::{Adapted, Lab, missing_extension};
use hoptax_subject::envoy::given::{FilesError, Given};
use hoptax_subject::envoy::process::ProxyError;
use hoptax_subject::envoy::release::{Envoy, EnvoyChoice};
use hoptax_subject::lab::{Lab as Certificates, PeerNames};
use serde_json::Value;

use super::arm::Arm;
use super::passed::listed;
use super::try_out::{Answers, Stubs, TryOut, TryOutError};
use super::{Configuration, Listed};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::update::{Say, Update};
use crate::{library, run_folder};

/// The folder of the tries, in the run folder.
const TRIES: &str = "tries";
/// Maximum number of extensions to remove because this Envoy lacks them. With more, the laboratory gives up.
const MOST_MISSING: usize = 50;

/// A configuration together with its running environment. It must be dropped before a study begins, because its servers wake up now and
/// then.
pub(super) struct Laboratory<'a> {
    pub(super) configuration: &'a Configuration<'a>,
    /// The listeners of the configuration, without the extensions that Envoy lacks.
    pub(super) listed: Listed,
    /// Pointers of the extensions that Envoy lacks.
    pub(super) lacking: Vec<String>,
    bench: Bench,
    interrupt: &'a Interrupt,
    say: Say<'a>,
    /// When its setup began.
    pub(super) began: Instant,
}

/// Programs, servers and folders of a laboratory.
struct Bench {
    stubs: Stubs,
    envoy: Envoy,
    /// True if Envoys must not be downloaded.
    is_offline: bool,
    folder: PathBuf,
    certificates: Certificates,
}

/// A configuration that Envoy accepts. The extensions that Envoy lacks were removed; it has their pointers.
struct Accepted {
    adapted: Adapted,
    lacking: Vec<String>,
}

impl<'a> Laboratory<'a> {
    /// Writes the files to a subfolder of the run folder, starts the servers, and removes the extensions that Envoy lacks, until it accepts
    /// the whole.
    ///
    /// # Errors
    /// When a requirement is missing, when Envoy refuses the configuration, and after an interrupt.
    pub(super) fn set_up(
        configuration: &'a Configuration<'a>,
        choice: EnvoyChoice<'_>,
        run_folder: &Path,
        interrupt: &'a Interrupt,
        say: Say<'a>,
    ) -> Result<Self, Failure> {
        interrupt.check()?;
        let began = Instant::now();
        let given = &configuration.given;
        let envoy = Envoy::find(choice, interrupt.flag(), &mut |text| say(Update::Note(text)))?;
        let program = library::program()?;
        let folder = run_folder::make_folder(&run_folder.join(TRIES))?;
        // Adapt twice: the origin's certificates depend on the configuration, and the configuration depends on the origin's address.
        let names = adapt(given, &folder)?;
        let certificates = write_files(given, &names, &folder)?;
        let stubs = Stubs::start(&program, &certificates, names.files.presents_certificate, &folder)
            .map_err(Failure::environment)?;
        let adapted = adapt_to(given, addresses(&stubs), &folder)?;
        let bench = Bench { stubs, envoy, is_offline: choice.is_offline, folder, certificates };
        let Accepted { adapted, lacking } = bench.accept(adapted, interrupt)?;
        let listed = listed(adapted, &configuration.settings, configuration.catalogue)?;
        Ok(Self { configuration, listed, lacking, bench, interrupt, say, began })
    }

    /// The folder of an arm.
    pub(super) fn folder_of(&self, arm: &str) -> PathBuf {
        self.bench.folder_of(arm)
    }

    /// Tries an arm with its request. Returns the responses, or the reason why it got none.
    ///
    /// # Errors
    /// When its configuration cannot be made, and after an interrupt.
    pub(super) fn attempt(&self, arm: &Arm, listener: &str) -> Result<Result<Answers, TryOutError>, Failure> {
        let mut note = |text: &str| (self.say)(Update::Note(text));
        let find = |name| {
            let choice = EnvoyChoice { named: Some(name), is_offline: self.bench.is_offline };
            Envoy::find(choice, self.interrupt.flag(), &mut note)
        };
        let other = arm.envoy.as_deref().map(find).transpose()?;
        let bootstrap = self.bootstrap(arm)?;
        let try_out = self.bench.try_out(&arm.id, other.as_ref().unwrap_or(&self.bench.envoy));
        let outcome = try_out.run(bootstrap, listener, &arm.request, self.interrupt);
        self.interrupt.check()?;
        Ok(outcome)
    }

    fn bootstrap(&self, arm: &Arm) -> Result<Value, Failure> {
        if arm.replaced.is_empty() {
            return Ok(self.listed.adapted.without(&arm.removed));
        }
        let changed = self.configuration.given.with(&arm.replaced).map_err(|missing| {
            Failure::bad_input(format!("the configuration has no node `{}`", missing.join("`, `")))
        })?;
        let folder = &self.bench.folder;
        let adapted = adapt_to(&changed, addresses(&self.bench.stubs), folder)?;
        // All other files are shared with the whole.
        adapted.files.folders.iter().try_for_each(fs::create_dir_all).map_err(|error| {
            Failure::environment(format!("cannot make folders in `{}`: {error}", folder.display()))
        })?;
        Ok(adapted.without(self.lacking.iter().chain(&arm.removed)))
    }
}

impl Bench {
    /// Has Envoy validate the whole, and removes the extensions that it lacks.
    fn accept(&self, mut adapted: Adapted, interrupt: &Interrupt) -> Result<Accepted, Failure> {
        let mut lacking = Vec::new();
        for _ in 0..MOST_MISSING {
            let validated =
                self.try_out("whole", &self.envoy).validate(adapted.bootstrap(), interrupt.flag());
            interrupt.check()?;
            let Err(error) = validated else {
                adapted.check_extensions().map_err(Failure::bad_input)?;
                return Ok(Accepted { adapted, lacking });
            };
            let TryOutError::Proxy(ProxyError::Refused { reason, config }) = &error else {
                return Err(Failure::environment(error));
            };
            let missing = missing_extension(reason);
            lacking.extend(missing.map(|name| adapted.extensions(name)).unwrap_or_default());
            if !missing.is_some_and(|name| adapted.remove_extension(name)) {
                let advice = if missing.is_some() {
                    "\nremove it from the configuration, or use an Envoy that has it: --envoy PATH"
                } else {
                    ""
                };
                let refusal = adapted.refusal(reason, &[]);
                let adapted = config.display();
                return Err(Failure::bad_input(format!(
                    "{refusal}{advice}\nthe configuration as adapted to this machine is `{adapted}`"
                )));
            }
        }
        Err(Failure::bad_input(format!(
            "Envoy lacks more than {MOST_MISSING} extensions of this configuration; use the Envoy that it is for: --envoy PATH"
        )))
    }

    fn try_out<'t>(&'t self, arm: &str, envoy: &'t Envoy) -> TryOut<'t> {
        TryOut {
            envoy,
            folder: self.folder_of(arm),
            lab: &self.certificates,
            origin: self.stubs.origin.address,
        }
    }

    fn folder_of(&self, arm: &str) -> PathBuf {
        self.folder.join(arm)
    }
}

/// Writes the certificates of origin and client, copies the user's files, and makes the folders that an adapted configuration needs.
///
/// # Errors
/// When a certificate cannot be made, a file cannot be written, or a file to copy does not exist.
fn write_files(given: &Given, adapted: &Adapted, folder: &Path) -> Result<Certificates, Failure> {
    let names = &adapted.files;
    let peers = PeerNames { origin: names.origin_names.clone(), generator: names.client_names.clone() };
    let lab = Certificates::create(&folder.join("certificates"), [], &peers).map_err(Failure::environment)?;
    given.write_files(adapted, lab.certificates()).map_err(|error| match error {
        FilesError::Missing(_) => Failure::bad_input(error),
        FilesError::Certificate(_) | FilesError::File { .. } => Failure::environment(error),
    })?;
    Ok(lab)
}

/// Addresses of origin and companion.
fn addresses(stubs: &Stubs) -> [SocketAddr; 2] {
    [stubs.origin.address, stubs.companion.address]
}

/// A placeholder for the address of a server that has not been started.
fn placeholder() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// The configuration adapted to this machine before any server runs, with its files in `folder`.
pub(super) fn adapt(given: &Given, folder: &Path) -> Result<Adapted, Failure> {
    adapt_to(given, [placeholder(), placeholder()], folder)
}

fn adapt_to(given: &Given, [origin, companion]: [SocketAddr; 2], folder: &Path) -> Result<Adapted, Failure> {
    let lab = Lab::new(origin, companion, folder.to_owned());
    given.adapt(&lab).map_err(Failure::bad_input)
}
