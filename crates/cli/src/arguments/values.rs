//! Parsers of argument values: numbers, rates, durations, names, files, and values that are chosen by their names. Each error says what is
//! accepted, as the end of a sentence that names the option.

use std::fmt;
use std::ops::{Bound, RangeBounds, RangeInclusive};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hoptax_load::options::LONGEST;
use hoptax_load::{HostPort, MAX_RATE, Protocol};
use hoptax_result::grouped;
use hoptax_text::command_line::option;

/// Parses the name of a file that is written at the end, when it would be too late to find that its folder is missing. `-` is stdout.
///
/// # Errors
/// When it is empty, a folder, or in a folder that does not exist.
pub(crate) fn output_file(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("the name of the file is empty".to_owned());
    }
    let path = PathBuf::from(text);
    if path.is_dir() {
        return Err("it is a folder".to_owned());
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(format!("there is no folder `{}`", folder.display()))
        }
        _ => Ok(path),
    }
}

/// As [`output_file`], of a file that is written beside the result on stdout.
///
/// # Errors
/// As [`output_file`], and when it is `-`.
pub(crate) fn named_file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("stdout has the result: name a file".to_owned()),
        name => output_file(name),
    }
}

/// The value of `--protocol`. Without a fixed protocol, it is the default of the scheme; with `https`, the server chooses
/// between HTTP/2 and HTTP/1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProtocolChoice(pub(crate) Option<Protocol>);

impl fmt::Display for ProtocolChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.map_or("auto", Protocol::as_str))
    }
}

impl FromStr for ProtocolChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::default());
        }
        text.parse().map(|named| Self(Some(named))).map_err(|error: String| format!("{error}, or `auto`"))
    }
}

/// A duration with its unit, longer than zero.
///
/// # Errors
/// When it is another text, or longer than a year.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = duration_or_none(text)?;
    if duration.is_zero() { Err("it must be longer than 0s".to_owned()) } else { Ok(duration) }
}

/// Shortest interval of `--every` and `--resolve-every`: twice the longest time that a worker sleeps.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// An interval of `--every` or `--resolve-every`.
///
/// # Errors
/// When it is another text, or too short.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval < SHORTEST_INTERVAL { Err("it must be at least 100ms".to_owned()) } else { Ok(interval) }
}

/// A file name without directories.
///
/// # Errors
/// When it has other characters than letters, digits, `-`, `_` and `.`, or begins with a dot.
pub(crate) fn file_name(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !text.is_empty() && !text.starts_with('.') && text.chars().all(is_allowed) {
        Ok(text.to_owned())
    } else {
        Err("use letters, digits, `-`, `_` and `.`".to_owned())
    }
}

/// The address of an agent: a name or an address, and a port.
///
/// # Errors
/// When it is another text.
pub(crate) fn agent(text: &str) -> Result<String, String> {
    let refused =
        |_| format!("`{text}` is not an agent's address: use `HOST:PORT`, such as `127.0.0.1:8421`");
    text.parse::<HostPort>().map(|_| text.to_owned()).map_err(refused)
}

/// A label of a run, which cannot be taken for the number of one.
///
/// # Errors
/// When it is a number, or no file name.
pub(crate) fn label(text: &str) -> Result<String, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a number would be taken for a run: add a letter".to_owned());
    }
    file_name(text)
}

/// A name that only a cluster can judge, such as that of an image, a context or a node.
///
/// # Errors
/// When it is empty.
pub(crate) fn name_in_cluster(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// A duration with its unit, which may be zero.
///
/// # Errors
/// When it is another text, or longer than a year.
pub(crate) fn duration_or_none(text: &str) -> Result<Duration, String> {
    let hint = || format!("write it with its unit: `{}s` or `{}ms`", text.trim(), text.trim());
    let duration = humantime::parse_duration(text).map_err(|error| match text.trim().parse::<f64>() {
        _ if text.trim().starts_with('-') => {
            "it must not be negative; write it as `10s` or `500ms`".to_owned()
        }
        Ok(_) => hint(),
        Err(_) => format!("{error}; write it as `10s` or `500ms`"),
    })?;
    if duration <= LONGEST { Ok(duration) } else { Err("it must be at most a year, 366 days".to_owned()) }
}

/// A rate that a generator can send.
///
/// # Errors
/// When it is another text, or out of bounds.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let in_words = format!("above 0 and at most {}{}", grouped(MAX_RATE, 0), in_full(text));
    let is_valid = |rate: f64| rate > 0.0 && rate <= MAX_RATE;
    number(text, is_valid, &format!("a number of requests per second {in_words}"))
}

/// Lowest and highest rate of what is only computed, requests per second: a lower one is printed as 0.0, and no mesh has the processors for
/// a higher one.
const PREDICTED_RATES: RangeInclusive<f64> = 0.1..=1e9;

