//! Typed indices of connections, lanes, streams and slots.

/// One socket of a worker, from open to close.
///
/// The index is reused with another generation, so a late event of a closed socket does not reach its successor. The
/// token of an epoll event holds both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId {
    index: u32,
    generation: u32,
}

impl ConnectionId {
    pub(super) fn new(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }

    /// The token of the connection in epoll.
    pub(crate) fn token(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The connection with this token.
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

/// One of the configured connections of a load, counted from 0. It uses one socket after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaneId(pub(crate) u32);

impl LaneId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stream of a connection, counted from 0. A protocol without multiplexing has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId(pub(crate) u32);

/// Capacity for one request in flight: a stream of a lane. The pool hands out slots, which bounds the requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotId(pub(crate) u32);

impl SlotId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Maps slots to lanes and streams. The slots of the first lane come first. With one stream per lane, the usual case, no
/// division is needed: every request maps its slot several times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) lanes: u32,
    /// Streams per lane, at least one.
    pub(crate) streams: u32,
}

impl Layout {
    pub(crate) fn lane(self, slot: SlotId) -> LaneId {
        LaneId(if self.streams == 1 { slot.0 } else { slot.0 / self.streams })
    }

    pub(crate) fn stream(self, slot: SlotId) -> StreamId {
        StreamId(if self.streams == 1 { 0 } else { slot.0 % self.streams })
    }

    pub(crate) fn slot(self, lane: LaneId, stream: StreamId) -> SlotId {
        SlotId(lane.0 * self.streams + stream.0)
    }

    /// The slots of a lane.
    pub(crate) fn slots_of(self, lane: LaneId) -> impl Iterator<Item = SlotId> + use<> {
        (lane.0 * self.streams..(lane.0 + 1) * self.streams).map(SlotId)
    }

    /// All lanes.
    pub(crate) fn all_lanes(self) -> impl Iterator<Item = LaneId> + use<> {
        (0..self.lanes).map(LaneId)
    }

    /// All slots.
    pub(crate) fn slots(self) -> impl Iterator<Item = SlotId> + use<> {
        (0..self.lanes * self.streams).map(SlotId)
    }
}
