//! The requests of one name in a result, of one trial or of several merged ones. Their response times follow the rules for all requests.

use std::collections::BTreeMap;

use hoptax_result::{Book, NamedRequests, RequestHistograms};

use crate::distribution::{Moments, histogram, summary};
use crate::encoded::encode;
use crate::times::{Times, unexpectedly_failed};

/// The requests of one name, with the histograms that their numbers are read from.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) book: Book,
    pub(crate) unsent: BTreeMap<String, u64>,
    pub(crate) failures: BTreeMap<String, u64>,
    /// Response times. Service times are not recorded by name.
    pub(crate) times: Times,
    /// The numbers that the histogram of response time does not have.
    pub(crate) response: Moments,
    /// The same for response time without the delays of the generator.
    pub(crate) without_generator: Moments,
}

impl Named {
    /// An empty row. Its service times stay empty.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            book: Book::default(),
            unsent: BTreeMap::new(),
            failures: BTreeMap::new(),
            times: Times {
                response: histogram(),
                without_generator: None,
                service: histogram(),
                pending_response: None,
                pending_service: None,
                batches: Vec::new(),
                failed: 0,
            },
            response: Moments::default(),
            without_generator: Moments::default(),
        }
    }

    /// Counts failed requests as requests of unknown length, if more failed than the load tolerates.
    #[must_use]
    pub(crate) fn with_tolerance(mut self, max_error_share: f64) -> Self {
        self.times.failed = unexpectedly_failed(&self.book, max_error_share);
        self
    }

    /// Their row in a result, and its histograms.
    pub(crate) fn stated(self) -> (NamedRequests, RequestHistograms) {
        let times = self.times;
        let pending = times.pending_response.as_ref();
        let response = summary(&times.response, self.response, pending);
        let without_generator =
            times.without_generator.as_ref().map(|times| summary(times, self.without_generator, None));
        let row = NamedRequests {
            name: self.name,
            book: self.book,
            unsent: self.unsent,
            failures: self.failures,
            response,
            without_generator,
            bounds: times.bounds_of_response(&response, without_generator.as_ref()),
            intervals: times.intervals(),
        };
        let histograms = RequestHistograms {
            response: encode(&times.response),
            pending_response: pending.and_then(encode),
            without_generator: times.without_generator.as_ref().and_then(encode),
            batches: times.batches.iter().map(encode).collect(),
        };
        (row, histograms)
    }
}
