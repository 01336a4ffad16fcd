//! The place of an Envoy among those that replace each other by hot restart.

/// A generation of an Envoy that can be replaced by hot restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// It has a new base id.
    First,
    /// It takes over from the generation before.
    Successor {
        /// The base id of all generations.
        base_id: u32,
        /// Number of earlier generations.
        epoch: u32,
    },
}
