//! Takes events from the source and decodes them, in a task of its own, so that decoding and applying overlap.
//!
//! The source speaks at least every heartbeat; silence for a few of them is a dead connection, whatever TCP thinks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::pulse::Pulse;
use crate::binlog::{ChecksumAlgorithm, Decoded, Decoder, DecoderOptions, Event, EventBody};
use crate::model::{BinlogPosition, Endpoint};
use crate::mysql::{BinlogRequest, BinlogStart, BinlogStream, Connection, Deadline, Purpose, open_binlog};

/// The source sends a heartbeat after this long without an event.
pub const HEARTBEAT: Duration = Duration::from_secs(2);
/// Silence for this long is a dead connection.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// Events decoded ahead, and their bytes.
const AHEAD: usize = 1024;
const AHEAD_BYTES: u32 = 16 << 20;

/// An event and where it ends.
#[derive(Debug)]
pub struct Placed {
    pub event: Event,
    /// The file it stands in, and the byte after it. Inside a packed transaction: the transaction's end.
    pub end: BinlogPosition,
    /// Bytes on the wire; 0 for what was packed inside another.
    pub size: u32,
    /// Its part of what may be read ahead, given back when it is dropped.
    _room: Option<OwnedSemaphorePermit>,
}

/// Opens the stream. The first events tell file and format.
pub async fn open(
    endpoint: &Endpoint,
    start: BinlogStart,
    server_id: u32,
    deadline: Deadline,
) -> Result<Reader, Error> {
    let failed = |doing| move |cause| Error::Source { doing, cause };
    let mut connection =
        Connection::open(endpoint, Purpose::Asking, deadline).await.map_err(failed("ask for the checksum"))?;
    let row = connection
        .first_row("SELECT @@GLOBAL.binlog_checksum AS algorithm", "asking for the checksum", deadline)
        .await
        .map_err(failed("ask for the checksum"))?;
    let checksum = match row.text("algorithm").map_err(failed("ask for the checksum"))?.to_ascii_uppercase().as_str() {
        "NONE" => ChecksumAlgorithm::None,
        _ => ChecksumAlgorithm::Crc32,
    };
    let position = match &start {
        BinlogStart::Position { file, offset } => BinlogPosition::new(file.clone(), *offset),
        BinlogStart::Gtid { .. } => BinlogPosition::new("", 4),
    };
    let request = BinlogRequest { start, server_id, heartbeat: HEARTBEAT };
    let flavor = connection.server().flavor;
    connection.close(deadline.at_most(Duration::from_secs(1))).await;
    let stream = open_binlog(endpoint, flavor, &request, deadline).await.map_err(failed("ask for the binlog"))?;
    Ok(Reader {
        stream,
        decoder: Decoder::new(DecoderOptions { checksum, ..DecoderOptions::default() }),
        place: Place { position },
    })
}

pub struct Reader {
    stream: BinlogStream,
    decoder: Decoder,
    place: Place,
}

impl Reader {
    /// Starts the task. Events come in order; an error is the last thing that comes.
    pub fn spawn(
        self,
        tasks: &tokio_util::task::TaskTracker,
        pulse: Arc<Pulse>,
        stop: CancellationToken,
    ) -> mpsc::Receiver<Result<Placed, Error>> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.run(Outlet { sender, pulse, room: Arc::new(Semaphore::new(AHEAD_BYTES as usize)) }) => {}
            }
        });
        receiver
    }

    async fn run(mut self, outlet: Outlet) {
        loop {
            if let Err(error) = self.pass_on(&outlet).await {
                // The receiver is gone only when the run ends.
                let _ = outlet.sender.send(Err(error)).await;
                return;
            }
            if outlet.sender.is_closed() {
                return;
            }
        }
    }

    /// Reads one raw event and sends what is in it.
    async fn pass_on(&mut self, outlet: &Outlet) -> Result<(), Error> {
        let raw = self
            .stream
            .next(Deadline::after(SILENCE_MAX))
            .await
            .map_err(|cause| Error::Source { doing: "read the binlog", cause })?;
        let size = u32::try_from(raw.0.len()).unwrap_or(u32::MAX);
        let undecodable =
            |place: &Place, cause| Error::Decode { position: place.position.to_string(), cause: Box::new(cause) };
        match self.decoder.decode(raw.0).map_err(|cause| undecodable(&self.place, cause))? {
            Decoded::Event(event) => {
                let end = self.place.after(&event);
                outlet.send(event, end, size).await;
            }
            Decoded::Payload(mut payload) => {
                let mut size = size;
                while let Some(event) =
                    self.decoder.decode_next(&mut payload).map_err(|cause| undecodable(&self.place, cause))?
                {
                    let end = self.place.after(&event);
                    outlet.send(event, end, std::mem::take(&mut size)).await;
                }
            }
        }
        Ok(())
    }
}

/// Where events go.
struct Outlet {
    sender: mpsc::Sender<Result<Placed, Error>>,
    pulse: Arc<Pulse>,
    room: Arc<Semaphore>,
}

impl Outlet {
    /// Waits for room. After an event that is larger than all of it nothing more is read until that one is done with.
    async fn send(&self, event: Event, end: BinlogPosition, size: u32) {
        self.pulse.has_read();
        let needed = size.clamp(1, AHEAD_BYTES);
        // Never closed. The receiver is gone only when the run ends.
        let room = Arc::clone(&self.room).acquire_many_owned(needed).await.ok();
        let _ = self.sender.send(Ok(Placed { event, end, size, _room: room })).await;
        if size >= AHEAD_BYTES {
            let _ = self.room.acquire_many(AHEAD_BYTES).await;
        }
    }
}

/// Where the stream stands.
struct Place {
    position: BinlogPosition,
}

impl Place {
    /// Moves past an event. Offsets in events have 32 bits, and files can be larger: an offset that falls back has
    /// wrapped round.
    fn after(&mut self, event: &Event) -> BinlogPosition {
        match &event.body {
            EventBody::Rotate(rotate) => self.position = BinlogPosition::new(rotate.file.clone(), rotate.position),
            // Made up by the server, or telling of a place that was passed over already.
            EventBody::Heartbeat(heartbeat) => {
                if heartbeat.file == self.position.file && heartbeat.position > self.position.offset {
                    self.position.offset = heartbeat.position;
                }
            }
            _ if event.header.artificial() || event.header.next_position == 0 => {}
            _ => self.position.offset = unwrapped(self.position.offset, event.header.next_position),
        }
        self.position.clone()
    }
}

/// The 64-bit offset at or above `before` whose lower half is `low`.
fn unwrapped(before: u64, low: u32) -> u64 {
    const SPAN: u64 = 1 << 32;
    let same = (before & !(SPAN - 1)) | u64::from(low);
    if same < before { same + SPAN } else { same }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_on_past_four_gibibytes() {
        assert_eq!(unwrapped(100, 200), 200);
        assert_eq!(unwrapped(u64::from(u32::MAX) - 5, 10), (1 << 32) + 10);
        assert_eq!(unwrapped((1 << 32) + 10, 500), (1 << 32) + 500);
        assert_eq!(unwrapped(4, 4), 4);
    }
}
