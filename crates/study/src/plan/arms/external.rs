//! Servers that already run: their URL, and the request that is sent to it.

use hoptax_bootstrap::request::{DerivedRequest, StatedRequest};
use hoptax_host::running::Running;
use hoptax_result::ArmKind;

use super::super::chain::Chain;
use super::super::hops::{self, Placed};
use super::super::points::{self, Requested};
use super::super::{Arm, BASELINE};
use super::{Planned, placed, plain_arm};
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
        for requested in self.requested(&at, self.application.as_ref()) {
            if requested.is_of_study() && points::plain(BASELINE, &requested).is_err() {
                continue;
            }
            let added = self.external_at(&requested, (index, entry), (&external, &request));
            problems.extend(placed(pointer, added.err().into_iter().flatten().collect()));
        }
        problems
    }

    /// Adds the arm of an entry under one combination of conditions.
    fn external_at(
        &mut self,
        requested: &Requested,
        (index, entry): (usize, &ExternalEntry),
        (external, request): (&External, &DerivedRequest),
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
            ..plain_arm(resolved.named(&entry.name), kind, Some(compared_with), &resolved)
        };
        self.push(arm, Some(index));
        Ok(())
    }
}

/// The server of an entry, whose place in the file is `pointer`, and the request that is sent to it.
///
/// # Errors
/// A URL that is not of plain HTTP, and a path beside it.
fn resolve(entry: &ExternalEntry, pointer: &str) -> Result<(External, DerivedRequest), Placed> {
    let mut problems = Vec::new();
    let stated = entry.request.as_ref().map(StatedRequest::from).unwrap_or_default();
    if stated.path.is_some() {
        let message = "the path of the request is in `url`: remove `path`".to_owned();
        problems.push((format!("{pointer}/request/path"), message));
    }
    let rest = entry.url.strip_prefix(SCHEME).unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() {
        let message = format!("`{}` is not a URL such as `{SCHEME}127.0.0.1:8080/`", entry.url);
        problems.push((format!("{pointer}/url"), message));
    }
    if authority.contains('@') {
        let message =
            "user information in a URL is not sent: write it as `request: {headers: {authorization: ...}}`";
        problems.push((format!("{pointer}/url"), message.to_owned()));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let headers = stated.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let request = DerivedRequest {
        method: stated.method.unwrap_or_else(|| "GET".to_owned()),
        host: stated.host.unwrap_or_else(|| authority.to_owned()),
        path: format!("/{path}"),
        headers: headers.collect(),
        ..DerivedRequest::default()
    };
    let account = entry.account.clone().map(Running::from);
    Ok((External { url: entry.url.clone(), account }, request))
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

    use crate::file;
    use crate::plan::Plan;

    #[test]
    fn user_information_in_a_url_is_refused_and_not_repeated() {
        let text = "name: x\narms: [baseline, {name: a, url: \"http://joe:hidden@127.0.0.1:8080/\"}]\n\
                    loads: [{name: all, loop: closed}]\n";
        let (file, positions) = file::read("x.yaml", text).unwrap();
        let error = Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap_err().to_string();
        assert!(error.contains("authorization") && !error.contains("hidden"), "{error}");
    }

    #[test]
    fn secret_variables_are_not_in_the_summary_of_an_arm() {
        let text = "name: x\narms: [baseline, {name: a, hops: [{env: {API_TOKEN: hidden, LEVEL: shown}}]}]\n\
                    loads: [{name: all, loop: closed}]\n";
        let (file, positions) = file::read("x.yaml", text).unwrap();
        let plan = Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap();
        let summary = plan.arms.iter().find(|arm| arm.id == "a").map(|arm| arm.summary.clone()).unwrap();
        assert!(summary.contains("LEVEL=shown") && !summary.contains("hidden"), "{summary}");
    }
}
