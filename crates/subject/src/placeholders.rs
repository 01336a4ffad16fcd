//! Placeholders in the commands of a study file.

/// The folder of the study file.
pub(crate) const FOLDER: &str = "{folder}";

/// A text with placeholders replaced by their values.
pub(crate) fn filled(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (placeholder, value)| text.replace(placeholder, value))
}
