//! Brings the target and the ledger to where rows can be copied: tables made, emptied or gone on with, each of it
//! recorded before it is done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::continuing::Continuing;
use super::pipeline::TableJob;
use super::plan::{Present, Task, plan};
use super::prepare::{Making, Standing, make_database, making, standing, target_databases};
use super::remainder::Remainder;
use super::structures::{SourceStructures, SourceTable};
use super::transfer::{Misfit, transfer};
use super::{keys, structures::DatabaseDefaults};
use crate::catalogue::{Collation, StoredDatabase, StoredShape};
use crate::faults::FaultPoint;
use crate::ledger::{CopiedTable, Origin, Phase, SavedStructure, Snapshot, TableState};
use crate::load::statement::Duplicates;
use crate::model::TableName;
use crate::model::report::LoadProgress;
use crate::model::subtask::{OnDuplicate, SubtaskConfig};
use crate::mysql::Deadline;
use crate::route::Router;
use crate::worker::error::Error;
use crate::worker::opening::{Opened, our_clock_us};
use crate::worker::progress::Progress;

const LEDGER_PATIENCE: Duration = Duration::from_secs(60);
/// Statements sent to the ledger in one transaction.
const LEDGER_STATEMENTS: usize = 100;

/// What is ready to be copied, and what waits for its end.
pub struct Jobs {
    pub tables: Vec<TableJob>,
    pub foreign_keys: Vec<String>,
}

/// One pass of the copy, from one snapshot.
pub struct Pass<'a> {
    pub opened: &'a mut Opened,
    pub config: &'a SubtaskConfig,
    pub snapshot: Snapshot,
    pub progress: &'a Arc<Progress>,
}

/// A table with what is needed to make and fill it.
struct Prepared<'a> {
    table: &'a SourceTable,
    line: CopiedTable,
    making: Making,
    known_before: bool,
}

