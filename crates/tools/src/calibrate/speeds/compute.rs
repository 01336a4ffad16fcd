//! Work in user space: small loops that represent the computations of a proxy.
//!
//! Each is bound by a different resource: branches, bytes, multiplications, the first-level cache, the latency of the higher cache levels,
//! the allocator, the copy bandwidth. None of them enters the kernel, except where the allocator does.

use std::hint::black_box;
use std::io;
use std::time::Instant;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use hoptax_result::{SpeedKind, SpeedSide};

use super::work::{Work, thread_time};

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Memory that fits into the second-level cache of any server processor, but no first-level cache, bytes.
const NEAR_BYTES: usize = 256 << 10;
/// Memory that exceeds any second-level cache, bytes.
const FAR_BYTES: usize = 16 << 20;
/// Sizes that a proxy allocates for one request: strings, header entries, buffers.
const ALLOCATIONS_BYTES: [usize; 8] = [24, 64, 160, 32, 512, 96, 4096, 256];

const HEAD: &[u8] = b"GET /api/v1/items/42?full=true HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: curl/8.5.0\r\n\
    Accept: application/json\r\nAccept-Encoding: gzip, br\r\nX-Request-Id: 3f9a1c52-77aa-4c8e-9b1e-2a6d1f0c9e55\r\n\
    X-Forwarded-For: 192.0.2.17\r\nX-Forwarded-Proto: https\r\nCookie: session=8c1f2ab4a9d0; theme=dark\r\n\
    Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789\r\nCache-Control: no-cache\r\n\r\n";

/// All kinds of work in user space.
pub(super) fn works() -> io::Result<Vec<Work>> {
    let mut works = vec![
        matching(),
        parsing(),
        digesting(),
        verifying()?,
        compressing(),
        loading(SpeedKind::NearLoad, NEAR_BYTES, "one dependent load within 256 KiB"),
        loading(SpeedKind::FarLoad, FAR_BYTES, "one dependent load within 16 MiB"),
    ];
    works.extend([allocating(), copying(), clock()]);
    Ok(works)
}

/// A loop over `one`, in CPU time.
fn work(kind: SpeedKind, operation: &'static str, mut one: impl FnMut() + Send + 'static) -> Work {
    Work::new(kind, SpeedSide::User, operation, move |count| {
        let began = thread_time();
        for _ in 0..count {
            one();
        }
        Ok(thread_time().saturating_sub(began))
    })
}

fn matching() -> Work {
    let prefixes: Vec<String> = (0..100).map(|number| format!("/api/v1/service-{number:03}/")).collect();
    let mut number = 0;
    let paths: Vec<String> = (0..37).map(|path| format!("/api/v1/service-{:03}/item", 63 + path)).collect();
    work(SpeedKind::Match, "compare a path with 63 to 99 prefixes", move || {
        number = (number + 1) % paths.len();
        let path = black_box(paths[number].as_str());
        black_box(prefixes.iter().position(|prefix| path.starts_with(prefix.as_str())));
    })
}

fn parsing() -> Work {
    work(SpeedKind::Parse, "parse a request head with ten headers", || {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut request = httparse::Request::new(&mut headers);
        let _ = black_box(request.parse(black_box(HEAD)));
    })
}

fn digesting() -> Work {
    let bytes = text(1024);
    work(SpeedKind::Digest, "SHA-256 of 1 KiB", move || {
        black_box(digest(&SHA256, black_box(&bytes)));
    })
}

fn verifying() -> io::Result<Work> {
    let refused = |_| io::Error::other("the library of cryptography makes no key");
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(refused)?;
    let signature = key.sign(&random, HEAD).map_err(refused)?.as_ref().to_vec();
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.public_key().as_ref().to_vec());
    Ok(work(SpeedKind::Signature, "verify an ECDSA P-256 signature", move || {
        let _ = black_box(public.verify(black_box(HEAD), &signature));
    }))
}

