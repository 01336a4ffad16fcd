//! Measures slices one at a time, and reads the counters of proxy, generator and host before and after each.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::accounting::{memory_bytes, ticks_between};
use hoptax_host::environment;
use hoptax_host::freeze::{Freezer, SETTLED_AFTER};
use hoptax_host::link::Link;
use hoptax_load::{Recording, Release, Run, Schedule, now_ns};
use hoptax_plan::plan::{self, Arm, Block, NumberedLoad, Plan};
use hoptax_plan::record::{RoundRecord, SliceRecord};

use super::busy::{Loaded, busy};
use super::error::missing;
use super::host_waits::{HostWaits, Waited};
use super::reading::{Reading, Used};
use super::running::{Last, Running};
use super::subject::Subject;
use super::subjects::Subjects;
use super::{RunError, Setting, caller, external, rate, statistics};

/// One part in this many at the start of an open slice is not recorded: the proxy's caches are cold after other arms ran, and its queue is
/// empty. At 90 % of the capacity, a queue of requests of 60 us needs some 20 ms to reach its usual length.
const LEAD_IN_SHARE: u32 = 5;
/// The longest such part.
const LONGEST_LEAD_IN: Duration = Duration::from_millis(50);
/// Connections that are opened for a slice are warmed up for this long before it. Requests go at full speed, so that each connection serves
/// some, as in the warm-up of connections that are kept.
const WARM_UP_EACH_NS: u64 = 500_000_000;
/// Interval and time limit of the polls of proxies until they have handled the closing of connections.
const CLOSING_STEP: Duration = Duration::from_millis(20);
const LONGEST_CLOSING: Duration = Duration::from_secs(2);
/// CPU time of idle proxies within [`CLOSING_STEP`], nanoseconds, at most.
const IDLE_CPU_NS: u64 = 1_000_000;
/// A tick of `/proc/stat`, nanoseconds.
const TICK_NS: f64 = 1e7;
/// Time for the proxy to go to sleep after its last response: the kernel's CPU accounting of a thread is exact once it
/// sleeps.
pub(super) const SETTLE: Duration = Duration::from_micros(500);
/// The same for a proxy with QUIC connections: peers delay acknowledgements by up to 25 ms (RFC 9000, section 18.2). A proxy that is frozen
/// before an acknowledgement arrives considers the path broken when it is thawed, and closes the connection.
const SETTLE_QUIC: Duration = Duration::from_millis(30);

/// Measures the slices of one round and records them.
pub(super) struct Meter<'a> {
    pub(super) plan: &'a Plan,
    pub(super) setting: &'a Setting<'a>,
    pub(super) link: Option<&'a Link>,
    origins: Vec<u32>,
    companion: Option<u32>,
    began: Instant,
    pub(super) record: RoundRecord,
    pub(super) recording: Recording,
    /// Freezes the proxies that are not being measured.
    pub(super) freezer: Freezer,
}

