//! State of a process, as the letter that the kernel has for it.

use std::fs;

/// The letter in a line of `/proc/PID/stat`: it follows the program name, which may contain parentheses.
pub(crate) fn letter(stat: &str) -> Option<char> {
    stat.rsplit_once(") ").and_then(|(_, fields)| fields.chars().next())
}

/// Returns true if the first thread of a process waits for something other than a processor or a disk. False if it has ended.
pub fn sleeps(process_id: u32) -> bool {
    fs::read_to_string(format!("/proc/{process_id}/stat")).is_ok_and(|stat| letter(&stat) == Some('S'))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_letter_follows_the_name_of_the_program() {
        assert_eq!(letter("7 (a) S (b)) R 1 2"), Some('R'));
        assert_eq!([letter("7 (sh"), letter("")], [None, None]);
    }

    #[test]
    fn a_process_sleeps_unless_it_works_or_has_ended() {
        let shell = |script: &str| Command::new("sh").args(["-c", script]).spawn().unwrap();
        let (mut asleep, mut busy) = (shell("exec sleep 60"), shell("while :; do :; done"));
        let began = Instant::now();
        // Either may sleep, or not, before it has begun.
        let becomes = |child: &Child, expected: bool| {
            while sleeps(child.id()) != expected && began.elapsed() < Duration::from_mins(1) {
                thread::sleep(Duration::from_millis(5));
            }
            sleeps(child.id()) == expected
        };
        assert!(becomes(&asleep, true) && becomes(&busy, false));
        for child in [&mut asleep, &mut busy] {
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(!sleeps(child.id()));
        }
    }
}
