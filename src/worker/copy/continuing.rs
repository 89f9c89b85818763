//! Which half-copied tables are gone on with, instead of being read again from the start.
//!
//! A table stands at several positions then, one for each stretch of its key, until replication has passed the latest.
//! Whether that can be told right is decided here: by its key, by what became of it meanwhile on both sides, and by
//! what the source's log says in between.

use std::collections::{BTreeMap, BTreeSet};

use tokio_util::sync::CancellationToken;

use super::between::{self, Stretch};
use super::prepare::{Standing, standing};
use super::remainder::{Remainder, remainder};
use super::structures::SourceStructures;
use super::transfer::integer_key;
use crate::catalogue::{StoredShape, TableShape};
use crate::ddl::same_name;
use crate::ledger::{CopiedTable, Found, Origin, Snapshot, TableState};
use crate::model::TableName;
use crate::model::subtask::SubtaskConfig;
use crate::mysql::{BinlogStart, Deadline};
use crate::worker::error::Error;
use crate::worker::opening::Opened;
use crate::worker::replication::{server_id, start_at};

/// The half-copied tables, each with what is left of it or why it is read again.
#[derive(Debug, Default)]
pub struct Continuing {
    /// By the table's number.
    pub remainders: BTreeMap<u32, Remainder>,
    pub anew: Vec<(TableName, &'static str)>,
}

/// Looks at the half-copied tables. `snapshot` is the one that what is left would be read from.
pub async fn continuing(
    opened: &mut Opened,
    config: &SubtaskConfig,
    structures: &SourceStructures,
    snapshot: &Snapshot,
    stop: &CancellationToken,
    deadline: Deadline,
) -> Result<Continuing, Error> {
    let mut outcome = Continuing::default();
    let mut candidates: Vec<(CopiedTable, Remainder)> = Vec::new();
    for table in opened.found.tables.iter().filter(|table| table.state == TableState::Copying) {
        // One that is gone from the source is abandoned.
        let Some(present) = structures.tables.iter().find(|present| present.name == table.source) else { continue };
        match candidate(&opened.found, table, &present.shape) {
            Ok(Some(remainder)) => candidates.push((table.clone(), remainder)),
            Ok(None) => {}
            Err(why) => outcome.anew.push((table.source.clone(), why)),
        }
    }
    if candidates.is_empty() || !config.mode.replicates() {
        return Ok(outcome);
    }
    let mut standing_still = Vec::new();
    for (table, remainder) in candidates {
        match target_fits(opened, &table, structures, deadline).await? {
            true => standing_still.push((table, remainder)),
            false => outcome.anew.push((table.source, "its table at the target was changed or has other unique keys")),
        }
    }
    let changed = changed_since(opened, config, &standing_still, snapshot, stop).await?;
    for (table, remainder) in standing_still {
        match &changed {
            None => outcome.anew.push((table.source, "the source's log no longer reaches back to its first rows")),
            Some(changed) if changed.contains(&table.source) => {
                outcome.anew.push((table.source, "a statement changed it while its copy was interrupted"));
            }
            Some(_) => {
                outcome.remainders.insert(table.number, remainder);
            }
        }
    }
    Ok(outcome)
}

/// What is left of a table, by what the ledger holds. None: nothing of it is there; an error is why it cannot be gone on
/// with.
fn candidate(found: &Found, table: &CopiedTable, shape: &TableShape) -> Result<Option<Remainder>, &'static str> {
    let lines: Vec<_> = found.ranges.iter().filter(|range| range.table_number == table.number).cloned().collect();
    if !lines.iter().any(|line| line.done || line.rows > 0) {
        return Ok(None);
    }
    if !matches!(table.origin, Origin::Made | Origin::FoundEmpty) {
        return Err("its table at the target held rows of its own");
    }
    if found.tables.iter().any(|other| other.number != table.number && other.target == table.target) {
        return Err("other tables go to the same place");
    }
    let before = found.structures.iter().find(|saved| saved.name == table.source);
    let before = before.and_then(|saved| StoredShape::from_json(&saved.structure).ok());
    if before.as_ref() != Some(shape) {
        return Err("its structure is not what it was");
    }
    if integer_key(shape).is_none() {
        return Err("only a table whose one unique key is of integers can be gone on with");
    }
    remainder(&lines).map(Some).ok_or("the ledger does not tell how far its key was read")
}

/// Whether the target's table is there, and can hold rows of two positions beside each other: values of its other
/// unique keys may have moved between rows in between.
async fn target_fits(
    opened: &mut Opened,
    table: &CopiedTable,
    structures: &SourceStructures,
    deadline: Deadline,
) -> Result<bool, Error> {
    let sides = std::sync::Arc::clone(&opened.sides);
    let standing = standing(opened.control.connection(), &sides, &table.target, deadline).await?;
    let Standing::Present { shape, .. } = standing else { return Ok(false) };
    let source = structures.tables.iter().find(|present| present.name == table.source);
    let source_key = source.and_then(|present| integer_key(&present.shape)).unwrap_or_default();
    let target_key = integer_key(&shape).unwrap_or_default();
    Ok(!source_key.is_empty()
        && source_key.len() == target_key.len()
        && source_key.iter().zip(&target_key).all(|(one, other)| same_name(one, other)))
}

/// Which of the tables the log names between their first rows and now.
async fn changed_since(
    opened: &mut Opened,
    config: &SubtaskConfig,
    tables: &[(CopiedTable, Remainder)],
    snapshot: &Snapshot,
    stop: &CancellationToken,
) -> Result<Option<BTreeSet<TableName>>, Error> {
    let snapshots = &opened.found.snapshots;
    let first = tables.iter().filter_map(|(_, remainder)| remainder.oldest(snapshots)).min_by_key(|first| first.number);
    let Some(first) = first else { return Ok(Some(BTreeSet::new())) };
    if first.position == snapshot.position {
        return Ok(Some(BTreeSet::new()));
    }
    let start: BinlogStart = start_at(&first.position, config.enable_gtid, opened.source.server.flavor);
    let names: BTreeSet<TableName> = tables.iter().map(|(table, _)| table.source.clone()).collect();
    let stretch = Stretch {
        source: &config.source,
        server_id: server_id(opened),
        start,
        until: &snapshot.position,
        facts: &opened.facts,
    };
    between::changed(&stretch, &names, &mut opened.control, stop).await
}
