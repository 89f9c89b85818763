//! Reported faults of replication: crashes and locks in the middle of it.

use ferrymaster::faults::FaultPoint;

use super::site::{Site, TASK};
use crate::support::numbers::numbers;
use crate::support::random::Random;
use crate::support::servers::{Kind, PrivateServer, Role, Server, Session};
use crate::support::wait::{secs, until};

/// C038: a parent's row is applied again after a kill, and nothing deletes it for that.
#[tokio::test]
async fn an_update_that_is_applied_again_deletes_no_children() {
    let mut site = Site::shared(Kind::Mariadb).await;
    site.write(&[
        "CREATE TABLE grp (id INT PRIMARY KEY, name VARCHAR(9))",
        "CREATE TABLE mem (id INT PRIMARY KEY, gid INT NOT NULL, FOREIGN KEY (gid) REFERENCES grp (id) ON DELETE CASCADE)",
        "INSERT INTO grp VALUES (1, 'a')",
        "INSERT INTO mem VALUES (1, 1), (2, 1)",
    ])
    .await;
    site.start(&site.task()).await;
    site.until_equal().await;
    for (point, name) in [(FaultPoint::AfterLaneCommit, "x"), (FaultPoint::BeforeLaneCommit, "y")] {
        site.restart(&format!("{}=return(kill)", point.name())).await;
        site.write(&[&format!("UPDATE grp SET name = '{name}' WHERE id = 1")]).await;
        site.ferrymaster_mut().until_ended(secs(60)).await;
        site.restart("").await;
        site.write(&["UPDATE grp SET name = 'b' WHERE id = 1"]).await;
        site.until_equal().await;
        assert_eq!(site.at_target::<String>("SELECT name FROM {db}.grp").await, "b");
        assert_eq!(site.at_target::<String>("SELECT GROUP_CONCAT(id ORDER BY id) FROM {db}.mem").await, "1,2");
    }
}

/// Lock waits that ran out, of all sessions since the server began.
async fn timeouts(session: &mut Session) -> u64 {
    session
        .value("SELECT CAST(COUNT AS UNSIGNED) FROM information_schema.innodb_metrics WHERE NAME = 'lock_timeouts'")
        .await
}

async fn locks_are_waited_for(kind: Kind) {
    // Of its own: lock waits are counted, and other tests have some too.
    let target = PrivateServer::start(kind, &["--innodb-lock-wait-timeout=2"]);
    let site = Site::between(Server::shared(kind, Role::Source), target.server.clone()).await;
    site.write(&[
        "CREATE TABLE inv (id INT PRIMARY KEY, n INT)",
        &format!("INSERT INTO inv SELECT n + 1, 0 FROM {}", numbers(10)),
    ])
    .await;
    site.start(&site.task()).await;
    site.until_equal().await;
    let database = site.database.clone();
    let mut holder = site.target.connect().await;
    holder.run("BEGIN").await;
    holder.run(&format!("SELECT * FROM `{database}`.inv WHERE id = 1 FOR UPDATE")).await;
    site.write(&["UPDATE inv SET n = n + 1 WHERE id = 1"]).await;
    let mut looker = site.target.connect().await;
    until("lock waits to run out", secs(40), async || match timeouts(&mut looker).await {
        ran_out @ 2.. => Ok(ran_out),
        few => Err(few),
    })
    .await;
    let status = site.api().subtask_status(TASK).await;
    assert_eq!(status["stage"], "Running", "{status}");
    looker.run(&format!("KILL {}", holder.connection_id())).await;
    looker.close().await;

    let crossing = tokio::spawn(cross(site.target.clone(), database));
    let mut session = site.source.connect().await;
    session.run(&format!("USE `{}`", site.database)).await;
    for number in 0..500 {
        let (one, other) = (number % 10 + 1, (number + 1) % 10 + 1);
        session.run("BEGIN").await;
        session.run(&format!("UPDATE inv SET n = n + 1 WHERE id = {one}")).await;
        session.run(&format!("UPDATE inv SET n = n + 1 WHERE id = {other}")).await;
        session.run("COMMIT").await;
    }
    session.close().await;
    site.until_equal().await;
    crossing.abort();
    assert_eq!(site.at_target::<i64>("SELECT SUM(n) FROM {db}.inv").await, 1_001);
}

/// Locks rows two by two, the higher one first, and changes nothing.
async fn cross(target: Server, database: String) {
    let mut session = target.connect().await;
    session.run(&format!("USE `{database}`")).await;
    for number in 0.. {
        let low = number % 9 + 1;
        // Either side of a deadlock may be the one that is told.
        for statement in [
            "BEGIN",
            &format!("SELECT n FROM inv WHERE id = {} FOR UPDATE", low + 1),
            &format!("SELECT n FROM inv WHERE id = {low} FOR UPDATE"),
            "ROLLBACK",
        ] {
            if session.try_run(statement).await.is_err() {
                session.run("ROLLBACK").await;
                break;
            }
        }
    }
}

/// C045: rows of the target are locked for longer than a lock wait, and deadlocks are provoked.
#[tokio::test]
async fn deadlocks_and_lock_waits_of_the_target_are_got_over() {
    locks_are_waited_for(Kind::Mariadb).await;
}

const MOVES: u64 = 900;

