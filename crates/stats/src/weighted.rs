//! Values with their weights.

/// A value with its weight: a term of a weighted sum, or a part of a mixture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weighted<T> {
    /// The weight, of either sign in a sum and positive in a mixture.
    pub weight: f64,
    /// Weighted value.
    pub value: T,
}

impl<T> Weighted<T> {
    /// A value with its weight.
    pub const fn new(weight: f64, value: T) -> Self {
        Self { weight, value }
    }
}
