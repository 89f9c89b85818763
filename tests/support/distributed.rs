//! Distributed transactions (XA) for writers and tests: begun, prepared, and ended at once, later, or by whoever finds
//! them after a crash.

use std::time::Duration;

use super::random::Random;
use super::servers::Session;

/// Moved between by [`transfer`], so that their sum stays the same whatever is rolled back.
pub const TABLE: &str = "CREATE TABLE accounts (id INT NOT NULL PRIMARY KEY, balance INT NOT NULL, statement LONGTEXT) \
                         ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin";
const ACCOUNTS: u64 = 40;

pub async fn fill(session: &mut Session) {
    let accounts: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id},1000,NULL)")).collect();
    session.run(&format!("INSERT INTO accounts VALUES {}", accounts.join(","))).await;
}

/// One distributed transaction on the tables of a workload. What a crash of the server left prepared is ended first.
pub async fn transfer(session: &mut Session, random: &mut Random) -> mysql_async::Result<()> {
    // Of this database only: other writers use the same server.
    let databases: Vec<String> = session.try_rows("SELECT LEFT(SHA2(DATABASE(), 256), 40)").await?;
    let Some(branch) = databases.first() else { return Ok(()) };
    end_left_over(session, branch, random).await?;
    let xid = format!("'{:x}','{branch}',{}", random.next(), random.below(3));
    match prepare(session, &xid, random).await {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        Err(error) => {
            // It may have ended already, or be gone with the connection.
            session.try_run(&format!("XA END {xid}")).await.ok();
            session.try_run(&format!("XA ROLLBACK {xid}")).await.ok();
            return Err(error);
        }
    }
    // Others write, and the log goes on.
    tokio::time::sleep(Duration::from_millis(random.below(80))).await;
    session.try_run(&format!("XA {} {xid}", decision(random))).await
}

fn decision(random: &mut Random) -> &'static str {
    if random.below(4) == 0 { "ROLLBACK" } else { "COMMIT" }
}

/// Whether it is prepared, and not over already.
async fn prepare(session: &mut Session, xid: &str, random: &mut Random) -> mysql_async::Result<bool> {
    let (from, to, amount) = (random.below(ACCOUNTS), random.below(ACCOUNTS), random.below(50));
    session.try_run(&format!("XA START {xid}")).await?;
    session.try_run(&format!("UPDATE accounts SET balance = balance - {amount} WHERE id = {from}")).await?;
    session.try_run(&format!("UPDATE accounts SET balance = balance + {amount} WHERE id = {to}")).await?;
    session.try_run(&format!("INSERT INTO tallies VALUES ({}, {amount})", random.below(6))).await?;
    if random.below(6) == 0 {
        let letters = 30_000 + random.below(60_000);
        session.try_run(&format!("UPDATE accounts SET statement = REPEAT('ß', {letters}) WHERE id = {to}")).await?;
    }
    session.try_run(&format!("XA END {xid}")).await?;
    if random.below(5) == 0 {
        session.try_run(&format!("XA COMMIT {xid} ONE PHASE")).await?;
        return Ok(false);
    }
    session.try_run(&format!("XA PREPARE {xid}")).await?;
    Ok(true)
}

async fn end_left_over(session: &mut Session, branch: &str, random: &mut Random) -> mysql_async::Result<()> {
    let rows: Vec<(u32, usize, usize, String)> = session.try_rows("XA RECOVER").await?;
    for (format, global, _, data) in rows {
        if let Some((global, found)) = data.split_at_checked(global)
            && found == branch
        {
            session.try_run(&format!("XA {} '{global}','{branch}',{format}", decision(random))).await?;
        }
    }
    Ok(())
}
