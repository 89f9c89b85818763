//! Logging in: the handshake, TLS if the endpoint asks for it, and the account's way of proving its password.

use std::collections::HashMap;

use mysql_common::constants::CapabilityFlags;
use mysql_common::crypto;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest};
use secrecy::ExposeSecret;
use tokio::net::TcpStream;
use tokio::time::timeout_at;

use super::{Wire, tls};
use crate::model::Endpoint;
use crate::mysql::{Deadline, Error, ErrorKind};

const DOING: &str = "logging in for the binlog";
const PACKET_BYTES: u32 = 1 << 30;
const UTF8MB4_GENERAL_CI: u8 = 45;
/// More rounds than any way of logging in takes.
const ROUNDS_MAX: usize = 8;

/// Opens a session and logs in.
pub async fn log_in(endpoint: &Endpoint, deadline: Deadline) -> Result<Wire, Error> {
    let name = endpoint.to_string();
    match timeout_at(deadline.instant(), connect(endpoint, &name)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::new(DOING, &name, ErrorKind::TimedOut)),
    }
}

async fn connect(endpoint: &Endpoint, name: &str) -> Result<Wire, Error> {
    let lost = |error: std::io::Error| Error::new(DOING, name, ErrorKind::Connection(error.to_string().into()));
    let stream = TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await.map_err(lost)?;
    stream.set_nodelay(true).map_err(lost)?;
    let mut wire = Wire::new(stream, name);
    let greeting = wire.read_packet(DOING).await?;
    if greeting.first() == Some(&0xff) {
        return Err(wire.refusal(&greeting, DOING));
    }
    let handshake: HandshakePacket<'_> =
        ParseBuf(&greeting).parse(()).map_err(|_| wire.unexpected(DOING, "the greeting is not understood"))?;
    let mut wanted = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_MULTI_STATEMENTS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_CONNECT_ATTRS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
    if endpoint.tls.is_some() {
        wanted |= CapabilityFlags::CLIENT_SSL;
    }
    wire.capabilities = handshake.capabilities() & wanted;
    if let Some(given) = &endpoint.tls {
        if !wire.capabilities.contains(CapabilityFlags::CLIENT_SSL) {
            let why = "the server does not offer TLS, and the endpoint asks for it";
            return Err(Error::new(DOING, name, ErrorKind::Tls(why.into())));
        }
        wire.write(&SslRequest::new(wire.capabilities, PACKET_BYTES, UTF8MB4_GENERAL_CI), DOING).await?;
        let (sequence, capabilities) = (wire.sequence, wire.capabilities);
        let plain = wire.stream.into_inner();
        let secured = tls::secure(plain, &endpoint.host, given).await;
        let secured = secured.map_err(|why| Error::new(DOING, name, ErrorKind::Tls(why.into())))?;
        wire = Wire { sequence, capabilities, ..Wire::new(secured, name) };
    }
    let mut proof = Proof {
        plugin: match handshake.auth_plugin() {
            Some(AuthPlugin::CachingSha2Password) => AuthPlugin::CachingSha2Password,
            _ => AuthPlugin::MysqlNativePassword,
        },
        nonce: handshake.nonce(),
        password: endpoint.password.expose_secret(),
        is_secure: endpoint.tls.is_some(),
    };
    let attributes = HashMap::from([("program_name".to_owned(), "ferrymaster".to_owned())]);
    let response = HandshakeResponse::new(
        proof.data(),
        (8, 0, 0),
        Some(endpoint.user.as_bytes()),
        None::<&[u8]>,
        Some(proof.plugin.clone()),
        wire.capabilities,
        wire.capabilities.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS).then_some(attributes),
        PACKET_BYTES,
    );
    wire.write(&response, DOING).await?;
    prove(&mut wire, &mut proof).await?;
    Ok(wire)
}

/// How the account proves its password.
struct Proof<'a> {
    plugin: AuthPlugin<'static>,
    nonce: Vec<u8>,
    password: &'a str,
    is_secure: bool,
}

