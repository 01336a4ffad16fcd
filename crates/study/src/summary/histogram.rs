//! Histograms in results: `HdrHistogram` encoding V2, compressed, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hoptax_result::Histogram;

use crate::record::Times;

/// Merges the times; none if there are no times at all.
pub(super) fn merged<'a>(times: impl Iterator<Item = &'a Times>) -> Option<Histogram> {
    let mut all = hoptax_load::histogram();
    times.for_each(|one| one.add_to(&mut all));
    if all.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    // Writes to memory, which cannot fail.
    V2DeflateSerializer::new().serialize(&all, &mut bytes).ok()?;
    Some(Histogram(STANDARD.encode(bytes)))
}

/// Decodes a histogram; empty if there is none or it is invalid.
pub(super) fn decoded(encoded: Option<&Histogram>) -> hdrhistogram::Histogram<u64> {
    let read = |encoded: &Histogram| {
        let bytes = STANDARD.decode(&encoded.0).ok()?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
    };
    encoded.and_then(read).unwrap_or_else(hoptax_load::histogram)
}

/// Its values in nanoseconds with their counts, ascending.
pub(super) fn counts(encoded: Option<&Histogram>) -> Vec<(u64, u64)> {
    let histogram = decoded(encoded);
    histogram.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value())).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_load::Recording;
    use hoptax_result::Book;

    use super::*;
    use crate::record::{RoundRecord, SliceRecord};

    #[test]
    fn written_histograms_are_read_back() {
        let mut recording = Recording::new();
        recording.book = Book::default();
        for us in [40, 41, 41, 900, 5_000] {
            recording.response.record(us * 1_000);
        }
        let mut round = RoundRecord::default();
        round.add(SliceRecord::default(), &recording, true);
        let encoded = merged(round.responses.values()).unwrap();
        let counts = counts(Some(&encoded));
        let whole = recording.response.histogram();
        let expected: Vec<(u64, u64)> =
            whole.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value())).collect();
        assert_eq!(counts, expected);
        assert_eq!(merged([].into_iter()), None);
    }

    #[test]
    fn an_invalid_histogram_is_empty() {
        for text in ["", "!", "AAAA", "HISTFAAAAB"] {
            assert!(decoded(Some(&Histogram(text.to_owned()))).is_empty(), "{text}");
        }
    }
}
