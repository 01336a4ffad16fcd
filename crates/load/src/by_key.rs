//! Adds maps of counts by key, such as those of several workers.

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Adds the values of a map to those of another, by key.
pub(crate) fn add_by_key<K: Ord + Clone, V: Default + for<'a> AddAssign<&'a V>>(
    ours: &mut BTreeMap<K, V>,
    theirs: &BTreeMap<K, V>,
) {
    for (key, value) in theirs {
        *ours.entry(key.clone()).or_default() += value;
    }
}
