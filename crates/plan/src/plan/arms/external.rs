//! Servers that already run: their URL, and the request that is sent to it.

use std::path::Component;

use hoptax_bootstrap::request::{DerivedRequest, StatedRequest};
use hoptax_host::running::Running;
use hoptax_load::{Target, without_user};
use hoptax_result::ArmKind;

use super::super::chain::Chain;
use super::super::points::{self, Requested};
use super::super::{Arm, Placed, hops};
use super::{Planned, placed};
use crate::file::ExternalEntry;

/// The scheme of URLs.
const SCHEME: &str = "http://";

/// A server that already runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// Its URL, as in the study file.
    pub url: String,
    /// Its processes; none if its CPU time is not accounted for.
    pub account: Option<Running>,
}

impl Planned<'_> {
    /// Adds the arms of a server that already runs, one for each combination of conditions. Returns the problems of the entry
    /// with their places.
    pub(super) fn external(
        &mut self,
        index: usize,
        entry: &ExternalEntry,
        pointer: &str,
    ) -> Vec<(String, String)> {
        let mut problems = hops::problems_of_name(&entry.name, self.catalogue, &format!("{pointer}/name"));
        problems.extend(self.taken(index, &entry.name).map(|duplicate| (pointer.to_owned(), duplicate)));
        let (external, request) = match resolve(entry, pointer) {
            Ok(found) if problems.is_empty() => found,
            Ok(_) => return problems,
            Err(found) => return [problems, found].concat(),
        };
        let at = match entry.at.with_protocol(entry.protocol) {
            Ok(at) => at,
            Err(message) => return vec![(format!("{pointer}/protocol"), message)],
        };
        for requested in self.possible(&at, self.application.as_ref()) {
            let added = self.external_at(&requested, index, entry, &external, &request);
            problems.extend(placed(pointer, added.err().into_iter().flatten().collect()));
        }
        problems
    }

    /// Adds the arm of an entry under one combination of conditions.
    fn external_at(
        &mut self,
        requested: &Requested,
        index: usize,
        entry: &ExternalEntry,
        external: &External,
        request: &DerivedRequest,
    ) -> Result<(), Vec<String>> {
        let resolved = points::external(&entry.name, requested).map_err(|message| vec![message])?;
        let named = entry.compared_with.as_deref();
        let reference = named.map(|name| self.reference(name, &resolved)).transpose()?;
        let compared_with = reference.unwrap_or_else(|| self.baseline(&resolved));
        let is_same =
            |arm: &Arm| arm.external.as_ref() == Some(external) && arm.request.as_ref() == Some(request);
        let is_same = self.arms.get(compared_with).is_some_and(is_same);
        let kind = if is_same { ArmKind::Same } else { ArmKind::External };
        let arm = Arm {
            chain: Chain::none(),
            summary: summary(external),
            external: Some(external.clone()),
            request: Some(request.clone()),
            ..Arm::plain(resolved.named(&entry.name), kind, Some(compared_with), &resolved.conditions)
        };
        self.push(arm, Some(index));
        Ok(())
    }
}