impl<'a> Meter<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        setting: &'a Setting<'a>,
        link: Option<&'a Link>,
        subjects: &Subjects<'_>,
        began: Instant,
        round: u32,
    ) -> Self {
        Self {
            plan,
            setting,
            link,
            origins: subjects.origins(),
            companion: subjects.companion(),
            began,
            record: RoundRecord {
                round,
                began_at: environment::now(),
                boot_id: environment::boot_id(),
                ..RoundRecord::default()
            },
            recording: Recording::default(),
            freezer: Freezer::default(),
        }
    }

    /// Loads each subject briefly at full speed without recording, and then freezes it. It has requests under every load, also under those
    /// in which its arm takes no part: a connection that has carried a request takes more memory than an idle one, and the memory of arms
    /// is compared.
    pub(super) fn warm_up(&mut self, subjects: &mut Subjects<'_>, stop: &AtomicBool) -> Result<(), RunError> {
        for running in &mut subjects.all {
            running.proofs = statistics::read_proofs(self.link, running)?;
            let arm = running.planned.arm;
            // Functions of connections already acted when the connections were opened, before this reading. Each process is new, so its
            // counters started from 0.
            if arm.conditions.protocol.is_of_connections() && !arm.is_unloaded {
                running.proofs.iter_mut().flatten().for_each(|reading| *reading = 0);
            }
        }
        let plan = self.plan;
        for Running { planned, subject, last, .. } in &mut subjects.all {
            let loads: Vec<NumberedLoad<'_>> =
                plan.numbered_loads().filter(|load| planned.arm.has_connections(load)).collect();
            let length_ns = plan.warm_up.as_nanos() as u64 / loads.len().max(1) as u64;
            for load in loads {
                if !planned.arm.takes_part(&load) {
                    // Connections that are not kept are opened for each slice, and this arm has no slice under the load.
                    subject.open(planned.arm, load)?;
                }
                self.send_unrecorded(subject, planned.arm, load, length_ns, stop)?;
                self.close(subject, load)?;
            }
            thread::sleep(settle(planned.arm));
            *last = Some(Last { reading: self.read(subject)?, slice: None });
        }
        self.freezer.freeze(&subjects.proxies())?;
        Ok(())
    }

    /// Sends requests at full speed without recording them.
    fn send_unrecorded(
        &mut self,
        subject: &mut Subject,
        arm: &Arm,
        load: NumberedLoad<'_>,
        length_ns: u64,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        let start_ns = now_ns();
        let end_ns = start_ns + length_ns;
        let drain_ns = self.plan.drain_ns(arm, &load);
        let run = Run { record_from_ns: end_ns, ..Run::new(Release::Closed, start_ns, end_ns, drain_ns) };
        subject.send(load, run, &mut self.recording, stop)?;
        self.recording.clear();
        Ok(())
    }

    /// Opens the connections under a load that are not kept, and warms them up. The CPU time of both belongs to no slice, so the subject's
    /// last slice, if it had one, gets what it used before.
    pub(super) fn open(
        &mut self,
        running: &mut Running<'_>,
        load: NumberedLoad<'_>,
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        if !running.subject.opens(load) {
            return Ok(());
        }
        let now = self.read(&running.subject)?;
        self.keep_late(running, &now)?;
        running.last = None;
        let arm = running.planned.arm;
        running.subject.open(arm, load)?;
        self.send_unrecorded(&mut running.subject, arm, load, WARM_UP_EACH_NS, stop)?;
        Ok(())
    }

    /// Closes the connections under a load that are not kept. Returns the reading after the proxies have handled this, which belongs to no
    /// slice; none if no connection was open.
    pub(super) fn close(&self, subject: &mut Subject, load: NumberedLoad<'_>) -> io::Result<Option<Reading>> {
        if !subject.close(load) {
            return Ok(None);
        }
        let began = Instant::now();
        let mut last = self.read(subject)?;
        loop {
            thread::sleep(CLOSING_STEP);
            let now = self.read(subject)?;
            let is_idle = now.proxies_since(&last).is_none_or(|used| used.proxies.cpu_ns < IDLE_CPU_NS);
            if is_idle || began.elapsed() >= LONGEST_CLOSING {
                return Ok(Some(now));
            }
            last = now;
        }
    }

    /// Reads the counters of a subject and of the processes behind it.
    pub(super) fn read(&self, subject: &Subject) -> io::Result<Reading> {
        // The companion matters only to arms that call it.
        let companion = self.companion.filter(|_| subject.asks_companion);
        Reading::take(subject, &self.origins, companion, self.setting, self.link)
    }

    /// Measures the slice of a subject in `block`.
    pub(super) fn measure(
        &mut self,
        subjects: &mut Subjects<'_>,
        host_waits: &mut HostWaits,
        waited: Waited,
        block: &Block<'_>,
        planned: plan::Subject<'_>,
        stop: &AtomicBool,
    ) -> Result<SliceRecord, RunError> {
        let plan::Subject { arm, arm_number, copy, .. } = planned;
        let load = block.load;
        let running = subjects.running(planned)?;
        self.record.waited_ns += waited.time.as_nanos() as u64;
        let proxies = self.wake(&mut running.subject, arm)?;
        self.open(running, load, stop)?;
        self.recording.clear();
        if load.expect.len() > 1 {
            self.recording.by_status = Some(BTreeMap::new());
        }
        let began_s = self.began.elapsed().as_secs_f64();
        let before = self.read(&running.subject)?;
        self.keep_late(running, &before)?;
        let subject = &mut running.subject;
        let not_connected =
            || missing(&arm.id, &format!("connection of copy {} under the load `{}`", copy + 1, load.name));
        let planned_rate = rate::planned(self.plan, &self.record.capacities, &load, arm_number);
        let run = self.run_of(arm, block, planned_rate);
        let (start_ns, record_from_ns, end_ns) = (run.start_ns, run.record_from_ns, run.end_ns);
        let used = if let Some(other) = &load.caller {
            let target = subject.target.as_ref().ok_or_else(not_connected)?;
            caller::call(other, target, &load, self.setting, record_from_ns, &mut self.recording, stop)?
        } else {
            subject.send(load, run, &mut self.recording, stop)?.ok_or_else(not_connected)?
        };
        thread::sleep(settle(arm));
        let after = self.read(subject)?;
        let closed = self.close(subject, load)?;
        self.freezer.freeze(&proxies)?;
        let handover_ns = host_waits.after(waited);

        let wall_ns = after.at_ns - before.at_ns;
        let used_by_processes = after.since(&before);
        let is_incomplete = used_by_processes.is_none();
        // The slice waits for requests in flight at its end and counts them, so this time counts too.
        let recorded_s = self.recording.last_response_ns.saturating_sub(record_from_ns) as f64 / 1e9;
        let loaded = Loaded {
            seconds: loaded_s(start_ns..end_ns, &self.recording),
            generator_share: share(used.cpu_ns, recorded_s),
        };
        let busy = used_by_processes
            .as_ref()
            .and_then(|used| busy(subject, arm, used, loaded, self.setting, self.link));
        let Used { proxies, hops_cpu_ns, origin_cpu_ns, companion_cpu_ns, .. } =
            used_by_processes.unwrap_or_default();
        let ours = ticks_between(&before.ticks, &after.ticks, &self.setting.placement.generator);
        let theirs = ticks_between(&before.ticks, &after.ticks, &self.setting.placement.proxy);
        // The time of the processor that lost most, since processors cannot make up for each other.
        let used_processors = self.setting.placement.generator.iter().chain(&self.setting.placement.proxy);
        let lost = used_processors.map(|one| ticks_between(&before.ticks, &after.ticks, &[*one]).steal);
        let steal_ticks = lost.max().unwrap_or(0);
        let wall_s = wall_ns as f64 / 1e9;
        let slice = SliceRecord {
            round: self.record.round,
            block: block.number,
            load: load.number,
            arm: arm_number,
            copy,
            began_s,
            wall_s,
            planned_rate,
            recorded_s,
            book: self.recording.book,
            answered: self.recording.book.answered + self.recording.warmup_responses,
            is_incomplete,
            proxy_cpu_ns: proxies.cpu_ns,
            hops_cpu_ns,
            busy_share: busy.map(|busy| busy.proxies),
            processors_share: busy.map(|busy| busy.processors),
            late_hops_cpu_ns: Vec::new(),
            parts: after
                .counts_since(&before, self.recording.book.answered + self.recording.warmup_responses)
                .filter(|_| !is_incomplete),
            origin_cpu_ns,
            companion_cpu_ns,
            link_bytes: after.link_bytes.saturating_sub(before.link_bytes),
            received_packets: after.received_packets.saturating_sub(before.received_packets),
            proxy_run_delay_ns: proxies.run_delay_ns,
            steal_ticks,
            handover_ns,
            generator_cpu_ns: used.cpu_ns,
            generator_run_delay_ns: used.run_delay_ns,
            busy_ticks: ours.total.saturating_sub(ours.idle) as f64
                - after.spinner_ns.saturating_sub(before.spinner_ns) as f64 / TICK_NS,
            total_ticks: ours.total as f64,
            connected: self.recording.connect.count(),
            full_handshakes: self.recording.handshakes.full(),
            resumed_handshakes: self.recording.handshakes.resumed(),
            response_p50_us: self.recording.response.quantile_us(0.5),
            latest_own_lag_ns: latest_own_lag_ns(&self.recording),
            closed_connections: if load.open.is_none() { load.connections as u32 } else { 0 },
        };
        let steal = ours.steal + if self.setting.placement.is_apart() { theirs.steal } else { 0 };
        self.record.steal.0 += steal;
        self.record.steal.1 += ours.total + if self.setting.placement.is_apart() { theirs.total } else { 0 };
        let place = self.record.slices.len();
        self.record.add(slice.clone(), &self.recording, load.open.is_some());
        if let Some(by_status) = self.recording.by_status.take() {
            self.record.add_statuses(&by_status);
        }
        running.last = Some(Last { reading: closed.unwrap_or(after), slice: Some(place) });
        Ok(slice)
    }

    /// Thaws the proxies of a subject, and finds the processes of an external server. Returns the ids of the proxies.
    fn wake(&mut self, subject: &mut Subject, arm: &Arm) -> Result<Vec<u32>, RunError> {
        let proxies = subject.thaw(&mut self.freezer)?;
        if subject.account.is_some() {
            // The server may have replaced its processes.
            subject.account = external::account(arm)?;
        }
        Ok(proxies)
    }

    /// Completes the record of the round while all processes are still alive.
    pub(super) fn finish(mut self, subjects: &mut Subjects<'_>) -> Result<RoundRecord, RunError> {
        self.record.ended_at = environment::now();
        self.freezer.thaw_all()?;
        thread::sleep(SETTLED_AFTER);
        for running in &subjects.all {
            let now = self.read(&running.subject)?;
            self.keep_late(running, &now)?;
        }
        for (arm, failures) in statistics::unproven(self.link, &subjects.all)? {
            self.record.unproven.entry(arm).or_default().extend(failures);
        }
        self.record.traffic.extend(statistics::carried(self.link, &subjects.all));
        let mut copies: BTreeMap<usize, u64> = BTreeMap::new();
        for Running { planned, subject, .. } in &subjects.all {
            let arm = planned.arm_number;
            *copies.entry(arm).or_default() += 1;
            let memory = subject.processes().map(memory_bytes);
            let memory: Vec<u64> = if subject.account.is_some() {
                // An external server may have ended or replaced some of its processes since its last slice.
                match memory.collect::<Result<Vec<u64>, _>>() {
                    Ok(all) => vec![all.iter().sum()],
                    Err(_) => continue,
                }
            } else {
                memory.collect::<Result<_, _>>()?
            };
            add(self.record.memory_bytes.entry(arm).or_default(), &memory);
            add(self.record.start_cpu_us.entry(arm).or_default(), &subject.start_cpu_us);
            if planned.copy == 0 {
                self.record.opened.extend(subject.opened.map(|opened| (arm, opened)));
                let configuration = subject.configuration.clone();
                self.record.configurations.extend(configuration.map(|hash| (arm, hash)));
            }
        }
        let sums = self.record.memory_bytes.iter_mut().chain(&mut self.record.start_cpu_us);
        for (arm, sums) in sums {
            let copies = copies.get(arm).copied().unwrap_or(1).max(1);
            for sum in sums.iter_mut() {
                *sum /= copies;
            }
        }
        Ok(self.record)
    }

    fn run_of(&self, arm: &Arm, block: &Block<'_>, rate: f64) -> Run {
        let load = block.load;
        let start_ns = now_ns();
        let end_ns = start_ns + load.slice.as_nanos() as u64;
        let (release, lead_in_ns) = match &load.open {
            None => (Release::Closed, 0),
            Some(open) => {
                // All arms of a block with the same rate get the same release times.
                let seed = self.plan.seed ^ (u64::from(self.record.round) << 32) ^ u64::from(block.number);
                // If responses are counted by status, there is no lead-in: a token bucket would count its requests too.
                let lead_in_ns = if load.expect.len() > 1 { 0 } else { lead_in_ns(load.slice) };
                (Release::Open(Schedule::new(open.arrivals.clone(), rate, seed, 0, 1)), lead_in_ns)
            }
        };
        let record_from_ns = start_ns + lead_in_ns;
        let drain_ns = self.plan.drain_ns(arm, &load);
        Run { record_from_ns, ..Run::new(release, start_ns, end_ns, drain_ns) }
    }

    /// Attributes CPU time that a subject's proxies used since its last slice to that slice: they were frozen in between and have caught up
    /// now. An external server is never frozen: its work in between was for others.
    pub(super) fn keep_late(&mut self, running: &Running<'_>, now: &Reading) -> Result<(), RunError> {
        let arm = running.planned.arm;
        if arm.external.is_some() {
            return Ok(());
        }
        // The subject has not worked yet, or its last work belongs to no slice.
        let Some(Last { reading: last, slice: Some(place) }) = &running.last else { return Ok(()) };
        let slice = self.record.slices.get_mut(*place);
        let slice = slice.ok_or_else(|| missing(&arm.id, &format!("slice {place} in the record")))?;
        match now.proxies_since(last) {
            Some(late) => {
                slice.late_hops_cpu_ns = late.hops_cpu_ns;
                slice.parts =
                    slice.parts.zip(now.counts_since(last, 0)).map(|(in_time, late)| in_time + late);
            }
            None => slice.is_incomplete = true,
        }
        Ok(())
    }
}

