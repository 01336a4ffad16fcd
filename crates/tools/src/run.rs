//! The lines of one run in a text. Each number is read from a line that begins with its name, so it is never taken from a neighbouring
//! line. A text with a second run is refused.

use crate::text::{count, number, several};

/// Start of a terminal colour code.
const ESCAPE: char = '\u{1b}';
/// Minimum share of lines that begin with a time for a text to be considered a log.
const MOST_LINES: f64 = 0.9;

/// The lines of the only run in a text.
pub(crate) struct Run<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Run<'a> {
    /// Reads the run in a text. Each run has exactly one line for each of `marks`, and the line with the first mark precedes all others. A
    /// mark that begins with a space may be anywhere in its line.
    ///
    /// # Errors
    /// The reason, if the text has several runs or parts of them, or if its lines have a prefix, which would hide them.
    pub(crate) fn only(text: &'a str, marks: &[&str]) -> Result<Self, String> {
        if text.contains(ESCAPE) {
            return Err(COLOURED.to_owned());
        }
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let is_marked = |line: &str, mark: &str| {
            if mark.starts_with(' ') { line.contains(mark) } else { line.starts_with(mark) }
        };
        let of = |mark: &&str| -> Vec<usize> {
            let numbered = lines.iter().enumerate().filter(|(_, line)| is_marked(line, mark));
            numbered.map(|(index, _)| index + 1).collect()
        };
        let all: Vec<Vec<usize>> = marks.iter().map(of).collect();
        // The first repeated mark is closest to the beginning of a run.
        if let Some(numbers) = all.iter().find(|numbers| numbers.len() > 1) {
            return Err(several("runs", numbers));
        }
        let shifted: Vec<&str> = marks.iter().filter_map(|mark| before(&lines, mark)).collect();
        if let Some(prefix) = shifted.first().filter(|_| shifted.len() > 1) {
            return Err(prefixed(prefix));
        }
        let (first, others) = (all.first().and_then(|numbers| numbers.first()), all.iter().skip(1).flatten());
        match (first, others.min()) {
            (Some(first), Some(other)) if other < first => Err(several("runs", &[*other, *first])),
            _ => Ok(Self { lines }),
        }
    }

    /// Returns the rest of the line that begins with `name`.
    pub(crate) fn after(&self, name: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.strip_prefix(name)).map(str::trim)
    }

    /// The number of the line that begins with `name`, and the rest of that line.
    pub(crate) fn numbered(&self, name: &str) -> Option<(usize, &'a str)> {
        (1..).zip(&self.lines).find_map(|(number, line)| Some((number, line.strip_prefix(name)?.trim())))
    }

    /// The number in the line that begins with `name`, directly after the name: `name 12.5 unit`.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        number(self.after(name)?)
    }

    /// The count in the line that begins with `name`. None if there is no such line, or if its count is unreadable.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        count(self.after(name)?)
    }

    /// The count in a line that a tool prints only if the count is above 0, and otherwise 0. None if the line exists and its count is
    /// unreadable.
    pub(crate) fn count_if_any(&self, name: &str) -> Option<u64> {
        self.after(name).map_or(Some(0), count)
    }

    /// Returns the value that `of` reads from the line that begins with `name`.
    ///
    /// # Errors
    /// A message that the line is missing and where it usually is, from `where_it_is`, or that quotes the unreadable text.
    pub(crate) fn needed<T>(
        &self,
        name: &str,
        of: fn(&str) -> Option<T>,
        where_it_is: &str,
    ) -> Result<T, String> {
        let found = self.after(name).ok_or_else(|| format!("`{name}` is missing; {where_it_is}"))?;
        of(found).ok_or_else(|| {
            format!("`{name}` has `{found}`, which cannot be read as a number; hoptax reads numbers without separators between thousands")
        })
    }

    /// The first result of `of` that is not none, over all lines.
    pub(crate) fn find<T>(&self, of: impl FnMut(&'a str) -> Option<T>) -> Option<T> {
        self.lines.iter().copied().find_map(of)
    }

    /// All lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().copied()
    }

    /// The lines after the one that begins with `title`.
    pub(crate) fn behind(&self, title: &str) -> impl Iterator<Item = &'a str> {
        self.lines.iter().copied().skip_while(move |line| !line.starts_with(title)).skip(1)
    }

    /// The lines after the one that begins with `title`, up to an empty line.
    pub(crate) fn below(&self, title: &str) -> impl Iterator<Item = &'a str> {
        self.behind(title).take_while(|line| !line.is_empty())
    }
}

const COLOURED: &str = "it contains colour codes of a terminal: remove them, for example with `sed 's/\\x1b\\[[0-9;]*[A-Za-z]//g'`";

fn prefixed(prefix: &str) -> String {
    format!("its lines begin with other text, such as `{}`, as in a log: remove that", prefix.trim_end())
}

