//! Records where the nodes of a bootstrap come from: the user's files, and the subtrees that were taken from each.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::document::Document;
use crate::place::Place;

/// The files of a configuration, and the subtrees that were taken from each.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    /// The first is the file of the bootstrap.
    documents: Vec<Arc<Document>>,
    /// Subtrees that were taken from other places, by their pointers in the bootstrap.
    grafts: BTreeMap<String, Graft>,
}

/// A subtree that was taken from another place.
#[derive(Clone, Debug)]
struct Graft {
    /// The number of its document.
    document: usize,
    /// Its pointer there.
    from: String,
}

impl Origins {
    /// Starts with a bootstrap in one file.
    pub(super) fn new(document: Document) -> Self {
        Self { documents: vec![Arc::new(document)], grafts: BTreeMap::new() }
    }

    /// The place of a node of the bootstrap.
    pub(crate) fn place(&self, pointer: &str) -> Place {
        self.placed(pointer).1
    }

    /// The index of the file that contains a node of the bootstrap, and its place there.
    pub(crate) fn placed(&self, pointer: &str) -> (usize, Place) {
        let (document, pointer) = self.origin(pointer);
        (document, self.documents[document].place(&pointer))
    }

    /// The index of the file that contains a node of the bootstrap, and its pointer there.
    pub(crate) fn origin(&self, pointer: &str) -> (usize, String) {
        let mut around = pointer;
        let graft = loop {
            match (self.grafts.get(around), around.rsplit_once('/')) {
                (None, Some((parent, _))) => around = parent,
                (graft, _) => break graft,
            }
        };
        match graft {
            Some(graft) => (graft.document, format!("{}{}", graft.from, &pointer[around.len()..])),
            None => (0, pointer.to_owned()),
        }
    }

    /// All files.
    pub(super) fn documents(&self) -> impl Iterator<Item = &Document> {
        self.documents.iter().map(Arc::as_ref)
    }

    /// The place of a node of the file of this number.
    pub(super) fn place_in(&self, number: usize, pointer: &str) -> Place {
        self.documents[number].place(pointer)
    }

    /// Adds a file, and returns its number.
    pub(super) fn add(&mut self, document: Document) -> usize {
        self.documents.push(Arc::new(document));
        self.documents.len() - 1
    }

    /// The file of this number.
    pub(super) fn document(&self, number: usize) -> &Document {
        &self.documents[number]
    }

    /// Records that the subtree at the pointer `at` of the bootstrap was taken from the pointer `from` of a file.
    pub(super) fn take(&mut self, at: String, document: usize, from: String) {
        self.grafts.insert(at, Graft { document, from });
    }
}
