//! The Envoys of a study: the usual one, and those that single proxies choose.

use std::collections::BTreeMap;

use super::release::{Envoy, ReleaseError};

/// Envoys by the choice that names them.
#[derive(Clone, Debug)]
pub struct Envoys {
    usual: Envoy,
    chosen: BTreeMap<String, Envoy>,
}

impl Envoys {
    /// The usual Envoy, and those that `choices` name: see [`Envoy::find`]. `note` is called before everything that takes
    /// time.
    ///
    /// # Errors
    /// When one of them is not available.
    pub fn find<'a>(
        usual: Envoy,
        choices: impl IntoIterator<Item = &'a str>,
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, ReleaseError> {
        let mut chosen = BTreeMap::new();
        for choice in choices {
            chosen.insert(choice.to_owned(), Envoy::find(Some(choice), note)?);
        }
        Ok(Self { usual, chosen })
    }

    /// Only the usual Envoy.
    pub fn only(usual: Envoy) -> Self {
        Self { usual, chosen: BTreeMap::new() }
    }

    /// The Envoy of proxies that choose none.
    pub fn usual(&self) -> &Envoy {
        &self.usual
    }

    /// The Envoy of a choice; none for a choice that was not looked up.
    pub fn get(&self, choice: Option<&str>) -> Option<&Envoy> {
        choice.map_or(Some(&self.usual), |choice| self.chosen.get(choice))
    }

    /// The Envoys that single proxies choose, by choice.
    pub fn chosen(&self) -> impl Iterator<Item = (&str, &Envoy)> {
        self.chosen.iter().map(|(choice, envoy)| (choice.as_str(), envoy))
    }
}
