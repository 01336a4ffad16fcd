//! The Envoys of a study: the usual one, and those that single proxies choose.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use super::release::{Envoy, EnvoyChoice, ReleaseError};

/// Envoys by the choice that names them.
#[derive(Clone, Debug)]
pub struct Envoys {
    usual: Envoy,
    chosen: BTreeMap<String, Envoy>,
}

impl Envoys {
    /// The usual Envoy, and those that single proxies choose by these names. All may be fetched if the usual one may: see [`Envoy::find`].
    /// `note` is called before every slow step.
    ///
    /// # Errors
    /// When one of them is not available, and when `stop` is set while one is fetched.
    pub fn find<'a>(
        usual: EnvoyChoice<'_>,
        names: impl IntoIterator<Item = &'a str>,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, ReleaseError> {
        let of_usual = Envoy::find(usual, stop, note)?;
        let mut chosen = BTreeMap::new();
        for name in names {
            chosen.insert(name.to_owned(), Envoy::find(usual.naming(name), stop, note)?);
        }
        Ok(Self { usual: of_usual, chosen })
    }

    /// Only the usual Envoy.
    pub fn only(usual: Envoy) -> Self {
        Self { usual, chosen: BTreeMap::new() }
    }

    /// The Envoy of proxies without a choice of their own.
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
