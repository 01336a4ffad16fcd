//! Reads Protobuf messages without a description of their types.

/// The length-delimited fields of a Protobuf message, with their numbers. Other fields are skipped. Ends at the first invalid
/// field.
pub fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first()?;
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
    std::iter::from_fn(move || {
        loop {
            let tag = varint(&mut message)?;
            let length = match tag & 7 {
                0 => {
                    varint(&mut message)?;
                    continue;
                }
                1 => 8,
                2 => usize::try_from(varint(&mut message)?).ok()?,
                5 => 4,
                _ => return None,
            };
            let (content, rest) = message.split_at_checked(length)?;
            message = rest;
            if tag & 7 == 2 {
                return Some((tag >> 3, content));
            }
        }
    })
}
