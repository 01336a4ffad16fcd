//! The commands of the program as functions that take values instead of arguments. [`measure()`] measures a study with its run folder, its
//! length and its files. Others measure loads ([`load`]), searches ([`find`]), bills ([`price`]), comparisons ([`mod@compare`]), gates
//! ([`gate`]), graphs of services ([`graph`]) and the generator itself ([`mod@calibrate`], [`mod@crosscheck`]). Nothing here prints, exits
//! or reads arguments: progress and notes go to a callback of the caller ([`Say`]).

pub mod awake;
pub mod calibrate;
pub mod cleanup;
pub mod compare;
pub mod crosscheck;
pub mod doctor;
pub mod environment;
pub mod estimate;
pub mod export;
mod failure;
pub mod find;
mod flames;
mod forecast;
pub mod functions;
pub mod gate;
pub mod graph;
pub mod history;
mod interrupt;
mod judged;
pub mod length;
pub mod library;
pub mod lint;
pub mod listeners;
pub mod load;
pub mod machine;
mod manifest;
mod measure;
pub mod merge;
mod outputs;
pub mod pages;
mod placement;
pub mod price;
pub mod prices;
mod probe;
pub mod progress;
mod rates;
mod recorder;
mod replaced;
pub mod requirements;
pub mod results;
mod run_files;
pub mod run_folder;
pub mod sittings;
pub mod store;
mod study;
pub mod tables;
pub mod targets;
pub mod thresholds;
pub mod tls;
pub mod token;
mod trials;
mod update;
mod words;

pub use failure::{Failure, Kind};
pub use hoptax_subject::envoy::release::EnvoyChoice;
pub use hoptax_text::controls::written_out;
pub use interrupt::Interrupt;
pub use length::RequestedLength;
pub use manifest::Manifest;
pub use measure::{EarlierSitting, Measured, Options, Place, checked_plan, complete, measure, outline};
pub use outputs::write_all as write_outputs;
pub use study::Study;
pub use update::{Say, Update};