/// A rate of what is only computed.
///
/// # Errors
/// When it is another text, or out of bounds.
pub(crate) fn predicted_rate(text: &str) -> Result<f64, String> {
    let most = grouped(*PREDICTED_RATES.end(), 0);
    let in_words = format!("at least 0.1 and at most {most}{}", in_full(text));
    let is_valid = |rate: f64| PREDICTED_RATES.contains(&rate);
    number(text, is_valid, &format!("a number of requests per second, {in_words}"))
}

/// Spelling of a number in thousands or millions, such as `2k`.
fn in_full(text: &str) -> String {
    let times = [('k', 1e3), ('K', 1e3), ('m', 1e6), ('M', 1e6)];
    let number = times.iter().find_map(|(letter, times)| {
        let number: f64 = text.trim().strip_suffix(*letter)?.parse().ok()?;
        Some(number * times).filter(|number| number.is_finite() && *number > 0.0)
    });
    number.map_or_else(String::new, |number| format!(": write `{number}` for `{}`", text.trim()))
}

/// A parser of whole numbers within bounds, which its error states in words.
pub(crate) fn whole<T>(
    bounds: impl RangeBounds<T> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Copy + Into<u64> + Send + Sync + 'static,
{
    move |text: &str| {
        let number = text.trim().parse::<T>().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| {
            let words = |number: T| grouped(number.into() as f64, 0);
            let least = match bounds.start_bound() {
                Bound::Included(least) => words(*least),
                Bound::Excluded(_) | Bound::Unbounded => "0".to_owned(),
            };
            let most = match bounds.end_bound() {
                Bound::Included(most) => format!(" and at most {}", words(*most)),
                Bound::Excluded(_) | Bound::Unbounded if is_too_large::<T>(text) => {
                    format!(" and less than 2^{}", size_of::<T>() * 8)
                }
                Bound::Excluded(_) | Bound::Unbounded => String::new(),
            };
            format!("it must be a whole number, at least {least}{most}{}", in_full(text))
        })
    }
}

/// True for a whole number that the type cannot hold.
fn is_too_large<T: FromStr>(text: &str) -> bool {
    let digits = text.trim();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<T>().is_err()
}

/// The seed of what is random.
///
/// # Errors
/// When it is another text.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// A number of rounds of a study.
///
/// # Errors
/// When it is another text, or out of bounds.
pub(crate) fn rounds(text: &str) -> Result<u32, String> {
    whole::<u32>(2..=1000)(text)
}

/// A number for which `is_valid` holds, as the error states in words.
fn number(text: &str, is_valid: impl Fn(f64) -> bool, in_words: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| is_valid(*number));
    number.ok_or_else(|| format!("it must be {in_words}"))
}

/// A price of what is used for an hour, in any currency. A month of many processors at any of these prices is a number with digits.
///
/// # Errors
/// When it is another text, or out of bounds.
pub(crate) fn price(text: &str) -> Result<f64, String> {
    let is_valid = |price: f64| (1e-6..=1e9).contains(&price);
    number(text, is_valid, "a number from 0.000001 to 1,000,000,000, such as `0.04`")
}

/// A share, from 0 to 1.
///
/// # Errors
/// When it is another text, or out of bounds.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    number(text, |share| (0.0..=1.0).contains(&share), "a number from 0 to 1")
}

/// Processors, thousandths: a number from 0.01 to 1,024 with at most three decimals.
///
/// # Errors
/// When it is another text, or out of bounds.
pub(crate) fn millis_of_processors(text: &str) -> Result<u32, String> {
    let millis = text.trim().parse::<f64>().ok().map(|processors| processors * 1_000.0);
    let is_whole =
        |millis: &f64| (10.0..=1_024_000.0).contains(millis) && (millis - millis.round()).abs() < 1e-6;
    millis
        .filter(is_whole)
        .map(|millis| millis.round() as u32)
        .ok_or_else(|| "it must be a number of processors from 0.01 to 1024, such as `2` or `0.5`".to_owned())
}

/// A percentile, above 0 and below 100.
///
/// # Errors
/// When it is another text, or out of bounds.
pub(crate) fn percentile(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let is_valid = |percentile: f64| percentile > 0.0 && percentile < 100.0;
    number(text.strip_prefix('p').unwrap_or(text), is_valid, "above 0 and below 100, such as `99.9`")
}

/// A value that is chosen by its name.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    choices: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let choices: Vec<(&'static str, T)> = choices.into_iter().collect();
    let names: Vec<&'static str> = choices.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |given| {
        choices.iter().find(|(name, _)| *name == given).map(|(_, value)| value.clone()).ok_or("no such value")
    })
}

