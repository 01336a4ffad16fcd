//! The division of a record into parts of equal length, and the part that a time is in.

use std::ops::Range;

/// The division of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    /// Start of the record.
    from_ns: u64,
    /// Its planned length, above zero.
    length_ns: u64,
    /// Number of parts, above zero.
    parts: usize,
}

/// The part of the last lookup, and its times: nearly every lookup is in the same part as the one before. Empty before the first lookup.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastLookup {
    number: usize,
    times_ns: Range<u64>,
}

impl LastLookup {
    /// The number of the part that contains a time. Times before the record are in the first part, times after it in the last.
    #[inline]
    pub(crate) fn number(&mut self, at_ns: u64, record: Division) -> usize {
        if !self.times_ns.contains(&at_ns) {
            *self = record.look_up(at_ns);
        }
        self.number
    }

    /// End of the part of the last lookup.
    pub(crate) fn end_ns(&self) -> u64 {
        self.times_ns.end
    }
}

impl Division {
    /// A record from `from_ns` to `end_ns`, divided into `parts`.
    pub(crate) fn new(from_ns: u64, end_ns: u64, parts: usize) -> Self {
        Self { from_ns, length_ns: end_ns.saturating_sub(from_ns).max(1), parts: parts.max(1) }
    }

    /// Start of the record.
    pub(crate) fn start_ns(self) -> u64 {
        self.from_ns
    }

    /// Planned end of the record.
    pub(crate) fn end_ns(self) -> u64 {
        self.from_ns.saturating_add(self.length_ns)
    }

    /// Length of a part, seconds.
    pub(crate) fn part_s(self) -> f64 {
        self.length_ns as f64 / self.parts as f64 / 1e9
    }

    /// The same record, divided into the same number of parts, with another end.
    #[must_use]
    pub(crate) fn ending(self, end_ns: u64) -> Self {
        Self::new(self.from_ns, end_ns, self.parts)
    }

    /// Number of parts that have ended at `until_ns`.
    pub(crate) fn complete(self, until_ns: u64) -> usize {
        let since_ns = u128::from(until_ns.saturating_sub(self.from_ns));
        let complete = since_ns * self.parts as u128 / u128::from(self.length_ns);
        usize::try_from(complete).unwrap_or(self.parts).min(self.parts)
    }

    fn look_up(self, at_ns: u64) -> LastLookup {
        let number = self.complete(at_ns).min(self.parts - 1);
        let start_ns = |number: usize| {
            let since_ns = (u128::from(self.length_ns) * number as u128).div_ceil(self.parts as u128);
            self.from_ns.saturating_add(since_ns as u64)
        };
        let first_ns = if number == 0 { 0 } else { start_ns(number) };
        let end_ns = if number == self.parts - 1 { u64::MAX } else { start_ns(number + 1) };
        LastLookup { number, times_ns: first_ns..end_ns }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_part_of_a_time_does_not_depend_on_earlier_lookups(
            from_ns in 0_u64..1_000_000,
            length_ns in 1_u64..2_000,
            parts in 1_usize..150,
            times_ns in prop::collection::vec(0_u64..1_003_000, 1..50),
        ) {
            let (mut last, record) = (LastLookup::default(), Division::new(from_ns, from_ns + length_ns, parts));
            // Times within the record too, also where it is short.
            let inside = times_ns.iter().map(|at_ns| from_ns + at_ns % (length_ns + 1)).collect::<Vec<_>>();
            for at_ns in times_ns.into_iter().chain(inside).chain([u64::MAX, 0]) {
                let since_ns = u128::from(at_ns.saturating_sub(from_ns));
                let expected = (since_ns * parts as u128 / u128::from(length_ns)).min(parts as u128 - 1);
                prop_assert_eq!(last.number(at_ns, record) as u128, expected);
            }
        }
    }

    #[test]
    fn a_part_is_complete_at_its_end() {
        let record = Division::new(1_000, 2_000, 20);
        assert_eq!([0, 1_000, 1_049, 1_050, 1_999].map(|at_ns| record.complete(at_ns)), [0, 0, 0, 1, 19]);
        assert_eq!((record.complete(2_000), record.complete(u64::MAX)), (20, 20));
        let shorter = record.ending(1_100);
        assert_eq!((shorter.end_ns(), shorter.complete(1_049), shorter.complete(1_050)), (1_100, 9, 10));
        assert!((shorter.part_s() - 5e-9).abs() < 1e-15, "{}", shorter.part_s());
    }
}
