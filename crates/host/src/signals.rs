//! Signals that this process ignores.

use std::{fs, io};

/// Returns true if this process ignores a signal, given by its number. A program started by `nohup` ignores SIGHUP until it asks for it.
///
/// # Errors
/// If `/proc` is unavailable or does not say.
pub fn is_ignored(signal: i32) -> io::Result<bool> {
    let status = fs::read_to_string("/proc/self/status")?;
    is_ignored_in(&status, signal)
        .ok_or_else(|| io::Error::other("/proc/self/status does not state which signals are ignored"))
}

/// The same from `/proc/PID/status`, whose mask has the lowest bit for signal 1.
fn is_ignored_in(status: &str, signal: i32) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    let bit = u32::try_from(signal).ok()?.checked_sub(1)?;
    Some(mask.checked_shr(bit)? & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::Signal;

    use super::*;

    #[test]
    fn signal_one_is_the_lowest_bit_of_the_mask() {
        let status =
            "Name:\tcat\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\tffffffffffffffff\n";
        let of = |signal| is_ignored_in(status, signal);
        assert_eq!([of(1), of(2), of(13), of(64)], [Some(true), Some(false), Some(true), Some(false)]);
        assert_eq!([of(0), of(-1), of(65)], [None; 3]);
        assert_eq!(is_ignored_in("Name:\tcat\n", 1), None);
        assert_eq!(is_ignored_in("SigIgn:\tnothing\n", 1), None);
    }

    #[test]
    fn a_program_started_by_nohup_ignores_sighup() {
        let hangup = Signal::HUP.as_raw();
        let status = |command: &mut Command| {
            let output = command.arg("/proc/self/status").output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let under_nohup = status(Command::new("nohup").arg("cat"));
        assert_eq!(is_ignored_in(&under_nohup, hangup), Some(true), "{under_nohup}");
        let usual = status(Command::new("env").args(["--default-signal=HUP", "cat"]));
        assert_eq!(is_ignored_in(&usual, hangup), Some(false), "{usual}");
        // Rust's runtime ignores this one.
        assert!(is_ignored(Signal::PIPE.as_raw()).unwrap());
    }
}