/// Returns the text before a mark in the first line that contains it; None if a line begins with the mark.
fn before<'a>(lines: &[&'a str], mark: &str) -> Option<&'a str> {
    if mark.starts_with(' ') || lines.iter().any(|line| line.starts_with(mark)) {
        return None;
    }
    lines.iter().find_map(|line| {
        let (prefix, _) = line.split_once(mark)?;
        Some(prefix).filter(|prefix| prefix.ends_with(char::is_whitespace))
    })
}

/// Returns what makes the lines of a text unreadable: colour codes, or log times.
pub(crate) fn obstacle(text: &str) -> Option<String> {
    if text.contains(ESCAPE) {
        return Some(COLOURED.to_owned());
    }
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first = |line: &'_ &str| line.split_whitespace().next().is_some_and(is_time);
    let with_time = lines.iter().filter(|line| first(line)).count();
    let is_log = lines.len() > 1 && with_time as f64 >= MOST_LINES * lines.len() as f64;
    let word = lines.iter().find(|line| first(line)).and_then(|line| line.split_whitespace().next());
    word.filter(|_| is_log).map(prefixed)
}

/// Returns true if a word is a date or a time of day: `[2026-01-02T03:04:05Z]`, `2026/01/02`, `03:04:05.678`.
fn is_time(word: &str) -> bool {
    let word = word.trim_start_matches(['[', '(']);
    let is_of_digits = |part: &&str| part.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    word.split(['-', '/', ':']).take_while(is_of_digits).count() > 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "$ tool\n  Rate:  12.5/s, 3 failed\nTotal rate: 9\n\nStatus:\n  [200] 5\n  [503] 1\n\n  [500] 7\n";

    #[test]
    fn a_number_is_that_of_the_line_that_begins_with_its_name() {
        let run = Run::only(TEXT, &["Rate:"]).unwrap();
        assert_eq!(
            (run.number("Rate:"), run.number("rate:"), run.count("Total rate:")),
            (Some(12.5), None, Some(9))
        );
        let below: Vec<&str> = run.below("Status:").collect();
        assert_eq!(below, ["[200] 5", "[503] 1"]);
        assert_eq!(run.below("Other:").count(), 0);
    }

    #[test]
    fn a_count_that_cannot_be_read_is_not_0() {
        let run = Run::only("Failed: 15,000\nDone: 5\nRate: 8.5\n", &[]).unwrap();
        assert_eq!((run.count_if_any("Failed:"), run.count_if_any("Done:")), (None, Some(5)));
        assert_eq!((run.count_if_any("Other:"), run.count("Rate:")), (Some(0), None));
        let problem = |name: &str| run.needed(name, count, "it is at the end").unwrap_err();
        assert!(problem("Failed:").starts_with("`Failed:` has `15,000`, which cannot be read as a number"));
        assert_eq!(problem("Other:"), "`Other:` is missing; it is at the end");
    }

    #[test]
    fn what_stands_before_lines_is_named() {
        let refused = |text: &str| Run::only(text, &["Rate:", "Status:"]).err();
        let prefixed: String = TEXT.lines().map(|line| format!("2026-01-02T03:04:05Z {line}\n")).collect();
        let problem = refused(&prefixed).unwrap();
        assert!(
            problem.starts_with("its lines begin with other text, such as `2026-01-02T03:04:05Z`"),
            "{problem}"
        );
        let container: String = TEXT.lines().map(|line| format!("tool-1  | {line}\n")).collect();
        assert!(refused(&container).unwrap().contains("such as `tool-1  |`"));
        assert!(refused(&TEXT.replace("3 failed", "\u{1b}[31m3 failed")).unwrap().contains("colour codes"));
        // A word of one line may be that of a script.
        assert_eq!(refused(&format!("{TEXT}the Rate: 5\n")), None);
        assert_eq!(refused("the Rate: 5\n"), None);
    }

    #[test]
    fn the_times_of_a_log_are_an_obstacle() {
        for time in ["2026-01-02T03:04:05Z", "[03:04:05.678]", "2026/01/02"] {
            let text = format!("{time} {{\n{time} \"a\": 1\n\n{time} }}\n");
            assert!(obstacle(&text).unwrap().contains(&format!("such as `{time}`")), "{time}");
        }
        assert!(obstacle("\u{1b}[0m{").unwrap().contains("colour codes"));
        for text in ["{\n}", "2026-01-02 {", "1-2 a\n3-4 b", ""] {
            assert_eq!(obstacle(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_with_two_runs_is_refused_with_their_lines() {
        let text = format!("{TEXT}{TEXT}");
        let error = Run::only(&text, &["$ tool", "Rate:"]).err().unwrap();
        assert!(error.starts_with("it has 2 runs, which begin in lines 1 and 10: keep one"), "{error}");
        // The first run lacks a line that the second has.
        let cut = format!("Rate: 1\n{}", TEXT.replace("$ tool\n", ""));
        assert!(Run::only(&cut, &["$ tool", "Rate:"]).err().unwrap().contains("lines 1 and 2"));
        // The first lacks its beginning, and the second its end.
        let error = Run::only("5 failed\n$ tool\n", &["$ tool", " failed"]).err().unwrap();
        assert!(error.contains("lines 1 and 2"), "{error}");
    }
}
