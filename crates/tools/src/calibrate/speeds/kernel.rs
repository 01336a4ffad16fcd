//! Work in the kernel on a single processor: system calls, messages, timers, and context switches.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use hoptax_host::processors;
use hoptax_result::{SpeedKind, SpeedSide};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::work::{Work, thread_time};

/// A small message, about the size of a request to a companion.
const MESSAGE_BYTES: usize = 256;
/// Expiry of the timer: before the kernel's next tick, so that the hardware timer must be programmed, and after the
/// timer is disarmed again.
const TIMER_NS: i64 = 500_000;

/// All kinds of work in the kernel, on `processor`.
pub(super) fn works(processor: u32) -> io::Result<Vec<Work>> {
    Ok(vec![system_call(), pipe()?, loopback()?, timer()?, switch(processor)?])
}

/// A loop over `one`, in CPU time.
fn work(
    kind: SpeedKind,
    operation: &'static str,
    mut one: impl FnMut() -> io::Result<()> + Send + 'static,
) -> Work {
    Work::new(kind, SpeedSide::Kernel, operation, move |count| {
        let began = thread_time();
        for _ in 0..count {
            one()?;
        }
        Ok(thread_time().saturating_sub(began))
    })
}

fn system_call() -> Work {
    work(SpeedKind::SystemCall, "getppid", || {
        std::hint::black_box(rustix::process::getppid());
        Ok(())
    })
}

fn pipe() -> io::Result<Work> {
    let (mut reader, mut writer) = io::pipe()?;
    let mut bytes = [7; 64];
    Ok(work(SpeedKind::Pipe, "write 64 bytes to a pipe and read them", move || {
        writer.write_all(&bytes)?;
        reader.read_exact(&mut bytes)
    }))
}

/// A loopback connection with both ends in this thread.
fn loopback() -> io::Result<Work> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    sender.set_nodelay(true)?;
    let mut bytes = [7; MESSAGE_BYTES];
    Ok(work(SpeedKind::Loopback, "send 256 bytes over TCP on loopback and receive them", move || {
        sender.write_all(&bytes)?;
        receiver.read_exact(&mut bytes)
    }))
}

fn timer() -> io::Result<Work> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty())?;
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    let due = |after| Itimerspec { it_interval: none, it_value: after };
    let (set, unset) = (due(Timespec { tv_sec: 0, tv_nsec: TIMER_NS }), due(none));
    Ok(work(SpeedKind::Timer, "arm a timer for 500 us from now and disarm it", move || {
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &set)?;
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &unset)?;
        Ok(())
    }))
}

/// Sends a byte to a thread on the same processor and back: two context switches, two writes, two reads.
fn switch(processor: u32) -> io::Result<Work> {
    let mut partner = Partner::start(processor)?;
    Ok(Work::new(
        SpeedKind::Switch,
        SpeedSide::Kernel,
        "send a byte to a thread on the same processor and back",
        move |count| {
            let began = Instant::now();
            for _ in 0..count {
                partner.round_trip()?;
            }
            Ok(began.elapsed())
        },
    ))
}

/// A thread that echoes every byte until its pipe is closed.
struct Partner {
    to: Option<io::PipeWriter>,
    from: io::PipeReader,
    thread: Option<JoinHandle<()>>,
}

impl Partner {
    fn start(processor: u32) -> io::Result<Self> {
        let (mut input, to) = io::pipe()?;
        let (from, mut output) = io::pipe()?;
        let thread = thread::Builder::new().name("switch".to_owned()).spawn(move || {
            // If it cannot be pinned, closing its pipes notifies the other side.
            if processors::pin(&[processor]).is_err() {
                return;
            }
            let mut byte = [0];
            while input.read_exact(&mut byte).is_ok() && output.write_all(&byte).is_ok() {}
        })?;
        Ok(Self { to: Some(to), from, thread: Some(thread) })
    }

    fn round_trip(&mut self) -> io::Result<()> {
        if let Some(to) = &mut self.to {
            to.write_all(&[1])?;
        }
        self.from.read_exact(&mut [0])
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_kernel_operation_runs_and_takes_time() {
        let processor = *processors::allowed().unwrap().last().unwrap();
        thread::spawn(move || {
            processors::pin(&[processor]).unwrap();
            for mut work in works(processor).unwrap() {
                assert!(work.time(10).unwrap() > Duration::ZERO, "{:?}", work.kind);
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_partner_that_cannot_be_pinned_is_an_error_instead_of_a_hang() {
        let mut partner = Partner::start(1_000_000).unwrap();
        assert!(partner.round_trip().is_err());
    }
}
