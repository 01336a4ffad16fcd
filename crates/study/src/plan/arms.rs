//! From the names of arms to arms.

use hoptax_functions::{Catalogue, FunctionCall};
use hoptax_result::ArmKind;

use super::{Arm, BASELINE, Conditions, DIRECT, SAME};
use crate::file::{
    Application, ArmEntry, Position, Positions, Problem, Protocol, SubjectEntry, SubjectSection,
};

/// Turns names into arms. What is wrong with them is added to `problems`.
pub(super) fn plan(
    entries: &[ArmEntry],
    positions: &Positions,
    catalogue: &Catalogue,
    problems: &mut Vec<Problem>,
) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    let has =
        |wanted: &str| entries.iter().any(|entry| matches!(entry, ArmEntry::Name(name) if name == wanted));
    let has_names = entries.iter().any(|entry| matches!(entry, ArmEntry::Name(_) | ArmEntry::Unloaded(_)));
    // The baseline is needed whether or not it is named, and first, so that others can refer to it.
    if has_names && !has(BASELINE) {
        let message = format!("`arms` lacks `{BASELINE}`, with which the others are compared: add it");
        problems.push(positions.problem("/arms", message));
    }
    let baseline = if has_names { add_baseline(&mut arms, &Conditions::default()) } else { 0 };
    for (index, entry) in entries.iter().enumerate() {
        let pointer = format!("/arms/{index}");
        let name = match entry {
            ArmEntry::Name(name) => name.clone(),
            ArmEntry::Subject(entry) => entry.subject.to_string(),
            ArmEntry::Unloaded(entry) => entry.unloaded.clone(),
        };
        if entries.iter().take(index).any(|earlier| earlier == entry) {
            problems.push(positions.problem(&pointer, format!("arm `{name}` is named twice")));
            continue;
        }
        if let ArmEntry::Subject(entry) = entry {
            match subject_arm(entry.subject, entries, &mut arms) {
                Ok(arm) => arms.extend(arm),
                Err(message) => problems.push(positions.problem(&pointer, message)),
            }
            continue;
        }
        match name.as_str() {
            BASELINE => {}
            DIRECT => arms.push(Arm {
                id: DIRECT.to_owned(),
                kind: ArmKind::Direct,
                function: None,
                compared_with: Some(baseline),
                conditions: Conditions::default(),
                subject: SubjectSection { position: Position::Direct, ..SubjectSection::default() },
                upstreams: 1,
                is_unloaded: false,
                summary: "No proxy: the generator speaks to the origin".to_owned(),
            }),
            same if is_same(same) => arms.push(Arm {
                id: same.to_owned(),
                kind: ArmKind::Same,
                function: None,
                compared_with: Some(baseline),
                conditions: Conditions::default(),
                subject: SubjectSection::default(),
                upstreams: 1,
                is_unloaded: false,
                summary: "The baseline again, whose true cost is zero".to_owned(),
            }),
            call => match function_arm(call, &mut arms, catalogue) {
                Ok(arm) if matches!(entry, ArmEntry::Unloaded(_)) => arms.push(unloaded(arm)),
                Ok(arm) => arms.push(arm),
                Err(messages) => {
                    problems.extend(messages.into_iter().map(|message| positions.problem(&pointer, message)));
                }
            },
        }
    }
    arms
}

/// Whether a name is that of an A/A arm: `same`, or `same#2` and so on where a study has several.
fn is_same(name: &str) -> bool {
    let number = |rest: &str| rest.strip_prefix('#')?.parse::<u32>().ok();
    name.strip_prefix(SAME)
        .is_some_and(|rest| rest.is_empty() || number(rest).is_some_and(|number| number > 1))
}

/// The baseline under these conditions, added if it is not there yet.
fn add_baseline(arms: &mut Vec<Arm>, conditions: &Conditions) -> usize {
    let is_it = |arm: &Arm| arm.kind == ArmKind::Baseline && arm.conditions == *conditions;
    if let Some(place) = arms.iter().position(is_it) {
        return place;
    }
    let (id, summary) = match conditions.to_string() {
        none if none.is_empty() => (BASELINE.to_owned(), "A plain proxy".to_owned()),
        some => (
            format!("{BASELINE}{{{some}}}"),
            format!("A plain proxy with `{some}`, as what is compared with it has"),
        ),
    };
    arms.push(Arm {
        id,
        kind: ArmKind::Baseline,
        function: None,
        compared_with: None,
        conditions: conditions.clone(),
        subject: SubjectSection::default(),
        upstreams: 1,
        is_unloaded: false,
        summary,
    });
    arms.len() - 1
}

