//! A workload: tables of the shapes that copies get wrong, and sessions that change them until told to stop.
//!
//! The same seed gives the same statements in each session; how sessions interleave is up to the server. Deadlocks and
//! lock waits are part of the load and are tried again with the next statement.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::random::Random;
use super::servers::{Server, Session};
use super::wait::{secs, until_true, within};

/// Statements that make the tables: `orders` (two unique keys), `events` (no key, twins), `customers` with `addresses`
/// (cascades), `words` (a text key).
pub const TABLES: [&str; 5] = [
    "CREATE TABLE orders (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, code VARCHAR(40) NOT NULL, \
     amount DECIMAL(12,2) NOT NULL, note TEXT, ratio DOUBLE, changed DATETIME(6) NOT NULL, UNIQUE KEY (code), \
     KEY (changed)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    "CREATE TABLE events (kind INT, body VARCHAR(100), at TIMESTAMP(3) NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 \
     COLLATE=utf8mb4_bin",
    "CREATE TABLE customers (id INT NOT NULL PRIMARY KEY, name VARCHAR(60) NOT NULL) ENGINE=InnoDB \
     DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    "CREATE TABLE addresses (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT, street VARCHAR(80), \
     CONSTRAINT lives FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE ON UPDATE CASCADE) \
     ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    "CREATE TABLE words (word VARCHAR(50) NOT NULL PRIMARY KEY, times INT UNSIGNED NOT NULL) ENGINE=InnoDB \
     DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci",
];

/// Makes the tables in a database and puts about `rows` rows into each.
pub async fn create_tables(server: &Server, database: &str, rows: u64, seed: u64) {
    let mut session = server.connect().await;
    session.run(&format!("USE `{database}`")).await;
    for table in TABLES {
        session.run(table).await;
    }
    let mut random = Random::new(seed);
    let mut left = rows;
    while left > 0 {
        let many = left.min(1000);
        for statement in fill(&mut random, many, rows - left) {
            session.run(&statement).await;
        }
        left -= many;
    }
    session.close().await;
}

/// What a writer did.
#[derive(Debug, Clone, Copy)]
pub struct Tally {
    pub transactions: u64,
    /// Deadlocks and lock waits met.
    pub conflicts: u64,
}

/// Sessions that go on writing until [`Writer::stop`].
pub struct Writer {
    stop: CancellationToken,
    sessions: Vec<JoinHandle<()>>,
    transactions: Arc<AtomicU64>,
    conflicts: Arc<AtomicU64>,
}

impl Writer {
    /// Starts `sessions` sessions on tables made by [`create_tables`], each resting for `pause` between transactions.
    pub fn start(server: &Server, database: &str, seed: u64, sessions: u64, pause: Duration) -> Self {
        let steps: Vec<Step> =
            (0..sessions).map(|_| -> Step { |session, random| transaction(session, random).boxed() }).collect();
        Self::start_with(server, database, seed, &steps, pause)
    }

    /// Starts a session for each step, which it repeats.
    pub fn start_with(server: &Server, database: &str, seed: u64, steps: &[Step], pause: Duration) -> Self {
        let stop = CancellationToken::new();
        let (transactions, conflicts) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let sessions = (1..)
            .zip(steps)
            .map(|(number, &step): (u64, &Step)| {
                let writing = Writing {
                    server: server.clone(),
                    database: database.to_owned(),
                    stop: stop.clone(),
                    transactions: Arc::clone(&transactions),
                    conflicts: Arc::clone(&conflicts),
                    pause,
                };
                let random = Random::new(seed ^ number.wrapping_mul(0x5851_F42D_4C95_7F2D));
                tokio::spawn(writing.repeat(step, random))
            })
            .collect();
        Self { stop, sessions, transactions, conflicts }
    }

    pub fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }

    /// Waits until this many more transactions were committed.
    pub async fn until_transactions(&self, more: u64) {
        let wanted = self.transactions() + more;
        until_true("the writer to write", secs(60), async || {
            assert!(self.sessions.iter().all(|session| !session.is_finished()), "a session of the writer failed");
            self.transactions() >= wanted
        })
        .await;
    }

    pub async fn stop(self) -> Tally {
        self.stop.cancel();
        for session in self.sessions {
            within("stopping the writer", secs(60), session).await.expect("the writer did not fail");
        }
        Tally {
            transactions: self.transactions.load(Ordering::Relaxed),
            conflicts: self.conflicts.load(Ordering::Relaxed),
        }
    }
}