impl Pass<'_> {
    fn route(&self, table: &TableName) -> Result<TableName, Error> {
        self.opened.router.route_table(table).map_err(|error| Error::Rules { why: error.to_string() })
    }

    async fn record(&mut self, statements: Vec<String>) -> Result<(), Error> {
        for some in statements.chunks(LEDGER_STATEMENTS) {
            let deadline = Deadline::after(LEDGER_PATIENCE);
            self.opened.control.transact(some, None, "record the copy in", deadline).await?;
        }
        Ok(())
    }

    /// Brings the target and the ledger to where rows can be copied.
    pub async fn prepare(
        &mut self,
        structures: &SourceStructures,
        mut continuing: Continuing,
        deadline: Deadline,
    ) -> Result<Jobs, Error> {
        for table in &structures.tables {
            self.opened.sides.check_collations(&table.name, &table.shape)?;
        }
        for (table, why) in &continuing.anew {
            self.progress.note(our_clock_us(), format!("{table} was half copied and is read again: {why}"));
        }
        let present: Vec<Present<'_>> =
            structures.tables.iter().map(|table| Present { name: &table.name, shape: &table.shape }).collect();
        let known = self.opened.found.tables.clone();
        let may_continue = continuing.remainders.keys().copied().collect();
        let plan = plan(&present, &known, &may_continue, !self.config.mode.replicates());
        self.record(self.opening_lines(structures)?).await?;
        FaultPoint::SnapshotRecorded.reach();
        for number in &plan.abandoned {
            if let Some(table) = known.iter().find(|table| table.number == *number) {
                self.abandon(table, deadline).await?;
            }
        }
        self.make_databases(structures, deadline).await?;
        let mut next = known.iter().map(|table| table.number).max().unwrap_or(0) + 1;
        let mut prepared = Vec::new();
        let mut continued = Vec::new();
        let mut foreign_keys = Vec::new();
        for table in &structures.tables {
            let known_line = known.iter().find(|line| line.source == table.name);
            let making = self.making(table)?;
            foreign_keys.extend(making.foreign_keys.iter().cloned());
            match plan.tasks.get(&table.name) {
                Some(Task::Keep { .. }) | None => {}
                Some(Task::Continue { number }) => {
                    if let (Some(known), Some(remainder)) = (known_line, continuing.remainders.remove(number)) {
                        let line = CopiedTable { snapshot: self.snapshot.number, ..known.clone() };
                        continued.push((Prepared { table, line, making, known_before: true }, remainder));
                    }
                }
                Some(task) => {
                    let number = match task {
                        Task::CopyAnew { number } => *number,
                        _ => {
                            next += 1;
                            next - 1
                        }
                    };
                    let one = self.announce(table, number, known_line, making, deadline).await?;
                    check_made_once(&prepared, &one)?;
                    prepared.push(one);
                }
            }
        }
        // A table that an earlier run had copied, but not given its keys.
        let mut tables = Vec::new();
        let unfinished: Vec<CopiedTable> =
            known.into_iter().filter(|table| table.state == TableState::Copied).collect();
        for table in unfinished {
            if plan.tasks.get(&table.source).is_none_or(|task| matches!(task, Task::Keep { .. })) {
                self.finish_keys(table).await?;
            }
        }
        self.make_tables(&prepared, deadline).await?;
        for one in prepared {
            tables.push(self.job(one, deadline).await?);
        }
        for (one, remainder) in continued {
            let rows = remainder.rows();
            let told = format!("{} goes on where its copy was: {rows} rows are there already", one.line.source);
            self.progress.note(our_clock_us(), told);
            self.record_remainder(&one.line, &remainder).await?;
            let job = self.job(one, deadline).await?;
            tables.push(job.with_remainder(remainder));
        }
        // Foreign keys exist only once; those of tables that were there before the task are not ours to add.
        let made: Vec<TableName> =
            tables.iter().filter(|job| job.line.origin == Origin::Made).map(|job| job.line.target.clone()).collect();
        let earlier = self
            .opened
            .found
            .tables
            .iter()
            .filter(|table| table.origin == Origin::Made)
            .map(|table| table.target.clone());
        let ours: Vec<String> = made.into_iter().chain(earlier).map(|name| format!("ALTER TABLE {name} ")).collect();
        foreign_keys.retain(|statement| ours.iter().any(|head| statement.starts_with(head.as_str())));
        Ok(Jobs { tables, foreign_keys })
    }

    /// What is recorded before anything is made: the snapshot, and the structures replication begins with.
    fn opening_lines(&self, structures: &SourceStructures) -> Result<Vec<String>, Error> {
        let ledger = &self.opened.ledger;
        let unreadable = |error: crate::catalogue::CatalogueError| Error::Rules { why: error.to_string() };
        let mut lines = vec![
            ledger.snapshot_statement(&self.snapshot)?,
            ledger.phase_statement(Phase::Copying),
            ledger.source_identity_statement(&self.opened.source.identity),
        ];
        for (name, defaults) in &structures.databases {
            let json = StoredDatabase::to_json(&Collation::new(&defaults.collation)).map_err(unreadable)?;
            lines.push(
                ledger.structure_statement(&SavedStructure { name: TableName::new(name.clone(), ""), structure: json }),
            );
        }
        Ok(lines)
    }

    fn making(&self, table: &SourceTable) -> Result<Making, Error> {
        let target = self.route(&table.name)?;
        making(table, &target, |name| routed(&self.opened.router, name), &self.opened.sides)
    }

    async fn make_databases(&mut self, structures: &SourceStructures, deadline: Deadline) -> Result<(), Error> {
        let router = Arc::clone(&self.opened.router);
        let filter = Arc::clone(&self.opened.filter);
        let route = |name: &TableName| routed(&router, name);
        let databases: BTreeMap<String, DatabaseDefaults> =
            target_databases(structures, route, |schema| filter.keeps_whole_schema(schema))
                .into_iter()
                .map(|(name, defaults)| (name, defaults.clone()))
                .collect();
        let sides = Arc::clone(&self.opened.sides);
        for (name, defaults) in databases {
            make_database(self.opened.control.connection(), &sides, &name, &defaults, deadline).await?;
        }
        Ok(())
    }

    /// Looks at the target's table and says in the ledger what will be done with it.
    async fn announce<'t>(
        &mut self,
        table: &'t SourceTable,
        number: u32,
        known: Option<&CopiedTable>,
        making: Making,
        deadline: Deadline,
    ) -> Result<Prepared<'t>, Error> {
        let target = self.route(&table.name)?;
        let sides = Arc::clone(&self.opened.sides);
        let origin = match (standing(self.opened.control.connection(), &sides, &target, deadline).await?, known) {
            (_, Some(known)) if known.origin == Origin::FoundRows => {
                return Err(Error::TargetHalfCopied { table: target });
            }
            (Standing::Absent, _) => Origin::Made,
            (Standing::Present { .. }, Some(known)) => known.origin,
            (Standing::Present { empty: true, .. }, None) => Origin::FoundEmpty,
            (Standing::Present { shape, .. }, None) => {
                // Without a key there is nothing to tell a duplicate by.
                if self.config.on_duplicate == OnDuplicate::Error || shape.unique_keys().next().is_none() {
                    return Err(Error::TargetNotEmpty { table: target });
                }
                Origin::FoundRows
            }
        };
        let line = CopiedTable {
            number,
            source: table.name.clone(),
            target,
            state: TableState::Announced,
            origin,
            snapshot: self.snapshot.number,
            later: making.keys.clone(),
        };
        Ok(Prepared { table, line, making, known_before: known.is_some() })
    }

    /// Records the announcements, then makes or empties the tables, then records that they are there.
    async fn make_tables(&mut self, prepared: &[Prepared<'_>], deadline: Deadline) -> Result<(), Error> {
        let ledger = self.opened.ledger.clone();
        let mut announced = Vec::new();
        for one in prepared {
            announced.push(ledger.forget_ranges_statement(one.line.number));
            announced.push(ledger.table_statement(&one.line)?);
            let json =
                StoredShape::to_json(&one.table.shape).map_err(|error| Error::Rules { why: error.to_string() })?;
            let saved = SavedStructure { name: one.table.name.clone(), structure: json };
            announced.push(ledger.structure_statement(&saved));
        }
        self.record(announced).await?;
        FaultPoint::TablesAnnounced.reach();
        for one in prepared {
            self.make_table(one, deadline).await?;
        }
        FaultPoint::TablesMade.reach();
        let made: Result<Vec<String>, _> = prepared
            .iter()
            .map(|one| ledger.table_statement(&CopiedTable { state: TableState::Copying, ..one.line.clone() }))
            .collect();
        self.record(made?).await
    }

    async fn make_table(&mut self, one: &Prepared<'_>, deadline: Deadline) -> Result<(), Error> {
        let target = &one.line.target;
        let refused = |cause| Error::TargetTable { table: target.clone(), cause };
        let connection = self.opened.control.connection();
        if one.line.origin == Origin::Made {
            if one.known_before {
                let drop = format!("DROP TABLE IF EXISTS {target}");
                connection.run(drop, "dropping an unfinished copy", deadline).await.map_err(refused)?;
            }
            connection.run_many(&environment_for_create(), "setting the session", deadline).await.map_err(refused)?;
            let outcome = connection.run(&one.making.create, "making a table", deadline).await;
            if connection.is_open() {
                let back = b"SET NAMES binary";
                connection.run_many(back, "setting the session back", deadline).await.map_err(refused)?;
            }
            outcome.map_err(refused)?;
        } else if one.known_before {
            // It was there, empty, before the task: what is in it is of an earlier run's unfinished copy.
            let truncate = format!("TRUNCATE TABLE {target}");
            connection.run(truncate, "emptying an unfinished copy", deadline).await.map_err(refused)?;
        }
        Ok(())
    }

    /// Records which stretches of a table are there, and that the others come from this pass's snapshot: in one
    /// transaction, since the target holds rows that only these lines tell of.
    async fn record_remainder(&mut self, line: &CopiedTable, remainder: &Remainder) -> Result<(), Error> {
        let ledger = self.opened.ledger.clone();
        let mut lines = vec![ledger.forget_ranges_statement(line.number), ledger.table_statement(line)?];
        lines.extend(remainder.copied.iter().map(|range| ledger.range_statement(range)));
        let deadline = Deadline::after(LEDGER_PATIENCE);
        self.opened.control.transact(&lines, None, "record the copy in", deadline).await?;
        Ok(())
    }

    /// Pairs the columns on both sides.
    async fn job(&mut self, one: Prepared<'_>, deadline: Deadline) -> Result<TableJob, Error> {
        let target = one.line.target.clone();
        let sides = Arc::clone(&self.opened.sides);
        let standing = standing(self.opened.control.connection(), &sides, &target, deadline).await?;
        let Standing::Present { shape, .. } = standing else {
            return Err(Error::TargetMisfit { table: target, why: "it vanished after it was made".to_owned() });
        };
        let mut transfer = transfer(&one.table.name, &one.table.shape, &target, &shape, sides.target.flavor)
            .map_err(|misfit| Error::TargetMisfit { table: target.clone(), why: describe(&misfit) })?;
        if one.line.origin == Origin::FoundRows {
            transfer.target.duplicates = match self.config.on_duplicate {
                OnDuplicate::Replace => Duplicates::Replace,
                OnDuplicate::Ignore => Duplicates::Keep,
                OnDuplicate::Error => Duplicates::Refuse,
            };
        }
        let keys = if one.line.origin == Origin::Made { one.making.keys } else { Vec::new() };
        let line = CopiedTable { state: TableState::Copying, ..one.line };
        Ok(TableJob::new(transfer, line, one.table.rows, keys))
    }

    /// A table that vanished from the source before its copy was finished.
    async fn abandon(&mut self, table: &CopiedTable, deadline: Deadline) -> Result<(), Error> {
        let refused = |cause| Error::TargetTable { table: table.target.clone(), cause };
        let statement = match table.origin {
            Origin::Made => format!("DROP TABLE IF EXISTS {}", table.target),
            Origin::FoundEmpty => format!("TRUNCATE TABLE {}", table.target),
            Origin::FoundRows => return Err(Error::TargetHalfCopied { table: table.target.clone() }),
        };
        let connection = self.opened.control.connection();
        connection.run(statement, "removing an unfinished copy", deadline).await.map_err(refused)?;
        let ledger = self.opened.ledger.clone();
        let mut lines = ledger.forget_table_statements(table.number).to_vec();
        lines.push(ledger.forget_structure_statement(&table.source));
        self.record(lines).await
    }

    /// Makes the keys of a table whose rows an earlier run had copied.
    async fn finish_keys(&mut self, table: CopiedTable) -> Result<(), Error> {
        keys::make(&mut self.opened.control, &table.later).await?;
        let done = CopiedTable { state: TableState::Done, ..table };
        let line = self.opened.ledger.table_statement(&done)?;
        self.record(vec![line]).await
    }

    /// What a status shows from here on. What earlier runs have copied counts, so that it never falls back unsaid.
    pub fn begin_progress(&self, structures: &SourceStructures, jobs: &[TableJob]) {
        let total = structures.tables.len() as u64;
        let being_copied: Vec<&TableName> = jobs.iter().map(|job| &job.line.source).collect();
        let kept = |table: &&SourceTable| !being_copied.contains(&&table.name);
        let finished_rows: u64 = structures.tables.iter().filter(kept).map(|table| table.rows).sum();
        let finished_bytes: u64 = structures.tables.iter().filter(kept).map(|table| table.bytes).sum();
        let begun = || jobs.iter().filter_map(|job| job.remainder.as_ref());
        let finished_rows = finished_rows + begun().map(Remainder::rows).sum::<u64>();
        let finished_bytes = finished_bytes + begun().map(Remainder::bytes).sum::<u64>();
        self.progress.begin_copy(LoadProgress {
            finished_tables: total - being_copied.len() as u64,
            total_tables: total,
            finished_rows,
            estimated_rows: structures.tables.iter().map(|table| table.rows).sum(),
            finished_bytes,
            estimated_bytes: structures.tables.iter().map(|table| table.bytes).sum(),
            snapshot: Some(self.snapshot.position.clone()),
            ..LoadProgress::default()
        });
    }
}

