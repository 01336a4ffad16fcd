//! Finds the arms of a result that a prediction uses: plain proxies, single functions, and the requests that they were measured with.

use hoptax_result::{ArmKind, ArmResult, PlannedFunction, PlannedHop, StudyResult};

use crate::size::graph::Traffic;

/// Separator between the name of an arm and its conditions, in the id of the arm.
const CONDITIONS: &str = " @ ";

/// The proxies of an arm, if it has any and all are Envoys with a generated configuration and nothing special but functions.
pub(crate) fn hops(arm: &ArmResult) -> Option<&[PlannedHop]> {
    let subject = arm.subject.as_ref()?;
    let is_usual = |hop: &PlannedHop| {
        hop.proxy == "envoy"
            && hop.config.is_none()
            && hop.flags.is_empty()
            && hop.processors.is_none()
            && hop.functions.iter().all(|function| !function.unloaded)
    };
    // Clones of a proxy are hops too, but a request passes only one of them.
    let is_chain = subject.hops.len() < 2 || subject.upstreams < 2;
    let is_known = !subject.hops.is_empty()
        && is_chain
        && subject.network.is_none()
        && subject.hops.iter().all(is_usual);
    (is_known && arm.kind != ArmKind::External).then_some(subject.hops.as_slice())
}

/// The function of an arm that is one proxy with one function.
pub(crate) fn single_function(arm: &ArmResult) -> Option<&PlannedFunction> {
    match hops(arm)? {
        [hop] if arm.kind == ArmKind::Function => match hop.functions.as_slice() {
            [function] => Some(function),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if an arm is several functions or several proxies, compared with one plain proxy.
pub(crate) fn is_composition(arm: &ArmResult) -> bool {
    let Some(hops) = hops(arm) else { return false };
    let functions: usize = hops.iter().map(|hop| hop.functions.len()).sum();
    arm.kind == ArmKind::Function && (hops.len() > 1 || functions > 1)
}

/// The number of proxies of an arm that is a chain of plain proxies.
pub(crate) fn plain_chain(arm: &ArmResult) -> Option<usize> {
    let hops = hops(arm)?;
    let are_plain = hops.iter().all(|hop| hop.functions.is_empty() && hop.workers.is_none());
    (hops.len() > 1 && are_plain).then_some(hops.len())
}

/// The requests that a plain proxy was measured with. None for an arm that is not a plain proxy, or that has conditions other than protocol
/// and sizes.
pub(crate) fn plain_traffic(arm: &ArmResult) -> Option<Traffic> {
    let [hop] = hops(arm)? else { return None };
    let subject = arm.subject.as_ref()?;
    if arm.kind != ArmKind::Baseline || !hop.functions.is_empty() || hop.workers.is_some() {
        return None;
    }
    let (name, requested) = arm.id.split_once(CONDITIONS).unwrap_or((&arm.id, ""));
    let of_function = name.strip_prefix("baseline")?.trim_start_matches('{').trim_end_matches('}');
    let (mut request_bytes, mut response_bytes) = (None, None);
    for stated in of_function.split(',').chain(requested.split(", ")).filter(|stated| !stated.is_empty()) {
        match stated.split_once('=') {
            None if stated == subject.protocol => {}
            Some(("request_bytes", bytes)) => request_bytes = Some(bytes.parse().ok()?),
            Some(("response_bytes" | "size", bytes)) => response_bytes = Some(bytes.parse().ok()?),
            _ => return None,
        }
    }
    Some(Traffic::new(&subject.protocol, request_bytes, response_bytes))
}

/// The arm that an arm is compared with, if that is a plain proxy.
pub(crate) fn reference<'a>(study: &'a StudyResult, arm: &ArmResult) -> Option<&'a ArmResult> {
    study.reference_of(arm).filter(|other| other.kind == ArmKind::Baseline)
}

/// An arm that numbers may be taken from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) arm: &'a ArmResult,
    /// True if the arm was measured with the requests that are asked for.
    pub(crate) is_same_traffic: bool,
}

/// The arms with only this function, under the protocol of `traffic`: first those compared with a plain proxy under the same requests, then
/// the others.
pub(crate) fn alone<'a>(
    study: &'a StudyResult,
    is_it: impl Fn(&PlannedFunction) -> bool,
    traffic: &Traffic,
) -> Vec<Candidate<'a>> {
    let of_protocol = |arm: &&ArmResult| {
        let protocol = arm.subject.as_ref().map(|subject| subject.protocol.as_str());
        protocol == Some(&traffic.protocol) && single_function(arm).is_some_and(&is_it)
    };
    let is_same = |arm: &ArmResult| {
        reference(study, arm).and_then(plain_traffic).is_some_and(|other| other == *traffic)
    };
    same_first(
        study
            .arms
            .iter()
            .filter(of_protocol)
            .map(|arm| Candidate { arm, is_same_traffic: is_same(arm) })
            .collect(),
    )
}

/// The plain proxies under the protocol of `traffic`: first those under the same requests, then the others.
pub(crate) fn plain<'a>(study: &'a StudyResult, traffic: &Traffic) -> Vec<Candidate<'a>> {
    let of_protocol = |arm: &'a ArmResult| {
        let own = plain_traffic(arm).filter(|own| own.protocol == traffic.protocol)?;
        Some(Candidate { arm, is_same_traffic: own == *traffic })
    };
    same_first(study.arms.iter().filter_map(of_protocol).collect())
}

/// Moves candidates with the same requests to the front. The order is otherwise unchanged.
fn same_first(mut arms: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    arms.sort_by_key(|one| !one.is_same_traffic);
    arms
}
