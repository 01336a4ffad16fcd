use hoptax_result::{LoadResult, RequestPhase};
use proptest::prelude::*;

use super::super::tests::{batches, distribution, merged, run};
use super::super::{Run, merge};
use super::*;
use crate::encoded::{decode, encode};

/// The requests of one name that were answered after these times.
fn named(name: &str, times_us: &[u64]) -> (NamedRequests, RequestHistograms) {
    let all = distribution(times_us);
    let answered = all.count();
    let mut named = Named::new(name);
    named.book = Book { planned: answered, sent: answered, answered, ..Book::default() };
    named.times.response = all.histogram();
    named.times.without_generator = Some(all.histogram());
    named.times.batches = batches(times_us);
    named.response = all.moments();
    named.without_generator = all.moments();
    named.stated()
}

/// A run whose requests of each name were answered after these times.
fn run_of(file: &str, of_names: &[(&str, Vec<u64>)]) -> Run {
    let all: Vec<u64> = of_names.iter().flat_map(|(_, times_us)| times_us).copied().collect();
    let mut run = run(file, &all);
    let body = &mut run.result.body;
    let histograms = body.histograms.as_mut().unwrap();
    for (name, times_us) in of_names {
        let (row, of_name) = named(name, times_us);
        body.by_request.push(row);
        histograms.by_request.insert((*name).to_owned(), of_name);
    }
    run
}

/// Two runs of two names.
fn two() -> [Run; 2] {
    [
        run_of("a.json", &[("GET /", vec![1; 5]), ("GET /b", vec![2; 3])]),
        run_of("b.json", &[("GET /", vec![1; 7]), ("GET /b", vec![2; 4])]),
    ]
}

/// The names of the rows with their answered requests.
fn rows(result: &LoadResult) -> Vec<(&str, u64)> {
    result.by_request.iter().map(|row| (row.name.as_str(), row.book.answered)).collect()
}

proptest! {
    // Each case encodes and decodes some 400 histograms.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn rows_are_those_of_the_requests_of_all_runs_and_add_up_to_the_load(
        times in prop::collection::vec((1..50_000_000_u64, 0..2_usize, 0..3_usize), 60..300),
    ) {
        const NAMES: [&str; 3] = ["GET /a", "POST /b", NamedRequests::OTHERS];
        let of = |wanted: Option<usize>, name: usize| -> Vec<u64> {
            let is_wanted = |run: usize| wanted.is_none_or(|wanted| wanted == run);
            times.iter().filter(|(_, run, of)| is_wanted(*run) && *of == name).map(|(us, ..)| *us).collect()
        };
        let run_number = |number: usize| {
            let rows: Vec<(&str, Vec<u64>)> = (0..3).map(|name| (NAMES[name], of(Some(number), name))).collect();
            run_of(&number.to_string(), &rows)
        };
        let mut runs = [run_number(0), run_number(1)];
        // Two runs may have the same times.
        runs[1].result.plan.seed += 1;
        let result = merged(&runs);
        let answered: u64 = result.by_request.iter().map(|row| row.book.answered).sum();
        prop_assert_eq!(answered, result.book.answered);
        let histograms = result.histograms.as_ref().unwrap();
        for (number, row) in result.by_request.iter().enumerate() {
            prop_assert_eq!(row.name.as_str(), NAMES[number]);
            let whole = distribution(&of(None, number));
            let expected = whole.summary();
            prop_assert_eq!(
                (row.response.p50_us, row.response.p99_us, row.response.max_us),
                (expected.p50_us, expected.p99_us, expected.max_us)
            );
            let of_name = &histograms.by_request[&row.name];
            let read = crate::encoded::times(of_name.response.as_ref()).unwrap();
            prop_assert_eq!(&read, &whole.histogram());
            let batched = of_name.batches.iter().flatten().map(|one| decode::<u32>(one).unwrap().len());
            prop_assert_eq!(batched.sum::<u64>(), whole.count());
        }
    }
}

#[test]
fn the_interval_of_a_row_is_that_of_its_batches_in_all_runs() {
    let (one, other): (Vec<u64>, Vec<u64>) = ((1..=2_000).collect(), (1_001..=3_000).collect());
    let result = merged(&[
        run_of("a.json", &[("GET /", one.clone()), ("GET /b", vec![10])]),
        run_of("b.json", &[("GET /", other.clone()), ("GET /b", vec![20])]),
    ]);
    let mut all = batches(&one);
    all.iter_mut().zip(batches(&other)).for_each(|(all, more)| *all += more);
    let mut whole = Named::new("GET /");
    whole.times.response = distribution(&[one, other].concat()).histogram();
    whole.times.batches = all;
    let intervals = result.by_request[0].intervals;
    assert!(intervals.p90_us.is_some());
    assert_eq!(intervals, whole.times.intervals());
    assert_eq!(result.by_request[1].intervals.p50_us, None, "two requests have none");
}

