//! gRPC messages: their framing, their fields, and calls whose messages are timed.

mod fields;
mod messages;

pub use fields::fields;
pub(crate) use messages::Call;
pub use messages::Messages;

/// Size of the prefix of each message: the compressed flag and the length.
const FRAME_BYTES: usize = 5;

/// A message with its prefix.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0][..], &length, message].concat()
}

/// The messages of a body; None if one is incomplete or compressed. Compression is not requested.
pub fn messages(mut body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut messages = Vec::new();
    while !body.is_empty() {
        let (message, rest) = first(body)?;
        messages.push(message);
        body = rest;
    }
    Some(messages)
}

/// The first message of a body, and the bytes after it; None if it is incomplete or compressed.
pub fn first(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = body.split_first_chunk::<FRAME_BYTES>()?;
    let [compressed, length @ ..] = *head;
    rest.split_at_checked(u32::from_be_bytes(length) as usize).filter(|_| compressed == 0)
}

/// Counts messages in a stream of bytes, without keeping them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageCounter {
    head: [u8; FRAME_BYTES],
    head_bytes: usize,
    /// Bytes of the message that are still to come, once its head is complete.
    missing: usize,
}

impl MessageCounter {
    /// Processes the next bytes. Returns the number of messages that end in them.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> u32 {
        let mut completed = 0;
        while !bytes.is_empty() {
            if self.head_bytes < FRAME_BYTES {
                let taken = bytes.len().min(FRAME_BYTES - self.head_bytes);
                let (part, rest) = bytes.split_at(taken);
                if let Some(place) = self.head.get_mut(self.head_bytes..self.head_bytes + taken) {
                    place.copy_from_slice(part);
                }
                self.head_bytes += taken;
                bytes = rest;
                let [_, length @ ..] = self.head;
                self.missing = u32::from_be_bytes(length) as usize;
            } else {
                let taken = bytes.len().min(self.missing);
                self.missing -= taken;
                bytes = bytes.get(taken..).unwrap_or_default();
            }
            if self.head_bytes == FRAME_BYTES && self.missing == 0 {
                completed += 1;
                self.head_bytes = 0;
            }
        }
        completed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_however_they_are_cut() {
        let body = [framed(&[7; 300]), framed(&[]), framed(&[1])].concat();
        for piece in [1, 2, 5, 6, 300, 1000] {
            let mut counter = MessageCounter::default();
            let counts: Vec<u32> = body.chunks(piece).map(|part| counter.feed(part)).collect();
            assert_eq!(counts.iter().sum::<u32>(), 3, "{piece}");
        }
        let mut counter = MessageCounter::default();
        assert_eq!([counter.feed(&body[..305]), counter.feed(&body[305..310])], [1, 1]);
        assert_eq!([counter.feed(&body[310..315]), counter.feed(&body[315..])], [0, 1]);
    }

    #[test]
    fn messages_are_framed() {
        let body = [framed(&[7, 8]), framed(&[])].concat();
        assert_eq!(messages(&body), Some(vec![&[7, 8][..], &[]]));
        assert_eq!(messages(&[0, 0, 0, 0, 2, 7]), None);
        assert_eq!(messages(&[0, 0]), None);
        assert_eq!(messages(&[1, 0, 0, 0, 0]), None);
    }
}
