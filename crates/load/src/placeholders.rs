//! Placeholders `{counter}` and `{random}` in encoded requests: found once, and filled in for each request.

/// A placeholder in the encoded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    offset: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Random,
}

/// Placeholders, and their replacements while the request is encoded: a text of the length of the value, so that lengths
/// are encoded correctly, with characters that are valid everywhere.
const TEMPLATES: [(&str, &str, Kind); 2] =
    [("{counter}", "hoptaxCOUNT0", Kind::Counter), ("{random}", "hoptaxRANDOM0000", Kind::Random)];

/// Replaces placeholders by their stand-ins, before the request is encoded.
pub(crate) fn with_stand_ins(text: &str) -> String {
    TEMPLATES.iter().fold(text.to_owned(), |text, (name, stand_in, _)| text.replace(name, stand_in))
}

/// Restores placeholders, for messages.
pub(crate) fn without_stand_ins(text: &str) -> String {
    TEMPLATES.iter().fold(text.to_owned(), |text, (name, stand_in, _)| text.replace(stand_in, name))
}

/// True if the bytes contain a placeholder.
pub(crate) fn has_placeholders(bytes: &[u8]) -> bool {
    !find_placeholders(bytes).is_empty()
}

/// The placeholders of an encoded request.
pub(crate) fn find_placeholders(request: &[u8]) -> Vec<Placeholder> {
    let mut placeholders = Vec::new();
    for (_, stand_in, kind) in TEMPLATES {
        let found = request.windows(stand_in.len()).enumerate();
        let found = found.filter(|(_, window)| *window == stand_in.as_bytes());
        placeholders.extend(found.map(|(offset, _)| Placeholder { offset, kind }));
    }
    placeholders
}

/// Writes the values of one request over the stand-ins: the counter as twelve digits, the random number as sixteen
/// hexadecimal ones. Placeholders beyond the end of the bytes are left out.
pub(crate) fn fill(placeholders: &[Placeholder], bytes: &mut [u8], counter: u64, random: u64) {
    for placeholder in placeholders {
        let number = match placeholder.kind {
            Kind::Counter => format!("{:012}", counter % 1_000_000_000_000),
            Kind::Random => format!("{random:016x}"),
        };
        if let Some(bytes) = bytes.get_mut(placeholder.offset..placeholder.offset + number.len()) {
            bytes.copy_from_slice(number.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_have_the_length_of_the_values_and_no_value_is_longer() {
        let text = "{counter}/{random}/{counter}";
        let mut bytes = with_stand_ins(text).into_bytes();
        assert_eq!(without_stand_ins(&String::from_utf8(bytes.clone()).unwrap()), text);
        let placeholders = find_placeholders(&bytes);
        fill(&placeholders, &mut bytes, 5_000_000_000_007, u64::MAX);
        assert_eq!(bytes, b"000000000007/ffffffffffffffff/000000000007");
        assert!(!has_placeholders(&bytes));
        // As where a request is sent without its end.
        let mut short = b"0123".to_vec();
        fill(&placeholders, &mut short, 1, 1);
        assert_eq!(short, b"0123");
    }
}
