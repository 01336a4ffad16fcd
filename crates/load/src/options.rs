//! Values of the options of loads and of searches: those that hold where nothing states another, and limits. The engine needs none of them.
//! Commands begin with them, and the commands that documents propose leave out an option that has such a value.

use std::time::Duration;

/// Number of connections.
pub const CONNECTIONS: u32 = 16;
/// Time limit of a request.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// Worker threads of a generator.
pub const WORKERS: u32 = 1;
/// Arrival process of a load.
pub const ARRIVALS: &str = "uniform";
/// Arrival process of a search: independent requests, as those of many callers.
pub const ARRIVALS_OF_SEARCH: &str = "poisson";
/// Preset of a search.
pub const PRESET: &str = "quick";
/// Time limit of a search with that preset.
pub const BUDGET: Duration = Duration::from_mins(5);
/// Time limit of a search with the other preset, `careful`.
pub const BUDGET_OF_CAREFUL: Duration = Duration::from_mins(90);
/// The highest rate of a search, as a multiple of the rate of the closed loop. An open loop on as many connections carries hardly more than
/// a closed one.
pub const ABOVE_CLOSED_LOOP: f64 = 2.0;
/// The lowest rate of a search, as a share of the highest.
pub const LOWEST_SHARE: f64 = 1e-3;
/// The lowest rate of a search that is accepted, requests per second: the shortest trial still sends a request.
pub const LOWEST_RATE: f64 = 1.0;
/// The longest duration that is accepted, a year: sums and multiples of durations cannot overflow.
pub const LONGEST: Duration = Duration::from_hours(24 * 366);