/// The first part of an open slice, which is not recorded.
fn lead_in_ns(slice: Duration) -> u64 {
    (slice / LEAD_IN_SHARE).min(LONGEST_LEAD_IN).as_nanos() as u64
}

/// Time for the proxies of an arm to go to sleep after a slice.
fn settle(arm: &Arm) -> Duration {
    if arm.uses_quic() { SETTLE_QUIC } else { SETTLE }
}

/// The time from the start of a run until its end or its last response, seconds: without the time to settle after it, which differs
/// by protocol. 0 if nothing was answered.
pub(super) fn loaded_s(run: Range<u64>, recording: &Recording) -> f64 {
    if recording.last_response_ns == 0 {
        return 0.0;
    }
    recording.last_response_ns.max(run.end).saturating_sub(run.start) as f64 / 1e9
}

/// The longest lag of the generator with a request or between two turns of its event loop, nanoseconds; 0 without either.
fn latest_own_lag_ns(recording: &Recording) -> u64 {
    recording.own_lag.histogram().max().max(recording.longest_turn_ns)
}

/// CPU time of one thread as a share of the time; 0 without time.
pub(super) fn share(cpu_ns: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { cpu_ns as f64 / 1e9 / seconds } else { 0.0 }
}

/// Adds the values of one copy to the sums of its arm.
fn add(sums: &mut Vec<u64>, values: &[u64]) {
    sums.resize(values.len(), 0);
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

#[cfg(test)]
mod tests;
