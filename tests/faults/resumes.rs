//! A copy that is killed half way goes on where it was: stretches that are there stay, the missing ones are read from
//! a new snapshot, and whatever the source did meanwhile, also across their borders, ends right. A table whose key or
//! history does not allow it is read again, and says so.

use ferrymaster::faults::FaultPoint;
use serde_json::{Value, json};

use super::support::compare::until_databases_equal;
use super::support::ferrymaster::{Ferrymaster, Start};
use super::support::http::{source, task};
use super::support::numbers::numbers;
use super::support::servers::{Kind, Role, Server};
use super::support::wait::secs;

const TASK: &str = "half";
/// A build with fault points has ranges of some thousand rows and batches of 500.
const ROWS: u64 = 8_000;

/// One source table, and a task on it that was killed in its copy.
struct Half {
    source: Server,
    target: Server,
    database: String,
    doomed: Ferrymaster,
    /// What the target calls its table inside: it stays while the table does.
    identity: u64,
    /// Rows that were there when it was killed.
    copied: u64,
}

impl Half {
    /// `columns` of a table `wide`, with `ROWS` rows whose values are `values`, in which `n` is 0, 1, …
    async fn copied(kind: Kind, columns: &str, values: &str, batches: u32) -> Self {
        let (source, target) = (Server::shared(kind, Role::Source), Server::shared(kind, Role::Target));
        let database = source.create_database("half").await;
        source
            .run_in(
                &database,
                &[
                    &format!("CREATE TABLE wide ({columns}) ENGINE=InnoDB"),
                    &format!("INSERT INTO wide SELECT {values} FROM {}", numbers(ROWS)),
                    "ANALYZE TABLE wide",
                ],
            )
            .await;
        let doomed = start(&format!("{}={batches}*off->return(kill)", FaultPoint::AfterBatchCommit.name())).await;
        let mut half = Self { source, target, database, doomed, identity: 0, copied: 0 };
        half.ask_for_all().await;
        half.doomed.until_ended(secs(60)).await;
        half.look().await;
        assert!(half.copied > 0 && half.copied < ROWS, "{} rows", half.copied);
        half
    }

    async fn look(&mut self) {
        self.identity = identity(&self.target, &self.database).await;
        let mut session = self.target.connect().await;
        self.copied = session.value(&format!("SELECT COUNT(*) FROM `{}`.wide", self.database)).await;
        session.close().await;
    }

    async fn ask_for_all(&self) {
        let mut task = task(TASK, "all", "s", &self.target, &self.database);
        task["source_config"]["full_migrate_conf"] = json!({ "export_threads": 2, "import_threads": 2 });
        let calls = [
            ("/api/v1/sources", json!({ "source": source("s", &self.source, true) })),
            ("/api/v1/tasks", json!({ "task": task })),
            (&*format!("/api/v1/tasks/{TASK}/start"), json!({})),
        ];
        for (path, body) in calls {
            // May be cut off by the end of the process.
            if self.doomed.api.try_send(reqwest::Method::POST, path, Some(&body)).await.is_err() {
                return;
            }
        }
    }

    /// What the source does while nobody looks.
    async fn meanwhile(&self, statements: &[&str]) {
        self.source.run_in(&self.database, statements).await;
    }

    /// Starts again, to be killed once more after some batches.
    async fn killed_again(mut self, batches: u32) -> Self {
        let failpoints = format!("{}={batches}*off->return(kill)", FaultPoint::AfterBatchCommit.name());
        self.doomed = self.doomed.restart_with(&[], &[("FAILPOINTS", &failpoints)]).await;
        self.doomed.until_ended(secs(60)).await;
        self
    }

    /// A new run ends with equal sides. Out come the identity of the target's table, and what the run said.
    async fn until_equal(self) -> (u64, Vec<String>) {
        let next = self.doomed.restart_with(&[], &[]).await;
        next.api.until_synced(TASK, secs(60)).await;
        let (ours, theirs) = ((&self.source, &*self.database), (&self.target, &*self.database));
        until_databases_equal(ours, theirs, secs(20)).await;
        let status = next.api.until_synced(TASK, secs(20)).await;
        assert_eq!(status["stage"], "Running", "{status}");
        (identity(&self.target, &self.database).await, notices(&status))
    }
}

