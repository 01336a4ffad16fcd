//! Names of compared subjects in outputs: short names, and subjects as given but without secrets.

use std::path::Path;

use hoptax_result::SubjectName;

use super::part::{is_config, is_url};

/// Replacement of a secret in the text of a subject.
const HIDDEN: &str = "...";

/// Longest short name, in characters. Longer ones would make the table too wide, so the subjects are then called by their arms.
pub(super) const LONGEST: usize = 24;

/// A subject as outputs may show it: without user information, and without values of variables whose names look like those of secrets.
pub(super) fn shown(subject: &str) -> String {
    if is_url(subject) {
        let mut shown = subject.to_owned();
        for user in hoptax_text::secrets::users_of_urls(subject).into_iter().rev() {
            shown.replace_range(user, HIDDEN);
        }
        return shown;
    }
    let part = |part: &str| {
        let name = part.trim().strip_prefix("env=").and_then(|variable| variable.split_once('='));
        match name.filter(|(name, _)| hoptax_text::secrets::is_name(name)) {
            Some((name, _)) => format!("env={name}={HIDDEN}"),
            None => part.to_owned(),
        }
    };
    subject.split('+').map(part).collect::<Vec<_>>().join("+")
}

/// The names of the subjects: the stem of a file, a release, functions, an address. Subjects that share a short name are called
/// as they were given, and equal subjects are numbered. If one name is too long, all subjects are called by their arms.
pub(super) fn names(subjects: &[String], arm_name: fn(usize) -> String) -> Vec<SubjectName> {
    let short: Vec<String> = subjects.iter().map(|subject| short(subject)).collect();
    let is_shared = |number: usize| {
        let mut others = subjects.iter().zip(&short);
        others.any(|(subject, name)| Some(name) == short.get(number) && Some(subject) != subjects.get(number))
    };
    let name = |(number, (subject, short)): (usize, (&String, &String))| {
        let name = if is_shared(number) { subject.clone() } else { short.clone() };
        match subjects.iter().take(number).filter(|earlier| *earlier == subject).count() {
            0 => name,
            earlier => format!("{name}#{}", earlier + 1),
        }
    };
    let names: Vec<String> = subjects.iter().zip(&short).enumerate().map(name).collect();
    let is_long = names.iter().any(|name| name.chars().count() > LONGEST);
    let named = |(number, (name, given)): (usize, (String, &String))| SubjectName {
        arm: arm_name(number),
        name: if is_long { arm_name(number) } else { name },
        given: given.clone(),
    };
    names.into_iter().zip(subjects).enumerate().map(named).collect()
}

/// The names of the second copy of a subject.
pub(super) fn again(first: &SubjectName, arm: String) -> SubjectName {
    SubjectName { arm, name: format!("{} again", first.name), given: first.given.clone() }
}

fn short(subject: &str) -> String {
    if let Some((_, address)) = subject.split_once("://").filter(|_| is_url(subject)) {
        return address.trim_end_matches('/').to_owned();
    }
    let stem = |part: &str| {
        let stem = Path::new(part).file_stem().filter(|_| is_config(part));
        stem.map_or_else(|| part.to_owned(), |stem| stem.to_string_lossy().into_owned())
    };
    subject.split('+').map(str::trim).map(stem).collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_subjects_are_not_shown() {
        assert_eq!(shown("jwt+env=API_TOKEN=hunter2+workers=2"), "jwt+env=API_TOKEN=...+workers=2");
        assert_eq!(shown("jwt + env=LEVEL=2"), "jwt + env=LEVEL=2");
        assert_eq!(shown("http://joe:hunter2@127.0.0.1:80/a+b"), "http://...@127.0.0.1:80/a+b");
        assert_eq!(shown("http://127.0.0.1:80/a@b"), "http://127.0.0.1:80/a@b");
    }

    fn called(subjects: &[&str]) -> Vec<String> {
        let subjects: Vec<String> = subjects.iter().map(ToString::to_string).collect();
        names(&subjects, |number| number.to_string()).into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn subjects_are_called_by_stem_release_function_or_address() {
        assert_eq!(called(&["conf/old.yaml", "new.yaml+1.39.3"]), ["old", "new+1.39.3"]);
        assert_eq!(called(&["1.39.3+jwt", "access-log/json"]), ["1.39.3+jwt", "access-log/json"]);
        assert_eq!(called(&["http://127.0.0.1:80/", "baseline"]), ["127.0.0.1:80", "baseline"]);
        assert_eq!(called(&["jwt+env=A=b://c/", "jwt"]), ["jwt+env=A=b://c/", "jwt"]);
    }

    #[test]
    fn subjects_that_would_share_a_name_keep_what_was_given() {
        assert_eq!(
            called(&["a/envoy.yaml", "b/envoy.yaml", "c.yaml"]),
            ["a/envoy.yaml", "b/envoy.yaml", "c"]
        );
        assert_eq!(called(&["lua", "lua", "lua"]), ["lua", "lua#2", "lua#3"]);
    }

    #[test]
    fn one_long_name_has_all_subjects_called_by_their_arms() {
        let long = "rbac{rules=50}+access-log/json";
        assert_eq!(called(&[long, "lua"]), ["0", "1"]);
        let first = names(&[long.to_owned(), "lua".to_owned()], |number| number.to_string()).remove(0);
        assert_eq!((first.given.as_str(), again(&first, "x".to_owned()).name), (long, "0 again".to_owned()));
    }
}