/// The server of an entry, whose place in the file is `pointer`, and the request that is sent to it.
///
/// # Errors
/// A URL that is not of plain HTTP or that cannot be called, a path beside it, and an account that means no process.
fn resolve(entry: &ExternalEntry, pointer: &str) -> Result<(External, DerivedRequest), Placed> {
    let mut problems = Vec::new();
    let stated = entry.request.as_ref().map(StatedRequest::from).unwrap_or_default();
    if stated.path.is_some() {
        let message = "the path of the request is in `url`: remove `path`".to_owned();
        problems.push((format!("{pointer}/request/path"), message));
    }
    let rest = entry.url.strip_prefix(SCHEME).unwrap_or_default();
    // A query may follow the host directly. The fragment behind `#` is not sent.
    let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let target = target.split('#').next().unwrap_or_default();
    let path = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    problems.extend(problem_of_url(&entry.url, authority).map(|message| (format!("{pointer}/url"), message)));
    if let Some(message) = entry.account.as_ref().and_then(problem_of_account) {
        problems.push((format!("{pointer}/account"), message.to_owned()));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let headers = stated.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let request = DerivedRequest {
        method: stated.method.unwrap_or_else(|| "GET".to_owned()),
        host: stated.host.unwrap_or_else(|| authority.to_owned()),
        path,
        headers: headers.collect(),
        ..DerivedRequest::default()
    };
    Ok((External { url: entry.url.clone(), account: entry.account.clone() }, request))
}

/// Returns the reason why requests cannot be sent to a URL, whose host and port are `authority`; none if they can.
fn problem_of_url(url: &str, authority: &str) -> Option<String> {
    if authority.is_empty() {
        return Some(format!("`{}` is not a URL such as `{SCHEME}127.0.0.1:8080/`", without_user(url)));
    }
    if authority.contains('@') {
        let message =
            "user information in a URL is not sent: write it as `request: {headers: {authorization: ...}}`";
        return Some(message.to_owned());
    }
    Target::host_and_port(url).err().map(|error| error.to_string())
}

/// Returns the reason why an account can mean no process; none if it can.
fn problem_of_account(account: &Running) -> Option<&'static str> {
    match account {
        Running::Pid(0) => Some("no process has the id 0: write the id of the server"),
        Running::Process(name) | Running::Unit(name) if name.is_empty() => {
            Some("the name of the processes is empty: write it")
        }
        Running::Cgroup(path) if path.components().all(|part| part == Component::RootDir) => Some(
            "all processes of the machine are in this control group: write the control group of the server",
        ),
        _ => None,
    }
}

/// A one-line description.
fn summary(external: &External) -> String {
    let account = external.account.as_ref().map_or_else(
        || "its CPU time is not accounted for".to_owned(),
        |account| format!("CPU time of {account}"),
    );
    format!("A server that already runs at {}, never restarted; {account}", external.url)
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use crate::file::Problems;
    use crate::plan::Plan;

    fn planned(keys: &str) -> Result<Plan, Problems> {
        let text =
            format!("name: x\narms: [baseline, {{name: a, {keys}}}]\nloads: [{{name: all, loop: closed}}]\n");
        Plan::read("x.yaml", &text, Catalogue::load().unwrap())
    }

    #[test]
    fn user_information_in_a_url_is_refused_and_not_repeated() {
        for (scheme, expected) in [("http", "authorization"), ("https", "is not a URL such as")] {
            let found = planned(&format!("url: '{scheme}://joe:hidden@127.0.0.1:8080/'"));
            let error = found.unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("hidden"), "{error}");
        }
    }

    #[test]
    fn a_server_that_cannot_be_meant_is_refused() {
        for (keys, expected) in [
            ("url: 'http://127.0.0.1:99999/'", "its port is invalid"),
            ("url: 'http://127.0.0.1:/'", "is not a URL"),
            ("url: 'http://127.0.0.1/', account: {pid: 0}", "no process has the id 0"),
            ("url: 'http://127.0.0.1/', account: {unit: ''}", "the name of the processes is empty"),
        ] {
            let error = planned(keys).expect_err(keys).to_string();
            assert!(error.contains(expected), "{keys}: {error}");
        }
    }

    #[test]
    fn the_path_of_requests_has_the_query_of_the_url() {
        for (url, expected) in [
            ("http://127.0.0.1:8080", "/"),
            ("http://127.0.0.1:8080?x=1", "/?x=1"),
            ("http://127.0.0.1:8080/a/b?x=/c#d", "/a/b?x=/c"),
        ] {
            let plan = planned(&format!("url: '{url}'")).unwrap();
            let request = plan.arms.iter().find_map(|arm| arm.request.clone()).unwrap();
            assert_eq!((request.host.as_str(), request.path.as_str()), ("127.0.0.1:8080", expected), "{url}");
        }
    }

    #[test]
    fn secret_variables_are_not_in_the_summary_of_an_arm() {
        let text = "name: x\narms: [baseline, {name: a, hops: [{env: {API_TOKEN: hidden, LEVEL: shown}}]}]\n\
                    loads: [{name: all, loop: closed}]\n";
        let plan = Plan::read("x.yaml", text, Catalogue::load().unwrap()).unwrap();
        let summary = plan.arms.iter().find(|arm| arm.id == "a").map(|arm| arm.summary.clone()).unwrap();
        assert!(summary.contains("LEVEL=shown") && !summary.contains("hidden"), "{summary}");
    }
}