/// One transaction or statement of a session's.
pub type Step = for<'a> fn(&'a mut Session, &'a mut Random) -> BoxFuture<'a, mysql_async::Result<()>>;

/// What one session works with.
struct Writing {
    server: Server,
    database: String,
    stop: CancellationToken,
    transactions: Arc<AtomicU64>,
    conflicts: Arc<AtomicU64>,
    pause: Duration,
}

impl Writing {
    /// Until told to stop. A server that goes away is waited for.
    async fn repeat(self, step: Step, mut random: Random) {
        let mut session: Option<Session> = None;
        while !self.stop.is_cancelled() {
            let Some(open) = &mut session else {
                session = self.connect().await;
                continue;
            };
            match step(open, &mut random).await {
                Ok(()) => {
                    self.transactions.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) if is_conflict(&error) && open.try_run("ROLLBACK").await.is_ok() => {
                    self.conflicts.fetch_add(1, Ordering::Relaxed);
                }
                Err(mysql_async::Error::Server(error))
                    if ![1053, 1927].contains(&error.code) && !is_conflict_code(error.code) =>
                {
                    panic!("the writer failed: {error}");
                }
                Err(_) => session = None,
            }
            if !self.pause.is_zero() {
                tokio::time::sleep(self.pause).await;
            }
        }
        if let Some(session) = session {
            session.close().await;
        }
    }

