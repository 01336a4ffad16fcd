//! gRPC message framing over HTTP/2.

/// Size of the prefix of each message: the compressed flag and the length.
const FRAME_BYTES: usize = 5;

/// A message with its prefix.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0][..], &length, message].concat()
}

/// The messages of a body; None if one is incomplete, or compressed, which was not requested.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_framed() {
        let body = [framed(&[7, 8]), framed(&[])].concat();
        assert_eq!(messages(&body), Some(vec![&[7, 8][..], &[]]));
        assert_eq!(messages(&[0, 0, 0, 0, 2, 7]), None);
        assert_eq!(messages(&[0, 0]), None);
        assert_eq!(messages(&[1, 0, 0, 0, 0]), None);
    }
}
