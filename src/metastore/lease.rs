//! Table `lease`: one row, which says who leads, and under which epoch.
//!
//! The clock of this row is never compared with another machine's: a follower takes the lease over once it has seen
//! the same row for a whole lease on its own monotonic clock. Surprise: `fence` has no meaning but that writing it
//! makes two leaders' transactions collide; a cluster certifies writes, not reads.

use sqlx::AnyConnection;

use super::column::{from_column, to_column};
use super::error::{Object, StoreError};
use crate::model::Epoch;

/// The only row's name.
const NAME: &str = "leader";

/// Who leads, as stored. Two readings that are equal mean that nobody renewed in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Empty: nobody; it was given back.
    pub holder: String,
    pub epoch: Epoch,
    pub fence: u64,
    pub renewed_us: i64,
}

pub async fn find(db: &mut AnyConnection) -> Result<Option<Lease>, StoreError> {
    let row: Option<(String, i64, i64, i64)> =
        sqlx::query_as("SELECT holder, epoch, fence, renewed_us FROM lease WHERE name = ?")
            .bind(NAME)
            .fetch_optional(db)
            .await
            .map_err(StoreError::read(Object::Lease, NAME))?;
    Ok(row.map(|(holder, epoch, fence, renewed_us)| Lease {
        holder,
        epoch: Epoch(from_column(epoch)),
        fence: from_column(fence),
        renewed_us,
    }))
}

/// Takes the lease in place of `seen` (None: there was no row). False: another one was quicker.
pub async fn claim(
    db: &mut AnyConnection,
    seen: Option<&Lease>,
    holder: &str,
    now_us: i64,
) -> Result<Option<Epoch>, StoreError> {
    let write = || StoreError::write(Object::Lease, NAME);
    match seen {
        Some(seen) => {
            let epoch = seen.epoch.next();
            let updated = sqlx::query(
                "UPDATE lease SET holder = ?, epoch = ?, fence = ?, renewed_us = ? \
                 WHERE name = ? AND epoch = ? AND fence = ? AND renewed_us = ?",
            )
            .bind(holder)
            .bind(to_column(epoch.0))
            .bind(to_column(seen.fence.saturating_add(1)))
            .bind(now_us)
            .bind(NAME)
            .bind(to_column(seen.epoch.0))
            .bind(to_column(seen.fence))
            .bind(seen.renewed_us)
            .execute(db)
            .await
            .map_err(write())?;
            Ok((updated.rows_affected() == 1).then_some(epoch))
        }
        None => {
            let first = Epoch(1);
            let inserted =
                sqlx::query("INSERT INTO lease (name, holder, epoch, fence, renewed_us) VALUES (?, ?, ?, 1, ?)")
                    .bind(NAME)
                    .bind(holder)
                    .bind(to_column(first.0))
                    .bind(now_us)
                    .execute(db)
                    .await
                    .map_err(write());
            match inserted {
                Ok(_) => Ok(Some(first)),
                Err(StoreError::Exists { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        }
    }
}

/// Says that the holder of `epoch` is alive. Fails with `NotLeader` when the epoch is another's.
pub async fn renew(db: &mut AnyConnection, epoch: Epoch, now_us: i64) -> Result<(), StoreError> {
    let updated = sqlx::query("UPDATE lease SET fence = fence + 1, renewed_us = ? WHERE name = ? AND epoch = ?")
        .bind(now_us)
        .bind(NAME)
        .bind(to_column(epoch.0))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Lease, NAME))?;
    if updated.rows_affected() == 1 { Ok(()) } else { Err(StoreError::NotLeader) }
}

/// Begins every transaction that changes scheduling state: it writes the row, under its own epoch only.
pub async fn fence(db: &mut AnyConnection, epoch: Epoch) -> Result<(), StoreError> {
    let updated = sqlx::query("UPDATE lease SET fence = fence + 1 WHERE name = ? AND epoch = ?")
        .bind(NAME)
        .bind(to_column(epoch.0))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Lease, NAME))?;
    if updated.rows_affected() == 1 { Ok(()) } else { Err(StoreError::NotLeader) }
}

/// Gives the lease back, so that the next leader need not wait. The epoch stays: it never goes down.
pub async fn release(db: &mut AnyConnection, epoch: Epoch, now_us: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE lease SET holder = '', fence = fence + 1, renewed_us = ? WHERE name = ? AND epoch = ?")
        .bind(now_us)
        .bind(NAME)
        .bind(to_column(epoch.0))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Lease, NAME))?;
    Ok(())
}
