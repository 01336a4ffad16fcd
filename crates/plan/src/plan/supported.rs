//! Refuses arms that their application, their origin, their proxies or their callers cannot serve.
//!
//! Each problem is reported once for the entry that brings it, or where the study states the condition that all arms
//! share.

use std::collections::BTreeSet;

use hoptax_functions::Tls;
use hoptax_result::ArmKind;
use hoptax_subject::application::Application;
use hoptax_subject::caller::Caller;

use super::positions::titles;
use super::{Arm, Load, USUAL_BYTES, fragment};
use crate::file::{ArmEntry, Observe, Positions, Problem, Protocol, StudyFile};

/// The place of conditions that all arms share.
pub(super) const CONDITIONS: &str = "/conditions";

/// A need of an arm that its surroundings do not meet, with the reason and a remedy.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lack {
    needs: String,
    but: String,
}

/// Adds the problems of `arms` to `problems`. `pointers` has the place in the file that each arm comes from.
pub(super) fn check(
    file: &StudyFile,
    arms: &[Arm],
    pointers: &[String],
    loads: &[Load],
    positions: &Positions,
    problems: &mut Vec<Problem>,
) {
    let mut found: Vec<(String, &Arm, Lack)> = Vec::new();
    for (arm, pointer) in arms.iter().zip(pointers) {
        let pointer = entry_of(file, arm).unwrap_or_else(|| pointer.clone());
        found.extend(lacks(file, arm, arms, loads).into_iter().map(|lack| (pointer.clone(), arm, lack)));
    }
    let is_of_study = |pointer: &str| pointer == CONDITIONS;
    // A baseline that was added for an arm has the same unmet needs as the arm, which names them better.
    found.sort_by_key(|(pointer, arm, _)| (!is_of_study(pointer), arm.kind == ArmKind::Baseline));
    let mut reported: BTreeSet<(String, Lack)> = BTreeSet::new();
    for (pointer, arm, lack) in found {
        let message = format!("`{}` needs {}, but {}", arm.id, lack.needs, lack.but);
        let by_study = (CONDITIONS.to_owned(), lack);
        if reported.contains(&by_study) {
            continue;
        }
        let (_, lack) = by_study;
        if reported.insert((pointer.clone(), lack)) {
            problems.push(positions.problem(&pointer, message));
        }
    }
}

/// The entry that describes an arm by its proxies. An arm without proxies may have been added earlier, for an arm that is
/// compared with it.
fn entry_of(file: &StudyFile, arm: &Arm) -> Option<String> {
    let is_by_proxies = arm.kind == ArmKind::Position || (arm.kind == ArmKind::Baseline && !arm.has_proxy());
    let describes_arm =
        |entry: &ArmEntry| matches!(entry, ArmEntry::Subject(entry) if entry.subject.to_string() == arm.id);
    let index = file.arms.iter().position(describes_arm).filter(|_| is_by_proxies)?;
    Some(format!("/arms/{index}"))
}

fn lacks(file: &StudyFile, arm: &Arm, arms: &[Arm], loads: &[Load]) -> Vec<Lack> {
    let mut lacks = Vec::new();
    if let Some(application) = arm.application() {
        lacks.extend(unmet_by_application(arm, application));
    }
    lacks.extend(unmet_by_quic(arm));
    lacks.extend(unmet_by_proxies_behind(arm));
    if let Some(other) = arms.iter().find(|other| clashes(arm, other)) {
        lacks.push(Lack {
            needs: "an origin that takes TLS without a client certificate".to_owned(),
            but: format!("`{}` needs one that requires them: move one of the two to another study", other.id),
        });
    }
    for load in loads.iter().filter(|load| arm.takes_part(load)) {
        if let Some(caller) = &load.caller {
            lacks.extend(unmet_by_callers(arm, load, caller));
        }
    }
    lacks.extend(unmet_by_other_proxies(arm));
    if file.link.is_some() && arm.external.is_some() {
        lacks.push(Lack {
            needs: "the addresses of this machine for its `url`".to_owned(),
            but: "the callers of a `link` have a network of their own: remove it, or move the arm to another study"
                .to_owned(),
        });
    }
    if file.link.is_some() && arm.chain.is_given() {
        lacks.push(Lack {
            needs: "loopback addresses for its `config`".to_owned(),
            but: "the `link` of the study has others: remove it, or move the arm to another study".to_owned(),
        });
    }
    if arm.network.is_some() {
        lacks.extend(unmet_by_network(file, arm, loads));
    }
    lacks
}

