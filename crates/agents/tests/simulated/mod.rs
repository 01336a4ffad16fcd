//! Agents as tasks of this process: the real protocol over streams in memory, and generators whose requests have known instants and times.

#![allow(dead_code, unreachable_pub, reason = "the tests and the bench each use a part of it")]

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use hoptax_agents::PlannedShare;
use hoptax_agents::agent::{Events, Generator, Orders, serve};
use hoptax_agents::controller::{LoadRequest, MergedLoad, Notice, RemoteAgent, Stream, run};
use hoptax_agents::message::{FromAgent, Second};
use hoptax_load::encoded::encode;
use hoptax_load::trial::LiveLine;
use hoptax_load::{Arrivals, Distribution, Pace, Schedule as Instants, histogram};
use hoptax_result::{Book, EndedBy, LoadHistograms, LoadRate, LoadResult, PlanShare, sample};
use hoptax_session::load::{Connections, GivenUrl, Load, Requests, Schedule, Sending};
use hoptax_session::token::Token;
use hoptax_session::{Failure, Interrupt};
use tokio::io::duplex;
use tokio::runtime::Builder;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// Bytes on the way in one direction of a stream.
const IN_FLIGHT_BYTES: usize = 64 << 10;
const SECOND_NS: u64 = 1_000_000_000;

/// A simulated load.
#[derive(Clone, Debug)]
pub struct Simulated {
    pub agents: u32,
    /// Requests per second of all.
    pub rate: f64,
    /// Length of the record.
    pub seconds: u64,
    /// Parts of the record with a histogram of their own, which a report has.
    pub batches: u64,
    /// True if seconds last as long as they do elsewhere.
    pub is_paced: bool,
    /// An agent that is lost, by its number, after so many seconds.
    pub lost: Option<(u32, u64)>,
    /// An agent that fails to prepare its share.
    pub fails: Option<u32>,
}

impl Simulated {
    pub fn new(agents: u32) -> Self {
        Self { agents, rate: 2_500.0, seconds: 4, batches: 0, is_paced: false, lost: None, fails: None }
    }

    /// The load as a user states it.
    pub fn sending(&self) -> Sending<'static> {
        let urls = vec![GivenUrl::from("http://127.0.0.1:1/".to_owned())];
        let connections = Connections { number: self.agents * 2, ..Connections::default() };
        let requests = Requests { urls, ..Requests::default() };
        Sending {
            load: Load { requests, connections, ..Load::default() },
            schedule: Schedule {
                pace: Some(Pace::Constant(self.rate)),
                duration: Some(Duration::from_secs(self.seconds)),
                warmup: Some(Duration::ZERO),
                ..Schedule::default()
            },
            ..Sending::default()
        }
    }

    /// Runs it, and returns the result with what was said.
    pub fn run(&self, is_watched: bool) -> (Result<MergedLoad, Failure>, Vec<String>, Vec<Shown>) {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let (mut said, mut lines) = (Vec::new(), Vec::new());
        let token = Token::generated();
        let first = Arc::new(OnceLock::new());
        let sent = runtime.block_on(async {
            let (mut called, mut agents) = (Vec::new(), Vec::new());
            for number in 0..self.agents {
                let (of_controller, of_agent) = duplex(IN_FLIGHT_BYTES);
                let killed = Arc::new(OnceLock::new());
                let generator = Known::new(self.clone(), number, Arc::clone(&killed), Arc::clone(&first));
                let ends_at = Instant::now() + Duration::from_hours(1);
                let of_all = Some(token.clone());
                let agent = tokio::spawn(async move { serve(of_agent, &generator, of_all, ends_at).await });
                killed.set(agent.abort_handle()).unwrap();
                agents.push(agent);
                let stream = async move { Ok(Box::new(of_controller) as Box<dyn Stream>) };
                called.push(RemoteAgent { name: format!("agent-{number:04}"), stream: Box::pin(stream) });
            }
            let sending = self.sending();
            let request = LoadRequest {
                sending: &sending,
                agents: called,
                news: None,
                advice: "start it",
                token: Some(token),
                least: self.agents as usize,
                is_watched,
            };
            let sent = run(request, &Interrupt::default(), &mut |notice| match notice {
                Notice::Note(text) | Notice::Problem(text) => said.push(text.to_owned()),
                Notice::Live(line) => {
                    let since_s = first.get().map_or(0.0, |first: &Instant| first.elapsed().as_secs_f64());
                    lines.push(Shown { line: *line, lag_s: since_s - line.elapsed_s });
                }
            })
            .await;
            for agent in agents {
                // One of them may have been killed.
                let _ = agent.await;
            }
            sent
        });
        (sent, said, lines)
    }
}

/// A second of all agents, as the controller showed it.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub line: LiveLine,
    /// Time since its end, by the agent that began first. It is negative without a pace, since agents are ahead of their seconds then.
    pub lag_s: f64,
}

/// The response time of a request that is due at an instant, us.
pub fn response_us(instant_ns: u64) -> u64 {
    100 + instant_ns / 1_000 % 977
}

/// The instants of a generator's requests.
pub fn instants(load: &Simulated, index: u32, of: u32) -> Vec<u64> {
    let mut instants = Instants::new(Arrivals::Uniform, load.rate, 1, index, of);
    let mut all = Vec::new();
    while instants.peek_ns() < load.seconds * SECOND_NS {
        all.push(instants.peek_ns());
        instants.advance();
    }
    all
}