async fn start(failpoints: &str) -> Ferrymaster {
    Ferrymaster::start_with(Start { environment: &[("FAILPOINTS", failpoints)], ..Start::default() }).await
}

fn notices(status: &Value) -> Vec<String> {
    let text = |notice: &Value| notice["text"].as_str().unwrap_or_default().to_owned();
    status["notices"].as_array().map(|notices| notices.iter().map(text).collect()).unwrap_or_default()
}

/// InnoDB's number of the table, which another table of that name does not have.
async fn identity(target: &Server, database: &str) -> u64 {
    let mut session = target.connect().await;
    let view = match target.kind {
        Kind::Mariadb => "INNODB_SYS_TABLES",
        Kind::Mysql => "INNODB_TABLES",
    };
    let sql = format!("SELECT table_id FROM information_schema.{view} WHERE name = '{database}/wide'");
    let identity = session.value(&sql).await;
    session.close().await;
    identity
}

const PLAIN: &str = "id INT NOT NULL PRIMARY KEY, v INT, name VARCHAR(20)";
const PLAIN_VALUES: &str = "n, n * 3, CONCAT('row ', n)";

/// Rows that go from each kind of stretch to each other, and there and back; holes filled, rows gone and changed.
const ACROSS_BORDERS: [&str; 12] = [
    "UPDATE wide SET id = id + 100000 WHERE id IN (1, 2, 3, 3999, 4000, 4100, 7999)",
    "UPDATE wide SET id = -id - 1 WHERE id IN (10, 3900, 4101, 7990)",
    "UPDATE wide SET id = 10 WHERE id = -7991",
    "UPDATE wide SET id = 7990, v = 1 WHERE id = -11",
    "UPDATE wide SET v = v + 1 WHERE id % 7 = 0",
    "DELETE FROM wide WHERE id % 11 = 0",
    "INSERT INTO wide VALUES (-100, 1, 'new'), (11, 2, 'back'), (3993, 2, 'back'), (7997, 2, 'back'), (50000, 3, 'new')",
    "BEGIN",
    "UPDATE wide SET id = 60000 WHERE id = 12",
    "UPDATE wide SET id = 12 WHERE id = 7000",
    "UPDATE wide SET id = 7000 WHERE id = 60000",
    "COMMIT",
];

async fn goes_on(kind: Kind) {
    let half = Half::copied(kind, PLAIN, PLAIN_VALUES, 5).await;
    half.meanwhile(&ACROSS_BORDERS).await;
    let before = half.identity;
    let (after, notices) = half.until_equal().await;
    assert_eq!(before, after, "it was made anew: {notices:?}");
    assert!(notices.iter().any(|notice| notice.contains("wide` goes on where its copy was")), "{notices:?}");
}

async fn goes_on_again_and_again(kind: Kind) {
    let half = Half::copied(kind, PLAIN, PLAIN_VALUES, 3).await;
    let before = half.identity;
    half.meanwhile(&ACROSS_BORDERS).await;
    let half = half.killed_again(2).await;
    half.meanwhile(&["UPDATE wide SET id = id + 200000 WHERE id % 13 = 0", "DELETE FROM wide WHERE id % 17 = 0"]).await;
    let half = half.killed_again(2).await;
    half.meanwhile(&["UPDATE wide SET id = id - 200000, v = 0 WHERE id > 200000 AND id % 2 = 0"]).await;
    let (after, notices) = half.until_equal().await;
    assert_eq!(before, after, "it was made anew: {notices:?}");
    assert!(notices.iter().any(|notice| notice.contains("wide` goes on where its copy was")), "{notices:?}");
}

async fn goes_on_by_several_columns(kind: Kind) {
    let columns = "shop SMALLINT UNSIGNED NOT NULL, number BIGINT NOT NULL, v INT, PRIMARY KEY (shop, number)";
    let half = Half::copied(kind, columns, "n DIV 1000, n % 1000 - 500, n", 5).await;
    half.meanwhile(&[
        "UPDATE wide SET shop = 7 - shop, number = number + 5000 WHERE number % 5 = 0",
        "DELETE FROM wide WHERE number % 7 = 0",
        "INSERT INTO wide VALUES (0, -9000000000, 1), (3, 9000000000, 2), (65535, 0, 3)",
    ])
    .await;
    let before = half.identity;
    let (after, notices) = half.until_equal().await;
    assert_eq!(before, after, "it was made anew: {notices:?}");
    assert!(notices.iter().any(|notice| notice.contains("wide` goes on where its copy was")), "{notices:?}");
}

