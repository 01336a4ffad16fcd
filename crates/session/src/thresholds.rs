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
    if errors.is_empty() { Ok(limits) } else { Err(Failure::bad_input(errors.join("\n"))) }
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