/// Where a name in a definition goes; one without a table is a database. What no rule fits stays as it is.
fn routed(router: &Router, name: &TableName) -> TableName {
    if name.table.is_empty() {
        let schema = router.route_schema(&name.schema).unwrap_or_else(|_| name.schema.clone());
        return TableName::new(schema, "");
    }
    router.route_table(name).unwrap_or_else(|_| name.clone())
}

/// A table that several go to is made by whoever knows what it looks like.
fn check_made_once(prepared: &[Prepared<'_>], one: &Prepared<'_>) -> Result<(), Error> {
    let (line, is_made) = (&one.line, |line: &CopiedTable| line.origin == Origin::Made);
    match prepared.iter().map(|other| &other.line).find(|other| other.target == line.target && is_made(other)) {
        Some(other) if is_made(line) => Err(Error::Rules {
            why: format!(
                "{} and {} both go to {}, which is not there; make it first, with keys that hold the rows of both",
                other.source, line.source, line.target
            ),
        }),
        _ => Ok(()),
    }
}

/// CREATE TABLE from SHOW CREATE TABLE is UTF-8 text; its literals are in the connection's character set.
fn environment_for_create() -> Vec<u8> {
    b"SET NAMES utf8mb4".to_vec()
}

fn describe(misfit: &Misfit) -> String {
    match misfit {
        Misfit::Missing { column } => format!("it has no column `{column}`, which the source's table has"),
        Misfit::Generated { column } => format!("its column `{column}` is generated, the source's is not"),
    }
}
