//! Requests that wait because the server allows no more at once on their connection.

use super::Worker;
use crate::connection::SlotId;
use crate::current::Current;

impl Worker {
    /// Notes that a request waits for other requests on its open connection. This counts like a wait for a busy connection.
    pub(super) fn begin_hold(&mut self, current: &mut Current, slot: SlotId, now: u64) {
        let waiting = self.waiting() + self.connections.waiting() as u64;
        let request = self.request(slot);
        request.held_ns = now;
        let is_first = !std::mem::replace(&mut request.blocked, true);
        if request.recorded && is_first {
            current.recording(request.intended_ns).book.blocked += 1;
        }
        let intended_ns = request.intended_ns;
        current.record_waiting(intended_ns, waiting);
    }

    /// Adds the time that a request has waited for other requests on its connection, if any.
    #[inline]
    pub(super) fn end_hold(&mut self, current: &mut Current, slot: SlotId, now: u64) {
        let request = self.request(slot);
        if request.held_ns > 0 {
            let held_ns = now.saturating_sub(std::mem::take(&mut request.held_ns));
            if request.recorded {
                let intended_ns = request.intended_ns;
                current.recording(intended_ns).waited_ns += held_ns;
            }
        }
    }
}
