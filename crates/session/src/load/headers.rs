//! Headers as a user gives them: a single one, or those in a file.

use std::path::Path;
use std::str::FromStr;

use hoptax_text::file::text_up_to;

/// The most bytes of a file of headers; servers take far fewer.
const MOST_BYTES: u64 = 1 << 20;

/// One header, `Name: value`, or all headers of a file, `@FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenHeaders(pub Vec<(String, String)>);

impl FromStr for GivenHeaders {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(path) = text.strip_prefix('@') else { return Ok(Self(vec![header(text)?])) };
        let text = text_up_to(Path::new(path), MOST_BYTES)
            .map_err(|error| format!("cannot read `{path}`: {error}"))?;
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let headers = lines
            .map(|(number, line)| header(line).map_err(|error| format!("`{path}`, line {number}: {error}")));
        headers.collect::<Result<_, _>>().map(Self)
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `Name: value`")?;
    if name.trim().is_empty() {
        return Err(match value.split_once(':') {
            Some((pseudo, _)) => {
                format!("`:{pseudo}` is a pseudo-header, which the URL and the method state; remove it")
            }
            None => "it has no name before the colon: write it as `Name: value`".to_owned(),
        });
    }
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_ends_its_name_at_the_first_colon() {
        let of = |name: &str, value: &str| Ok(GivenHeaders(vec![(name.to_owned(), value.to_owned())]));
        assert_eq!("A: b: c".parse::<GivenHeaders>(), of("A", "b: c"));
        assert!("A".parse::<GivenHeaders>().is_err());
        let refused = |text: &str| text.parse::<GivenHeaders>().unwrap_err();
        assert!(refused(":path: /x").starts_with("`:path` is a pseudo-header"), "{}", refused(":path: /x"));
        assert!(refused(" : b").starts_with("it has no name"), "{}", refused(" : b"));
    }

    #[test]
    fn a_file_of_headers_that_never_ends_is_refused() {
        let refused = "@/dev/zero".parse::<GivenHeaders>().unwrap_err();
        assert_eq!(refused, "cannot read `/dev/zero`: it has more than 1 MiB");
    }
}
