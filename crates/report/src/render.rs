//! The renderers of documents, and the list of those that write files. None knows the result behind a document.

pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod terminal;

use crate::document::Document;

/// A file format for all documents.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Its name for people, without a comma or an equals sign.
    pub name: &'static str,
    /// The extension of its files.
    pub extension: &'static str,
    /// The media type of its files.
    pub media_type: &'static str,
    /// Renders a document.
    ///
    /// # Errors
    /// When the document cannot be rendered in this format.
    pub text: fn(&Document) -> Result<String, String>,
}

/// All file formats. A study writes each as `report.EXTENSION`.
pub const OUTPUTS: &[Output] = &[
    Output {
        name: "Markdown",
        extension: "md",
        media_type: "text/markdown; charset=utf-8",
        text: |document| Ok(markdown::text(document)),
    },
    Output {
        name: "HTML",
        extension: "html",
        media_type: "text/html; charset=utf-8",
        text: |document| html::page(document).map_err(|error| error.to_string()),
    },
    Output {
        name: "CSV",
        extension: "csv",
        media_type: "text/csv; charset=utf-8",
        text: |document| Ok(csv::text(document)),
    },
    Output {
        name: "JSON",
        extension: "json",
        media_type: "application/json",
        text: |document| json::text(document).map_err(|error| error.to_string()),
    },
];
