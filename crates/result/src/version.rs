//! Versions of formats: which of them this program reads, and why it does not read another.
//!
//! `hoptax.study/4` is version 4 of `hoptax.study`. The number grows when a file would be misread or refused by readers of the version
//! before. Fields that may be missing are added without a new number; which of them a file may have follows from the version of the
//! program that wrote it.

use serde_json::{Map, Value};

use crate::Program;
use crate::older::{READERS, Reader};

/// The name and the number of a format.
fn parts(format: &str) -> Option<(&str, u32)> {
    let (name, version) = format.split_once('/')?;
    Some((name, version.parse().ok()?))
}

/// The function that reads a version of a format.
fn reader(readers: &[Reader], name: &str, version: u32) -> Option<fn(&mut Map<String, Value>)> {
    let is_this = |format: &str| parts(format) == Some((name, version));
    readers.iter().find(|(format, _)| is_this(format)).map(|(_, read)| *read)
}

/// The oldest version from which readers lead to version `today`.
fn oldest(readers: &[Reader], name: &str, today: u32) -> u32 {
    (0..today).rev().take_while(|version| reader(readers, name, *version).is_some()).last().unwrap_or(today)
}

/// Checks that a file is read whose format is `found`, by a reader of the format `today`. `program` is the version of hoptax that wrote
/// the file, if it is known.
///
/// # Errors
/// The reason why it is not, and what to do instead.
pub fn check_format(found: &str, today: &str, program: Option<&str>) -> Result<(), String> {
    check(READERS, found, today, program)
}

fn check(readers: &[Reader], found: &str, today: &str, program: Option<&str>) -> Result<(), String> {
    let (Some((name, version)), Some((name_today, newest))) = (parts(found), parts(today)) else {
        return Err(format!("its format is `{found}`, not `{today}`"));
    };
    if name != name_today {
        return Err(format!("its format is `{found}`, not `{today}`"));
    }
    let oldest = oldest(readers, name, newest);
    if (oldest..=newest).contains(&version) {
        return Ok(());
    }
    let this = Program::this().version;
    let range =
        if oldest == newest { format!("`{today}`") } else { format!("`{name}/{oldest}` to `{today}`") };
    // A development build has the version of the release that it leads to.
    let program = program.filter(|program| *program != this);
    let next = if version > newest {
        let with = program.map_or_else(|| "that one".to_owned(), |program| format!("hoptax {program}"));
        format!("a newer hoptax wrote it; use {with} or a later one")
    } else {
        let with = program.map_or_else(|| "the hoptax that wrote it".to_owned(), |it| format!("hoptax {it}"));
        format!("it is older than all that can be read; use {with}, or measure again")
    };
    Err(format!("its format is `{found}`, and this hoptax {this} reads {range}: {next}"))
}

/// Turns the fields of a file of the format `found` into those of the format `today`. `program` as in [`check_format`].
///
/// # Errors
/// As [`check_format`].
pub(crate) fn to_today(
    readers: &[Reader],
    found: &str,
    today: &str,
    program: Option<&str>,
    fields: &mut Map<String, Value>,
) -> Result<(), String> {
    check(readers, found, today, program)?;
    let versions = parts(found).zip(parts(today));
    let Some(((name, first), (_, newest))) = versions else { return Ok(()) };
    for read in (first..newest).filter_map(|version| reader(readers, name, version)) {
        read(fields);
    }
    Ok(())
}
