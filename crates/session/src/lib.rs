//! What commands do with values instead of arguments: measures a study ([`measure()`]) with its run folder, its length and its files, and
//! what else is measured: loads ([`load`]), searches ([`find`]), bills ([`price`]), comparisons ([`mod@compare`]), gates ([`gate`]), graphs of
//! services ([`graph`]), the generator itself ([`mod@calibrate`], [`mod@crosscheck`]). Nothing here prints, exits or reads arguments: it says what happens ([`Say`]).

pub mod awake;
pub mod calibrate;
pub mod cleanup;
pub mod compare;
pub mod crosscheck;
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
mod placement;
pub mod price;
pub mod prices;
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
mod study_text;
pub mod tables;
pub mod thresholds;
pub mod tls;
mod trials;
mod update;
mod words;

pub use failure::{Failure, Kind};
pub use interrupt::Interrupt;
pub use length::Asked;
pub use manifest::Manifest;
pub use measure::{Like, Measured, Options, Place, complete, measure, outline, plan};
pub use study_text::StudyText;
pub use update::{Say, Update};