/// An arm that is a subject of its own, compared with no proxy at all and the same protocol; that one is added if it is not
/// there yet. None for that one itself.
fn subject_arm(
    subject: SubjectSection,
    entries: &[ArmEntry],
    arms: &mut Vec<Arm>,
) -> Result<Option<Arm>, String> {
    let direct = SubjectSection {
        position: Position::Direct,
        protocol: subject.protocol,
        ..SubjectSection::default()
    };
    let is_plain_front =
        subject.position == Position::Gateway && subject.protocol == Protocol::Http1 && !subject.is_secure();
    if let Some(front) = subject.proxy.front().filter(|_| !is_plain_front) {
        return Err(format!(
            "`{}` is measured as a front proxy of plain HTTP/1.1 alone: set `position: gateway`",
            front.program()
        ));
    }
    let is_mutual = |entry: &ArmEntry| matches!(entry, ArmEntry::Subject(entry) if entry.subject.mtls);
    if subject.tls && entries.iter().any(is_mutual) {
        return Err(
            "a study has `tls` or `mtls`, not both: its origin asks for certificates or does not".to_owned()
        );
    }
    if !entries.contains(&ArmEntry::Subject(SubjectEntry { subject: direct })) {
        return Err(format!(
            "`arms` lacks `subject: {{position: direct, protocol: {}}}`, with which this is compared: add it",
            direct.protocol.word()
        ));
    }
    let arm = |subject: SubjectSection, kind, compared_with| Arm {
        id: subject.to_string(),
        kind,
        function: None,
        compared_with,
        conditions: Conditions::default(),
        subject,
        upstreams: 1,
        is_unloaded: false,
        summary: summary(subject),
    };
    let baseline = arms.iter().position(|arm| arm.kind == ArmKind::Baseline && arm.subject == direct);
    let baseline = baseline.unwrap_or_else(|| {
        arms.push(arm(direct, ArmKind::Baseline, None));
        arms.len() - 1
    });
    Ok((subject != direct).then(|| arm(subject, ArmKind::Position, Some(baseline))))
}

fn summary(subject: SubjectSection) -> String {
    let proxies = match subject.position {
        Position::Direct => "No proxy",
        Position::Client => "A sidecar at the caller",
        Position::Server => "A sidecar at the origin",
        Position::Both => "A sidecar at the caller and one at the origin",
        Position::Gateway => "A front proxy",
        Position::GatewayAndBoth => "A front proxy, and behind it a sidecar at each end",
    };
    let protocol = match subject.protocol {
        Protocol::Http1 => "HTTP/1.1",
        Protocol::Http2 => "HTTP/2",
        Protocol::Grpc => "gRPC",
        Protocol::WebSocket => "WebSocket",
        Protocol::Tcp => "TCP",
    };
    let secure = match (subject.mtls, subject.tls) {
        (true, _) => ", mutual TLS on every link that a network would carry",
        (false, true) => ", TLS on every link that a network would carry",
        (false, false) => "",
    };
    let which = subject.proxy.front().map_or_else(String::new, |front| format!(", {}", front.program()));
    format!("{proxies}, {protocol}{secure}{which}")
}

fn function_arm(name: &str, arms: &mut Vec<Arm>, catalogue: &Catalogue) -> Result<Arm, Vec<String>> {
    let special = |word: &&str| strsim::normalized_damerau_levenshtein(name, word) >= 0.7;
    let call = FunctionCall::parse(name).map_err(|error| vec![error.to_string()])?;
    let (function, knobs) = catalogue.resolve(&call).map_err(|errors| {
        let hint = [BASELINE, DIRECT, SAME].into_iter().find(special);
        let hint = hint.map_or_else(String::new, |word| format!("; did you mean `{word}`?"));
        errors.iter().map(|error| format!("{error}{hint}")).collect::<Vec<_>>()
    })?;
    let conditions = Conditions {
        query: function.request.query.clone(),
        body: function.request.body(),
        headers: function.request.own_headers.clone(),
        connections: function.connections.map(|connections| connections as usize),
        environment: function.environment.clone(),
    };
    let compared_with = add_baseline(arms, &conditions);
    Ok(Arm {
        id: call.to_string(),
        kind: ArmKind::Function,
        compared_with: Some(compared_with),
        conditions,
        subject: SubjectSection::default(),
        upstreams: usize::from(function.upstreams),
        is_unloaded: false,
        summary: function.summary.clone(),
        function: Some((function.clone(), knobs)),
    })
}

/// The same arm with its function taken away before it is measured.
fn unloaded(arm: Arm) -> Arm {
    Arm {
        id: format!("{} unloaded", arm.id),
        is_unloaded: true,
        summary: format!("A plain proxy from which a function was taken away: {}", arm.summary),
        ..arm
    }
}

/// Functions that the application performs need one that can.
pub(super) fn check_application(
    entries: &[ArmEntry],
    arms: &[Arm],
    application: Application,
    positions: &Positions,
    problems: &mut Vec<Problem>,
) {
    if application == Application::Go {
        return;
    }
    for arm in arms.iter().filter(|arm| !arm.application().is_empty()) {
        let is_it = |entry: &ArmEntry| matches!(entry, ArmEntry::Name(name) if *name == arm.id);
        let index = entries.iter().position(is_it).unwrap_or_default();
        let message = format!("`{}` is done by the application: add `application: go` to the study", arm.id);
        problems.push(positions.problem(&format!("/arms/{index}"), message));
    }
}
