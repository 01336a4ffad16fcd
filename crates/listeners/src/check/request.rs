//! A request that matches a route: its host and its path.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::file::check_of;
use crate::plan::Matches;

/// The host of requests that may have any host. The name is reserved, so no file uses it.
const HOST: &str = "check.hoptax.invalid";

/// Host and path of a matching request, or the reason why there is none.
pub(super) fn matching(matches: &Matches) -> Result<(String, String), String> {
    match matches {
        Matches::All | Matches::Share(_) => Ok((HOST.to_owned(), "/".to_owned())),
        Matches::Place { hosts, prefix } => {
            let host = hosts.first().map_or(HOST, String::as_str);
            let host = host.strip_prefix('*').map_or_else(|| host.to_owned(), |rest| format!("hoptax{rest}"));
            Ok((host, prefix.clone()))
        }
        Matches::Host(regex) => {
            let none = || format!("hoptax found no host that `{regex}` matches");
            let parsed = regex_syntax::parse(regex).map_err(|_| none())?;
            let host = example(&parsed).ok_or_else(none)?;
            match check_of("host-or-address").map(|check| check(&host)) {
                Some(Ok(())) => Ok((host, "/".to_owned())),
                _ => Err(none()),
            }
        }
    }
}

/// A text that an expression matches; none if there is no simple one.
fn example(expression: &Hir) -> Option<String> {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(String::new()),
        HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).ok(),
        HirKind::Class(class) => {
            let has = |letter: char| match class {
                Class::Unicode(class) => {
                    class.iter().any(|range| (range.start()..=range.end()).contains(&letter))
                }
                Class::Bytes(class) => {
                    class.iter().any(|range| (range.start()..=range.end()).contains(&(letter as u8)))
                }
            };
            let letters = ('a'..='z').chain('0'..='9').chain(['-', '.', '_']);
            letters.into_iter().find(|letter| has(*letter)).map(String::from)
        }
        HirKind::Repetition(repetition) => {
            // A host is not empty, so an optional part occurs once.
            let times = repetition.min.max(1).min(repetition.max.unwrap_or(u32::MAX));
            Some(example(&repetition.sub)?.repeat(usize::try_from(times.min(64)).ok()?))
        }
        HirKind::Capture(capture) => example(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(example).collect(),
        HirKind::Alternation(parts) => parts.iter().find_map(example),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_for_usual_expressions() {
        let host = |regex: &str| matching(&Matches::Host(regex.to_owned())).map(|(host, _)| host);
        assert_eq!(host(r"(www\.)?test[0-9]*\.example\.org"), Ok("www.test0.example.org".to_owned()));
        assert_eq!(host(r"^a|b$"), Ok("a".to_owned()));
        assert_eq!(host(r".*"), Ok("a".to_owned()));
        assert!(host(r"é").unwrap_err().contains("found no host"));
        assert!(host(r"").unwrap_err().contains("found no host"));
    }

    #[test]
    fn a_place_has_its_host_and_its_path() {
        let place = |hosts: &[&str]| Matches::Place {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            prefix: "/a".to_owned(),
        };
        let path = "/a".to_owned();
        assert_eq!(matching(&place(&["*.example.org"])), Ok(("hoptax.example.org".to_owned(), path.clone())));
        assert_eq!(matching(&place(&["a.example", "b.example"])), Ok(("a.example".to_owned(), path.clone())));
        assert_eq!(matching(&place(&[])), Ok((HOST.to_owned(), path)));
    }
}
