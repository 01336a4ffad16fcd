//! Items of a proxy that take memory.

/// Numbers of items of a proxy that take memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Items {
    pub(crate) connections: Option<u64>,
    pub(crate) clusters: Option<u64>,
    pub(crate) routes: Option<u64>,
}
