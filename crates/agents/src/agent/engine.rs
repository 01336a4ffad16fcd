//! Sends a share of a load with the load engine, only to allowed targets.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_load::interval::{self, IntervalSink};
use hoptax_load::trial::{SETTLE_NS, Start};
use hoptax_load::{StaticAddress, without_user};
use hoptax_result::LoadResult;
use hoptax_session::load::SharedLoad;
use hoptax_session::targets::{AllowedTargets, NotAdmitted};
use tokio::sync::oneshot;

use super::serve::{Events, Generator, Orders};
use crate::message::{FromAgent, Second};
use crate::planned::PlannedShare;

/// Interval at which counts and histograms are reported.
const EVERY: Duration = Duration::from_secs(1);

/// The load engine of this machine.
#[derive(Debug)]
pub struct Engine {
    targets: Arc<AllowedTargets>,
}

impl Engine {
    /// An engine that only sends to these targets.
    pub fn new(targets: AllowedTargets) -> Self {
        Self { targets: Arc::new(targets) }
    }
}

impl Generator for Engine {
    fn begin(&self, share: PlannedShare, orders: Orders, events: Events) {
        let targets = Arc::clone(&self.targets);
        let of_load = events.clone();
        let spawned = thread::Builder::new().name("load".to_owned()).spawn(move || {
            let last = match send(&targets, &share, orders, &of_load) {
                Ok(result) => FromAgent::Report(Box::new(result)),
                Err(reason) => FromAgent::Failed { reason },
            };
            of_load.blocking_send(last);
        });
        if let Err(error) = spawned {
            let reason = format!("cannot start the thread of the load: {error}");
            // Sent on the runtime, whose threads must not block.
            tokio::spawn(async move { events.send(FromAgent::Failed { reason }).await });
        }
    }
}

fn send(
    targets: &AllowedTargets,
    share: &PlannedShare,
    orders: Orders,
    events: &Events,
) -> Result<LoadResult, String> {
    let planned = &share.load;
    share.check()?;
    let of = share.share()?;
    let addresses = admitted(targets, &planned.urls)?;
    let (load, schedule) = (planned.load(addresses)?, planned.schedule()?);
    let (sender, parts) = channel();
    let of_seconds = events.clone();
    let telling = thread::spawn(move || {
        interval::join(parts, |interval, _| {
            let is_heard = of_seconds.blocking_send(FromAgent::Second(Box::new(Second::from(interval))));
            if is_heard { Ok(()) } else { Err(()) }
        })
    });
    let shared = SharedLoad {
        load,
        schedule,
        share: of,
        start: start(Arc::clone(&orders.stop), orders.start, events.clone()),
        never_halt: planned.never_halt,
        percentiles: planned.percentiles.clone(),
        max_error_share: planned.max_error_share,
        intervals: vec![IntervalSink { length: EVERY, sender }],
    };
    let result = shared.send(&orders.stop, &|_| ());
    // The sinks are dropped, so the thread ends. The last second is sent before the report.
    let _ = telling.join();
    result.map_err(|failure| failure.to_string())
}

/// The addresses that the requests may connect to.
fn admitted(targets: &AllowedTargets, urls: &[String]) -> Result<Vec<StaticAddress>, String> {
    let mut addresses = Vec::new();
    for url in urls {
        addresses.extend(targets.admit(url).map_err(|why| match why {
            NotAdmitted::Invalid(why) => format!("`{}`: {why}", without_user(url)),
            // The refusal names the target.
            NotAdmitted::Refused(why) => why,
        })?);
    }
    Ok(addresses)
}

/// The agreed start. Without one, the load is stopped.
fn start(stop: Arc<AtomicBool>, agreed: oneshot::Receiver<u64>, events: Events) -> Start {
    let agreed = Mutex::new(Some(agreed));
    Start::new(move || {
        events.blocking_send(FromAgent::Ready);
        let agreed = agreed.lock().unwrap_or_else(PoisonError::into_inner).take();
        agreed.and_then(|agreed| agreed.blocking_recv().ok()).unwrap_or_else(|| {
            stop.store(true, Ordering::Relaxed);
            now_ns() + SETTLE_NS
        })
    })
}
