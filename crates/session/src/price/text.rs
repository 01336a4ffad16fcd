//! Describes the listeners of a configuration, and their tries, as text.

use hoptax_bootstrap::Place;
use hoptax_bootstrap::parts::Part;
use hoptax_bootstrap::request::DerivedRequest;
use hoptax_result::{Activity, counted};
use hoptax_text::secrets::is_name;

use super::Listed;
use super::activity::activity;
use super::order::lacking;
use super::tries::{Tried, Tries};
use super::try_out::Answers;

/// Describes a configuration: the kind of its file, how many listeners can be priced, the listeners with their requests and parts, and all
/// replacements.
pub(super) fn outline(described: Option<&str>, listed: &Listed) -> String {
    let replacements = &listed.adapted.replacements;
    let folder = common_folder(listed);
    let at = |place: &Place| {
        let place = place.to_string();
        place.strip_prefix(&folder).map_or_else(|| place.clone(), str::to_owned)
    };
    let mut text = described.map_or_else(String::new, |what| format!("Configuration {what}\n\n"));
    let with_request = listed.listeners.iter().filter(|passed| passed.request.is_ok()).count();
    let all = counted(listed.listeners.len() as u64, "listener");
    let of_places = if folder.is_empty() { String::new() } else { format!("; all places are in {folder}") };
    text += &format!("{with_request} of {all} can be priced{of_places}\n\n");
    for passed in &listed.listeners {
        text += &format!("Listener {} ({})\n", passed.listener.name, passed.listener.address);
        match &passed.request {
            Ok(request) => {
                text += &self::request(request);
                text +=
                    if passed.parts.is_empty() { "  no parts that can be removed\n" } else { "  parts\n" };
                let rows: Vec<[String; 3]> =
                    passed.parts.iter().map(|one| part(one, &at(&one.place))).collect();
                text += &table(&rows, 4);
            }
            Err(problem) => text += &format!("  no request: {}: {}\n", at(&problem.place), problem.message),
        }
        text += "\n";
    }
    let lacking = lacking(replacements);
    if !lacking.is_empty() {
        text += "Removed, because this Envoy lacks them; `--envoy PATH` measures with one that has them\n";
        for what in &lacking {
            text += &format!("  {what}\n");
        }
        text += "\n";
    }
    text += "Replacements\n";
    let rows: Vec<[String; 3]> = replacements
        .iter()
        .map(|one| [at(&one.place), one.node.clone(), format!("-> {}", one.with)])
        .collect();
    text + &table(&rows, 2)
}

/// The command that measures an outlined configuration; none if no listener can be priced.
pub(super) fn measuring(listed: &Listed) -> Option<String> {
    let how = match listed.listeners.iter().filter(|passed| passed.request.is_ok()).count() {
        0 => return None,
        1 => "without",
        _ => "with `--listener NAME` instead of",
    };
    Some(format!("\nnext: the same command {how} `--dry-run`   measures what the parts of a listener cost"))
}

fn request(request: &DerivedRequest) -> String {
    let scheme = if request.tls.is_some() { "https" } else { "http" };
    let kind = if request.is_tcp { " (the listener forwards bytes)" } else { "" };
    let mut text =
        format!("  request  {} {scheme}://{}{}{kind}\n", request.method, request.host, request.path);
    for (name, value) in &request.headers {
        // The value may be one of the user's secrets, and printed texts are often kept.
        let shown = if is_name(name) { format!("({} bytes, not shown)", value.len()) } else { value.clone() };
        text += &format!("           {name}: {shown}\n");
    }
    if let Some(tls) = &request.tls {
        let name = tls.server_name.as_ref().map(|name| format!(", server name {name}")).unwrap_or_default();
        let certificate = if tls.presents_certificate { ", client certificate" } else { "" };
        text += &format!("           TLS{name}{certificate}\n");
    }
    let clusters = request.clusters.join(", ");
    let to = match (clusters.as_str(), request.is_decided_later) {
        ("", false) => "the listener answers it itself".to_owned(),
        ("", true) => "to a cluster that only the running proxy knows".to_owned(),
        (one, false) => format!("to cluster {one}"),
        (some, true) => format!("to one of these, which only the running proxy knows: {some}"),
    };
    text + &format!("           {to}\n")
}

