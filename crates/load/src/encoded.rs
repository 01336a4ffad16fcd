//! Histograms in results and interval logs: encoding V2 of `HdrHistogram`, in base64.
//!
//! The library allocates as many bytes as an encoding states, up to 4 GiB, before it reads them. Therefore the bytes are counted here
//! first.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Counter;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hoptax_result::Histogram;

use crate::distribution::histogram;

/// First four bytes of the encoding: plain, and compressed with zlib. The length of the rest follows.
const PLAIN: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;
/// Bytes of the plain encoding before its counts.
const HEAD: usize = 40;
/// Maximum size of the counts: histograms of five digits have up to six million, of up to nine bytes each.
const MOST_BYTES: u32 = 1 << 26;
/// The smallest 64-bit number as encoded. The library negates numbers, which overflows for this one.
const LEAST: [u8; 9] = [0xff; 9];

/// Encodes a histogram; None if it is empty.
pub fn encode<C: Counter>(times: &hdrhistogram::Histogram<C>) -> Option<Histogram> {
    if times.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    // Writes to memory, which cannot fail.
    V2DeflateSerializer::new().serialize(times, &mut bytes).ok()?;
    Some(Histogram(STANDARD.encode(bytes)))
}

/// Decodes a histogram, compressed or not; None if it is invalid.
pub fn decode<C: Counter>(encoded: &Histogram) -> Option<hdrhistogram::Histogram<C>> {
    let bytes = STANDARD.decode(&encoded.0).ok()?;
    let (begin, length) = begin(&bytes)?;
    let plain = if begin == COMPRESSED {
        plain(ZlibDecoder::new(bytes.get(8..)?.take(u64::from(length))))
    } else {
        plain(bytes.as_slice())
    };
    Deserializer::new().deserialize(&mut plain?.as_slice()).ok()
}

/// Reads the plain encoding up to the length that it states; None if the input is shorter.
fn plain(mut from: impl Read) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    from.by_ref().take(HEAD as u64).read_to_end(&mut plain).ok()?;
    let (begin, length) = begin(&plain).filter(|(_, length)| *length <= MOST_BYTES)?;
    from.take(u64::from(length)).read_to_end(&mut plain).ok()?;
    let counts = plain.get(HEAD..)?;
    let is_valid = begin == PLAIN
        && counts.len() == length as usize
        && !counts.windows(LEAST.len()).any(|number| number == LEAST);
    is_valid.then_some(plain)
}

/// Returns the first four bytes of an encoding, and the length that it states.
fn begin(bytes: &[u8]) -> Option<(u32, u32)> {
    let (begin, rest) = bytes.split_first_chunk::<4>()?;
    let length = rest.first_chunk::<4>()?;
    Some((u32::from_be_bytes(*begin), u32::from_be_bytes(*length)))
}

/// Decodes a histogram of times; an empty one if it is absent, None if it is invalid.
pub fn times(encoded: Option<&Histogram>) -> Option<hdrhistogram::Histogram<u64>> {
    encoded.map_or_else(|| Some(histogram()), decode)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::V2Serializer;
    use proptest::prelude::*;

    use super::*;
    use crate::counts;

    proptest! {
        #[test]
        fn encoded_histograms_are_read_back(times_ns in prop::collection::vec(0..counts::MAX_NS, 1..100)) {
            let mut written = counts::histogram::<u32>(2);
            for ns in times_ns {
                written.record(ns).unwrap();
            }
            let read = decode::<u32>(&encode(&written).unwrap()).unwrap();
            prop_assert_eq!(&read, &written);
            prop_assert_eq!((read.min(), read.max()), (written.min(), written.max()));
        }
    }

    /// The plain encoding of two times, with another length in its head and these bytes behind it.
    fn plain_with(length: impl Fn(u32) -> u32, more: &[u8]) -> Vec<u8> {
        let mut times = histogram();
        times.record(1_000).unwrap();
        times.record(2_000_000).unwrap();
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&times, &mut bytes).unwrap();
        let (_, stated) = begin(&bytes).unwrap();
        bytes[4..8].copy_from_slice(&length(stated).to_be_bytes());
        bytes.extend_from_slice(more);
        bytes
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(bytes).unwrap();
        let zlib = zlib.finish().unwrap();
        let mut bytes = COMPRESSED.to_be_bytes().to_vec();
        bytes.extend((zlib.len() as u32).to_be_bytes());
        bytes.extend(zlib);
        bytes
    }

    fn count(bytes: &[u8]) -> Option<u64> {
        decode::<u64>(&Histogram(STANDARD.encode(bytes))).map(|times| times.len())
    }

    #[test]
    fn both_encodings_are_read_to_their_end_and_what_they_state_beyond_it_is_refused() {
        let whole = plain_with(|length| length, b"more");
        assert_eq!((count(&whole), count(&compressed(&whole))), (Some(2), Some(2)));
        for beyond in [plain_with(|length| length + 1, &[]), plain_with(|_| u32::MAX, &[])] {
            assert_eq!((count(&beyond), count(&compressed(&beyond))), (None, None));
        }
        // Few compressed bytes may be larger than any histogram.
        let large = plain_with(|_| u32::MAX, &[]);
        assert_eq!(plain(large.as_slice().chain(io::repeat(0))), None);
    }

    #[test]
    fn a_number_that_cannot_be_negated_is_refused() {
        assert_eq!(count(&plain_with(|length| length + 9, &LEAST)), None);
    }

    #[test]
    fn without_times_there_is_nothing_and_invalid_text_is_rejected() {
        assert_eq!(encode(&histogram()), None);
        assert!(times(None).unwrap().is_empty());
        for text in ["", "!", "AAAA", "HISTFAAAAB"] {
            assert!(times(Some(&Histogram(text.to_owned()))).is_none(), "{text}");
        }
    }
}
