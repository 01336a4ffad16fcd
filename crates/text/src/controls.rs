//! Characters that command a terminal, or reverse what follows: texts of strangers may have them, and outputs write them out.

/// A text with those characters escaped that move the cursor of a terminal, change its state, or reverse what follows.
pub fn written_out(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\n' | '\t') || !is_command(c) {
            all.push(c);
        } else {
            all.extend(c.escape_default());
        }
    }
    all
}

/// True for a control character, a mark of the direction of text, and a separator of lines (Unicode Standard Annex 9, section 2).
pub(crate) fn is_command(c: char) -> bool {
    let is_directional =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_directional
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_command_a_terminal() {
        assert_eq!(
            written_out("line 1: `GET\u{1b}[2J\r\u{9b}1m \u{202e}x\u{2066}y`"),
            "line 1: `GET\\u{1b}[2J\\r\\u{9b}1m \\u{202e}x\\u{2066}y`"
        );
        let plain = "two lines\nof `GET /ü/\\n`: ≥ 1 µs";
        assert_eq!(written_out(plain), plain);
    }
}
