//! Response times of queues with known solutions.

/// The quantile `p` of response time, as a multiple of the service time, for Poisson arrivals at one server with
/// constant service time (M/D/1) at `utilisation`.
///
/// **Method.** The waiting time distribution of G. J. Franx, "A simple solution for the M/D/c waiting time
/// distribution", *Operations Research Letters* 29, 2001, for one server: for `(k - 1) <= t < k` and
/// `u = utilisation (k - t)`, `P(W <= t) = exp(-u) sum(Q[k - 1 - j] u^j / j!, j < k)` with `Q` the cumulative
/// probabilities of the number in the system. Unlike Erlang's series it has no cancelling terms. Inverted by
/// bisection.
pub(crate) fn constant_service(utilisation: f64, p: f64) -> f64 {
    let sums = sums_of_states(utilisation);
    let waits_at_most = |t: f64| {
        let k = t.floor() as usize + 1;
        let u = utilisation * (k as f64 - t);
        let mut term = (-u).exp();
        (0..k)
            .map(|j| {
                let value = term * sums.get(k - 1 - j).copied().unwrap_or(1.0);
                term *= u / (j + 1) as f64;
                value
            })
            .sum::<f64>()
    };
    bisect(waits_at_most, p) + 1.0
}

/// `Q[m]`, the probability that at most `m + 1` requests are in the system.
fn sums_of_states(utilisation: f64) -> Vec<f64> {
    const STATES: usize = 200;
    let mut arrivals = vec![(-utilisation).exp()];
    for i in 1..=STATES {
        arrivals.push(arrivals.last().copied().unwrap_or_default() * utilisation / i as f64);
    }
    let at = |values: &[f64], i: usize| values.get(i).copied().unwrap_or_default();
    let mut states = vec![1.0 - utilisation];
    for j in 0..STATES {
        let from_others: f64 = (1..=j).map(|i| at(&states, i) * at(&arrivals, j - i + 1)).sum();
        let next = (at(&states, j) - at(&states, 0) * at(&arrivals, j) - from_others) / at(&arrivals, 0);
        states.push(next.max(0.0));
    }
    let mut sum = at(&states, 0);
    states
        .iter()
        .skip(1)
        .map(|state| {
            sum += state;
            sum.min(1.0)
        })
        .collect()
}

/// A closed loop of `users` with exponential think times of mean `think`, at one server with exponential service times
/// of mean 1 (M/M/1//N, the machine-repair model).
#[derive(Clone, Debug)]
pub(crate) struct ClosedLoop {
    /// Requests per service time.
    pub(crate) rate: f64,
    /// Probability of each number of other users that an arriving user finds at the server.
    found: Vec<f64>,
}

impl ClosedLoop {
    pub(crate) fn new(users: u32, think: f64) -> Self {
        let states = states(users, think);
        let idle = states.first().copied().unwrap_or_default();
        // An arriving user sees the system as it would be without that user (Sevcik and Mitrani 1981, Lavenberg and
        // Reiser 1980).
        Self { rate: 1.0 - idle, found: self::states(users.saturating_sub(1), think) }
    }

    /// The quantile `p` of response time, in service times. A user who finds `k` others waits for an Erlang time of
    /// `k + 1` stages.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let answered_within = |t: f64| {
            let mut term = (-t).exp();
            let mut more = 0.0;
            let mut stage = 0;
            self.found
                .iter()
                .map(|probability| {
                    more += term;
                    stage += 1;
                    term *= t / f64::from(stage);
                    probability * (1.0 - more)
                })
                .sum::<f64>()
        };
        bisect(answered_within, p)
    }
}

/// Probability of each number of users at the server: `p[n]` is proportional to `N! / (N - n)! / think^n`.
fn states(users: u32, think: f64) -> Vec<f64> {
    let mut weights = vec![1.0];
    for n in 0..users {
        weights.push(weights.last().copied().unwrap_or_default() * f64::from(users - n) / think);
    }
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// The value at which a distribution function reaches `p`.
fn bisect(distribution: impl Fn(f64) -> f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while distribution(high) < p && high < 1e6 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if distribution(middle) < p { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_service_agrees_with_a_simulation() {
        // Response time divided by service time at utilisations of 0.3, 0.5, 0.7 and 0.8, from a simulation of two
        // million requests.
        for (utilisation, p90, p99, p99_9) in [
            (0.3, 1.838, 2.891, 4.023),
            (0.5, 2.516, 4.336, 6.168),
            (0.7, 4.077, 7.485, 10.894),
            (0.8, 6.012, 11.356, 16.7),
        ] {
            for (p, expected) in [(0.9, p90), (0.99, p99), (0.999, p99_9)] {
                let found = constant_service(utilisation, p);
                assert!((found / expected - 1.0_f64).abs() < 0.002, "{utilisation} {p}: {found}");
            }
        }
    }

    #[test]
    fn a_closed_loop_agrees_with_known_quantiles() {
        let eight = ClosedLoop::new(8, 10.0);
        assert!((eight.rate - 0.6617).abs() < 1e-4, "{}", eight.rate);
        for (p, expected) in [(0.350, 1.0), (0.594, 2.0), (0.856, 4.0), (0.987, 8.0)] {
            let found = eight.quantile(p);
            assert!((found / expected - 1.0_f64).abs() < 0.01, "{p}: {found}");
        }
    }
}