/// The main loop of a Lempel-Ziv compressor: looks up the four bytes at each position in a table of their last
/// occurrences, and compares onwards where they match.
fn compressing() -> Work {
    let bytes = text(16 << 10);
    let mut table = vec![0_u32; 8192];
    work(SpeedKind::Compress, "search 16 KiB for matches with a table of 32 KiB", move || {
        table.fill(0);
        let mut at = 0;
        let mut matched = 0;
        while at + 4 <= bytes.len() {
            let word = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            let slot = (word.wrapping_mul(2_654_435_761) >> 19) as usize;
            let candidate = table[slot] as usize;
            table[slot] = at as u32;
            let length = bytes[at..].iter().zip(&bytes[candidate..]).take_while(|(a, b)| a == b).count();
            if candidate < at && length >= 4 {
                matched += length;
                at += length;
            } else {
                at += 1;
            }
        }
        black_box(matched);
    })
}

/// A pointer chase through all lines of `bytes` in random order, so that loads cannot overlap and no prefetcher can
/// predict the next.
fn loading(kind: SpeedKind, bytes: usize, operation: &'static str) -> Work {
    let next = chain(bytes / LINE_BYTES);
    let mut at = 0;
    work(kind, operation, move || at = black_box(next[at].0))
}

/// One cache line, which holds the index of the next.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
struct Line(usize);

/// A cycle through `count` cache lines.
fn chain(count: usize) -> Vec<Line> {
    cycle(count).into_iter().map(Line).collect()
}

/// A single random cycle through `count` indexes, the same each time: the successor of each (Sattolo 1986).
pub(super) fn cycle(count: usize) -> Vec<usize> {
    let mut next: Vec<usize> = (0..count).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..count).rev() {
        let other = (xorshift(&mut random) % last as u64) as usize;
        next.swap(last, other);
    }
    next
}

fn allocating() -> Work {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    work(SpeedKind::Allocate, "allocate and free eight blocks of 24 to 4,096 bytes", move || {
        kept.extend(ALLOCATIONS_BYTES.map(|bytes| Vec::with_capacity(black_box(bytes))));
        black_box(&kept);
        kept.clear();
    })
}

fn copying() -> Work {
    let from = text(64 << 10);
    let mut to = vec![0; from.len()];
    work(SpeedKind::Copy, "copy 64 KiB", move || {
        to.copy_from_slice(black_box(&from));
        black_box(&to);
    })
}

fn clock() -> Work {
    work(SpeedKind::Clock, "read the monotonic clock", || {
        black_box(Instant::now());
    })
}

/// Text of words that repeat as in JSON, the same each time.
fn text(bytes: usize) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "\"id\":",
        "\"name\":",
        "\"price\":",
        "true,",
        "false,",
        "null,",
        "{",
        "},",
        "[",
        "],",
        "\"shop\"",
        "\"cart\"",
        "1024,",
        "3.25,",
        "\"eu-west\"",
        "\"pending\"",
    ];
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let words = std::iter::from_fn(|| {
        let drawn = xorshift(&mut random);
        Some(format!("{}{}", WORDS[(drawn % 16) as usize], (drawn >> 32) % 1000))
    });
    words.flat_map(String::into_bytes).take(bytes).collect()
}

/// A pseudo-random number of low quality (Marsaglia 2003).
fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_visits_every_line_before_it_returns() {
        let next = chain(1_000);
        let mut at = 0;
        let mut steps = 0;
        loop {
            at = next[at].0;
            steps += 1;
            if at == 0 {
                break;
            }
        }
        assert_eq!(steps, 1_000);
    }

    #[test]
    fn the_parsed_head_is_a_complete_request() {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut request = httparse::Request::new(&mut headers);
        assert!(request.parse(HEAD).unwrap().is_complete());
        assert_eq!(request.headers.len(), 10);
    }

    #[test]
    fn the_verified_signature_is_valid() {
        // Verifying an invalid signature would be cheaper.
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let signature = key.sign(&random, HEAD).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.public_key().as_ref().to_vec());
        assert!(public.verify(HEAD, signature.as_ref()).is_ok());
    }
}