/// Reads the table again, and says why in words that hold `why`.
async fn is_read_again(kind: Kind, columns: &str, values: &str, meanwhile: &[&str], why: &str) {
    let half = Half::copied(kind, columns, values, 5).await;
    half.meanwhile(meanwhile).await;
    let (_, notices) = half.until_equal().await;
    let is_told = |notice: &String| notice.contains("wide` was half copied and is read again") && notice.contains(why);
    assert!(notices.iter().any(is_told), "{why}: {notices:?}");
}

async fn changed_meanwhile(kind: Kind, statements: &[&str]) {
    let mut all = vec!["DELETE FROM wide WHERE id = 5"];
    all.extend(statements);
    all.push("DELETE FROM wide WHERE id = 6");
    is_read_again(kind, PLAIN, PLAIN_VALUES, &all, "a statement changed it").await;
}

/// There and back: at both snapshots it looks the same.
const SAME_SHAPE: [&str; 4] = [
    "ALTER TABLE wide DROP COLUMN name",
    "ALTER TABLE wide ADD COLUMN name VARCHAR(20) DEFAULT 'anew'",
    "ALTER TABLE wide ALTER COLUMN name DROP DEFAULT",
    "ALTER TABLE wide MODIFY name VARCHAR(20)",
];
const SWAPPED: [&str; 3] = [
    "CREATE TABLE other LIKE wide",
    "INSERT INTO other VALUES (1, 1, 'other')",
    "RENAME TABLE wide TO w, other TO wide",
];

async fn a_unique_value_moves(kind: Kind) {
    let columns = "id INT NOT NULL PRIMARY KEY, place INT, name VARCHAR(20), UNIQUE KEY (place)";
    let moves = [
        "UPDATE wide SET place = NULL WHERE id IN (1, 7999)",
        "UPDATE wide SET place = 1 WHERE id = 7999",
        "UPDATE wide SET place = 7999 WHERE id = 1",
        "DELETE FROM wide WHERE id = 2",
        "UPDATE wide SET place = 2 WHERE id = 7000",
    ];
    is_read_again(kind, columns, "n, n, CONCAT('row ', n)", &moves, "one unique key").await;
}

async fn text_changes_its_case(kind: Kind) {
    let columns = "name VARCHAR(20) NOT NULL PRIMARY KEY, v INT";
    let changes =
        ["UPDATE wide SET name = UPPER(name) WHERE v % 3 = 0", "UPDATE wide SET name = CONCAT('z', name) WHERE v < 50"];
    is_read_again(kind, columns, "CONCAT('row ', n), n", &changes, "integers").await;
}

/// Makes a test of each for both families.
macro_rules! on_both {
    ($($name:ident: $call:expr),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                #[tokio::test]
                async fn mariadb() {
                    let scenario = $call;
                    scenario(Kind::Mariadb).await;
                }

                #[tokio::test]
                async fn mysql() {
                    let scenario = $call;
                    scenario(Kind::Mysql).await;
                }
            }
        )+
    };
}

on_both! {
    a_half_copied_table_goes_on_and_rows_that_cross_borders_end_right: goes_on,
    a_table_killed_three_times_stands_at_three_positions: goes_on_again_and_again,
    a_key_of_several_integers_goes_on: goes_on_by_several_columns,
    a_table_with_a_second_unique_key_is_read_again: a_unique_value_moves,
    a_table_keyed_by_text_is_read_again: text_changes_its_case,
    a_table_that_was_emptied_is_read_again: async |kind| changed_meanwhile(kind, &["TRUNCATE TABLE wide"]).await,
    a_table_that_was_altered_there_and_back_is_read_again: async |kind| changed_meanwhile(kind, &SAME_SHAPE).await,
    a_table_that_was_swapped_is_read_again: async |kind| changed_meanwhile(kind, &SWAPPED).await,
    a_table_with_another_column_is_read_again: async |kind| is_read_again(
        kind,
        PLAIN,
        PLAIN_VALUES,
        &["ALTER TABLE wide ADD COLUMN more INT NOT NULL DEFAULT 7", "UPDATE wide SET more = id"],
        "structure",
    )
    .await,
}
