//! Prices the configuration of a job, and stores its bill. The configuration is untrusted: it is read alone, which refuses local files and
//! code as far as hoptax recognises them, and all addresses in it are replaced by addresses of this machine. This is not a sandbox, so
//! bills are off unless the owner of the server allows them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hoptax_result::{BillBody, BillResult, Body};
use hoptax_session::price::{self, Budget, Configuration, PriceSettings, RequestLine, Studies};
use hoptax_session::{EnvoyChoice, Failure, Interrupt, Options, Say, Update};

use crate::folder::Folder;
use crate::job::Outcome;
use crate::working::{JobHandle, JobReporter};

/// The file name of the configuration in its folder.
const FILE: &str = "configuration.yaml";

/// Maximum number of parts of a listener. Each of them is tried with a separate proxy.
const MOST_PARTS: usize = 100;
/// Time limit for the start of the last try, in budgets of the bill. For most configurations, tries take a small part of one budget.
const MOST_BUDGETS_OF_TRIES: u32 = 2;

/// The validated configuration and request of a bill.
#[derive(Clone, Debug)]
pub(crate) struct Priced {
    /// Its display name. It is part of places in the result, so it has no characters that JSON would escape.
    pub(crate) name: String,
    /// Its listener, by its name or a prefix; none for the first that forwards a request.
    pub(crate) listener: Option<String>,
    /// The request; none to derive it from the routes.
    pub(crate) request: Option<RequestLine>,
    /// Requests per second to the proxy; none for a share of its capacity.
    pub(crate) rate: Option<f64>,
    /// The time limit of the bill.
    pub(crate) budget: Duration,
}

/// A configuration that was written to its own folder and checked.
pub(crate) struct Dropped {
    folder: Folder,
    file: PathBuf,
    priced: Priced,
}

impl Dropped {
    /// Writes the text of a configuration to a folder, and checks all of it. Starts no process.
    ///
    /// # Errors
    /// When it is not a configuration, names a file or contains code, and when the folder cannot be written.
    pub(crate) fn new(text: &str, priced: Priced) -> Result<Self, Failure> {
        let folder = Folder::create()?;
        let file = folder.path().join(FILE);
        fs::write(&file, text)
            .map_err(|error| Failure::environment(format!("cannot write a temporary file: {error}")))?;
        let dropped = Self { folder, file, priced };
        let shown = |failure: Failure| Failure::bad_input(dropped.shown(&failure.to_string()));
        let listed =
            dropped.configuration().and_then(|configuration| configuration.listed()).map_err(shown)?;
        if listed.most_parts() > MOST_PARTS {
            return Err(Failure::bad_input(format!(
                "a listener has {} parts, and at most {MOST_PARTS} are tried here: name another listener, or price it with `hoptax \
                 price FILE` on the machine itself",
                listed.most_parts()
            )));
        }
        Ok(dropped)
    }

    /// A text with the path of the configuration replaced by its display name.
    fn shown(&self, text: &str) -> String {
        text.replace(&self.file.display().to_string(), &self.priced.name)
    }

    fn configuration(&self) -> Result<Configuration<'_>, Failure> {
        Configuration::read_alone(PriceSettings {
            configuration: &self.file,
            listener: self.priced.listener.as_deref(),
            request: self.priced.request.as_ref(),
            headers: &[],
            without: &[],
            what_if: &[],
            rate: self.priced.rate,
            price_per_core_hour: None,
        })
    }

    /// Tries the arms, and measures the bill in a run folder.
    fn price(
        &self,
        envoy: EnvoyChoice<'_>,
        run: &Path,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<BillResult, Failure> {
        let budget = Some(Budget::begin(self.priced.budget));
        let configuration = self.configuration()?;
        let folder = Configuration::create_run_folder(Some(run))?;
        let studies = Studies {
            folder: &folder,
            is_resumed: false,
            budget,
            tries_within: Some(MOST_BUDGETS_OF_TRIES * self.priced.budget),
            again: None,
            options: Options { envoy, ..Options::default() },
        };
        configuration.price(&studies, interrupt, say)
    }

    /// Stores the bill of the first study if the second one did not end, or else the rounds of the first study; none without a complete
    /// round.
    fn rest(&self, handle: &JobHandle, run: &Path) -> Result<Option<Outcome>, Failure> {
        if let Some(text) = price::written(run) {
            let bill = BillBody::from_text(&text).map_err(Failure::environment)?;
            return handle.kept(&self.shown(&text), bill.verdict, true).map(Some);
        }
        let Some(run) = handle.history().keep_folder(run)? else { return Ok(None) };
        Ok(handle.history().verdict(run)?.map(|verdict| Outcome::Kept { run, verdict, is_interrupted: true }))
    }
}

