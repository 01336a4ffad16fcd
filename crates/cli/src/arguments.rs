//! Options that several commands share, the parsers of their values, and common texts of help and errors.

pub(crate) mod hint;
pub(crate) mod negative;
mod security;
pub(crate) mod shared;
pub(crate) mod traffic;
pub(crate) mod usual;
pub(crate) mod values;
