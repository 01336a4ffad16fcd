//! Recorded arrival times, read from a file.

use std::time::Duration;

use hoptax_host::clock::parse_duration;

/// Arrival times, relative to the start of their recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    name: String,
    /// Sorted, and not empty.
    offsets_ns: Vec<u64>,
}

/// Reason why a trace is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line is not a time.
    #[error(
        "trace `{name}`, line {line}: `{text}` is not a time; write one time since the start per line, such as `1.5ms`"
    )]
    Line {
        /// Name of the trace.
        name: String,
        /// Line number, from 1.
        line: usize,
        /// The invalid text.
        text: String,
    },
    /// Times are not sorted.
    #[error("trace `{name}`, line {line}: `{text}` is before the time above it; sort the trace")]
    Unsorted {
        /// Name of the trace.
        name: String,
        /// Line number, from 1.
        line: usize,
        /// The time.
        text: String,
    },
    /// There is no time.
    #[error("trace `{0}` is empty; write one time since the start per line, such as `1.5ms`")]
    Empty(String),
}

impl Trace {
    /// Parses a trace: one time since the start per line, as a duration with unit. `#` starts a comment.
    ///
    /// # Errors
    /// When a line is not a time, a time is before the one above it, or there is no time.
    pub fn parse(name: &str, text: &str) -> Result<Self, TraceError> {
        let mut offsets_ns = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let entry = line.split('#').next().unwrap_or_default().trim();
            if entry.is_empty() {
                continue;
            }
            let (name, line, text) = (name.to_owned(), index + 1, entry.to_owned());
            let offset = parse_duration(entry).and_then(|offset| u64::try_from(offset.as_nanos()).ok());
            match offset {
                None => return Err(TraceError::Line { name, line, text }),
                Some(offset_ns) if offsets_ns.last().is_some_and(|last| offset_ns < *last) => {
                    return Err(TraceError::Unsorted { name, line, text });
                }
                Some(offset_ns) => offsets_ns.push(offset_ns),
            }
        }
        if offsets_ns.is_empty() {
            return Err(TraceError::Empty(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), offsets_ns })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Time of the request with index `number`; None after the last.
    pub(crate) fn offset_ns(&self, number: u64) -> Option<u64> {
        self.offsets_ns.get(usize::try_from(number).ok()?).copied()
    }

    /// Time from the start to just after the last request.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.offsets_ns.last().copied().unwrap_or_default() + 1)
    }

    /// Mean rate, requests per second.
    pub fn rate(&self) -> f64 {
        self.offsets_ns.len() as f64 / self.length().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_comments_and_fractions_are_parsed() {
        let trace = Trace::parse("t", "# recorded\n0s\n1.5ms # first\n\n2ms\n1.5s\n").unwrap();
        assert_eq!(trace.offsets_ns, [0, 1_500_000, 2_000_000, 1_500_000_000]);
        assert!((trace.rate() - 4.0 / 1.500_000_001).abs() < 1e-9);
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| Trace::parse("t", text).unwrap_err().to_string();
        assert!(error("1ms\nsoon\n").contains("line 2: `soon` is not a time"));
        assert!(error("5ms\n\n4ms\n").contains("line 3: `4ms` is before the time above it"));
        assert!(error("# nothing\n").contains("is empty"));
        assert!(error("5\n").contains("line 1"), "a number needs a unit");
    }
}
