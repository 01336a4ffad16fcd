//! The renderers of documents. None knows what a document was made from.

pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod terminal;
