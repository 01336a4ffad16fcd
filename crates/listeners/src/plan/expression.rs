//! Regular expressions in the file, which Envoy parses as RE2. Refuses constructs that RE2 does not support, naming each.

use regex_syntax::ast::{self, Ast, ClassSetItem, Flag, FlagsItemKind, HexLiteralKind, LiteralKind, Visitor};

/// Envoy's default maximum size of a compiled expression, instructions.
const LARGEST: u64 = 100;

/// Instructions to match any character, which has up to four bytes.
const OF_ANY: u64 = 12;

/// Checks an expression.
///
/// # Errors
/// The part of it that RE2 does not accept.
pub(super) fn check(text: &str) -> Result<(), String> {
    let tree = ast::parse::Parser::new().parse(text).map_err(|error| {
        let column = error.span().start.column;
        format!("is not a regular expression: {} at character {column}", error.kind())
    })?;
    // The translation below looks up Unicode classes.
    ast::visit(&tree, Re2)?;
    let size = size(&tree).saturating_add(4);
    if size > LARGEST {
        return Err(format!(
            "is too large for Envoy: about {size} instructions, more than {LARGEST}; write fewer repetitions or classes"
        ));
    }
    regex_syntax::parse(text).map(|_| ()).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("is not a regular expression: {why}")
    })
}

/// Finds constructs that this parser supports and RE2 does not.
struct Re2;

/// An upper estimate of RE2's instructions for a node. The parser limits the nesting depth.
fn size(node: &Ast) -> u64 {
    match node {
        Ast::Literal(one) => one.c.len_utf8() as u64,
        Ast::Dot(_) => OF_ANY,
        Ast::ClassPerl(_) => 2 * OF_ANY,
        Ast::ClassUnicode(_) => LARGEST,
        Ast::ClassBracketed(class) => {
            let negated = if class.negated { OF_ANY } else { 0 };
            2 * (class.span.end.offset - class.span.start.offset) as u64 + negated
        }
        Ast::Repetition(repetition) => {
            let one = size(&repetition.ast).saturating_add(1);
            match repetition.op.kind {
                ast::RepetitionKind::Range(
                    ast::RepetitionRange::Exactly(most)
                    | ast::RepetitionRange::AtLeast(most)
                    | ast::RepetitionRange::Bounded(_, most),
                ) => one.saturating_mul(u64::from(most).max(1)),
                _ => one,
            }
        }
        Ast::Group(group) => size(&group.ast).saturating_add(2),
        Ast::Alternation(all) => {
            all.asts.iter().fold(0, |sum, one| size(one).saturating_add(1).saturating_add(sum))
        }
        Ast::Concat(all) => all.asts.iter().fold(0, |sum, one| size(one).saturating_add(sum)),
        Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => 1,
    }
}

fn refused(what: &str) -> Result<(), String> {
    Err(format!("is not a regular expression for Envoy, because its RE2 has no {what}"))
}

fn literal(literal: &ast::Literal) -> Result<(), String> {
    match literal.kind {
        LiteralKind::HexFixed(HexLiteralKind::UnicodeShort | HexLiteralKind::UnicodeLong)
        | LiteralKind::HexBrace(HexLiteralKind::UnicodeShort | HexLiteralKind::UnicodeLong) => {
            refused("`\\u`; write `\\x{…}`")
        }
        _ => Ok(()),
    }
}

/// RE2 supports general categories with one or two letters, and few other classes.
fn unicode(class: &ast::ClassUnicode) -> Result<(), String> {
    match &class.kind {
        ast::ClassUnicodeKind::OneLetter(_) => Ok(()),
        ast::ClassUnicodeKind::Named(name) if name.len() <= 2 => Ok(()),
        _ => refused("Unicode classes with such names; write one or two letters, as in `\\p{Lu}`"),
    }
}

fn flags(flags: &ast::Flags) -> Result<(), String> {
    let unknown = flags.items.iter().find(|item| {
        !matches!(
            item.kind,
            FlagsItemKind::Negation
                | FlagsItemKind::Flag(
                    Flag::CaseInsensitive | Flag::MultiLine | Flag::DotMatchesNewLine | Flag::SwapGreed
                )
        )
    });
    unknown.map_or(Ok(()), |_| refused("flags other than `i`, `m`, `s` and `U`"))
}

impl Visitor for Re2 {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, node: &Ast) -> Result<(), String> {
        match node {
            Ast::Literal(one) => literal(one),
            Ast::ClassUnicode(class) => unicode(class),
            Ast::Flags(set) => flags(&set.flags),
            Ast::Group(group) => match &group.kind {
                ast::GroupKind::NonCapturing(own) => flags(own),
                _ => Ok(()),
            },
            Ast::Assertion(assertion) => match assertion.kind {
                ast::AssertionKind::StartLine
                | ast::AssertionKind::EndLine
                | ast::AssertionKind::StartText
                | ast::AssertionKind::EndText
                | ast::AssertionKind::WordBoundary
                | ast::AssertionKind::NotWordBoundary => Ok(()),
                _ => refused("boundaries other than `^`, `$`, `\\A`, `\\z`, `\\b` and `\\B`"),
            },
            Ast::Repetition(repetition) if matches!(*repetition.ast, Ast::Repetition(_)) => {
                refused("repetition of a repetition; put the inner one into a group")
            }
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), String> {
        match item {
            ClassSetItem::Literal(one) => literal(one),
            ClassSetItem::Range(range) => literal(&range.start).and_then(|()| literal(&range.end)),
            ClassSetItem::Unicode(class) => unicode(class),
            ClassSetItem::Bracketed(_) => refused("class inside a class"),
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ast::ClassSetBinaryOp) -> Result<(), String> {
        refused("`&&`, `--` or `~~` in a class")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_re2_does_not_know_is_refused() {
        for sound in [
            "a",
            "a{40}",
            "(?i)a.*",
            "(?:a|b){2,5}",
            r"\.example\.org",
            r"[a-z\x{41}]",
            r"(?P<n>a)",
            r"\bq\B",
            "[[:alpha:]]",
            "^a$",
        ] {
            assert_eq!(check(sound), Ok(()), "{sound}");
        }
        for wrong in [
            "a{1001}",
            "a{5,2000}",
            "a{1001,}",
            "(a{40}){40}",
            "(?x)a",
            "(?x:a)",
            r"\u0041",
            r"[\u0041]",
            r"\U00000041",
            "(?R)a",
            "(?R)",
            "(?u)a",
            "a(b",
            r"\b{start}a",
            r"\<a",
            r"\p{Alphabetic}",
            "a**",
            "[a-z&&[b]]",
            "[a[b]]",
            r"(a)\1",
            "(?=a)",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
