//! Findings as the body of a result, and in other formats: annotations, SARIF, and lines like those of compilers.

mod body;
mod explained;
mod github;
mod lines;
mod sarif;

pub use body::{body, file};
pub use explained::{explained, listed, page};
pub use github::github;
pub use lines::lines;
pub use sarif::sarif;
