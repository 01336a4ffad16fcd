//! The name of a function in a study or on the command line: `rbac`, or `route/path{routes=200}`.

use std::collections::BTreeMap;
use std::fmt;

use crate::knob::KnobValue;

/// A function id with the knobs that are set. [`Catalogue::resolve`](crate::Catalogue::resolve) checks that the
/// catalogue has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall {
    /// The id of the function.
    pub id: String,
    /// The knobs that are set.
    pub knobs: BTreeMap<String, KnobValue>,
}

/// Reason why a call is invalid: its form, a function or a knob that the catalogue lacks, or a value that a knob does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CallError(pub(crate) String);

impl FunctionCall {
    /// Parses `id` or `id{knob=value,…}`.
    ///
    /// # Errors
    /// When the text has another form. The catalogue is not consulted.
    pub fn parse(text: &str) -> Result<Self, CallError> {
        let malformed = |why: &str| {
            CallError(format!(
                "cannot read `{text}` as a function: {why}; write `id` or `id{{knob=value,knob=value}}`"
            ))
        };
        let (id, inner) = match text.split_once('{') {
            None if text.contains('}') => return Err(malformed("`}` without `{`")),
            None => (text, None),
            Some((id, rest)) => match rest.split_once('}') {
                None => return Err(malformed("`{` is not closed")),
                Some((_, after)) if !after.trim().is_empty() => return Err(malformed("text follows `}`")),
                Some((inner, _)) => (id, Some(inner)),
            },
        };
        let id = id.trim();
        if id.is_empty() {
            return Err(malformed("the id is missing"));
        }
        let mut knobs = BTreeMap::new();
        for pair in inner.into_iter().flat_map(|inner| inner.split(',')) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(malformed(&format!("`{}` is not of the form `knob=value`", pair.trim())));
            };
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() {
                return Err(malformed(&format!("`{}` has no knob name", pair.trim())));
            }
            let Some(parsed) = KnobValue::parse(value) else {
                return Err(malformed(&format!("`{value}` is neither a whole number nor a word")));
            };
            if knobs.insert(name.to_owned(), parsed).is_some() {
                return Err(malformed(&format!("duplicate knob `{name}`")));
            }
        }
        Ok(Self { id: id.to_owned(), knobs })
    }
}

impl fmt::Display for FunctionCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        for (index, (name, value)) in self.knobs.iter().enumerate() {
            write!(f, "{}{name}={value}", if index == 0 { '{' } else { ',' })?;
        }
        if self.knobs.is_empty() { Ok(()) } else { f.write_str("}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        FunctionCall::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn an_id_without_braces_has_no_knobs() {
        let call = FunctionCall::parse("rate-limit/local").unwrap();
        assert_eq!(call, FunctionCall { id: "rate-limit/local".into(), knobs: BTreeMap::new() });
    }

    #[test]
    fn knobs_are_integers_or_words() {
        let call = FunctionCall::parse("x { a = 200 , b=per-try }").unwrap();
        assert_eq!(call.id, "x");
        assert_eq!(call.knobs["a"], KnobValue::Integer(200));
        assert_eq!(call.knobs["b"], KnobValue::Word("per-try".into()));
    }

    #[test]
    fn printed_calls_are_parsed_back() {
        for text in ["rbac", "route/path{routes=200}", "x{a=1,b=two}"] {
            assert_eq!(FunctionCall::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn spellings_of_one_call_are_one_call() {
        let call = FunctionCall::parse("x{a=5,b=two}").unwrap();
        for text in ["x{a=5,b=two }", " x { b=two , a = 05 } "] {
            assert_eq!(FunctionCall::parse(text).unwrap(), call);
            assert_eq!(FunctionCall::parse(text).unwrap().to_string(), call.to_string());
        }
    }

    #[test]
    fn malformed_calls_report_the_problem() {
        let calls =
            ["", "{routes=1}", "a{routes=1", "a}", "a{routes=1}b", "a{}", "a{routes}", "a{=1}", "a{b=}"];
        let more = ["a{b=-1,b=2}", "a{b=1 2}"];
        let errors: Vec<String> = calls.into_iter().chain(more).map(error).collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