/// The common folder of all places, with its trailing slash; empty if they have none. It would make every line long.
fn common_folder(listed: &Listed) -> String {
    let of_listeners = listed.listeners.iter().flat_map(|passed| {
        let of_request = passed.request.as_ref().err().map(|problem| &problem.place);
        passed.parts.iter().map(|part| &part.place).chain(of_request)
    });
    let of_replacements = listed.adapted.replacements.iter().map(|one| &one.place);
    let files: Vec<&str> = of_listeners.chain(of_replacements).map(|place| place.file.as_str()).collect();
    let first = files.first().and_then(|first| first.rsplit_once('/'));
    let folder = first.map_or_else(String::new, |(folder, _)| format!("{folder}/"));
    if files.iter().all(|file| file.starts_with(&folder)) { folder } else { String::new() }
}

/// The row of a part; `place` is where it stands in the file.
fn part(part: &Part, place: &str) -> [String; 3] {
    let needs = part.exercised_by.as_ref().filter(|_| part.is_unmet);
    let needs = needs
        .map_or_else(String::new, |needs| format!("; this request may not exercise it: that takes {needs}"));
    [part.kind.to_string(), part.name.clone(), format!("{place}{needs}")]
}

/// Describes the outcomes of the tries: the responses of the arms, and the parts that acted.
pub(super) fn outcomes(tries: &Tries) -> String {
    let passed = &tries.passed;
    let mut text = format!("\nArms of listener {}\n", passed.listener.name);
    let rows: Vec<[String; 3]> = tries
        .all()
        .map(|one| {
            let outcome = one.outcome.as_ref().map_or_else(|error| format!("failed: {error}"), answers);
            [one.name.clone(), outcome, String::new()]
        })
        .collect();
    text += &table(&rows, 2);
    text += "\nActivity of the parts\n";
    let rows: Vec<[String; 3]> = passed
        .parts
        .iter()
        .zip(&tries.parts)
        .map(|(part, tried)| {
            [part.kind.to_string(), part.name.clone(), described(part, &tries.answers, tried)]
        })
        .collect();
    text + &table(&rows, 2)
}

fn answers(answers: &Answers) -> String {
    let statuses =
        answers.answer.statuses.iter().map(|(status, number)| format!("{number} of status {status}"));
    let failures = answers.failures.iter().filter(|(kind, _)| !kind.starts_with("status"));
    let failures = failures.map(|(kind, number)| format!("{number} {kind}"));
    let all: Vec<String> = statuses.chain(failures).collect();
    if all.is_empty() { "no response".to_owned() } else { all.join(", ") }
}

/// Describes if a part acted; `without` is the try of the whole without it.
fn described(part: &Part, whole: &Answers, without: &Tried) -> String {
    let by = part.exercised_by.as_ref().map_or_else(String::new, |by| format!("; exercised by {by}"));
    match activity(part, whole, without.outcome.as_ref().ok()) {
        Activity::Unknown { .. } => format!("has no statistic of its own{by}"),
        Activity::NotExercised { statistics, .. } => {
            format!("not exercised: it changes none of {}{by}", statistics.join(", "))
        }
        Activity::Exercised { statistic } => {
            let by = whole.answer.statistics.get(&statistic).copied().unwrap_or_default();
            format!("{statistic} +{by}")
        }
    }
}

/// Columns as wide as their contents.
fn table(rows: &[[String; 3]], indent: usize) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).min(60);
    let (first, second) = (width(0), width(1));
    let line = |row: &[String; 3]| {
        let text = format!("{:indent$}{:first$}  {:second$}  {}", "", row[0], row[1], row[2]);
        format!("{}\n", text.trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_who_answers_it_and_what_is_not_known() {
        let to = |clusters: &[&str], is_decided_later: bool| {
            let clusters = clusters.iter().map(|cluster| (*cluster).to_owned()).collect();
            request(&DerivedRequest { clusters, is_decided_later, ..DerivedRequest::default() })
        };
        for (text, end) in [
            (to(&[], false), "the listener answers it itself\n"),
            (to(&["a", "b"], false), "to cluster a, b\n"),
            (to(&[], true), "to a cluster that only the running proxy knows\n"),
            (to(&["a", "b"], true), "to one of these, which only the running proxy knows: a, b\n"),
        ] {
            assert!(text.ends_with(end), "{text}");
        }
    }
}
