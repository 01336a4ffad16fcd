//! Counts and response times of the requests of each name, of a load that has several. Memory for the times of responses is
//! allocated before the load.

use std::collections::BTreeMap;
use std::sync::Arc;

use hdrhistogram::Histogram;
use hoptax_result::Book;

use crate::batches::Batches;
use crate::by_key::add_by_key;
use crate::distribution::{Distribution, histogram};
use crate::division::{Division, LastLookup};
use crate::request_names::RequestNames;

/// The requests of one name.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Counts by outcome. Waits for a connection are counted for the load alone.
    pub(crate) book: Book,
    /// Requests that were not sent, by reason.
    pub(crate) unsent: BTreeMap<&'static str, u64>,
    /// Failed requests, by kind.
    pub(crate) failures: BTreeMap<&'static str, u64>,
    /// Response time.
    pub(crate) response: Distribution,
    /// Response time without the delays of the generator.
    pub(crate) without_generator: Distribution,
    /// Censored response times of requests without a response; none before the first.
    pub(crate) pending: Option<Box<Histogram<u64>>>,
    /// Response times in each twentieth of the record; empty in a load with stages.
    pub(crate) batches: Batches,
}

impl Row {
    fn new() -> Self {
        Self {
            book: Book::default(),
            unsent: BTreeMap::new(),
            failures: BTreeMap::new(),
            response: Distribution::default(),
            without_generator: Distribution::default(),
            pending: None,
            batches: Batches::new(),
        }
    }

    fn record_pending(&mut self, ns: u64) {
        self.pending.get_or_insert_with(|| Box::new(histogram())).saturating_record(ns);
    }

    fn merge(&mut self, other: &Self) {
        self.book.add(&other.book);
        add_by_key(&mut self.unsent, &other.unsent);
        add_by_key(&mut self.failures, &other.failures);
        self.response += &other.response;
        self.without_generator += &other.without_generator;
        if let Some(theirs) = other.pending.as_deref() {
            **self.pending.get_or_insert_with(|| Box::new(histogram())) += theirs;
        }
        self.batches += &other.batches;
    }
}

/// The requests of one worker, or of all workers, by name. Requests are named by their target.
#[derive(Clone, Debug)]
pub(crate) struct ByRequest {
    names: Arc<RequestNames>,
    /// The division of the record into batches; none in a load with stages, which differ by design.
    record: Option<Division>,
    intended: LastLookup,
    rows: Vec<Row>,
}

impl ByRequest {
    /// An empty row for each name.
    pub(crate) fn new(names: Arc<RequestNames>, record: Option<Division>) -> Self {
        let rows = names.rows().iter().map(|_| Row::new()).collect();
        Self { names, record, intended: LastLookup::default(), rows }
    }

    /// Divides the record up to an expected end instead of the planned one. Called as the record begins, when at most its first moment is
    /// recorded.
    pub(crate) fn expect_end(&mut self, end_ns: u64) {
        self.record = self.record.map(|record| record.ending(end_ns));
        self.intended = LastLookup::default();
    }

    /// The requests of each name.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &Row)> {
        self.names.rows().iter().map(String::as_str).zip(&self.rows)
    }

    /// Adds the requests of another worker of the same load.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.rows.iter_mut().zip(&other.rows) {
            ours.merge(theirs);
        }
    }

    fn row(&mut self, target: usize) -> &mut Row {
        &mut self.rows[self.names.row_of(target)]
    }

    pub(crate) fn start(&mut self, target: usize, blocked: bool) {
        let book = &mut self.row(target).book;
        book.planned += 1;
        book.sent += 1;
        book.blocked += u64::from(blocked);
    }

    pub(crate) fn answer(&mut self, target: usize, intended_ns: u64, response_ns: u64) {
        let batch = self.record.map(|record| self.intended.number(intended_ns, record));
        let row = self.row(target);
        row.book.answered += 1;
        row.response.record(response_ns);
        if let Some(batch) = batch {
            row.batches.record(batch, response_ns);
        }
    }

    /// Records the response time of an answered request without the delays of the generator.
    pub(crate) fn answer_without_generator(&mut self, target: usize, response_ns: u64) {
        self.row(target).without_generator.record(response_ns);
    }

    pub(crate) fn fail(&mut self, target: usize, kind: &'static str) {
        let row = self.row(target);
        row.book.failed += 1;
        *row.failures.entry(kind).or_default() += 1;
    }

    /// Records a request that timed out after it had waited for `ns`.
    pub(crate) fn time_out(&mut self, target: usize, ns: u64) {
        let row = self.row(target);
        row.book.timed_out += 1;
        row.record_pending(ns);
    }

    /// Records a request that was still in flight at the end, after it had waited for `ns`.
    pub(crate) fn leave(&mut self, target: usize, ns: u64) {
        let row = self.row(target);
        row.book.unfinished += 1;
        row.record_pending(ns);
    }

    /// Records a request that was not sent. `waited_ns` is the time that it waited for a connection, if it still did so at the end.
    pub(crate) fn omit(&mut self, target: usize, reason: &'static str, waited_ns: Option<u64>) {
        let row = self.row(target);
        row.book.planned += 1;
        row.book.unsent += 1;
        *row.unsent.entry(reason).or_default() += 1;
        if let Some(ns) = waited_ns {
            row.record_pending(ns);
        }
    }

    pub(crate) fn send_again(&mut self, target: usize) {
        self.row(target).book.sent_again += 1;
    }
}
