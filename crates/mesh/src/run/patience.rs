//! Tolerance of trouble that may be temporary.

use std::time::{Duration, Instant};

/// The time after which temporary trouble counts.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Trouble that counts once it has lasted for some time.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    since: Option<Instant>,
}

impl Trouble {
    /// True if it has lasted for `patience`. It begins now, unless it has begun already.
    pub(super) fn has_lasted(&mut self, now: Instant, patience: Duration) -> bool {
        let since = *self.since.get_or_insert(now);
        now.saturating_duration_since(since) >= patience
    }

    /// Ends it.
    pub(super) fn pass(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_counts_from_its_own_beginning_and_begins_again_after_it_has_passed() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let mut trouble = Trouble::default();
        // Half a minute went by without it.
        assert!(!trouble.has_lasted(at(30), PATIENCE));
        assert!(!trouble.has_lasted(at(39), PATIENCE));
        assert!(trouble.has_lasted(at(40), PATIENCE));
        trouble.pass();
        assert!(!trouble.has_lasted(at(41), PATIENCE));
        assert!(Trouble::default().has_lasted(began, Duration::ZERO), "what is certain counts at once");
    }
}