#[test]
fn requests_that_may_be_among_the_others_of_a_run_are_so_in_all() {
    let result = merged(&[
        run_of("a.json", &[("GET /a", vec![1; 5]), ("GET /b", vec![2; 3]), ("others", vec![3; 2])]),
        run_of("b.json", &[("GET /a", vec![1; 7]), ("GET /c", vec![2; 4])]),
    ]);
    // Those of `/c` may be among the others of the first run. The second has no others, so it has no `/b`.
    assert_eq!(rows(&result), [("GET /a", 12), ("GET /b", 3), ("others", 6)]);
    assert_eq!(result.by_request[2].response.count, 6);
}

#[test]
fn more_names_than_rows_leave_the_most_frequent_ones() {
    let count = NamedRequests::MOST + 2;
    let names: Vec<String> = (0..count).map(|number| format!("GET /{number}")).collect();
    let of = |numbers: std::ops::Range<usize>| -> Vec<(&str, Vec<u64>)> {
        let times = |number: usize| if number < 2 { vec![1] } else { vec![1, 2] };
        numbers.map(|number| (names[number].as_str(), times(number))).collect()
    };
    let result = merged(&[run_of("a.json", &of(0..40)), run_of("b.json", &of(40..count))]);
    let rows = rows(&result);
    assert_eq!(rows.len(), NamedRequests::MOST + 1);
    assert_eq!((rows[0], rows[NamedRequests::MOST]), (("GET /2", 2), ("others", 2)));
}

#[test]
fn counts_by_outcome_are_added() {
    let mut runs = two();
    for (run, count) in runs.iter_mut().zip([2, 3]) {
        let row = &mut run.result.body.by_request[0];
        row.book.planned += count;
        row.book.sent += count;
        row.book.failed += count;
        let failed = Book { planned: count, sent: count, failed: count, ..Book::default() };
        run.result.body.book.add(&failed);
        row.failures.insert("reset".to_owned(), count);
        row.unsent.insert("busy".to_owned(), 10 * count);
    }
    let row = merged(&runs).body.by_request.remove(0);
    assert!(row.book.balances(), "{:?}", row.book);
    assert_eq!((row.book.failed, row.failures["reset"], row.unsent["busy"]), (5, 5, 50));
}

#[test]
fn rows_of_only_some_runs_are_refused_and_none_are_none() {
    let mut runs = two();
    assert_eq!(merged(&runs).by_request.len(), 2);
    runs[1].result.by_request.clear();
    let error = merge(&runs, Vec::new()).unwrap_err().join("\n");
    assert!(error.contains("`b.json` has no requests by name, and `a.json` has some"), "{error}");
    runs[0].result.by_request.clear();
    let result = merged(&runs);
    assert!(result.by_request.is_empty() && result.histograms.as_ref().unwrap().by_request.is_empty());
}

#[test]
fn rows_that_do_not_add_up_to_their_load_are_refused() {
    let mut runs = two();
    runs[1].result.by_request[0].book.planned -= 2;
    let error = merge(&runs, Vec::new()).unwrap_err().join("\n");
    assert!(
        error.contains(
            "the requests by name of `b.json` do not add up to its load (9 of 11 planned, 11 of 11"
        ),
        "{error}"
    );
}

#[test]
fn rows_that_do_not_match_their_histograms_are_refused() {
    let mut runs = two();
    let rows = &mut runs[0].result.by_request;
    rows[0].book.answered -= 1;
    rows[1].book.answered += 1;
    let error = merge(&runs, Vec::new()).unwrap_err().join("\n");
    assert!(error.contains("11 requests `GET /` were answered, but their histograms hold 12"), "{error}");
}

#[test]
fn phases_of_the_same_times_are_added_and_others_are_none() {
    let (one, other): (Vec<u64>, Vec<u64>) = ((1..=400).collect(), (401..=800).collect());
    let mut runs = [run("a.json", &one), run("b.json", &other)];
    for (run, times_us) in runs.iter_mut().zip([&one, &other]) {
        let times: Vec<_> = batches(times_us).iter().map(encode).collect();
        let phases = &mut run.result.body.histograms.as_mut().unwrap().phases;
        phases.insert(RequestPhase::FirstByte, times.clone());
        if run.file == "b.json" {
            phases.insert(RequestPhase::Connect, times);
        }
    }
    let phases = |runs: &[Run]| merged(runs).body.histograms.unwrap().phases;
    let all = phases(&runs);
    let counts = |phase: RequestPhase| -> Vec<u64> {
        all[&phase].iter().map(|one| decode::<u32>(one.as_ref().unwrap()).unwrap().len()).collect()
    };
    assert_eq!(
        (counts(RequestPhase::FirstByte), counts(RequestPhase::Connect)),
        (vec![40; 20], vec![20; 20])
    );
    let mut fewer = runs.clone();
    let histograms = fewer[0].result.body.histograms.as_mut().unwrap();
    histograms.phases.get_mut(&RequestPhase::FirstByte).unwrap().pop();
    assert!(phases(&fewer).is_empty(), "one run has fewer batches");
    let mut apart = runs;
    apart[1].result.recorded_from_unix_s = apart[1].result.recorded_from_unix_s.map(|from_s| from_s + 4.0);
    assert!(phases(&apart).is_empty(), "their records are of other times");
}