/// Returns the needs of an arm that its network does not meet.
fn unmet_by_network(file: &StudyFile, arm: &Arm, loads: &[Load]) -> Vec<Lack> {
    let lack = |needs: &str, but: &str| Lack {
        needs: needs.to_owned(),
        but: format!("{but}: remove it, or remove `network`"),
    };
    let has_other_callers = loads.iter().any(|load| load.caller.is_some() && arm.takes_part(load));
    let lacks = [
        (file.link.is_some(), lack("a `network` of its own", "the study has a `link`")),
        (file.observe == Observe::Timeline, lack("slices in its `network`", "a timeline is on loopback")),
        (arm.asks_companion(), lack("the companion", "that is not in its `network`")),
        (arm.chain.is_given(), lack("loopback addresses for its `config`", "its `network` has others")),
        (has_other_callers, lack("callers in its `network`", "only those of hoptax are in one")),
    ];
    lacks.into_iter().filter(|(is_lacking, _)| *is_lacking).map(|(_, lack)| lack).collect()
}

/// Returns the needs of an arm that its proxies other than Envoy do not meet.
fn unmet_by_other_proxies(arm: &Arm) -> Vec<Lack> {
    let tls = arm.tls();
    let mut lacks = Vec::new();
    let hops = arm.chain.hops.iter().enumerate();
    for (number, hop, front) in hops.filter_map(|(number, hop)| Some((number, hop, hop.proxy.front()?))) {
        let lack = |needs: String, does: &str| Lack {
            needs,
            but: format!("{} {does} in a study: remove it, or use Envoy", front.name),
        };
        let protocol = arm.conditions.protocol.as_str();
        if !front.protocols.contains(&protocol) {
            let does = format!("serves {} only", titles(front.protocols));
            lacks.push(lack(format!("`protocol: {protocol}`"), &does));
        }
        if !front.takes_tls && tls.iter().skip(number).take(2).any(Option::is_some) {
            lacks.push(lack(format!("TLS at `{}`", hop.name), "serves plaintext only"));
        }
        let workers = arm.workers(hop).unwrap_or_default();
        if workers > front.threads as usize {
            let does = match front.threads {
                1 => "has one thread".to_owned(),
                threads => format!("has {threads} threads"),
            };
            lacks.push(lack(format!("{workers} workers"), &does));
        }
    }
    lacks
}

/// Returns true if `arm` connects to the origin over TLS without a client certificate while `other` presents one. All arms share
/// the origins, which request certificates of all their TLS clients or of none.
fn clashes(arm: &Arm, other: &Arm) -> bool {
    arm.origin_security() == Some(Tls::Tls) && other.origin_security() == Some(Tls::Mtls)
}

/// Returns the needs of an arm that only the origin meets, and its application does not.
fn unmet_by_application(arm: &Arm, application: &Application) -> Vec<Lack> {
    let lack = |needs: String, does: &str| Lack {
        needs,
        but: format!("{application} {does}: remove it, or set `application: origin`"),
    };
    let conditions = &arm.conditions;
    let mut lacks = Vec::new();
    if arm.chain.is_given() {
        lacks.push(lack("servers for the clusters of its `config`".to_owned(), "serves plain HTTP/1.1 only"));
    }
    if arm.origin_security().is_some() {
        lacks.push(lack("TLS to the application".to_owned(), "serves plaintext only"));
    }
    // The last proxy translates HTTP/2 to HTTP/1.1 if it is an Envoy.
    let is_envoy_last = arm.chain.hops.last().is_some_and(|hop| hop.proxy.front().is_none());
    let is_translated = conditions.protocol == Protocol::Http2 && is_envoy_last;
    if conditions.protocol != Protocol::Http1 && !is_translated {
        lacks.push(lack(format!("`protocol: {}`", conditions.protocol.as_str()), "serves HTTP/1.1 only"));
    }
    let other_bytes = conditions.response_bytes.filter(|bytes| *bytes != USUAL_BYTES);
    if let Some(bytes) = other_bytes {
        lacks.push(lack(format!("responses of {bytes} bytes"), "chooses the size itself"));
    }
    if arm.uses_http2_to_origin() {
        lacks.push(lack("HTTP/2 to the application".to_owned(), "serves HTTP/1.1 only"));
    }
    if let Some(query) = &conditions.query {
        lacks.push(lack(format!("a response to the query `{query}`"), "ignores it"));
    }
    let flags: Vec<String> = arm.application_flags().into_iter().map(|(flag, _)| flag).collect();
    if !flags.iter().all(|flag| application.has_flag(flag)) {
        let instead = Application::with_flags(&flags).map_or_else(String::new, |other| other.name());
        lacks.push(Lack {
            needs: format!("an application with the flags `--{}`", flags.join("`, `--")),
            but: format!("{application} may not have them: remove it, or set `application: {instead}`"),
        });
    }
    lacks
}

