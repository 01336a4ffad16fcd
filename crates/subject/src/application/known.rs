//! A sample application, as its file describes it.

/// An application of `apps/`.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name in study files.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// Its program, in `.tools/bin` or on PATH.
    pub(super) program: &'static str,
    /// Arguments with placeholders.
    pub(super) arguments: &'static [&'static str],
    /// Flags that functions of the catalogue may add, without dashes.
    pub(super) flags: &'static [&'static str],
    /// Advice for a missing program: where to get it.
    pub(super) remedy: &'static str,
}
