//! The commands, one file each; each has a `run` function from arguments to an exit code.

pub(crate) mod calibrate;
pub(crate) mod certs;
pub(crate) mod checks;
pub(crate) mod cleanup;
pub(crate) mod compare;
pub(crate) mod crosscheck;
pub(crate) mod envoy;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod functions;
pub(crate) mod gate;
pub(crate) mod history;
pub(crate) mod import;
mod judgement;
pub(crate) mod load;
mod load_file;
pub(crate) mod log;
pub(crate) mod merge;
mod never_halt;
pub(crate) mod origin;
mod own_study;
pub(crate) mod price;
pub(crate) mod prices;
pub(crate) mod reference;
pub(crate) mod runs;
pub(crate) mod study;
pub(crate) mod tune;
