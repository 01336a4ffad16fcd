//! The style of text on a terminal: its width and its colours.

use hoptax_text::controls::written_out;

/// The style of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: u16,
    /// True if colour is used.
    pub colour: bool,
}

/// The colours in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
}

impl Style {
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Bold => 1,
            Paint::Dim => 2,
            Paint::Green => 32,
            Paint::Yellow => 33,
            Paint::Red => 31,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    pub(crate) fn of_verdict(verdict: hoptax_result::Verdict) -> Paint {
        match verdict {
            hoptax_result::Verdict::Sound => Paint::Green,
            hoptax_result::Verdict::Caution => Paint::Yellow,
            hoptax_result::Verdict::Void => Paint::Red,
        }
    }

    pub(crate) fn of_severity(severity: hoptax_result::Severity) -> Paint {
        match severity {
            hoptax_result::Severity::Info => Paint::Dim,
            hoptax_result::Severity::Warn => Paint::Yellow,
            hoptax_result::Severity::Fail => Paint::Red,
        }
    }

    /// Wraps the long lines of a text such as a list, and removes text that would control the terminal. Continuation lines are indented to
    /// its last column, which begins after the last gap of at least two spaces in the first half of the line, or otherwise by the line's
    /// own indent.
    pub fn wrap_lines(self, text: &str) -> String {
        let width = usize::from(self.width);
        let mut wrapped = String::new();
        for line in written_out(text).lines() {
            let mut length = 0;
            let indent = indent_of_rest(line, width / 2);
            for (place, word) in line.split(' ').enumerate() {
                let own = word.chars().count();
                if place > 0 && length > indent && own > 0 && length + 1 + own > width {
                    let kept = wrapped.trim_end_matches(' ').len();
                    wrapped.truncate(kept);
                    wrapped += &format!("\n{}{word}", " ".repeat(indent));
                    length = indent + own;
                } else {
                    if place > 0 {
                        wrapped.push(' ');
                        length += 1;
                    }
                    wrapped += word;
                    length += own;
                }
            }
            wrapped.push('\n');
        }
        wrapped
    }

    /// The text on one line of the terminal, truncated, without text that would control the terminal.
    pub(crate) fn cut(self, text: &str) -> String {
        let (text, width) = (written_out(text), usize::from(self.width));
        if text.chars().count() <= width {
            return text;
        }
        let kept: String = text.chars().take(width.saturating_sub(3)).collect();
        format!("{}...", kept.trim_end())
    }

    /// Wraps text to the terminal's width, with lines after the first indented by `indent`. Keeps a number on one line with its half-width
    /// and its unit. Removes text that would control the terminal.
    pub(crate) fn wrap(self, text: &str, indent: usize) -> String {
        let mut lines = vec![String::new()];
        for word in unbroken(&written_out(text)) {
            let line = lines.last().map_or("", String::as_str);
            let is_start = line.trim().is_empty();
            if !is_start && line.chars().count() + 1 + word.chars().count() > usize::from(self.width) {
                lines.push(format!("{}{word}", " ".repeat(indent)));
            } else if let Some(line) = lines.last_mut() {
                if !is_start || !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&word);
            }
        }
        lines.join("\n")
    }
}

/// The words of a text, with a number, its half-width and its unit as one word.
fn unbroken(text: &str) -> Vec<String> {
    const UNITS: [&str; 9] = ["%", "ns", "us", "ms", "s", "min", "kB", "MiB", "GiB"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
        match words.last_mut() {
            Some(number)
                if number.ends_with(|last: char| last.is_ascii_digit())
                    && (word.starts_with('±') || UNITS.contains(&bare)) =>
            {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// The indent of continuation lines, at most `most`.
fn indent_of_rest(line: &str, most: usize) -> usize {
    let own = line.chars().take_while(|character| *character == ' ').count();
    let (mut indent, mut spaces) = (own, 0);
    for (place, character) in line.chars().enumerate().skip(own).take_while(|(place, _)| *place <= most) {
        if character != ' ' && spaces > 1 {
            indent = place;
        }
        spaces = if character == ' ' { spaces + 1 } else { 0 };
    }
    if indent == own { (own + 2).min(most) } else { indent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_beside_its_half_width_and_its_unit() {
        let wrapped = |text: &str, width| Style { width, colour: false }.wrap(text, 0);
        for width in 14..40 {
            let text = wrapped("it adds +12.2 ±0.4 %, 8.2 ±1.1 us (43 MiB) to 3 arms", width);
            for whole in ["+12.2 ±0.4 %,", "8.2 ±1.1 us", "(43 MiB)"] {
                assert!(text.contains(whole), "{width}: {text}");
            }
        }
        assert_eq!(wrapped("a us", 2), "a\nus", "a unit without a number is a word");
    }

    #[test]
    fn long_lines_of_a_list_are_wrapped_below_their_last_column() {
        let style = Style { width: 30, colour: false };
        let text =
            "quick\n  jwt     verifies a token of a user\n  a line without columns that is long\n\nend";
        assert_eq!(
            style.wrap_lines(text),
            "quick\n  jwt     verifies a token of\n          a user\n  a line without columns that\n    is long\n\nend\n"
        );
        let word = "x".repeat(50);
        assert_eq!(style.wrap_lines(&word), format!("{word}\n"), "a word is never broken");
    }
}
