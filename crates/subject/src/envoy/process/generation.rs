//! The generation of an Envoy in a sequence of hot restarts.

/// A generation of an Envoy that can be replaced by hot restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// It has a new base id.
    First,
    /// It takes over from the previous generation.
    Successor {
        /// The base id of all generations.
        base_id: u32,
        /// Number of earlier generations.
        epoch: u32,
    },
}
