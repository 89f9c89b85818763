//! A TCP proxy that misbehaves on command: in front of a database it is every dead, slow and half-dead server.
//!
//! A change of mode takes hold at once, of open connections too.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All bytes go through.
    Pass,
    /// New connections are refused by the kernel; open ones go on.
    Refuse,
    /// Connections stay open and no byte goes through; new ones are accepted and never answered.
    Silent,
    /// Each piece of data waits this long before it goes on.
    Delay(Duration),
    /// Each connection falls silent once the server has sent it this many bytes.
    SilentAfterBytes(u64),
    /// Each connection falls silent once the server has answered its first COM_PING.
    SilentAfterPing,
}

/// Runs until dropped.
pub struct Proxy {
    pub port: u16,
    mode: watch::Sender<Mode>,
    cuts: watch::Sender<u64>,
    accepted: Arc<AtomicUsize>,
    from_server: Arc<AtomicU64>,
    end: CancellationToken,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and passes to this one.
    pub fn to(host: &str, port: u16) -> Self {
        let server: SocketAddr = format!("{host}:{port}").parse().expect("the host is an address");
        let (socket, port) = bound_socket();
        let state = Self {
            port,
            mode: watch::Sender::new(Mode::Pass),
            cuts: watch::Sender::new(0),
            accepted: Arc::default(),
            from_server: Arc::default(),
            end: CancellationToken::new(),
        };
        let serving = Serving {
            server,
            mode: state.mode.subscribe(),
            cuts: state.cuts.subscribe(),
            accepted: Arc::clone(&state.accepted),
            from_server: Arc::clone(&state.from_server),
        };
        let end = state.end.clone();
        let first = socket.listen(64).expect("a bound socket can listen");
        tokio::spawn(async move {
            tokio::select! {
                () = end.cancelled() => {}
                () = serving.listen(port, first) => {}
            }
        });
        state
    }

    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Resets all open connections; new ones are treated by the mode.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Connections accepted so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Bytes that the server has sent so far, over all connections.
    pub fn bytes_from_server(&self) -> u64 {
        self.from_server.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end.cancel();
        self.cut();
    }
}

/// A socket on a free port, which refuses connections as long as it does not listen.
fn bound_socket() -> (TcpSocket, u16) {
    let mut random = Random::new(Random::fresh_seed());
    for _ in 0..200 {
        let port = 10_000 + random.below(9_000) as u16;
        if let Some(socket) = bind(port) {
            return (socket, port);
        }
    }
    panic!("no free port was found");
}

fn bind(port: u16) -> Option<TcpSocket> {
    let socket = TcpSocket::new_v4().expect("sockets can be made");
    socket.set_reuseaddr(true).expect("the option is known");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], port))).ok().map(|()| socket)
}

#[derive(Clone)]
struct Serving {
    server: SocketAddr,
    mode: watch::Receiver<Mode>,
    cuts: watch::Receiver<u64>,
    accepted: Arc<AtomicUsize>,
    from_server: Arc<AtomicU64>,
}

