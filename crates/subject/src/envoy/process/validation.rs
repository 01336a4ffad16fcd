//! Envoy's own validation of a configuration, with its reason if it rejects the configuration.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hoptax_host::child::last_lines_of;
use hoptax_host::command::{self, CommandError};

use super::{LOG_LINES, ProxyError, ProxySpec, START_TIMEOUT, Source};
use crate::envoy::release::Envoy;

/// The prefix of a reason about a violated constraint of a message.
const CONSTRAINT: &str = "Proto constraint validation failed";
/// Time limit, the same as for Envoy to become live.
const TIMEOUT: Duration = START_TIMEOUT;

/// Runs Envoy's validation of a configuration in a file, unless `stop` is set meanwhile.
///
/// # Errors
/// When Envoy rejects it, with its reason; when Envoy does not exit, or is stopped.
pub fn validate_file(envoy: &Envoy, config: &Path, stop: &AtomicBool) -> Result<(), ProxyError> {
    let arguments = ["--log-level".into(), "critical".into(), "--config-path".into(), config.into()];
    validate(envoy, arguments, config, TIMEOUT, stop, reason_of)
}

/// Runs Envoy's validation with these arguments, which name the configuration and make Envoy print its reason.
fn validate(
    envoy: &Envoy,
    arguments: impl IntoIterator<Item = OsString>,
    config: &Path,
    timeout: Duration,
    stop: &AtomicBool,
    reason_of: impl Fn(&str) -> String,
) -> Result<(), ProxyError> {
    let (program, config) = (envoy.program.clone(), config.to_owned());
    let mut command = Command::new(&program);
    command.args(["--mode", "validate", "--disable-hot-restart"]).args(arguments);
    match command::run(command, timeout, stop) {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(ProxyError::Refused { config, reason: reason_of(&output.text) }),
        Err(CommandError::Start(source)) => Err(ProxyError::Run { program, source }),
        Err(source) => Err(ProxyError::Unchecked { program, config, source }),
    }
}

impl ProxySpec {
    /// Runs Envoy's validation of the configuration, unless `stop` is set meanwhile.
    ///
    /// # Errors
    /// When Envoy rejects it, with its reason; when Envoy does not exit, or is stopped.
    pub fn validate(&self, stop: &AtomicBool) -> Result<(), ProxyError> {
        self.validate_within(TIMEOUT, stop)
    }

    fn validate_within(&self, timeout: Duration, stop: &AtomicBool) -> Result<(), ProxyError> {
        // The log lists deprecated fields of a given configuration as errors, which would come before the reason.
        let level = if self.source.plan().is_some() { "error" } else { "critical" };
        let level = ["--log-level".into(), level.into()];
        let arguments = level.into_iter().chain(self.common_arguments());
        validate(&self.envoy, arguments, &self.config(), timeout, stop, |output| match &self.source {
            Source::Plan(_) => last_lines_of(output, LOG_LINES),
            Source::Given { .. } => reason_of(output),
        })
    }

    /// Explains why a proxy with this specification ended before it was live: returns the rejection by Envoy's validation if there is one,
    /// or else `error`. The log contains the same reason among other lines.
    pub fn explained(&self, error: ProxyError, stop: &AtomicBool) -> ProxyError {
        if !matches!(error, ProxyError::Ended { .. }) {
            return error;
        }
        match self.validate(stop) {
            Err(refused @ ProxyError::Refused { .. }) => refused,
            _ => error,
        }
    }
}

/// The first lines of the reason in the output of Envoy's validation. The rejected message, which may be long, comes after the reason, or
/// before it if the message violates a constraint.
fn reason_of(output: &str) -> String {
    let start = output.rfind(CONSTRAINT).unwrap_or(0);
    output.get(start..).unwrap_or(output).lines().take(LOG_LINES).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::tests::scripted;
    use super::*;

    #[test]
    fn a_hanging_validation_times_out_or_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let spec = scripted(folder.path(), "exec sleep 1000");
        let check = |timeout, stop| spec.validate_within(timeout, &AtomicBool::new(stop)).unwrap_err();
        let late = check(Duration::from_millis(50), false);
        assert!(matches!(late, ProxyError::Unchecked { source: CommandError::TimedOut(_), .. }), "{late}");
        let text = late.to_string();
        assert!(text.contains("timed out after") && text.contains("bootstrap.json"), "{text}");
        let stopped = check(TIMEOUT, true);
        assert!(
            matches!(stopped, ProxyError::Unchecked { source: CommandError::Interrupted, .. }),
            "{stopped}"
        );
    }

    #[test]
    fn an_envoy_that_refuses_its_configuration_is_validated_for_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let explained = |script: &str| {
            let spec = scripted(folder.path(), script);
            let error = spec.start().unwrap().wait().unwrap_err();
            spec.explained(error, &AtomicBool::new(false)).to_string()
        };
        let refused = explained("case $2 in validate) echo no such filter;; *) echo others ;; esac; exit 1");
        assert!(
            refused.contains("rejects the configuration") && refused.contains("no such filter"),
            "{refused}"
        );
        let crashed = explained("case $2 in validate) exit 0;; *) echo out of luck; exit 7 ;; esac");
        assert!(crashed.contains("the proxy exited") && crashed.contains("out of luck"), "{crashed}");
    }

    #[test]
    fn the_reason_is_found_before_and_behind_the_message_that_was_refused() {
        let first = "error initializing: script load error\nnode {\n}";
        assert!(reason_of(first).starts_with("error initializing: script load error"));
        let message = "node {\n".repeat(100);
        let last = format!(
            "error initializing: goo.gle/debugproto\n{message}Proto constraint validation failed (weight: too small)\n"
        );
        assert_eq!(reason_of(&last), "Proto constraint validation failed (weight: too small)");
    }
}