/// Prices the configuration.
///
/// # Errors
/// When the bill cannot be kept.
pub(crate) fn priced(
    handle: &JobHandle,
    dropped: &Dropped,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let run = dropped.folder.run();
    let hidden = [
        (dropped.file.as_path(), dropped.priced.name.as_str()),
        (run.as_path(), Folder::SHOWN),
        (dropped.folder.path(), Folder::SHOWN),
    ];
    let reporter = JobReporter::new(handle, &hidden);
    let say = |update: Update<'_>| reporter.report(update);
    match dropped.price(handle.envoy(), &run, interrupt, &say) {
        Ok(bill) => {
            let text = serde_json::to_string_pretty(&bill).map_err(Failure::environment)? + "\n";
            handle.kept(&dropped.shown(&text), bill.verdict, false)
        }
        Err(failure) if failure.is_interrupt() || interrupt.is_requested() => {
            Ok(dropped.rest(handle, &run)?.unwrap_or(Outcome::Interrupted))
        }
        Err(failure) => Ok(reporter.failure(&failure)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(text: &str) -> Result<Dropped, String> {
        let budget = Duration::from_mins(1);
        let priced =
            Priced { name: "mine.yaml".to_owned(), listener: None, request: None, rate: None, budget };
        Dropped::new(text, priced).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_configuration_is_refused_under_the_name_that_its_owner_knows() {
        for (text, why) in [
            ("", ""),
            ("a: [", ""),
            (
                "static_resources: {listeners: [{name: a}]}\nscript: {filename: /etc/passwd}",
                "mine.yaml:2: it names the file `/etc/passwd`",
            ),
            (
                "dynamic_resources: {lds_config: {path: /etc/passwd}}",
                "mine.yaml: it names the file `/etc/passwd`",
            ),
        ] {
            let refused = dropped(text).err().unwrap();
            assert!(refused.contains(why), "{text}: {refused}");
            assert!(!refused.contains("hoptax-serve-") && !refused.contains("root:"), "{refused}");
        }
    }

    #[test]
    fn a_listener_with_more_parts_than_are_tried_is_refused() {
        let of = |filters: usize| {
            let package = "type.googleapis.com/envoy.extensions.filters";
            let filter = |number: usize| {
                format!(
                    "{{name: f{number}, typed_config: {{'@type': {package}.http.header_mutation.v3.HeaderMutation}}}}, "
                )
            };
            let filters: String = (0..filters).map(filter).collect();
            let router = format!("{{name: r, typed_config: {{'@type': {package}.http.router.v3.Router}}}}");
            let routes = "{virtual_hosts: [{name: v, domains: ['*'], routes: [{match: {prefix: /}, route: {cluster: c}}]}]}";
            let manager = format!("{package}.network.http_connection_manager.v3.HttpConnectionManager");
            dropped(&format!(
                "static_resources: {{listeners: [{{name: a, filter_chains: [{{filters: [{{name: m, typed_config: {{'@type': {manager}, \
                 stat_prefix: a, route_config: {routes}, http_filters: [{filters}{router}]}}}}]}}]}}], clusters: [{{name: c}}]}}"
            ))
        };
        assert!(of(90).is_ok());
        let refused = of(101).err().unwrap();
        assert!(refused.contains("at most 100 are tried here"), "{refused}");
    }

    #[test]
    fn the_folder_of_a_configuration_is_gone_with_its_job() {
        let dropped = dropped("static_resources: {listeners: [{name: a}]}").unwrap();
        let folder = dropped.folder.path().to_owned();
        assert!(folder.join(FILE).is_file());
        drop(dropped);
        assert!(!folder.exists());
    }
}
