//! Frames: the length of a message in four bytes, the first the most significant, and the message as JSON.

use std::io::ErrorKind;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Maximum size of a message, bytes. A report has some thirty histograms of a few kilobytes each, and a plan may have a body.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// Maximum size of the first message of a controller, bytes: it may come from anyone.
pub(crate) const GREETING_BYTES: usize = 8 << 10;
/// Bytes that are allocated for a message before any of it has arrived: its stated length cannot be trusted.
const FIRST_BYTES: usize = 64 << 10;

/// Reason why no message could be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The stream failed, or ended within a frame.
    #[error("{0}")]
    Stream(#[from] std::io::Error),
    /// A message is longer than any that may come.
    #[error("a message of {0} bytes is too long: the other side is not hoptax, or its load is too large")]
    TooLong(usize),
    /// A message does not follow the protocol. Its content is not shown, because it may be a secret of a request.
    #[error("a message is not one of this protocol, from byte {} on", .0.column())]
    Invalid(#[from] serde_json::Error),
}

/// Encodes a message.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    let head = u32::try_from(length).ok().filter(|_| length <= MAX_BYTES);
    let head = head.ok_or(FrameError::TooLong(length))?.to_be_bytes();
    bytes.iter_mut().zip(head).for_each(|(byte, of_head)| *byte = of_head);
    Ok(bytes)
}

/// Writes a message.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> Result<(), FrameError> {
    to.write_all(&encode(message)?).await?;
    Ok(to.flush().await?)
}

/// Reads a message of at most `most_bytes`; None at the end of the stream. Must not be cancelled: the part of a frame that was read would
/// be lost. `on_activity` is called for every piece of it, because a long message over a slow network is a sign of life, too.
pub(crate) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    most_bytes: usize,
    mut on_activity: impl FnMut(),
) -> Result<Option<T>, FrameError> {
    let mut head = [0; 4];
    let mut filled = 0;
    while let Some(rest) = head.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest).await? {
            0 if filled == 0 => return Ok(None),
            0 => return Err(ended()),
            count => filled += count,
        }
    }
    let length = u32::from_be_bytes(head) as usize;
    if length > most_bytes {
        return Err(FrameError::TooLong(length));
    }
    let mut bytes = Vec::with_capacity(length.min(FIRST_BYTES));
    let mut body = from.take(length as u64);
    while bytes.len() < length {
        if body.read_buf(&mut bytes).await? == 0 {
            return Err(ended());
        }
        on_activity();
    }
    // Parsed as text: for bytes, serde would generate the code that reads results a second time.
    let text = str::from_utf8(&bytes).map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))?;
    Ok(Some(serde_json::from_str(text)?))
}

fn ended() -> FrameError {
    FrameError::Stream(std::io::Error::new(ErrorKind::UnexpectedEof, "it ended within a message"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::duplex;
    use tokio::runtime::Builder;

    use super::*;

    /// Reads messages from bytes that come in pieces of this length.
    fn read_all(bytes: &[u8], piece: usize) -> (Vec<Vec<u8>>, Result<(), String>) {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut to, mut from) = duplex(piece.max(1));
            let bytes = bytes.to_vec();
            let writer = tokio::spawn(async move { to.write_all(&bytes).await });
            let mut all = Vec::new();
            let end = loop {
                match read::<Vec<u8>>(&mut from, MAX_BYTES, || ()).await {
                    Ok(Some(message)) => all.push(message),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error.to_string()),
                }
            };
            drop(from);
            // The reader may have stopped at an invalid frame.
            let _ = writer.await.unwrap();
            (all, end)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn messages_are_read_as_they_were_written_in_pieces_of_any_length(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6), piece in 1..50_usize,
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(|message| encode(message).unwrap()).collect();
            prop_assert_eq!(read_all(&bytes, piece), (messages, Ok(())));
        }

        #[test]
        fn bytes_of_a_stranger_end_in_an_error_or_in_messages(
            bytes in prop::collection::vec(any::<u8>(), 0..64), piece in 1..20_usize,
        ) {
            let _ = read_all(&bytes, piece);
        }
    }

    #[test]
    fn a_frame_that_ends_early_or_is_too_long_or_is_no_message_is_an_error() {
        let whole = encode(&vec![1_u8, 2]).unwrap();
        for end in 1..whole.len() {
            let (all, error) = read_all(&whole[..end], 8);
            assert!(all.is_empty() && error.unwrap_err().contains("within a message"), "{end}");
        }
        let error = read_all(&(MAX_BYTES as u32 + 1).to_be_bytes(), 8).1.unwrap_err();
        assert!(error.contains("bytes is too long"), "{error}");
        let error = read_all(&encode(&"text").unwrap(), 8).1.unwrap_err();
        assert!(error.contains("not one of this protocol"), "{error}");
        assert!(matches!(encode(&"x".repeat(MAX_BYTES)), Err(FrameError::TooLong(_))));
    }
}
