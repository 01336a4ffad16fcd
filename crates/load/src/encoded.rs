//! Histograms in results: encoding V2 of `HdrHistogram`, compressed, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Counter;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hoptax_result::Histogram;

use crate::distribution::histogram;

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

/// Decodes a histogram; None if it is invalid.
pub fn decode<C: Counter>(encoded: &Histogram) -> Option<hdrhistogram::Histogram<C>> {
    let bytes = STANDARD.decode(&encoded.0).ok()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

/// Decodes a histogram of times; without times if it is absent, None if it is invalid.
pub fn times(encoded: Option<&Histogram>) -> Option<hdrhistogram::Histogram<u64>> {
    encoded.map_or_else(|| Some(histogram()), decode)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn without_times_there_is_nothing_and_invalid_text_is_rejected() {
        assert_eq!(encode(&histogram()), None);
        assert!(times(None).unwrap().is_empty());
        for text in ["", "!", "AAAA", "HISTFAAAAB"] {
            assert!(times(Some(&Histogram(text.to_owned()))).is_none(), "{text}");
        }
    }
}
