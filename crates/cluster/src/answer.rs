//! Reads the answer of an admin interface.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The form of a dump.
#[derive(Deserialize)]
struct Form {
    configs: Vec<IgnoredAny>,
}

/// Reads the dump in an admin interface's answer, from its status and body.
///
/// # Errors
/// The reason, when it is not a dump. The body is not quoted, because it may contain anything.
pub fn dump_of(status: u16, body: Vec<u8>) -> Result<String, String> {
    if status != 200 {
        return Err(format!("it answered with status {status}"));
    }
    let text = String::from_utf8(body).map_err(|_| "its answer is not text".to_owned())?;
    let form = serde_json::from_str::<Form>(&text)
        .map_err(|_| "its answer is not a JSON object with `configs`".to_owned())?;
    if form.configs.is_empty() {
        return Err("its answer has no configuration".to_owned());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_with_configurations_is_a_dump() {
        let dump = "{\"configs\": [{\"@type\": \"a\"}]}";
        assert_eq!(dump_of(200, dump.into()).as_deref(), Ok(dump));
        for (status, body, expected) in [
            (404, dump.as_bytes(), "status 404"),
            (200, &b"\xff"[..], "not text"),
            (200, &b"<html>hunter2</html>"[..], "not a JSON object with `configs`"),
            (200, &b"[]"[..], "not a JSON object with `configs`"),
            (200, &b"{\"configs\": []}"[..], "has no configuration"),
            (200, &b"{\"configs\": ["[..], "not a JSON object with `configs`"),
        ] {
            let why = dump_of(status, body.to_vec()).unwrap_err();
            assert!(why.contains(expected) && !why.contains("hunter2"), "{why}");
        }
    }
}
