//! Regular expressions of the file, which Envoy reads as RE2: what RE2 does not know is refused here, with what it is.

use regex_syntax::ast::{self, Ast, ClassSetItem, Flag, FlagsItemKind, HexLiteralKind, LiteralKind, Visitor};

/// The most repetitions that RE2 admits, those of nested repetitions multiplied.
const MOST_REPETITIONS: u32 = 1000;

/// Checks an expression.
///
/// # Errors
/// What RE2 does not admit in it.
pub(super) fn check(text: &str) -> Result<(), String> {
    let tree = ast::parse::Parser::new().parse(text).map_err(|error| {
        let column = error.span().start.column;
        format!("is no regular expression: {} at character {column} of it", error.kind())
    })?;
    // The second step looks up the classes of Unicode.
    ast::visit(&tree, Re2 { repetitions: Vec::new() })?;
    regex_syntax::parse(text).map(|_| ()).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("is no regular expression: {why}")
    })
}

/// Looks for what this parser knows and RE2 does not.
struct Re2 {
    /// The repetitions that the current node is inside of.
    repetitions: Vec<u32>,
}

fn refused(what: &str) -> Result<(), String> {
    Err(format!("is no regular expression for Envoy, whose RE2 has no {what}"))
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

/// RE2 knows general categories by one or two letters, and few other classes.
fn unicode(class: &ast::ClassUnicode) -> Result<(), String> {
    match &class.kind {
        ast::ClassUnicodeKind::OneLetter(_) => Ok(()),
        ast::ClassUnicodeKind::Named(name) if name.len() <= 2 => Ok(()),
        _ => refused("classes of Unicode by such names; write one or two letters, as in `\\p{Lu}`"),
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
    unknown.map_or(Ok(()), |_| refused("flags but `i`, `m`, `s` and `U`"))
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
                _ => refused("boundaries but `^`, `$`, `\\A`, `\\z`, `\\b` and `\\B`"),
            },
            Ast::Repetition(repetition) => {
                let most = match &repetition.op.kind {
                    ast::RepetitionKind::Range(
                        ast::RepetitionRange::Exactly(most)
                        | ast::RepetitionRange::AtLeast(most)
                        | ast::RepetitionRange::Bounded(_, most),
                    ) => (*most).max(1),
                    _ => 1,
                };
                if matches!(*repetition.ast, Ast::Repetition(_)) {
                    return refused("repetition of a repetition; put the inner one into a group");
                }
                self.repetitions.push(most);
                let all = self.repetitions.iter().fold(1_u32, |all, one| all.saturating_mul(*one));
                if all > MOST_REPETITIONS {
                    return Err(format!(
                        "is no regular expression for Envoy: its repetitions come to {all}, and RE2 admits {MOST_REPETITIONS}"
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn visit_post(&mut self, node: &Ast) -> Result<(), String> {
        if matches!(node, Ast::Repetition(_)) {
            self.repetitions.pop();
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), String> {
        match item {
            ClassSetItem::Literal(one) => literal(one),
            ClassSetItem::Range(range) => literal(&range.start).and_then(|()| literal(&range.end)),
            ClassSetItem::Unicode(class) => unicode(class),
            ClassSetItem::Bracketed(_) => refused("class inside of a class"),
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
            "a{1000}",
            "(?i)a.*",
            "(?:a|b){2,5}",
            r"\.example\.org",
            r"[a-z\x{41}]",
            r"(?P<n>a)",
            r"\bq\B",
            r"\pL",
            r"[\p{Lu}]",
            "(a{10}){100}",
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
