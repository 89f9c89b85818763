//! What the source is doing while something breaks: the writer of all tests, and beside it sessions for what a resume
//! gets wrong most easily: unique values that swap places, cascades over two levels, large rows among tiny ones,
//! distributed transactions, and structures that change.

use std::time::Duration;

use futures_util::FutureExt as _;

use super::distributed;
use super::random::Random;
use super::servers::{Server, Session};
use super::writer::{self, Step, Writer};

const TABLES: [&str; 7] = [
    "CREATE TABLE slots (id INT NOT NULL PRIMARY KEY, place INT NULL, tag VARCHAR(20) NULL, UNIQUE KEY (place), \
     UNIQUE KEY (tag)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci",
    "CREATE TABLE regions (id INT NOT NULL PRIMARY KEY, name VARCHAR(20)) ENGINE=InnoDB",
    "CREATE TABLE towns (id INT NOT NULL PRIMARY KEY, region INT, CONSTRAINT towns_region FOREIGN KEY (region) \
     REFERENCES regions (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
    "CREATE TABLE streets (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, town INT, CONSTRAINT streets_town FOREIGN KEY \
     (town) REFERENCES towns (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
    "CREATE TABLE documents (id INT NOT NULL PRIMARY KEY, body MEDIUMTEXT, revision INT NOT NULL) ENGINE=InnoDB \
     DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    "CREATE TABLE tallies (bucket INT NOT NULL, n INT NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE shapes (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT, KEY by_v (v)) ENGINE=InnoDB \
     DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci",
];
const SLOTS: u64 = 60;

/// Makes all tables in a database, with about `rows` rows in each of the writer's.
pub async fn create_tables(server: &Server, database: &str, rows: u64, seed: u64) {
    writer::create_tables(server, database, rows, seed).await;
    let mut session = server.connect().await;
    session.run(&format!("USE `{database}`")).await;
    for table in TABLES {
        session.run(table).await;
    }
    session.run(distributed::TABLE).await;
    distributed::fill(&mut session).await;
    let slots: Vec<String> = (0..SLOTS).map(|id| format!("({id},{id},'tag {id}')")).collect();
    session.run(&format!("INSERT INTO slots VALUES {}", slots.join(","))).await;
    for number in 0..8 {
        session.run(&format!("INSERT INTO shapes (v) VALUES ({number})")).await;
    }
    session.close().await;
}

/// Starts writing: `sessions` of the common writer, and one each of these. `with_ddl`: structures change too.
pub fn start(server: &Server, database: &str, seed: u64, with_ddl: bool) -> Writer {
    let mut steps: Vec<Step> = vec![
        |session, random| writer::transaction(session, random).boxed(),
        |session, random| writer::transaction(session, random).boxed(),
        |session, random| swaps(session, random).boxed(),
        |session, random| families(session, random).boxed(),
        |session, random| sizes(session, random).boxed(),
        |session, random| distributed::transfer(session, random).boxed(),
    ];
    if with_ddl {
        steps.push(|session, random| structures(session, random).boxed());
    }
    Writer::start_with(server, database, seed, &steps, Duration::from_millis(50))
}

/// Unique values go round: by way of NULL, by a value nobody has, and a whole stretch by one place.
async fn swaps(session: &mut Session, random: &mut Random) -> mysql_async::Result<()> {
    let (one, other) = (random.below(SLOTS), random.below(SLOTS));
    match random.below(5) {
        0 => {
            for statement in [
                "BEGIN".to_owned(),
                format!("SELECT place, tag INTO @p, @t FROM slots WHERE id = {one} FOR UPDATE"),
                format!("SELECT place, tag INTO @q, @u FROM slots WHERE id = {other} FOR UPDATE"),
                format!("UPDATE slots SET place = NULL, tag = NULL WHERE id = {one}"),
                format!("UPDATE slots SET place = @p, tag = @t WHERE id = {other}"),
                format!("UPDATE slots SET place = @q, tag = @u WHERE id = {one}"),
                "COMMIT".to_owned(),
            ] {
                if one == other {
                    return Ok(());
                }
                session.try_run(&statement).await?;
            }
            Ok(())
        }
        1 => {
            let statement = format!("UPDATE slots SET place = place + 1 WHERE place >= {one} ORDER BY place DESC");
            session.try_run(&statement).await
        }
        2 => {
            session
                .try_run(&format!(
                    "UPDATE slots SET tag = IF(BINARY tag = BINARY UPPER(tag), LOWER(tag), UPPER(tag)) WHERE id = {one}"
                ))
                .await
        }
        3 => session.try_run(&format!("UPDATE slots SET place = NULL WHERE id = {one}")).await,
        _ => {
            let statement =
                format!("REPLACE INTO slots VALUES ({one}, {}, 'tag {other}')", 10_000 + random.below(SLOTS));
            session.try_run(&statement).await
        }
    }
}

/// Parents, children and grandchildren come and go.
async fn families(session: &mut Session, random: &mut Random) -> mysql_async::Result<()> {
    let region = random.below(40);
    match random.below(6) {
        0..=2 => {
            session.try_run("BEGIN").await?;
            session.try_run(&format!("INSERT IGNORE INTO regions VALUES ({region}, 'r{region}')")).await?;
            for _ in 0..=random.below(3) {
                let town = random.below(400);
                session.try_run(&format!("INSERT IGNORE INTO towns VALUES ({town}, {region})")).await?;
                session.try_run(&format!("INSERT INTO streets (town) VALUES ({town}), ({town})")).await?;
            }
            session.try_run("COMMIT").await
        }
        3 => session.try_run(&format!("DELETE FROM regions WHERE id = {region}")).await,
        4 => session.try_run(&format!("UPDATE regions SET id = id + 100 WHERE id = {region}")).await,
        _ => session.try_run(&format!("DELETE FROM towns WHERE id = {}", random.below(400))).await,
    }
}

/// Transactions of one tiny row, of hundreds, and of large rows.
async fn sizes(session: &mut Session, random: &mut Random) -> mysql_async::Result<()> {
    match random.below(12) {
        0 => {
            let (id, letters) = (random.below(6), 20_000 + random.below(150_000));
            let statement = format!(
                "INSERT INTO documents VALUES ({id}, REPEAT('é', {letters}), 1) \
                 ON DUPLICATE KEY UPDATE body = REPEAT('ü', {letters}), revision = revision + 1"
            );
            session.try_run(&statement).await
        }
        1 => session.try_run(&format!("DELETE FROM tallies WHERE bucket = {}", random.below(6))).await,
        2 => {
            let rows: Vec<String> = (0..60).map(|n| format!("({},{})", random.below(6), n % 7)).collect();
            session.try_run(&format!("INSERT INTO tallies VALUES {}", rows.join(","))).await
        }
        3 => {
            session.try_run(&format!("UPDATE tallies SET n = n + 1 WHERE bucket = {} LIMIT 10", random.below(6))).await
        }
        _ => session.try_run(&format!("INSERT INTO tallies VALUES ({}, 1)", random.below(6))).await,
    }
}

/// One change of structure in about thirty steps; rows for it in the others.
async fn structures(session: &mut Session, random: &mut Random) -> mysql_async::Result<()> {
    if random.below(30) > 0 {
        return session.try_run(&format!("INSERT INTO shapes (v) VALUES ({})", random.below(100))).await;
    }
    let databases: Vec<String> = session.try_rows("SELECT DATABASE()").await?;
    let Some(database) = databases.first() else { return Ok(()) };
    let columns: Vec<String> = session
        .try_rows(&format!(
            "SELECT CAST(COLUMN_NAME AS CHAR) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{database}' \
             AND TABLE_NAME = 'shapes' AND COLUMN_NAME LIKE 'c%'"
        ))
        .await?;
    let tables: Vec<String> = session
        .try_rows(&format!(
            "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' \
             AND TABLE_NAME LIKE 'made%'"
        ))
        .await?;
    let number = random.below(1_000_000);
    let statement = match (random.below(9), columns.first(), tables.first()) {
        (0, Some(column), _) => format!("ALTER TABLE shapes DROP COLUMN {column}"),
        (1, Some(column), _) => format!("ALTER TABLE shapes CHANGE COLUMN {column} c{number} BIGINT NULL"),
        (2, Some(column), _) if columns.len() > 3 => format!("ALTER TABLE shapes DROP COLUMN {column}"),
        (0..=3, _, _) => format!("ALTER TABLE shapes ADD COLUMN c{number} INT DEFAULT {number} AFTER id"),
        (4, _, Some(table)) => format!("DROP TABLE {table}"),
        (5, _, Some(table)) => format!("RENAME TABLE {table} TO made{number}"),
        (6, _, Some(table)) => format!("TRUNCATE TABLE {table}"),
        (7, _, _) => "ALTER TABLE shapes DROP INDEX by_v, ADD INDEX by_v (v, id)".to_owned(),
        _ if tables.len() > 5 => format!("DROP TABLE {}", tables.join(", ")),
        _ => {
            format!("CREATE TABLE made{number} (id INT PRIMARY KEY) ENGINE=InnoDB AS SELECT id FROM slots WHERE id < 9")
        }
    };
    session.try_run(&statement).await
}
