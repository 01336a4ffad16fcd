//! Prepares a listeners file: renders, lints and validates it. The result is a configuration that Envoy accepts, or the reason why there is
//! none.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hoptax_bootstrap::{LineMask, of_value};
use hoptax_lint::{Severity, lint_generated};
use hoptax_listeners::{Form, Format, Lines, Restart, Source, phases, read, render};
use hoptax_subject::envoy::process::{ProxyError, validate_file};
use hoptax_subject::envoy::release::Envoy;
use hoptax_text::file;
use serde_json::Value;

/// The files of a user.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// The listeners.
    pub(crate) listeners: PathBuf,
    /// The services that they name.
    pub(crate) services: Option<PathBuf>,
}

/// A configuration that Envoy accepts. Its file is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Its path.
    pub(crate) config: PathBuf,
    /// Its text.
    pub(crate) text: String,
    /// The times of hot restarts.
    pub(crate) restart: Restart,
    /// The number of its listeners.
    pub(crate) listeners: usize,
    /// The number of `hoptax lint` warnings.
    pub(crate) warnings: usize,
    /// Masks the secrets of the files in Envoy's output.
    pub(crate) mask: LineMask,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // If this fails, the file is removed with its folder.
        let _ = fs::remove_file(&self.config);
    }
}

/// Prepares the current files, and writes the configuration to `config`.
///
/// # Errors
/// The reason, when they are refused.
pub(crate) fn prepare(
    files: &Files,
    envoy: &Envoy,
    config: &Path,
    stop: &AtomicBool,
) -> Result<Prepared, String> {
    let name = files.listeners.display().to_string();
    let text = text_of(&files.listeners)?;
    let other = match &files.services {
        Some(path) => Some((path.display().to_string(), text_of(path)?)),
        None => None,
    };
    let services = other.as_ref().map(|(name, text)| Source { name, text });
    let plan =
        read(Source { name: &name, text: &text }, services).map_err(|problems| problems.to_string())?;
    let mut rendered = render(&plan).map_err(|problems| problems.to_string())?;
    let (bootstrap, lines) = rendered.clone().traced();
    let warnings = lint(&name, &text, bootstrap, &lines)?;
    let mask = LineMask::new([text.as_str()].into_iter().chain(services.map(|services| services.text)));
    let listeners = rendered.listeners.len();
    phases::add(&mut rendered);
    let text: String =
        rendered.outputs(Form::Bootstrap, Format::Json).into_iter().map(|one| one.text).collect();
    let prepared =
        Prepared { config: config.to_owned(), text, restart: plan.restart(), listeners, warnings, mask };
    fs::write(config, &prepared.text)
        .map_err(|error| format!("cannot write `{}`: {error}", config.display()))?;
    validate_file(envoy, config, stop).map_err(|error| match error {
        ProxyError::Refused { reason, .. } => {
            let reason = prepared.mask.clone().log_line(reason.as_bytes());
            format!(
                "{name}: Envoy refuses the configuration that is made of it: {}",
                String::from_utf8_lossy(&reason)
            )
        }
        other => other.to_string(),
    })?;
    Ok(prepared)
}

fn text_of(path: &Path) -> Result<String, String> {
    file::configuration(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

/// The number of warnings.
///
/// # Errors
/// The errors.
fn lint(name: &str, text: &str, bootstrap: Value, lines: &Lines) -> Result<usize, String> {
    let read = of_value(name, bootstrap).map_err(|error| error.to_string())?;
    let findings = lint_generated(&read, name, text, &|pointer| lines.line(pointer)).findings;
    let of = |severity: Severity| findings.iter().filter(move |finding| finding.rule.severity == severity);
    let errors: Vec<String> = of(Severity::Error)
        .map(|finding| {
            format!("{name}:{}: {} ({})", finding.place.line, finding.found.message, finding.rule.id)
        })
        .collect();
    if errors.is_empty() { Ok(of(Severity::Warning).count()) } else { Err(errors.join("\n")) }
}
