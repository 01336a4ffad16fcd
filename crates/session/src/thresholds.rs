//! Thresholds of checks that users set.

use hoptax_checks::thresholds::Limits;

use crate::failure::Failure;
use crate::manifest::Manifest;

/// The thresholds that a study uses: those of its run folder, overridden by the given ones.
pub(crate) fn set(stored: Option<&Manifest>, given: &[(String, f64)]) -> Vec<(String, f64)> {
    let mut set = stored.map(|manifest| manifest.thresholds.clone()).unwrap_or_default();
    set.extend(given.iter().cloned());
    set.into_iter().collect()
}

/// The limits of checks under these thresholds.
///
/// # Errors
/// All thresholds that do not exist or whose values are out of range.
pub fn limits(set: &[(String, f64)]) -> Result<Limits, Failure> {
    let mut limits = Limits::default();
    let errors: Vec<String> = set.iter().filter_map(|(name, value)| limits.set(name, *value).err()).collect();
    if errors.is_empty() {
        return Ok(limits);
    }
    let errors = errors.join("\n");
    Err(Failure::bad_input(format!("{errors}\n`hoptax trust checks --details` lists all thresholds")))
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// When the text has another form.
pub fn parse(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write it as `NAME=VALUE`")?;
    let value = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
    Ok((name.trim().to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_wrong_thresholds_are_named_and_their_list_once() {
        let refused = limits(&[("no-such".to_owned(), 1.0), ("steal".to_owned(), -1.0)]).unwrap_err();
        let lines: Vec<String> = refused.to_string().lines().map(str::to_owned).collect();
        assert!(lines[0].contains("no threshold `no-such`") && lines[1].contains("`steal`"), "{lines:?}");
        assert_eq!(lines[2..], ["`hoptax trust checks --details` lists all thresholds"]);
    }
}