/// An option with the name of a value that was chosen, after a space; nothing without a value.
pub(crate) fn chosen_option(name: &str, value: Option<&impl ValueEnum>) -> String {
    let value = value.and_then(ValueEnum::to_possible_value);
    option(name, value.as_ref().map(PossibleValue::get_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_host_and_a_port() {
        for text in ["127.0.0.1:8421", "agent.test:1", "[2001:db8::1]:65535"] {
            assert_eq!(agent(text).as_deref(), Ok(text));
        }
        for text in ["", "foo", ":8421", "foo:", "foo:0", "foo:65536", "2001:db8::1", "[2001:db8::1]"] {
            assert!(agent(text).unwrap_err().contains("use `HOST:PORT`"), "{text}");
        }
    }

    #[test]
    fn a_duration_without_a_unit_is_an_error_that_shows_the_syntax() {
        assert!(duration("10").unwrap_err().contains("`10s`"));
        assert!(duration("ten").unwrap_err().contains("write it as"));
        assert!(duration("0s").is_err());
        for negative in ["-1s", "-1", "-0.5ms"] {
            assert!(duration(negative).unwrap_err().starts_with("it must not be negative"), "{negative}");
        }
        assert!(interval("99ms").unwrap_err().contains("100ms"));
        assert_eq!(duration_or_none("0s"), Ok(Duration::ZERO));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
    }

    #[test]
    fn an_output_file_needs_a_folder_that_exists() {
        let folder = std::env::temp_dir();
        let text = |path: PathBuf| path.display().to_string();
        assert!(output_file("-").is_ok() && output_file("result.json").is_ok());
        assert!(output_file(&text(folder.join("result.json"))).is_ok());
        assert_eq!(named_file("-").unwrap_err(), "stdout has the result: name a file");
        assert!(named_file("load.prom").is_ok() && named_file("/nowhere/load.prom").is_err());
        assert_eq!(output_file("").unwrap_err(), "the name of the file is empty");
        assert_eq!(output_file("/nowhere/x.json").unwrap_err(), "there is no folder `/nowhere`");
        assert_eq!(output_file(&text(folder)).unwrap_err(), "it is a folder");
    }

    #[test]
    fn rates_shares_and_percentiles_are_parsed() {
        assert!(rate("0").is_err() && rate("nan").is_err() && rate("-1").is_err());
        assert_eq!(rate("0.5"), Ok(0.5));
        assert!(rate("1e12").unwrap_err().contains("at most 10,000,000"));
        assert!(rate("2k").unwrap_err().ends_with(": write `2000` for `2k`"));
        assert_eq!(predicted_rate("12000000.5"), Ok(12_000_000.5));
        assert_eq!((predicted_rate("0.1"), predicted_rate("1e9")), (Ok(0.1), Ok(1e9)));
        for wrong in ["0", "-1", "inf", "NaN", "fast", "1e300", "1e-300", "0.09"] {
            assert!(predicted_rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!((rounds("2"), rounds("1000")), (Ok(2), Ok(1000)));
        assert_eq!(rounds("0").unwrap_err(), "it must be a whole number, at least 2 and at most 1,000");
        assert_eq!(whole::<u64>(1..)("-1").unwrap_err(), "it must be a whole number, at least 1");
        assert_eq!(
            whole::<u32>(1..)("99999999999").unwrap_err(),
            "it must be a whole number, at least 1 and less than 2^32"
        );
        assert!(whole::<u64>(1..)("99999999999999999999").unwrap_err().ends_with("less than 2^64"));
        assert!(rounds("99999999999").unwrap_err().ends_with("at least 2 and at most 1,000"));
        assert!(whole::<u64>(1..)("1.5").is_err() && rounds("1001").is_err());
        assert_eq!(price("0.04"), Ok(0.04));
        for wrong in ["0", "-1", "inf", "NaN", "4 cents", "1e300", "1e-300"] {
            assert!(price(wrong).is_err(), "{wrong}");
        }
        assert!(share("1.1").is_err());
        assert_eq!((millis_of_processors("2"), millis_of_processors("0.29")), (Ok(2_000), Ok(290)));
        for other in ["0", "-1", "nan", "0.0015", "2000", "500m"] {
            assert!(millis_of_processors(other).is_err(), "{other}");
        }
        assert_eq!((percentile("99.99"), percentile(" p95")), (Ok(99.99), Ok(95.0)));
        assert!(percentile("100").is_err() && percentile("0").is_err() && percentile("nan").is_err());
    }

    #[test]
    fn a_name_in_a_cluster_is_not_empty() {
        assert_eq!(name_in_cluster("a/b:1"), Ok("a/b:1".to_owned()));
        assert!(name_in_cluster("").is_err() && name_in_cluster(" ").is_err());
    }

    #[test]
    fn a_label_is_no_number() {
        assert_eq!(label("nightly-2"), Ok("nightly-2".to_owned()));
        assert!(label("12").unwrap_err().contains("add a letter"));
        assert_eq!((label(""), label("a b")), (file_name(""), file_name("a b")));
        assert!(label("").unwrap_err().starts_with("use letters"), "an empty label is no number");
    }
}
