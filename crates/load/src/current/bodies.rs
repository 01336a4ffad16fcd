//! Records the bytes of bodies at the time at which they are written or read: with a backlog, requests were due long before, maybe in an
//! earlier part of the record.

use super::Current;

impl Current<'_> {
    /// Records that a request with a body of this size is written.
    pub(crate) fn record_write(&mut self, written_ns: u64, body_bytes: u64) {
        if body_bytes > 0
            && let Some(course) = &mut self.recording(written_ns).course
        {
            course.write(written_ns, body_bytes);
        }
    }

    /// Records that a response with a body of this size is complete.
    pub(super) fn record_read(&mut self, read_ns: u64, body_bytes: u64) {
        if body_bytes == 0 {
            return;
        }
        if let Some(live) = &mut self.live {
            live.body_bytes += body_bytes;
        }
        if let Some(course) = &mut self.recording(read_ns).course {
            course.receive(read_ns, body_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use hoptax_result::BytesOverTime;
    use hoptax_wire::Response;

    use super::*;
    use crate::course::Course;
    use crate::in_flight::InFlight;
    use crate::recording::Recording;
    use crate::run::{Release, Run};

    #[test]
    fn bytes_count_in_the_part_in_which_they_are_written_or_read_and_not_in_that_of_their_request() {
        let of_part =
            |from_ns: u64| Recording::default().with_course(Course::new(from_ns, from_ns + 100_000, 0, 1));
        let (mut first, mut rest) = (of_part(0), [of_part(100_000), of_part(200_000)]);
        let (sender, samples) = sync_channel(1);
        let run = Run {
            parts_from_ns: vec![100_000, 200_000],
            live: Some(sender),
            ..Run::new(Release::Closed, 0, 300_000, 0)
        };
        let mut current = Current::new(run, &mut first, &mut rest);
        // Due in the first part, written in the second and answered in the third one.
        let request = InFlight { intended_ns: 99_000, written_ns: 101_500, ..InFlight::default() };
        let response = Response {
            status: 200,
            grpc_status: None,
            body_bytes: 5,
            keep_alive: true,
            is_as_expected: true,
        };
        current.record_write(101_500, 7);
        current.record_response(&request, 0, response, None, 200_500);
        current.send_live(300_000, 0);
        drop(current);
        let bytes = |recording: &Recording| recording.course.as_ref().unwrap().bytes_over_time();
        let sum = |bytes: Option<BytesOverTime>| {
            bytes.map(|bytes| (bytes.sent.iter().sum::<u64>(), bytes.received.iter().sum::<u64>()))
        };
        assert_eq!(sum(bytes(&first)), None);
        assert_eq!(rest.each_ref().map(|part| sum(bytes(part))), [Some((7, 0)), Some((0, 5))]);
        assert_eq!(bytes(&rest[0]).unwrap().sent[1], 7);
        assert_eq!(samples.try_recv().unwrap().body_bytes, 5);
    }
}