impl Proof<'_> {
    fn data(&self) -> Option<Vec<u8>> {
        let nonce = self.nonce.strip_suffix(&[0]).filter(|nonce| nonce.len() == 20).unwrap_or(&self.nonce);
        self.plugin.gen_data(Some(self.password), nonce).map(|data| data.to_vec())
    }
}

/// Answers what the server asks until it lets us in.
async fn prove(wire: &mut Wire, proof: &mut Proof<'_>) -> Result<(), Error> {
    const OK: u8 = 0x00;
    const MORE: u8 = 0x01;
    const SWITCH: u8 = 0xfe;
    for _ in 0..ROUNDS_MAX {
        let packet = wire.read_packet(DOING).await?;
        match packet.split_first() {
            Some((&OK, _)) => return Ok(()),
            Some((&SWITCH, rest)) if !rest.is_empty() => {
                let not_understood = |_| wire.unexpected(DOING, "the way of logging in is not understood");
                let switch: AuthSwitchRequest<'_> = ParseBuf(&packet).parse(()).map_err(not_understood)?;
                proof.nonce = switch.plugin_data().to_vec();
                proof.plugin = switch.auth_plugin().clone().into_owned();
                let known = match &proof.plugin {
                    AuthPlugin::MysqlNativePassword | AuthPlugin::CachingSha2Password | AuthPlugin::Ed25519 => true,
                    // It sends a salt before it takes an answer.
                    AuthPlugin::MariadbParsec { .. } => {
                        wire.write_packet(&[], DOING).await?;
                        continue;
                    }
                    // In clear only where nobody listens.
                    AuthPlugin::MysqlClearPassword => proof.is_secure,
                    _ => false,
                };
                if !known {
                    let name = String::from_utf8_lossy(proof.plugin.as_bytes()).into_owned();
                    let why = format!("the account logs in by {name}, which is not supported here");
                    return Err(wire.unexpected(DOING, &why));
                }
                wire.write_packet(&proof.data().unwrap_or_default(), DOING).await?;
            }
            Some((&MORE, rest)) => more(wire, proof, rest).await?,
            _ => match &mut proof.plugin {
                parsec @ AuthPlugin::MariadbParsec { .. } if packet.first() != Some(&0xff) => {
                    salted(wire, parsec.read_add_data(&packet))?;
                    wire.write_packet(&proof.data().unwrap_or_default(), DOING).await?;
                }
                _ => return Err(wire.refusal(&packet, DOING)),
            },
        }
    }
    Err(wire.unexpected(DOING, "the server goes on asking for the password"))
}

fn salted(wire: &Wire, read: Option<()>) -> Result<(), Error> {
    read.ok_or_else(|| wire.unexpected(DOING, "the salt is not understood"))
}

/// What a way of logging in asks for beyond its first answer.
async fn more(wire: &mut Wire, proof: &mut Proof<'_>, asked: &[u8]) -> Result<(), Error> {
    const KNOWN: &[u8] = &[0x03];
    const PASSWORD: &[u8] = &[0x04];
    const KEY: u8 = 0x02;
    match &mut proof.plugin {
        AuthPlugin::CachingSha2Password if asked == KNOWN => Ok(()),
        AuthPlugin::CachingSha2Password if asked == PASSWORD => {
            let mut password = proof.password.as_bytes().to_vec();
            password.push(0);
            if proof.is_secure {
                return wire.write_packet(&password, DOING).await;
            }
            wire.write_packet(&[KEY], DOING).await?;
            let packet = wire.read_packet(DOING).await?;
            let key = packet.split_first().map(|(_, key)| key).filter(|key| key.starts_with(b"-----BEGIN PUBLIC KEY"));
            let Some(key) = key else { return Err(wire.refusal(&packet, DOING)) };
            let nonce = proof.nonce.strip_suffix(&[0]).unwrap_or(&proof.nonce);
            password.iter_mut().zip(nonce.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
            wire.write_packet(&crypto::encrypt(&password, key), DOING).await
        }
        parsec @ AuthPlugin::MariadbParsec { .. } => {
            salted(wire, parsec.read_add_data(asked))?;
            wire.write_packet(&proof.data().unwrap_or_default(), DOING).await
        }
        _ => Err(wire.unexpected(DOING, "more is asked for than the way of logging in knows")),
    }
}
