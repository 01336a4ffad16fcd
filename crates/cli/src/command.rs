//! The commands, one file each.

pub(crate) mod envoy;
pub(crate) mod functions;
pub(crate) mod load;
pub(crate) mod origin;
pub(crate) mod reference;
pub(crate) mod study;
