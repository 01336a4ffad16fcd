//! The requests in flight of the workers: observed at random moments, in each window and over the record, and in total.

/// Observations in a window, or in all.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    /// Sum of the observed numbers.
    sum: u64,
    /// Number of observations.
    count: u64,
}

impl Looks {
    /// The mean of the observed numbers; None without an observation.
    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// Requests in flight of one worker during the record, including those of the warm-up that are still in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    /// Observations by window. A worker has its own, because workers look at different moments: means add up, and sums do not.
    windows: Vec<Looks>,
    /// Total time that requests were in flight, nanoseconds.
    pub(super) total_ns: u64,
    /// Length of the worker's record, nanoseconds. Set when courses are merged, because workers that have sent all their
    /// requests end individually.
    pub(super) length_ns: Option<u64>,
}

impl InFlight {
    /// None yet, of a record that is divided into so many windows.
    pub(super) fn new(windows: usize) -> Self {
        Self { windows: vec![Looks::default(); windows], total_ns: 0, length_ns: None }
    }

    /// Adds an observation in a window.
    pub(super) fn look(&mut self, window: usize, in_flight: usize) {
        if let Some(looks) = self.windows.get_mut(window) {
            looks.sum += in_flight as u64;
            looks.count += 1;
        }
    }

    /// The mean of the observations in a window; None without one.
    fn mean_in(&self, window: usize) -> Option<f64> {
        self.windows.get(window).copied().and_then(Looks::mean)
    }

    /// The observations in all windows.
    fn looks(&self) -> Looks {
        let add = |all: Looks, one: &Looks| Looks { sum: all.sum + one.sum, count: all.count + one.count };
        self.windows.iter().fold(Looks::default(), add)
    }
}

/// Mean number of requests in flight of all workers over the record, which is `recorded_ns` long for a worker without a length of its own.
/// The number of observations is that of the worker with the fewest. None if a worker has none.
pub(super) fn mean(workers: &[InFlight], recorded_ns: u64) -> Option<hoptax_result::InFlight> {
    let all: Vec<Looks> = workers.iter().map(InFlight::looks).collect();
    let looks = all.iter().map(|looks| looks.count).min().filter(|count| *count > 0)?;
    let seen = all.iter().filter_map(|looks| looks.mean()).sum();
    let computed = workers
        .iter()
        .map(|worker| worker.total_ns as f64 / worker.length_ns.unwrap_or(recorded_ns).max(1) as f64);
    Some(hoptax_result::InFlight { seen, looks, computed: computed.sum() })
}

/// Mean number of requests in flight of all workers in each of the first `windows`; None in one that a worker did not observe.
pub(super) fn means(workers: &[InFlight], windows: usize) -> Vec<Option<f64>> {
    let of_all = |window: usize| workers.iter().map(|worker| worker.mean_in(window)).sum::<Option<f64>>();
    (0..windows).map(of_all).collect()
}

#[cfg(test)]
mod tests {
    use crate::course::Course;

    #[test]
    fn a_wait_is_in_all_windows_that_it_fills_and_the_means_of_workers_add_up() {
        let worker = |in_flight: usize, seen_until_ns: u64| {
            let mut course = Course::new(0, 1_000_000_000, 0, 1);
            course.sample(seen_until_ns, in_flight, 1);
            course
        };
        let means = |course: &Course| course.in_flight_over_time().unwrap().means;
        let known =
            |mean: f64, windows: usize| [vec![Some(mean); windows], vec![None; 100 - windows]].concat();
        let mut all = worker(2, 500_000_000);
        assert_eq!(means(&all), known(2.0, 50));
        all.merge(worker(3, 500_000_000));
        assert_eq!(means(&all), known(5.0, 50));
        // What one worker did not see is not known of all.
        all.merge(worker(1, 250_000_000));
        assert_eq!(means(&all), known(6.0, 25));
        all.truncate(100_000_000);
        assert_eq!(means(&all), [Some(6.0); 10]);
        assert_eq!(Course::new(0, 1_000_000_000, 0, 1).in_flight_over_time(), None);
    }
}