impl Serving {
    async fn listen(mut self, port: u16, first: tokio::net::TcpListener) {
        let mut listener = Some(first);
        loop {
            if *self.mode.borrow() == Mode::Refuse {
                listener = None;
                // Nobody else may get the port meanwhile.
                let held = bind(port);
                while *self.mode.borrow() == Mode::Refuse {
                    if self.mode.changed().await.is_err() {
                        return;
                    }
                }
                drop(held);
            }
            let listening = match listener.take() {
                Some(listening) => listening,
                None => match bind(port).and_then(|socket| socket.listen(64).ok()) {
                    Some(listening) => listening,
                    None => {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        continue;
                    }
                },
            };
            tokio::select! {
                accepted = listening.accept() => {
                    if let Ok((client, _)) = accepted {
                        self.accepted.fetch_add(1, Ordering::Relaxed);
                        tokio::spawn(self.clone().connection(client));
                    }
                }
                changed = self.mode.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
            listener = Some(listening);
        }
    }

    async fn connection(mut self, client: TcpStream) {
        client.set_nodelay(true).ok();
        let mut cuts = self.cuts.clone();
        cuts.mark_unchanged();
        let cutting = async move {
            // An error is the end of the proxy.
            cuts.changed().await.ok();
        };
        tokio::pin!(cutting);
        // A silent server does not even answer the connection of the proxy.
        let connected = async {
            while *self.mode.borrow() == Mode::Silent {
                if self.mode.changed().await.is_err() {
                    return None;
                }
            }
            TcpStream::connect(self.server).await.ok()
        };
        let server = tokio::select! {
            server = connected => server,
            () = &mut cutting => None,
        };
        let Some(server) = server else {
            client.set_zero_linger().ok();
            return;
        };
        server.set_nodelay(true).ok();
        let (mut client_read, mut client_write) = client.into_split();
        let (mut server_read, mut server_write) = server.into_split();
        let seen = Seen::default();
        let mode = self.mode.clone();
        let upward = pump(&mut client_read, &mut server_write, self.mode.clone(), |bytes| seen.note_client(bytes));
        let downward = pump(&mut server_read, &mut client_write, self.mode.clone(), |bytes| {
            self.from_server.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            seen.note_server(bytes, *mode.borrow())
        });
        let cut = tokio::select! {
            _ = async { tokio::join!(upward, downward) } => false,
            () = &mut cutting => true,
        };
        if cut {
            // Closing is then a reset on both sides.
            client_write.as_ref().set_zero_linger().ok();
            server_write.as_ref().set_zero_linger().ok();
        }
    }
}

/// What one connection has seen, for the modes that count.
#[derive(Default)]
struct Seen {
    sent_by_server: AtomicU64,
    pinged: AtomicUsize,
}

impl Seen {
    /// Notes a COM_PING: a packet of one byte, 14, which starts a command.
    fn note_client(&self, bytes: &[u8]) -> Flow {
        if bytes.windows(5).any(|packet| packet == [1, 0, 0, 0, 14]) {
            self.pinged.store(1, Ordering::Relaxed);
        }
        Flow::Through
    }

    /// Whether these bytes are the last that the client sees.
    fn note_server(&self, bytes: &[u8], mode: Mode) -> Flow {
        let sent = self.sent_by_server.fetch_add(bytes.len() as u64, Ordering::Relaxed) + bytes.len() as u64;
        match mode {
            Mode::SilentAfterBytes(most) if sent >= most => {
                Flow::Last { bytes: bytes.len().saturating_sub((sent - most) as usize) }
            }
            Mode::SilentAfterPing if self.pinged.load(Ordering::Relaxed) == 1 => Flow::Last { bytes: bytes.len() },
            _ => Flow::Through,
        }
    }
}

enum Flow {
    Through,
    /// So many bytes still go through, then nothing until the mode changes to one that passes.
    Last {
        bytes: usize,
    },
}

async fn pump(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    judge: impl Fn(&[u8]) -> Flow,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let mut bytes = &buffer[..read];
        let silent_in = *mode.borrow();
        if let Flow::Last { bytes: last } = judge(bytes) {
            let (through, held) = bytes.split_at(last);
            if to.write_all(through).await.is_err() {
                break;
            }
            bytes = held;
            while *mode.borrow() == silent_in {
                if mode.changed().await.is_err() {
                    return;
                }
            }
        }
        let now = *mode.borrow();
        if let Mode::Delay(delay) = now {
            tokio::time::sleep(delay).await;
        }
        while *mode.borrow() == Mode::Silent {
            if mode.changed().await.is_err() {
                return;
            }
        }
        if to.write_all(bytes).await.is_err() {
            break;
        }
    }
    // The other side may have gone already.
    to.shutdown().await.ok();
}
