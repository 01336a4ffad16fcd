//! Differences between the machines of several runs.

use serde_json::{Value, json};

use super::sums::Part;

/// Fields of an environment that differ between runs on one machine.
const OF_THE_MOMENT: [&str; 3] = ["calibration", "load_average", "started_at"];

/// The fields of environments and TLS connections that are not the same for all runs, each with its values and their files.
pub(super) fn between(parts: &[Part<'_>]) -> Vec<String> {
    let all: Vec<(&str, Value)> = parts.iter().map(|part| (part.file, described(part))).collect();
    let Some((_, Value::Object(first))) = all.first() else { return Vec::new() };
    first
        .keys()
        .filter(|name| !OF_THE_MOMENT.contains(&name.as_str()))
        .filter_map(|name| {
            let mut values: Vec<(&Value, Vec<&str>)> = Vec::new();
            for (file, fields) in all.iter().map(|(file, fields)| (*file, fields)) {
                let value = fields.get(name).unwrap_or(&Value::Null);
                match values.iter_mut().find(|(known, _)| *known == value) {
                    Some((_, files)) => files.push(file),
                    None => values.push((value, vec![file])),
                }
            }
            let texts = values.iter().map(|(value, files)| format!("{value} ({})", files.join(", ")));
            (values.len() > 1).then(|| format!("{name}: {}", texts.collect::<Vec<_>>().join(", ")))
        })
        .collect()
}

/// The environment of a run, with its program and the parameters of its TLS connections.
fn described(part: &Part<'_>) -> Value {
    let mut fields = json!(part.result.environment);
    fields["program"] = json!(part.result.program);
    let tls = part.result.tls.as_ref();
    fields["tls_version"] = json!(tls.map(|tls| &tls.version));
    fields["tls_cipher"] = json!(tls.map(|tls| &tls.cipher));
    fields["tls_key_exchange_group"] = json!(tls.map(|tls| &tls.key_exchange_group));
    fields
}
