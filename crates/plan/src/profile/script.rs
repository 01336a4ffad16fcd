//! Reads the output of `perf script -F pid,period,ip,sym,dso`: a line for each sample, and below it one for each frame of its stack,
//! the innermost first.

use std::path::Path;

/// The fields that [`samples`] reads, as `perf script -F` takes them.
pub const FIELDS: &str = "pid,period,ip,sym,dso";
/// The name of a function without a symbol.
pub const UNKNOWN: &str = "[unknown]";

/// Objects in brackets that are not of the kernel, as its modules are.
const OF_PROGRAMS: [&str; 5] = ["[heap]", "[stack]", "[unknown]", "[vdso]", "[vsyscall]"];

/// One sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The CPU time that it stands for, nanoseconds, with the event `cpu-clock`.
    pub cpu_ns: u64,
    /// Its stack, the innermost frame first.
    pub frames: Vec<Frame>,
}

/// A frame of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The function, [`UNKNOWN`] without a symbol.
    pub symbol: String,
    /// The file that it is in: the path of a program or library, or a name in brackets for the kernel.
    pub object: String,
}

/// A line that is neither of a sample nor of a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} of the output of `perf script` is not as expected: `{text}`; use perf of Linux 5.10 or later"
)]
pub struct ScriptError {
    /// The line, counted from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

impl Frame {
    /// Returns true if the frame is in the kernel.
    pub fn is_in_kernel(&self) -> bool {
        let is_module = Path::new(&self.object).extension().is_some_and(|extension| extension == "ko");
        is_module || (self.object.starts_with('[') && !OF_PROGRAMS.contains(&self.object.as_str()))
    }
}

/// The samples of `text`. Comments and empty lines are skipped.
///
/// # Errors
/// The first line that cannot be read.
pub fn samples(text: &str) -> Result<Vec<Sample>, ScriptError> {
    let mut samples: Vec<Sample> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let invalid = || ScriptError { line: number, text: line.chars().take(120).collect() };
        if line.starts_with('\t') {
            let last = samples.last_mut().ok_or_else(invalid)?;
            last.frames.push(frame(line).ok_or_else(invalid)?);
        } else {
            samples.push(Sample { cpu_ns: period(line).ok_or_else(invalid)?, frames: Vec::new() });
        }
    }
    Ok(samples)
}

/// The period in a line such as `  4655    1001001 `.
fn period(line: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    words.next()?.parse::<u32>().ok()?;
    let period = words.next()?.trim_end_matches(':').parse().ok()?;
    words.next().is_none().then_some(period)
}

/// The frame in a line such as `  7f0a98565 malloc (/lib/libc.so.6)`. Names of functions may have blanks and parentheses.
fn frame(line: &str) -> Option<Frame> {
    let (address, rest) = line.trim().split_once(' ')?;
    u64::from_str_radix(address, 16).ok()?;
    let (symbol, object) = rest.trim().rsplit_once(" (")?;
    let object = object.strip_suffix(')')?;
    Some(Frame { symbol: symbol.trim().to_owned(), object: object.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# comment\n  4655    1001001 \n\tffffffff81d33df7 read_zero ([kernel.kallsyms])\n\
                        \t           f82ad operator new(unsigned long) (/usr/lib/my lib.so)\n\n4655 999: \n\
                        \t           f82ad [unknown] (/opt/envoy)\n";

    #[test]
    fn a_sample_has_its_period_and_its_frames() {
        let found = samples(TEXT).unwrap();
        let frame =
            |symbol: &str, object: &str| Frame { symbol: symbol.to_owned(), object: object.to_owned() };
        let first = vec![
            frame("read_zero", "[kernel.kallsyms]"),
            frame("operator new(unsigned long)", "/usr/lib/my lib.so"),
        ];
        assert_eq!(found[0].cpu_ns, 1_001_001);
        assert_eq!(found[0].frames, first);
        assert!(found[0].frames[0].is_in_kernel() && !found[0].frames[1].is_in_kernel());
        assert_eq!(found[1], Sample { cpu_ns: 999, frames: vec![frame(UNKNOWN, "/opt/envoy")] });
    }

    #[test]
    fn modules_are_of_the_kernel_and_parts_of_a_process_are_not() {
        let is_in_kernel =
            |object: &str| Frame { symbol: UNKNOWN.to_owned(), object: object.to_owned() }.is_in_kernel();
        assert!(
            ["[kernel.kallsyms]", "[nf_tables]", "/lib/modules/6.1/veth.ko"].into_iter().all(is_in_kernel)
        );
        assert!(!["[vdso]", "[unknown]", "/opt/envoy", "//anon"].into_iter().any(is_in_kernel));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_quoted_with_its_number() {
        for (text, line) in
            [("\tff x (y)\n", 1), ("1 2\nenvoy 3 4\n", 2), ("1 2\n\tzz x (y)\n", 2), ("1 2\n\tff x\n", 2)]
        {
            assert_eq!(samples(text).unwrap_err().line, line, "{text:?}");
        }
    }
}
