//! Masks secrets in regular expressions: their literal letters.

use std::ops::Range;

use regex_syntax::ast::Ast;
use regex_syntax::ast::parse::Parser;

use super::masks::Masks;

/// Minimum number of letters in a masked run. Shorter runs are separators.
const FEWEST: usize = 4;

impl Masks {
    /// A regular expression of the same form with other letters: each run of literal letters is masked, and classes and repetitions remain.
    /// An expression that cannot be parsed is masked as a whole.
    pub(super) fn expression(&mut self, expression: &str) -> String {
        let Ok(parsed) = Parser::new().parse(expression) else { return self.value(expression) };
        let mut runs = Vec::new();
        add_runs(&parsed, &mut runs);
        let (mut masked, mut rest) = (String::new(), 0);
        for Run { range, letters } in runs.into_iter().filter(|run| run.letters.chars().count() >= FEWEST) {
            masked += expression.get(rest..range.start).unwrap_or_default();
            masked += &self.value(&letters);
            rest = range.end;
        }
        masked + expression.get(rest..).unwrap_or_default()
    }
}

/// A sequence of literal letters.
struct Run {
    /// Their bytes in the expression.
    range: Range<usize>,
    /// The letters, without escapes.
    letters: String,
}

/// Adds the runs of a part of an expression.
fn add_runs(part: &Ast, runs: &mut Vec<Run>) {
    match part {
        Ast::Literal(literal) => {
            let (start, end) = (literal.span.start.offset, literal.span.end.offset);
            match runs.last_mut().filter(|run| run.range.end == start) {
                Some(Run { range, letters }) => {
                    range.end = end;
                    letters.push(literal.c);
                }
                None => runs.push(Run { range: start..end, letters: literal.c.to_string() }),
            }
        }
        Ast::Repetition(repetition) => add_runs(&repetition.ast, runs),
        Ast::Group(group) => add_runs(&group.ast, runs),
        Ast::Alternation(alternation) => alternation.asts.iter().for_each(|part| add_runs(part, runs)),
        Ast::Concat(concatenation) => concatenation.asts.iter().for_each(|part| add_runs(part, runs)),
        Ast::Empty(_)
        | Ast::Flags(_)
        | Ast::Dot(_)
        | Ast::Assertion(_)
        | Ast::ClassUnicode(_)
        | Ast::ClassPerl(_)
        | Ast::ClassBracketed(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matcher::of_regex;

    #[test]
    fn literal_letters_are_masked_and_the_rest_stays() {
        for (expression, masked) in [
            ("Bearer s3cr3tw0rd", "Bearer xxxxxxxxxx"),
            ("^key-[0-9]{8}-hunter22$", "^xxxx[0-9]{8}xxxxxxxxx$"),
            (r"(?i:s3cr\.3t|0ther+)[a-z]*", "(?i:xxxxxxx|xxxxx+)[a-z]*"),
            (r"\d+-a", r"\d+-a"),
            ("s3cr3t(", "xxxxxxx"),
        ] {
            assert_eq!(Masks::default().expression(expression), masked);
        }
    }

    proptest! {
        #[test]
        fn no_run_of_letters_is_left_and_a_text_still_matches(
            parts in prop::collection::vec("[a-w]{4,9}|\\[a-c\\]\\{2\\}|(?:[a-w]{5}\\|[a-w]{6})|\\.|[a-w]\\+", 1..6),
        ) {
            let expression: String = parts.concat();
            let masked = Masks::default().expression(&expression);
            prop_assert!(of_regex(&masked).is_some(), "{} {}", expression, masked);
            let words = masked.split(|letter: char| !letter.is_ascii_lowercase());
            for word in words.filter(|word| word.len() >= FEWEST) {
                prop_assert!(word.bytes().all(|letter| letter == b'x'), "{} {}", expression, masked);
            }
        }
    }
}