async fn money_is_kept(kind: Kind) {
    let target = PrivateServer::start(kind, &[]);
    let mut site = Site::between(Server::shared(kind, Role::Source), target.server.clone()).await;
    site.write(&[
        "CREATE TABLE bank (id INT PRIMARY KEY, bal BIGINT)",
        "CREATE TABLE journal (txt VARCHAR(40), amt INT)",
        "INSERT INTO bank VALUES (1, 0), (2, 0)",
    ])
    .await;
    site.start(&site.task()).await;
    site.until_equal().await;
    let writing = tokio::spawn(move_money(site.source.clone(), site.database.clone()));
    let mut random = Random::new(91);
    for round in 0..6 {
        let passed = MOVES * round / 8 + random.below(MOVES / 8);
        let sum = until("some of the transfers to arrive", secs(60), async || {
            let Ok(mut session) = site.target.try_connect().await else { return Err("the target is away") };
            let query = format!(
                "SELECT (SELECT COUNT(*) FROM `{0}`.journal), (SELECT SUM(bal) FROM `{0}`.bank), \
                 (SELECT MAX(bal) FROM `{0}`.bank)",
                site.database
            );
            let rows = session.try_rows::<(u64, i64, u64)>(&query).await.unwrap_or_default();
            session.close().await;
            match rows.first() {
                // One statement sees one moment: whole transactions or nothing.
                Some(&(journal, sum, balance)) if journal >= passed => {
                    assert_eq!((sum, balance), (0, journal), "a torn transaction");
                    Ok(sum)
                }
                _ => Err("not yet"),
            }
        })
        .await;
        assert_eq!(sum, 0);
        if round % 2 == 0 {
            target.kill();
            target.start_again();
        } else {
            // Master and worker at once: they are one process.
            site.restart("").await;
        }
    }
    writing.await.expect("all is written");
    site.until_equal().await;
    let balances = "SELECT GROUP_CONCAT(bal ORDER BY id) FROM {db}.bank";
    assert_eq!(site.at_target::<String>(balances).await, format!("-{MOVES},{MOVES}"));
    assert_eq!(site.at_target::<u64>("SELECT COUNT(*) FROM {db}.journal").await, MOVES);
}

async fn move_money(source: Server, database: String) {
    let mut session = source.connect().await;
    session.run(&format!("USE `{database}`")).await;
    for _ in 0..MOVES {
        session.run("BEGIN").await;
        session.run("UPDATE bank SET bal = bal - 1 WHERE id = 1").await;
        session.run("UPDATE bank SET bal = bal + 1 WHERE id = 2").await;
        session.run("INSERT INTO journal VALUES ('move', 1)").await;
        session.run("COMMIT").await;
    }
    session.close().await;
}

/// C091: the target and ferrymaster are killed three times each while money moves, into a table without a key too.
#[tokio::test]
async fn transfers_are_whole_and_counted_once_whatever_is_killed() {
    money_is_kept(Kind::Mariadb).await;
}

async fn ddl_runs_once(kind: Kind, point: FaultPoint) {
    let mut site = Site::shared(kind).await;
    site.write(&["CREATE TABLE dd (id INT PRIMARY KEY, v INT)", "INSERT INTO dd VALUES (1, 1)"]).await;
    site.start(&site.task()).await;
    site.until_equal().await;
    let failpoints = format!("{}=return(kill)", point.name());
    site.restart(&failpoints).await;
    site.write(&[
        "ALTER TABLE dd ADD COLUMN w INT DEFAULT 7",
        "INSERT INTO dd VALUES (2, 2, 2)",
        "TRUNCATE TABLE dd",
        "INSERT INTO dd VALUES (3, 3, 3)",
        "ALTER TABLE dd DROP COLUMN v",
        "RENAME TABLE dd TO dd2",
        "CREATE TABLE dd (id INT PRIMARY KEY)",
        "INSERT INTO dd VALUES (8)",
    ])
    .await;
    // Each of the five statements, once.
    for statement in 0..5 {
        site.ferrymaster_mut().until_ended(secs(60)).await;
        site.restart(if statement < 4 { &failpoints } else { "" }).await;
    }
    site.until_equal().await;
    assert_eq!(site.at_target::<String>("SELECT GROUP_CONCAT(id, ' ', w) FROM {db}.dd2").await, "3 3");
    assert_eq!(site.at_target::<String>("SELECT GROUP_CONCAT(id) FROM {db}.dd").await, "8");
}

/// C092: killed right after each statement has run, and before that is recorded.
#[tokio::test]
async fn every_ddl_of_a_chain_runs_once_though_each_of_them_is_followed_by_a_kill() {
    ddl_runs_once(Kind::Mariadb, FaultPoint::AfterDdl).await;
}

/// For `--all`.
mod long {
    use super::*;

    #[tokio::test]
    async fn mysql_deadlocks_and_lock_waits_of_the_target_are_got_over() {
        locks_are_waited_for(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_transfers_are_whole_and_counted_once_whatever_is_killed() {
        money_is_kept(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_every_ddl_of_a_chain_runs_once_though_each_of_them_is_followed_by_a_kill() {
        ddl_runs_once(Kind::Mysql, FaultPoint::AfterDdl).await;
    }

    #[tokio::test]
    async fn every_ddl_of_a_chain_runs_once_though_each_of_them_is_killed_before_it_runs() {
        ddl_runs_once(Kind::Mariadb, FaultPoint::BeforeDdl).await;
    }
}
