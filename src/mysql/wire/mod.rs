//! A session of our own for the source's binlog, below the driver.
//!
//! The driver hands events out only after it has copied, parsed and in part decoded them: for a row of 64 MiB that is
//! more memory than the row, and for small ones more time than decoding takes. Here a packet is read once, into memory
//! of its own size. What the driver's packet library knows (handshakes, scrambles, commands) is taken from there.

mod login;
mod tls;

use bytes::Bytes;
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::ErrPacket;
use mysql_common::proto::MySerialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::{Error, ErrorKind};

pub use login::log_in;

/// A packet that is as long as this goes on in the next one.
const WHOLE: usize = 0xff_ffff;
/// Small events come by the thousand in one read.
const READ_AHEAD: usize = 256 * 1024;
/// What memory is taken at once for a packet whose length only its sender knows.
const TRUSTED_BYTES: usize = 1 << 30;

trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// A session that sends commands and takes packets.
pub struct Wire {
    stream: BufReader<Box<dyn Transport>>,
    sequence: u8,
    capabilities: CapabilityFlags,
    name: Box<str>,
}

impl Wire {
    fn new(stream: impl Transport + 'static, name: &str) -> Self {
        Self {
            stream: BufReader::with_capacity(READ_AHEAD, Box::new(stream)),
            sequence: 0,
            capabilities: CapabilityFlags::empty(),
            name: name.into(),
        }
    }

    fn lost(&self, doing: &str, error: &std::io::Error) -> Error {
        Error::new(doing, &self.name, ErrorKind::Connection(error.to_string().into()))
    }

    fn unexpected(&self, doing: &str, what: &str) -> Error {
        Error::new(doing, &self.name, ErrorKind::Protocol(what.into()))
    }

    /// One packet, put together from its parts.
    async fn read_packet(&mut self, doing: &str) -> Result<Vec<u8>, Error> {
        let mut packet = Vec::new();
        loop {
            let mut head = [0; 4];
            self.stream.read_exact(&mut head).await.map_err(|error| self.lost(doing, &error))?;
            let [low, middle, high, sequence] = head;
            if sequence != self.sequence {
                return Err(self.unexpected(doing, "packets out of order"));
            }
            self.sequence = sequence.wrapping_add(1);
            let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
            let before = packet.len();
            if before == 0 && length == WHOLE {
                self.reserve_for_event(&mut packet, doing).await?;
            }
            let known = packet.len();
            packet.reserve_exact(before + length - known);
            packet.resize(before + length, 0);
            let rest = packet.get_mut(known..).unwrap_or_default();
            self.stream.read_exact(rest).await.map_err(|error| self.lost(doing, &error))?;
            if length < WHOLE {
                return Ok(packet);
            }
        }
    }

    /// A large packet is an event, whose header tells its size: memory is taken once, instead of growing.
    async fn reserve_for_event(&mut self, packet: &mut Vec<u8>, doing: &str) -> Result<(), Error> {
        const SIZE_AT: usize = 1 + 9;
        let mut head = [0; SIZE_AT + 4];
        self.stream.read_exact(&mut head).await.map_err(|error| self.lost(doing, &error))?;
        let size = head.last_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size) as usize);
        packet.reserve_exact(size.clamp(WHOLE, TRUSTED_BYTES) + 1);
        packet.extend_from_slice(&head);
        Ok(())
    }

    async fn write_packet(&mut self, payload: &[u8], doing: &str) -> Result<(), Error> {
        let ends_full = payload.len().is_multiple_of(WHOLE);
        let mut sequence = self.sequence;
        let mut bytes = Vec::with_capacity(payload.len() + 8);
        let mut head = |bytes: &mut Vec<u8>, length: usize| {
            bytes.extend(length.to_le_bytes().iter().take(3));
            bytes.push(sequence);
            sequence = sequence.wrapping_add(1);
        };
        for part in payload.chunks(WHOLE) {
            head(&mut bytes, part.len());
            bytes.extend_from_slice(part);
        }
        if ends_full {
            head(&mut bytes, 0);
        }
        self.sequence = sequence;
        self.stream.write_all(&bytes).await.map_err(|error| self.lost(doing, &error))?;
        self.stream.flush().await.map_err(|error| self.lost(doing, &error))
    }

    async fn write(&mut self, message: &impl MySerialize, doing: &str) -> Result<(), Error> {
        let mut payload = Vec::new();
        message.serialize(&mut payload);
        self.write_packet(&payload, doing).await
    }

    /// Sends a command; what follows belongs to it.
    pub async fn command(&mut self, command: &impl MySerialize, doing: &str) -> Result<(), Error> {
        self.sequence = 0;
        self.write(command, doing).await
    }

    /// Takes the answer of a command that is answered by no more than "done".
    pub async fn done(&mut self, doing: &str) -> Result<(), Error> {
        let packet = self.read_packet(doing).await?;
        match packet.first() {
            Some(0x00) => Ok(()),
            _ => Err(self.refusal(&packet, doing)),
        }
    }

    /// Runs a statement that answers no rows.
    pub async fn run(&mut self, sql: &str, doing: &str) -> Result<(), Error> {
        const QUERY: u8 = 3;
        self.sequence = 0;
        self.write_packet(&[&[QUERY], sql.as_bytes()].concat(), doing).await?;
        self.done(doing).await
    }

    /// The next event of a binlog stream. None: the server ended the stream.
    pub async fn event(&mut self, doing: &str) -> Result<Option<Bytes>, Error> {
        const END: u8 = 0xfe;
        let packet = self.read_packet(doing).await?;
        match packet.first() {
            Some(0x00) => Ok(Some(Bytes::from(packet).slice(1..))),
            Some(&END) if packet.len() < 9 => Ok(None),
            _ => Err(self.refusal(&packet, doing)),
        }
    }

    /// The error that a packet holds, or that it is not the packet that was expected.
    fn refusal(&self, packet: &[u8], doing: &str) -> Error {
        match (packet.first(), ParseBuf(packet).parse::<ErrPacket<'_>>(self.capabilities)) {
            (Some(0xff), Ok(ErrPacket::Error(error))) => {
                let state = error.sql_state_ref().map(|state| state.as_str().into_owned()).unwrap_or_default();
                let kind = ErrorKind::Server {
                    code: error.error_code(),
                    state: state.into(),
                    message: error.message_str().into_owned().into(),
                };
                Error::new(doing, &self.name, kind)
            }
            _ => self.unexpected(doing, "a packet that does not belong here"),
        }
    }
}
