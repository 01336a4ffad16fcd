//! The lines of one run in a text. A number is that of a line which begins with its name, so it is never taken from a neighbour, and a
//! text with a second run is refused.

use crate::document::several;
use crate::text::number;

/// The lines of the only run in a text.
pub(crate) struct Run<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Run<'a> {
    /// The run in a text. Lines with one of `marks` are in each run once, and the one with the first is above all others. A mark that
    /// begins with a space may be anywhere in its line.
    ///
    /// # Errors
    /// The reason, if the text has several runs, or parts of them.
    pub(crate) fn only(text: &'a str, marks: &[&str]) -> Result<Self, String> {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let is_marked = |line: &str, mark: &str| {
            if mark.starts_with(' ') { line.contains(mark) } else { line.starts_with(mark) }
        };
        let of = |mark: &&str| -> Vec<usize> {
            let numbered = lines.iter().enumerate().filter(|(_, line)| is_marked(line, mark));
            numbered.map(|(index, _)| index + 1).collect()
        };
        let all: Vec<Vec<usize>> = marks.iter().map(of).collect();
        // The first mark that is there twice is closest to the beginning of a run.
        if let Some(numbers) = all.iter().find(|numbers| numbers.len() > 1) {
            return Err(several("runs", numbers));
        }
        let (first, others) = (all.first().and_then(|numbers| numbers.first()), all.iter().skip(1).flatten());
        match (first, others.min()) {
            (Some(first), Some(other)) if other < first => Err(several("runs", &[*other, *first])),
            _ => Ok(Self { lines }),
        }
    }

    /// What follows `name` in the line that begins with it.
    pub(crate) fn after(&self, name: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.strip_prefix(name)).map(str::trim)
    }

    /// The number in the line that begins with `name`, which must follow at once: `name 12.5 unit`.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        number(self.after(name)?)
    }

    /// The number in the line that begins with `name`, as a count.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.number(name).filter(|count| *count >= 0.0).map(|count| count as u64)
    }

    /// The first line for which this is something.
    pub(crate) fn find<T>(&self, of: impl FnMut(&'a str) -> Option<T>) -> Option<T> {
        self.lines.iter().copied().find_map(of)
    }

    /// All lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().copied()
    }

    /// The lines below the one that begins with `title`, up to an empty line.
    pub(crate) fn below(&self, title: &str) -> impl Iterator<Item = &'a str> {
        let behind = self.lines.iter().copied().skip_while(move |line| !line.starts_with(title));
        behind.skip(1).take_while(|line| !line.is_empty())
    }
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
    fn a_text_with_two_runs_is_refused_with_their_lines() {
        let text = format!("{TEXT}{TEXT}");
        let error = Run::only(&text, &["$ tool", "Rate:"]).err().unwrap();
        assert!(error.starts_with("it has 2 runs, which begin in lines 1 and 10: keep one"), "{error}");
        // The first run lacks what the second has.
        let cut = format!("Rate: 1\n{}", TEXT.replace("$ tool\n", ""));
        assert!(Run::only(&cut, &["$ tool", "Rate:"]).err().unwrap().contains("lines 1 and 2"));
        // The first lacks its beginning, and the second its end.
        let error = Run::only("5 failed\n$ tool\n", &["$ tool", " failed"]).err().unwrap();
        assert!(error.contains("lines 1 and 2"), "{error}");
    }
}
