//! Plans arms that are defined by the position of their proxies.

use hoptax_result::ArmKind;
use hoptax_subject::application::Application;
use hoptax_subject::front::Front;
use hoptax_text::list::listed;

use super::chain::Chain;
use super::{Arm, Conditions};
use crate::file::{ArmEntry, Position, Protocol, SubjectEntry, SubjectSection};

/// An arm defined by its proxies, compared with the arm without a proxy and with the same protocol, which is added if
/// it does not exist yet. None for that arm itself. The application is that of the study; none for the origin.
pub(super) fn subject_arm(
    subject: SubjectSection,
    application: Option<&Application>,
    entries: &[ArmEntry],
    arms: &mut Vec<Arm>,
) -> Result<Option<Arm>, String> {
    let direct = SubjectSection {
        position: Position::Direct,
        protocol: subject.protocol,
        ..SubjectSection::default()
    };
    let serves_it = |front: &Front| {
        subject.position == Position::Gateway
            && front.protocols.contains(&subject.protocol.as_str())
            && (front.takes_tls || !subject.is_secure())
    };
    if let Some(front) = subject.proxy.front().filter(|front| !serves_it(front)) {
        let plain = if front.takes_tls { "" } else { "plain " };
        return Err(format!(
            "`{}` is supported only as a front proxy of {plain}{}: set `position: gateway`",
            front.name,
            titles(front.protocols)
        ));
    }
    if !entries.contains(&ArmEntry::Subject(SubjectEntry { subject: direct })) {
        return Err(format!(
            "`arms` has no `subject: {{position: direct, protocol: {}}}`, which this is compared with: add it",
            direct.protocol.as_str()
        ));
    }
    let arm = |subject: SubjectSection, kind, compared_with| {
        let (protocol, application) = (subject.protocol, application.cloned());
        let conditions = Conditions { protocol, application, ..Conditions::default() };
        Arm {
            chain: Chain::of_position(subject),
            summary: summary(subject),
            ..Arm::plain(subject.to_string(), kind, compared_with, &conditions)
        }
    };
    let baseline = arms.iter().position(|arm| arm.kind == ArmKind::Baseline && arm.id == direct.to_string());
    let baseline = baseline.unwrap_or_else(|| {
        arms.push(arm(direct, ArmKind::Baseline, None));
        arms.len() - 1
    });
    Ok((subject != direct).then(|| arm(subject, ArmKind::Position, Some(baseline))))
}

/// The protocols with these words, in a sentence.
pub(super) fn titles(words: &[&str]) -> String {
    let named = Protocol::ALL.into_iter().filter(|protocol| words.contains(&protocol.as_str()));
    let named: Vec<&str> = named.map(|protocol| protocol.of_load().title()).collect();
    listed(&named)
}

fn summary(subject: SubjectSection) -> String {
    let proxies = match subject.position {
        Position::Direct => "No proxy",
        Position::Client => "A sidecar at the caller",
        Position::Server => "A sidecar at the origin",
        Position::Both => "A sidecar at the caller and one at the origin",
        Position::Gateway => "A front proxy",
        Position::GatewayAndBoth => "A front proxy, followed by a sidecar at each end",
    };
    let protocol = subject.protocol.of_load().title();
    let secure = match (subject.mtls, subject.tls) {
        (true, _) => ", mutual TLS on every network link",
        (false, true) => ", TLS on every network link",
        (false, false) => "",
    };
    let which = subject.proxy.front().map_or_else(String::new, |front| format!(", {}", front.name));
    format!("{proxies}, {protocol}{secure}{which}")
}
