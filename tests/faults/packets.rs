//! Several statements in one packet: whichever fails, the call fails, and says with what.

use ferrymaster::model::Endpoint;
use ferrymaster::mysql::{Connection, Deadline, Purpose};

use super::support::servers::{Kind, Role, Server};
use super::support::wait::secs;

async fn session(kind: Kind) -> Connection {
    let server = Server::shared(kind, Role::Target);
    let endpoint = Endpoint {
        host: server.host,
        port: server.port,
        user: "root".to_owned(),
        password: String::new().into(),
        tls: None,
    };
    Connection::open(&endpoint, Purpose::Writing, Deadline::after(secs(20))).await.expect("the server answers")
}

async fn every_place_is_heard_of(kind: Kind) {
    let mut session = session(kind).await;
    for count in 1..5 {
        for bad in 0..count {
            let statements: Vec<&str> =
                (0..count).map(|place| if place == bad { "SELEKT 1" } else { "DO 1" }).collect();
            let packet = statements.join("; ");
            let outcome = session.run_many(packet.as_bytes(), "trying", Deadline::after(secs(20))).await;
            let error = outcome.expect_err(&packet);
            assert_eq!(error.server_code(), Some(1064), "{packet}: {error}");
            // The session is in step, and nothing of the failure is left in it.
            let after = session.run_many(b"DO 2; DO 3", "trying", Deadline::after(secs(20))).await;
            assert_eq!(after.expect("nothing is wrong with it").len(), 2, "{packet}");
        }
    }
}

#[tokio::test]
async fn an_error_of_any_statement_is_the_packet_s_on_mariadb() {
    every_place_is_heard_of(Kind::Mariadb).await;
}

#[tokio::test]
async fn an_error_of_any_statement_is_the_packet_s_on_mysql() {
    every_place_is_heard_of(Kind::Mysql).await;
}
