//! Flags of other load generators (wrk, wrk2, hey, ab, oha) that hoptax gives another name or another meaning, and flags that users guess.

/// Flags, and advice for each.
type Flags = (&'static [&'static str], &'static str);

/// Flags that a load gives another name.
const OF_LOAD: [Flags; 5] = [
    (
        &["-t", "--threads", "--cpus"],
        "`-w` (`--workers`) is the number of threads, and `-d` (`--duration`) the time",
    ),
    (&["-r", "-R", "--rps", "--qps"], "`-q` (`--rate`) is the rate, over all connections"),
    (&["-z", "--time", "--timelimit"], "`-d` (`--duration`) is the time"),
    (&["-N", "--number"], "`-n` (`--count`) is the number of requests"),
    (&["--trace"], "`--arrivals trace=FILE` sends at the times in a file"),
];
/// Flags that a search gives another meaning.
const OF_FIND: [Flags; 4] = [
    (&["-t", "--threads", "--cpus"], "`-w` (`--workers`) is the number of threads, and `--budget` the time"),
    (
        &["-q", "-r", "-R", "--rate", "--rps", "--qps"],
        "the rate is what is searched; `--min-rate` and `--max-rate` are its bounds",
    ),
    (&["-d", "-z", "--duration", "--time"], "`--budget` is the time of the whole search"),
    (
        &["--trace"],
        "a search chooses its rates; `hoptax load --arrivals trace=FILE` sends at times in a file",
    ),
];
/// Flags that mean the same to both.
const OF_BOTH: [Flags; 6] = [
    (&["-k", "--keepalive"], "connections stay open; `--requests-per-connection` limits their requests"),
    (&["-m"], "`-X` (`--method`) is the method"),
    (&["-D", "-p", "--data-binary"], "`--body-file` is the body of requests"),
    (&["-L", "--latency"], "percentiles of response times are always printed"),
    (&["-s", "--script"], "`--requests` reads requests from a file"),
    (&["--store"], "`--json FILE` writes the result to a file, and `hoptax runs import FILE` then stores it"),
];

/// The advice for a flag that the command `load` or `find` of hoptax does not have.
pub fn advice(command: &str, flag: &str) -> Option<&'static str> {
    let own = match command {
        "load" => OF_LOAD.as_slice(),
        "find" => OF_FIND.as_slice(),
        _ => return None,
    };
    // For a short flag with an attached value such as `-t4`, only the letter is compared.
    let matches = |other: &&str| {
        *other == flag || (other.len() == 2 && !flag.starts_with("--") && flag.starts_with(other))
    };
    own.iter().chain(&OF_BOTH).find(|(flags, _)| flags.iter().any(&matches)).map(|(_, meant)| *meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_of_another_generator_has_the_advice_of_its_command() {
        for (command, flag, beginning) in [
            ("load", "-t4", "`-w` (`--workers`)"),
            ("load", "--rps", "`-q` (`--rate`)"),
            ("find", "-R2000", "the rate is what is searched"),
            ("find", "--latency", "percentiles"),
            ("load", "--trace", "`--arrivals trace=FILE`"),
            ("find", "--trace", "a search chooses its rates"),
            ("load", "--store", "`--json FILE`"),
        ] {
            let advice = advice(command, flag);
            assert!(advice.is_some_and(|text| text.starts_with(beginning)), "{command} {flag}: {advice:?}");
        }
        for (command, flag) in [("study", "-t"), ("load", "--tools"), ("load", "-x"), ("find", "--min")] {
            assert_eq!(advice(command, flag), None, "{command} {flag}");
        }
    }
}