    async fn connect(&self) -> Option<Session> {
        if let Ok(mut session) = self.server.try_connect().await
            && session.try_run(&format!("USE `{}`", self.database)).await.is_ok()
        {
            return Some(session);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        None
    }
}

fn is_conflict(error: &mysql_async::Error) -> bool {
    matches!(error, mysql_async::Error::Server(error) if is_conflict_code(error.code))
}

/// 1062: two sessions gave the same key; 1452: another session took the parent away meanwhile; 1020: MariaDB, where a
/// row was changed since it was read.
fn is_conflict_code(code: u16) -> bool {
    [1020, 1062, 1205, 1213, 1451, 1452].contains(&code)
}

/// A random transaction on the tables of [`create_tables`].
pub async fn transaction(session: &mut Session, random: &mut Random) -> mysql_async::Result<()> {
    if random.below(4) == 0 {
        return session.try_run(&change(random)).await;
    }
    session.try_run("BEGIN").await?;
    for number in 0..=random.below(6) {
        if number == 2 && random.below(5) == 0 {
            session.try_run("SAVEPOINT here").await?;
            session.try_run(&change(random)).await?;
            session.try_run("ROLLBACK TO SAVEPOINT here").await?;
        }
        session.try_run(&change(random)).await?;
    }
    session.try_run(if random.below(20) == 0 { "ROLLBACK" } else { "COMMIT" }).await
}

/// One statement. Keys are drawn from ranges small enough that sessions meet.
fn change(random: &mut Random) -> String {
    let customer = random.below(400);
    match random.below(20) {
        0..=2 => {
            let rows: Vec<_> = (0..=random.below(20)).map(|_| order(random)).collect();
            format!("INSERT INTO orders (code, amount, note, ratio, changed) VALUES {}", rows.join(","))
        }
        3..=4 => format!(
            "UPDATE orders SET amount = amount + 1, note = {}, changed = NOW(6) WHERE id BETWEEN {first} AND {first} + 9",
            text(random, 200),
            first = random.below(5000)
        ),
        5 => format!("UPDATE orders SET id = id + 1000000 WHERE id = {}", random.below(3000)),
        6 => format!(
            "UPDATE orders SET code = CONCAT(code, '.') WHERE id = {} AND LENGTH(code) < 40",
            random.below(3000)
        ),
        7 => format!("DELETE FROM orders WHERE id BETWEEN {first} AND {first} + 4", first = random.below(5000)),
        8 => format!(
            "REPLACE INTO orders (id, code, amount, changed) VALUES ({id}, 'fixed {id}', 1.50, NOW(6))",
            id = random.below(300)
        ),
        9..=11 => {
            let row = event(random);
            format!("INSERT INTO events VALUES {row},{row},{}", event(random))
        }
        12 => format!("DELETE FROM events WHERE kind = {} LIMIT 1", random.below(30)),
        13 => format!("UPDATE events SET body = {} WHERE kind <=> {} LIMIT 2", text(random, 60), random.below(30)),
        14 => format!("INSERT IGNORE INTO customers VALUES ({customer}, {})", text(random, 40)),
        15 => format!(
            "INSERT INTO addresses (customer, street) SELECT id, {} FROM customers WHERE id BETWEEN {customer} AND {customer} + 5",
            text(random, 60)
        ),
        16 => format!("DELETE FROM customers WHERE id = {customer}"),
        17 => format!("UPDATE customers SET id = id + 1000 WHERE id = {customer}"),
        18 => format!(
            "INSERT INTO words VALUES ({}, 1) ON DUPLICATE KEY UPDATE times = times + 1, word = VALUES(word)",
            word(random)
        ),
        _ => format!("UPDATE words SET word = UPPER(word) WHERE word = {}", word(random)),
    }
}

fn fill(random: &mut Random, rows: u64, first: u64) -> [String; 5] {
    let mut list = |row: &mut dyn FnMut(&mut Random, u64) -> String| -> String {
        (first..first + rows).map(|number| row(random, number)).collect::<Vec<_>>().join(",")
    };
    [
        format!(
            "INSERT INTO orders (code, amount, note, ratio, changed) VALUES {}",
            list(&mut |random, _| order(random))
        ),
        format!("INSERT INTO events VALUES {}", list(&mut |random, _| event(random))),
        format!(
            "INSERT INTO customers VALUES {}",
            list(&mut |random, number| format!("({number},{})", text(random, 40)))
        ),
        format!(
            "INSERT INTO addresses (customer, street) VALUES {}",
            list(&mut |random, number| format!("({number},{})", text(random, 60)))
        ),
        format!(
            "INSERT IGNORE INTO words VALUES {}",
            list(&mut |random, number| format!("('w{number}',{})", random.below(9)))
        ),
    ]
}

fn order(random: &mut Random) -> String {
    let note = if random.below(6) == 0 { "NULL".to_owned() } else { text(random, 200) };
    format!(
        "('{:016x}',{}.{:02},{note},{:?},NOW(6))",
        random.next(),
        random.below(100_000),
        random.below(100),
        random.below(1_000_000_000) as f64 / 977.0
    )
}

fn event(random: &mut Random) -> String {
    let kind = if random.below(10) == 0 { "NULL".to_owned() } else { random.below(30).to_string() };
    let at = if random.below(8) == 0 { "NULL" } else { "NOW(3)" };
    format!("({kind},{},{at})", text(random, 60))
}

/// A quoted text of at most `most` characters, with what needs escaping and more than one byte.
fn text(random: &mut Random, most: u64) -> String {
    const LETTERS: [&str; 12] = ["a", "b", "Z", "0", " ", "\\'", "\\\\", "\\n", "é", "ß", "漢", "🚢"];
    let letters: String = (0..random.below(most.min(40))).map(|_| *random.pick(&LETTERS)).collect();
    format!("'{letters}'")
}

fn word(random: &mut Random) -> String {
    format!("'{}{}'", random.pick(&["w", "W", "é", "x"]), random.below(300))
}
