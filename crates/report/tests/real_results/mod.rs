//! What becomes of real results: those that are recorded, those of releases, and the price list of the documentation.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod first_screens;
mod price_list;
mod upgrade;
