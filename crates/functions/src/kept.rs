//! The fragment of a composition, kept once it was rendered.

use std::sync::{Arc, OnceLock};

use crate::fragment::Fragment;

/// A fragment that is rendered at the first question and kept for the others: a plan asks several of each arm, and each slice asks one
/// more before it reads the counters of its proxies.
#[derive(Clone, Default)]
pub(crate) struct KeptFragment(Arc<OnceLock<Option<Fragment>>>);

impl KeptFragment {
    /// The fragment, as `render` returns it for the first call; None if it does not render.
    pub(crate) fn get_or_init(&self, render: impl FnOnce() -> Option<Fragment>) -> Option<&Fragment> {
        self.0.get_or_init(render).as_ref()
    }
}

/// It follows from the functions, so it makes no difference between two compositions.
impl PartialEq for KeptFragment {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
