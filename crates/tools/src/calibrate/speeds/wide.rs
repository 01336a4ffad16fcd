//! Work in user space whose code exceeds the instruction caches.
//!
//! A proxy executes some hundred thousand instructions per request, most of them once, so it waits for instruction fetches and mispredicted
//! branches. Loops that stay in a cache do not show these waits, by which machines differ by a factor of their own.

use std::hint::black_box;

use hoptax_result::{SpeedKind, SpeedSide};

use super::compute::cycle;
use super::work::{Work, thread_time};

/// Number of functions that are called in turn. Each is about 250 bytes of code: together they are about as large as
/// the code that Envoy executes for a request, larger than a first-level cache, and smaller than a second-level one.
const PIECES: usize = 2_048;

type Piece = fn(u64) -> u64;

/// One operation is one call. The functions are called in an order that no prefetcher can predict.
pub(super) fn work() -> Work {
    let order = cycle(PIECES);
    let pieces: Vec<Piece> = pieces();
    let (mut at, mut state) = (0, 1);
    Work::new(
        SpeedKind::WideCode,
        SpeedSide::User,
        "call the next of 2,048 functions, in random order",
        move |count| {
            let began = thread_time();
            for _ in 0..count {
                at = order[at];
                state = pieces[at](state);
            }
            black_box(state);
            Ok(thread_time().saturating_sub(began))
        },
    )
}

/// One function: arithmetic and branches that depend on its argument, different from those of all other functions.
#[inline(never)]
fn piece<const NUMBER: u64>(given: u64) -> u64 {
    let mut state = given ^ NUMBER.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if state & (1 << (NUMBER % 31)) == 0 {
        state = state.rotate_left(7).wrapping_mul(NUMBER | 1);
    } else {
        state = state.wrapping_add(NUMBER << 9) ^ (state >> 11);
    }
    if state & (1 << (NUMBER % 29 + 3)) == 0 {
        state = state.wrapping_mul(NUMBER.wrapping_mul(0xd6e8_feb8_6659_fd93) | 1);
    } else {
        state ^= state.rotate_right(23).wrapping_sub(NUMBER);
    }
    if state & (1 << (NUMBER % 23 + 5)) == 0 {
        state = state.rotate_left(13) ^ (NUMBER << 21);
    } else {
        state = state.wrapping_add(NUMBER.wrapping_mul(0xa24b_aed4_963e_e407));
    }
    if state & (1 << (NUMBER % 19 + 7)) == 0 {
        state = (state ^ (state >> 29)).wrapping_mul(NUMBER.wrapping_mul(0x9fb2_1c65_1e98_df25) | 1);
    } else {
        state = state.rotate_right(5) ^ NUMBER.rotate_left(40);
    }
    state
}

/// Sixteen functions, from a multiple of 16.
macro_rules! sixteen {
    ($into:ident, $of:expr) => {
        sixteen!($into, $of; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    };
    ($into:ident, $of:expr; $($number:literal)*) => {
        $into.extend([$(piece::<{ $of * 16 + $number }> as Piece),*]);
    };
}

/// 256 functions.
macro_rules! block {
    ($into:ident, $of:expr) => {
        block!($into, $of; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    };
    ($into:ident, $of:expr; $($number:literal)*) => {
        $(sixteen!($into, $of * 16 + $number);)*
    };
}

fn pieces() -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(PIECES);
    block!(pieces, 0);
    block!(pieces, 1);
    block!(pieces, 2);
    block!(pieces, 3);
    block!(pieces, 4);
    block!(pieces, 5);
    block!(pieces, 6);
    block!(pieces, 7);
    pieces
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_function_has_its_own_code() {
        let pieces = pieces();
        assert_eq!(pieces.len(), PIECES);
        let indices: BTreeSet<usize> = pieces.iter().map(|piece| *piece as usize).collect();
        assert_eq!(indices.len(), PIECES);
        // Together they exceed a first-level instruction cache, which is 32 or 64 KiB.
        let (first, last) = (indices.first().unwrap(), indices.last().unwrap());
        assert!(last - first > 128 << 10, "{} bytes", last - first);
    }
}
