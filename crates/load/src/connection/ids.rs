//! Names of connections, streams and the places that requests take, each a type of its own.

/// One socket of a worker, from its opening to its close.
///
/// Its index is used again for another socket, in another generation: what speaks of a socket that is closed finds
/// nothing. An event of epoll carries both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId {
    index: u32,
    generation: u32,
}

impl ConnectionId {
    pub(super) fn new(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }

    /// The token of its events.
    pub(crate) fn token(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The connection whose events carry a token.
    pub(crate) fn from_token(token: u64) -> Self {
        Self { index: token as u32, generation: (token >> 32) as u32 }
    }

    pub(crate) fn index(self) -> usize {
        self.index as usize
    }

    pub(super) fn generation(self) -> u32 {
        self.generation
    }
}

/// One of the connections that a load was asked to have, counted from 0. Sockets follow each other on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaneId(pub(crate) u32);

impl LaneId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stream of a connection, counted from 0; a protocol without streams has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId(pub(crate) u32);

/// A place for one request: a stream of a lane. The pool hands them out, so no more requests are in flight than there
/// are slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotId(pub(crate) u32);

impl SlotId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which slots belong to which lane: those of the first, those of the second, and so on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) lanes: u32,
    /// Streams of each lane, at least one.
    pub(crate) streams: u32,
}

impl Layout {
    pub(crate) fn lane(self, slot: SlotId) -> LaneId {
        LaneId(slot.0 / self.streams)
    }

    pub(crate) fn stream(self, slot: SlotId) -> StreamId {
        StreamId(slot.0 % self.streams)
    }

    pub(crate) fn slot(self, lane: LaneId, stream: StreamId) -> SlotId {
        SlotId(lane.0 * self.streams + stream.0)
    }

    /// The slots of a lane.
    pub(crate) fn slots_of(self, lane: LaneId) -> impl Iterator<Item = SlotId> + use<> {
        (lane.0 * self.streams..(lane.0 + 1) * self.streams).map(SlotId)
    }

    /// All of them.
    pub(crate) fn slots(self) -> impl Iterator<Item = SlotId> + use<> {
        (0..self.lanes * self.streams).map(SlotId)
    }
}
