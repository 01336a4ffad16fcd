//! Stacks in the folded format of flame graphs: a line for each stack, its frames from the outermost to the innermost, and its CPU time.

use std::collections::BTreeMap;

use crate::profile::script::Sample;

/// Stacks with their CPU time, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded(BTreeMap<String, u64>);

impl Folded {
    /// The stacks of samples.
    pub fn new(samples: &[Sample]) -> Self {
        let mut stacks = Self::default();
        for sample in samples {
            let frames = sample.frames.iter().rev().map(|frame| frame.symbol.replace(';', ":"));
            stacks.add(frames.collect::<Vec<_>>().join(";"), sample.cpu_ns);
        }
        stacks
    }

    /// Reads stacks, one per line. Lines of another form are skipped.
    pub fn read(text: &str) -> Self {
        let mut stacks = Self::default();
        let line = |line: &str| {
            let (stack, cpu_ns) = line.rsplit_once(' ')?;
            Some((stack.to_owned(), cpu_ns.parse().ok()?))
        };
        text.lines().filter_map(line).for_each(|(stack, cpu_ns)| stacks.add(stack, cpu_ns));
        stacks
    }

    /// Adds the stacks of another round.
    pub fn join(&mut self, other: Self) {
        other.0.into_iter().for_each(|(stack, cpu_ns)| self.add(stack, cpu_ns));
    }

    /// The stacks, one per line.
    pub fn text(&self) -> String {
        self.0.iter().map(|(stack, cpu_ns)| format!("{stack} {cpu_ns}\n")).collect()
    }

    /// CPU time of all stacks, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.0.values().fold(0, |sum, cpu_ns| sum.saturating_add(*cpu_ns))
    }

    /// Each stack, its frames from the outermost to the innermost with `;` between them, and its CPU time, nanoseconds.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(stack, cpu_ns)| (stack.as_str(), *cpu_ns))
    }

    /// The stacks as lines to draw.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(stack, cpu_ns)| format!("{} {}", drawable(stack), cpu_ns.min(&LONGEST_NS)))
    }

    /// Each stack with its CPU time here and in `other`: the format of differential flame graphs.
    pub(crate) fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = String> {
        let time_ns = |stacks: &Self, stack: &str| stacks.0.get(stack).copied().unwrap_or(0);
        let all: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let drawn = move |stacks: &Self, stack: &str| time_ns(stacks, stack).min(LONGEST_NS);
        all.into_iter()
            .map(move |stack| format!("{} {} {}", drawable(stack), drawn(other, stack), drawn(self, stack)))
    }

    fn add(&mut self, stack: String, cpu_ns: u64) {
        let sum = self.0.entry(stack).or_default();
        *sum = sum.saturating_add(cpu_ns);
    }
}

/// Longest CPU time of a stack that is drawn, nanoseconds: 104 days. The drawing multiplies it by shades of colour.
const LONGEST_NS: u64 = 1 << 53;

/// A stack whose last word is not taken for a CPU time before the real one.
fn drawable(stack: &str) -> String {
    // The drawing trims lines.
    let stack = stack.trim_end();
    match stack.rsplit_once(char::is_whitespace) {
        Some((start, last)) if last.parse::<f64>().is_ok() => format!("{start}_{last}"),
        _ => stack.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::profile::script::Frame;

    #[test]
    fn a_sum_that_is_too_large_for_its_counter_is_cut() {
        let half = format!("a {0}\na {0}\nb 5\n", u64::MAX / 2 + 1);
        let stacks = Folded::read(&half);
        assert_eq!((stacks.text().as_str(), stacks.cpu_ns()), ("a 18446744073709551615\nb 5\n", u64::MAX));
    }

    #[test]
    fn a_frame_that_ends_in_a_number_is_not_drawn_as_a_cpu_time() {
        let stacks = Folded::read("main;page 7 5\nmain 18446744073709551615\n");
        let lines: Vec<String> = stacks.lines().collect();
        assert_eq!(lines, ["main 9007199254740992", "main;page_7 5"]);
        let lines: Vec<String> = stacks.differences(&Folded::default()).collect();
        assert_eq!(lines, ["main 0 9007199254740992", "main;page_7 0 5"]);
        // The input with which the drawing overflowed.
        let text = "8 11  811111111111111111 8\n<  111111111111 8\n1  8";
        assert!(crate::profile::flame::graph("overflow", &Folded::read(text)).is_ok());
        // A space behind such a frame, or another white space before it, does not hide it.
        let stacks = Folded::read("x 4666666666666666668  1\nx\u{3000}4666666666666666668 1\n");
        let lines: Vec<String> = stacks.lines().collect();
        assert_eq!(lines, ["x_4666666666666666668 1", "x_4666666666666666668 1"]);
        assert!(crate::profile::flame::graph("overflow", &stacks).is_ok());
    }

    proptest! {
        #[test]
        fn stacks_survive_text_and_keep_their_cpu_time(
            stacks in prop::collection::vec((prop::collection::vec("[a-c;: ()<>,]{1,12}", 1..4), 1_u64..1000), 0..20),
        ) {
            let frame = |symbol: &String| Frame { symbol: symbol.clone(), object: "/opt/envoy".to_owned() };
            let sample = |(frames, cpu_ns): &(Vec<String>, u64)| {
                Sample { cpu_ns: *cpu_ns, frames: frames.iter().map(frame).collect() }
            };
            let samples: Vec<Sample> = stacks.iter().map(sample).collect();
            let folded = Folded::new(&samples);
            prop_assert_eq!(folded.cpu_ns(), samples.iter().map(|sample| sample.cpu_ns).sum::<u64>());
            let mut read = Folded::read(&folded.text());
            prop_assert_eq!(&read, &folded);
            read.join(folded.clone());
            prop_assert_eq!(read.cpu_ns(), 2 * folded.cpu_ns());
        }
    }
}
