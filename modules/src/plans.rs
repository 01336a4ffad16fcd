//! Enforces the plans of the image registry. The counts are in a file that every worker has mapped, and every proxy of the machine
//! that is configured with it.
//!
//! A worker replaces a count with one compare-and-swap, so the number of admitted pulls is exact whichever worker or proxy handles
//! them. The kernel keeps the mapped pages when a proxy ends, even by SIGKILL, so its successor continues where it was, and during a
//! hot restart both generations share the counts. Only a crash of the machine may lose the last seconds.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use hoptax_tasks::plans::{Admission, Count, Refusal, Rules, Verdict};
use memmap2::MmapRaw;

/// Number of accounts that have a count: those with a smaller number. The file has holes for accounts that never pull.
const ACCOUNTS: usize = 1 << 20;
/// Length of the file, bytes.
const LENGTH_BYTES: u64 = (ACCOUNTS * size_of::<u64>()) as u64;

/// The plans, with their counts.
pub(crate) struct Plans {
    rules: Rules,
    counts: Counts,
}

impl Plans {
    /// The plans with these settings; None if they are invalid or the file with the counts cannot be used. The reason is in Envoy's
    /// log.
    pub(crate) fn read(settings: &str) -> Option<Self> {
        Self::with_settings(settings)
            .inspect_err(|problem| eprintln!("filter `plans` of the module: {problem}"))
            .ok()
    }

    fn with_settings(settings: &str) -> Result<Self, String> {
        let rules = Rules::read(settings)?;
        let path = rules.counts.as_deref().ok_or("it needs a file for its counts: add `counts`")?;
        let counts = Counts::open(path)
            .map_err(|error| format!("cannot use the counts `{}`: {error}", path.display()))?;
        Ok(Self { rules, counts })
    }

    /// The name of the header with the token.
    pub(crate) fn token_header(&self) -> &str {
        &self.rules.token_header
    }

    /// The response to a request that must not continue: the bytes of its method, its path and the header with the token.
    pub(crate) fn refusal(
        &self,
        method: &[u8],
        path: &[u8],
        header: Option<&[u8]>,
        now_s: u64,
    ) -> Option<Refusal> {
        match self.rules.judge(method, path, header, now_s) {
            Verdict::Pass => None,
            Verdict::Refuse(refusal) => Some(refusal),
            Verdict::Count(grant) => {
                match self.counts.take(grant.account, self.rules.limit(grant.plan), now_s) {
                    Some(admission) => Refusal::for_pull(&admission),
                    None => Some(Refusal::uncounted()),
                }
            }
        }
    }
}

/// The counts of all accounts, one after the other.
struct Counts {
    map: MmapRaw,
}

impl Counts {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < LENGTH_BYTES {
            file.set_len(LENGTH_BYTES)?;
        }
        Ok(Self { map: MmapRaw::map_raw(&file)? })
    }

    /// The bits of an account's count; None if the account has no place.
    fn bits(&self, account: u64) -> Option<&AtomicU64> {
        let index = usize::try_from(account).ok().filter(|index| *index < ACCOUNTS)?;
        #[allow(clippy::cast_ptr_alignment, reason = "a map begins at a page")]
        let bits = self.map.as_mut_ptr().cast::<u64>().wrapping_add(index);
        // SAFETY: The map is aligned, long enough, and kept as long as the reference. All accesses to it are atomic.
        Some(unsafe { AtomicU64::from_ptr(bits) })
    }

    /// Counts a pull; None if the account has no place.
    fn take(&self, account: u64, limit: u32, now_s: u64) -> Option<Admission> {
        let mut admission = None;
        // A refused pull leaves the count as it is, so there is nothing to store.
        let _ = self.bits(account)?.fetch_update(Ordering::AcqRel, Ordering::Acquire, |bits| {
            let (after, taken) = Count::from_bits(bits).take(limit, now_s);
            admission = Some(taken);
            taken.admitted.then(|| after.bits())
        });
        admission
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use hoptax_tasks::plans::{Grant, Plan};

    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    /// Each thread has a map of its own, as different proxies have.
    #[test]
    fn proxies_that_race_for_a_plan_admit_it_exactly() {
        const PROXIES: u32 = 8;
        const PULLS: u32 = 20_000;
        const LIMIT: u32 = PROXIES * PULLS / 2;
        let folder = tempfile::tempdir().unwrap();
        let (path, start) = (folder.path().join("counts"), Barrier::new(PROXIES as usize));
        let admitted = || {
            let counts = Counts::open(&path).unwrap();
            start.wait();
            (0..PULLS).filter(|_| counts.take(7, LIMIT, NOW_S).unwrap().admitted).count()
        };
        let total: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..PROXIES).map(|_| scope.spawn(admitted)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(total, LIMIT as usize);
        // Another proxy begins with nothing left, and another account is not concerned.
        let counts = Counts::open(&path).unwrap();
        assert!(!counts.take(7, LIMIT, NOW_S).unwrap().admitted);
        assert_eq!(counts.take(8, LIMIT, NOW_S).unwrap().remaining, LIMIT - 1);
    }

    #[test]
    fn an_account_without_a_place_is_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let counts = Counts::open(&folder.path().join("counts")).unwrap();
        let last = ACCOUNTS as u64 - 1;
        assert!(counts.take(last, 1, NOW_S).is_some());
        for account in [last + 1, u64::MAX] {
            assert_eq!(counts.take(account, 1, NOW_S), None);
        }
    }

    #[test]
    fn settings_need_a_file_that_can_be_written() {
        let problem = |settings: &str| Plans::with_settings(settings).err().unwrap();
        assert!(problem(r#"{"key": "YQ"}"#).contains("add `counts`"));
        assert!(
            problem(r#"{"key": "YQ", "counts": "/nonexistent/counts"}"#).contains("`/nonexistent/counts`")
        );
    }

    #[test]
    fn a_pull_is_counted_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let counts = folder.path().join("counts");
        let settings = format!(r#"{{"key": "YQ", "personal": 2, "counts": "{}"}}"#, counts.display());
        let plans = Plans::read(&settings).unwrap();
        let token =
            Rules::read(r#"{"key": "YQ"}"#).unwrap().token(Grant { account: 1, plan: Plan::Personal }, NOW_S);
        let status = |method: &str, path: &str, token: Option<&str>| {
            let refusal = plans.refusal(method.as_bytes(), path.as_bytes(), token.map(str::as_bytes), NOW_S);
            refusal.map(|refusal| refusal.status)
        };
        assert_eq!(status("GET", "/", None), None);
        assert_eq!(status("GET", "/images/a", None), Some(401));
        let pulls = [(); 3].map(|()| status("GET", "/images/a", Some(&token)));
        assert_eq!(pulls, [None, None, Some(429)]);
        assert_eq!(status("PUT", "/images/a", Some(&token)), None);
    }
}
