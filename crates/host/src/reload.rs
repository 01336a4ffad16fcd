//! Asks a server to read its configuration again.

use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Sends `SIGHUP` to a process. Most servers read their configuration again then; a process that does not handle the signal
/// ends.
///
/// # Errors
/// If the process has exited, or belongs to another user.
pub fn ask(process_id: u32) -> io::Result<()> {
    let pid = i32::try_from(process_id).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such process"))?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    Ok(pidfd_send_signal(&handle, Signal::HUP)?)
}
