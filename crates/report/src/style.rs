//! The style of text on a terminal: its width and its colours.

/// The style of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: u16,
    /// Whether colour is used.
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

    /// The text on one line of the terminal, cut at its end.
    pub(crate) fn cut(self, text: &str) -> String {
        let width = usize::from(self.width);
        if text.chars().count() <= width {
            return text.to_owned();
        }
        let kept: String = text.chars().take(width.saturating_sub(3)).collect();
        format!("{}...", kept.trim_end())
    }

    /// Wraps text to the terminal's width, with lines after the first indented by `indent`.
    pub(crate) fn wrap(self, text: &str, indent: usize) -> String {
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let line = lines.last().map_or("", String::as_str);
            let is_start = line.trim().is_empty();
            if !is_start && line.chars().count() + 1 + word.chars().count() > usize::from(self.width) {
                lines.push(format!("{}{word}", " ".repeat(indent)));
            } else if let Some(line) = lines.last_mut() {
                if !is_start || !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
        }
        lines.join("\n")
    }
}