/// A generator whose requests have known instants and response times.
struct Known {
    load: Simulated,
    number: u32,
    /// Its seconds and its report. They take time to compute, which the agents of a real load have each to itself.
    told: Arc<(Vec<Second>, LoadResult)>,
    killed: Arc<OnceLock<AbortHandle>>,
    /// When the first of all agents began.
    first: Arc<OnceLock<Instant>>,
}

impl Known {
    /// Of all agents that are called, each comes, so that its number is its index.
    fn new(
        load: Simulated,
        number: u32,
        killed: Arc<OnceLock<AbortHandle>>,
        first: Arc<OnceLock<Instant>>,
    ) -> Self {
        let instants = instants(&load, number, load.agents);
        let seconds = (0..load.seconds).map(|second| of_second(&instants, second)).collect();
        let told = Arc::new((seconds, result(&load, number, &instants)));
        Self { load, number, told, killed, first }
    }
}

impl Generator for Known {
    fn begin(&self, share: PlannedShare, orders: Orders, events: Events) {
        let (load, number, killed) = (self.load.clone(), self.number, Arc::clone(&self.killed));
        let (told, first) = (Arc::clone(&self.told), Arc::clone(&self.first));
        assert_eq!((share.index, share.of), (number, load.agents));
        tokio::spawn(async move {
            if load.fails == Some(number) {
                let reason = "cannot connect to 127.0.0.1:1".to_owned();
                events.send(FromAgent::Failed { reason }).await;
                return;
            }
            events.send(FromAgent::Ready).await;
            let Ok(_) = orders.start.await else {
                // Whoever serves waits for the end of a load that was stopped.
                events.send(FromAgent::Failed { reason: "it was stopped".to_owned() }).await;
                return;
            };
            let begun = Instant::now();
            first.get_or_init(|| begun);
            for (second, of_second) in (0..).zip(&told.0) {
                if orders.stop.load(Ordering::Relaxed) {
                    break;
                }
                if load.is_paced {
                    sleep_until(begun + Duration::from_secs(second + 1)).await;
                }
                if load.lost == Some((number, second)) {
                    // Its words so far are on their way.
                    sleep(Duration::from_millis(50)).await;
                    killed.get().unwrap().abort();
                    return;
                }
                events.send(FromAgent::Second(Box::new(of_second.clone()))).await;
            }
            events.send(FromAgent::Report(Box::new(told.1.clone()))).await;
        });
    }
}

fn of_second(instants: &[u64], second: u64) -> Second {
    let (from_ns, to_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
    let mut times = histogram();
    for instant in instants.iter().filter(|instant| (from_ns..to_ns).contains(*instant)) {
        times.record(response_us(*instant) * 1_000).unwrap();
    }
    let count = times.len();
    let response = encode(&times);
    Second { from_ns, to_ns, sent: count, answered: count, response, ..Second::default() }
}

/// The result of a share, as the engine would report it.
fn result(load: &Simulated, index: u32, instants: &[u64]) -> LoadResult {
    let mut times = Distribution::default();
    let mut batches = vec![histogram(); load.batches as usize];
    for instant in instants {
        let ns = response_us(*instant) * 1_000;
        times.record(ns);
        let batch = instant * load.batches / (load.seconds * SECOND_NS);
        if let Some(batch) = batches.get_mut(batch as usize) {
            batch.record(ns).unwrap();
        }
    }
    let count = times.count();
    let mut result = sample::load();
    result.recorded_s = load.seconds as f64;
    result.ended_by = EndedBy::Plan;
    result.book = Book { planned: count, sent: count, answered: count, ..Book::default() };
    result.statuses = [(200, count)].into();
    let rate = load.rate / f64::from(load.agents);
    result.rate = LoadRate { target: Some(rate), offered: rate, achieved: Some(rate) };
    result.plan.connections = 2;
    result.plan.duration_s = load.seconds as f64;
    result.plan.warmup_s = 0.0;
    result.plan.share = Some(PlanShare { index, of: load.agents });
    (result.latency.response, result.latency.service) = (times.summary(), times.summary());
    result.outcomes = [("answered".to_owned(), times.summary())].into();
    (result.without_generator, result.windows) = (None, Vec::new());
    result.histograms = Some(LoadHistograms {
        response: encode(&times.histogram()),
        service: encode(&times.histogram()),
        batches: batches.iter().map(encode).collect(),
        ..LoadHistograms::default()
    });
    result
}

/// The 99th percentile, us, of the requests of bursts that agents send with clocks that are off by up to `offset_ns` each way, at a server
/// that serves one request after the other.
pub fn p99_of_bursts_us(agents: u64, service_ns: u64, offset_ns: u64) -> u64 {
    const BURSTS: u64 = 20;
    let mut arrivals = Vec::new();
    for burst in 0..BURSTS {
        for agent in 0..agents {
            // An agent's clock is off by the same in every burst: a drawn number of the agent (Steele, Lea and Flood 2014).
            let mut drawn = (agent + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let off_ns = (drawn ^ (drawn >> 31)) % (2 * offset_ns + 1);
            arrivals.push(burst * 2 * SECOND_NS + off_ns);
        }
    }
    arrivals.sort_unstable();
    let (mut free_ns, mut times) = (0, histogram());
    for at_ns in arrivals {
        free_ns = at_ns.max(free_ns) + service_ns;
        times.record(free_ns - at_ns).unwrap();
    }
    times.value_at_quantile(0.99) / 1_000
}

/// Keeps the tests of many agents one after the other: each has thousands of tasks.
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