/// Returns the protocol that an arm states although one of its functions uses QUIC, and therefore HTTP/3.
fn unmet_by_quic(arm: &Arm) -> Option<Lack> {
    let protocol = arm.conditions.protocol;
    (arm.uses_quic() && protocol != Protocol::Http1).then(|| Lack {
        needs: format!("`protocol: {}`", protocol.as_str()),
        but: "its function uses HTTP/3 on one side of the proxy: remove the protocol".to_owned(),
    })
}

/// Returns the need of HTTP/2 up to the origin that a function has and that the proxies behind its own proxy do not meet.
fn unmet_by_proxies_behind(arm: &Arm) -> Option<Lack> {
    let stages = arm.chain.stages();
    let (_, before_last) = stages.split_last()?;
    let mut hops = before_last.iter().flatten().map(|place| place.hop);
    let hop = hops.find(|hop| fragment(hop).uses_http2_to_origin())?;
    (arm.conditions.protocol == Protocol::Http1).then(|| Lack {
        needs: format!("HTTP/2 from `{}` to the origin", hop.name),
        but: "the proxies between them use HTTP/1.1: move its function to the last proxy, or set `protocol: http2`"
            .to_owned(),
    })
}

/// Returns the needs of an arm that only hoptax as the caller meets.
fn unmet_by_callers(arm: &Arm, load: &Load, caller: &Caller) -> Vec<Lack> {
    let lack = |needs: String, does: &str| Lack {
        needs,
        but: format!("the {caller} of load `{}` {does}: remove it, or set `caller: hoptax`", load.name),
    };
    let conditions = &arm.conditions;
    let mut lacks = Vec::new();
    if conditions.protocol != Protocol::Http1 {
        lacks.push(lack(format!("`protocol: {}`", conditions.protocol.as_str()), "use HTTP/1.1 only"));
    } else if arm.has_quic_callers() {
        lacks.push(lack("callers over HTTP/3".to_owned(), "use HTTP/1.1 only"));
    } else if arm.request.is_some() {
        lacks.push(lack("a request of its own".to_owned(), "send the usual one"));
    } else if let Some(body) = &conditions.body {
        lacks.push(lack(format!("a request body of {} bytes", body.len()), "send none"));
    }
    let of_functions = arm.functions.headers().into_keys();
    let headers: BTreeSet<String> = of_functions.chain(conditions.headers.keys().cloned()).collect();
    if !headers.is_empty() {
        let names = headers.into_iter().collect::<Vec<_>>().join("`, `");
        lacks.push(lack(format!("the request headers `{names}`"), "send none of their own"));
    }
    if conditions.more_headers > 0 {
        let needs = format!("{} additional request headers", conditions.more_headers);
        lacks.push(lack(needs, "send none of their own"));
    }
    if arm.caller_security() == Some(Tls::Mtls) {
        lacks.push(lack("client certificates".to_owned(), "present none"));
    }
    if arm.connections(load) != load.connections {
        lacks.push(Lack {
            needs: format!("{} connections", arm.connections(load)),
            but: format!(
                "load `{}` has {} {caller}, one for each connection: give the load that number",
                load.name, load.connections
            ),
        });
    }
    lacks
}
