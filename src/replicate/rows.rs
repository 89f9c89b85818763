//! The applier's part that turns row events into changes.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::applier::{Applier, describe};
use super::error::Error;
use super::floors::{ByKey, Counting};
use super::large::LARGE_BYTES;
use super::literal::{self, LiteralForm};
use super::prepared::XaRows;
use super::table::{FlowColumn, FlowParts, TableFlow, make_flow};
use super::transaction::{Change, Image, LEFT_OUT_CHANGED, LEFT_OUT_SAME, Row, SharedValue, Transaction};
use super::unlogged::{self, Child, is_silent};
use crate::binlog::{BinlogError, RowChange, RowsEvent, RowsKind, TableMap, Value};
use crate::catalogue::LoggedColumn;
use crate::ddl::same_name;
use crate::filter::{EventKind, Verdict};
use crate::model::{BinlogPosition, TableName};
use crate::mysql::Deadline;

/// How long the target may take to tell of a table.
const ASKING: Duration = Duration::from_secs(60);

/// Pieces after the first, so that several fit into the memory that one transaction may take.
const PIECE_BYTES: usize = 4 << 20;

/// An old value of this many bytes is left out where it can be.
const LEFT_OUT_FROM: usize = 1024;

/// A table as it is described in the binlog, and what the task makes of it.
#[derive(Debug, Clone)]
pub(super) struct KnownTable {
    /// Kept so that its address stays its own.
    #[expect(dead_code, reason = "holds the address that the table is known by")]
    map: Arc<TableMap>,
    /// None: the table is not of this task.
    flow: Option<Arc<TableFlow>>,
    following: Arc<[Child]>,
}

impl Applier {
    pub(super) async fn take_rows(
        &mut self,
        rows: &RowsEvent,
        end: &BinlogPosition,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        if rows.is_dummy() {
            return Ok(());
        }
        let Some(current) = &self.state.current else {
            return Err(self.unsupported("a row outside of a transaction".to_owned(), end));
        };
        if current.is_applied || current.xa == Some(XaRows::LeftOut) {
            return Ok(());
        }
        let Some(map) = self.state.numbers.get(&rows.table_id).cloned() else {
            return Err(self.unsupported("rows of a table that was not described".to_owned(), end));
        };
        let counting = self.floors.counting(&map.name, end, current.gtid.as_ref());
        if matches!(counting, Counting::None) {
            return Ok(());
        }
        // Before anything is asked of the target: a rule is how an operator goes on past a table that does not fit.
        let kind = match rows.kind {
            RowsKind::Insert => EventKind::Insert,
            RowsKind::Update => EventKind::Update,
            RowsKind::Delete => EventKind::Delete,
        };
        if matches!(self.filter.verdict(&map.name, kind, None), Verdict::Ignore { .. }) {
            return Ok(());
        }
        let known = self.known(&map, end).await?;
        if is_silent(rows) && !known.following.is_empty() {
            unlogged::check(&map.name, &known.following, rows.kind, end.to_string())?;
        }
        let Some(flow) = known.flow else { return Ok(()) };
        let judge = match counting {
            Counting::ByKey(by_key) => Some(self.judge(&map.name, by_key, end)?),
            _ => None,
        };
        self.decode(rows, &flow, judge.as_ref(), end)?;
        self.stream_if_large(stop).await
    }

    /// Whether rows of the table matter at this place. One that was not described might be any.
    pub(super) fn needs_rows_of(&self, table_id: u64, end: &BinlogPosition) -> bool {
        let current = self.state.current.as_ref();
        if current.is_some_and(|current| current.is_applied) {
            return false;
        }
        self.state.numbers.get(&table_id).is_none_or(|map| {
            let gtid = current.and_then(|current| current.gtid.as_ref());
            self.filter.keeps_table(&map.name) && !matches!(self.floors.counting(&map.name, end, gtid), Counting::None)
        })
    }

    async fn known(&mut self, map: &Arc<TableMap>, end: &BinlogPosition) -> Result<KnownTable, Error> {
        let address = Arc::as_ptr(map) as usize;
        if let Some(known) = self.state.flows.get(&address) {
            return Ok(known.clone());
        }
        let is_kept = self.filter.keeps_table(&map.name);
        let flow = if is_kept { Some(Arc::new(self.make_flow(map, end).await?)) } else { None };
        let following = self.following(&map.name, is_kept).await?.into();
        let known = KnownTable { map: Arc::clone(map), flow, following };
        self.state.flows.insert(address, known.clone());
        Ok(known)
    }

    /// The children that follow a parent at the source, and would not at the target.
    async fn following(&mut self, parent: &TableName, is_kept: bool) -> Result<Vec<Child>, Error> {
        let routed = |name: &TableName| self.router.route_table(name).map_err(|error| Error::Route(error.to_string()));
        let mut lost = Vec::new();
        for child in unlogged::children_of(parent, &self.catalogue, &self.filter) {
            let (child_there, parent_there) = (routed(&child.name)?, routed(parent)?);
            let connection = self.control.connection();
            let deadline = Deadline::after(ASKING);
            if !is_kept {
                lost.push(child);
                continue;
            }
            match self.targets.table(connection, &child_there, deadline).await {
                Ok(table) => lost.extend(child.without_repeated(&parent_there, &table.shape.foreign_keys)),
                // One that is not there, or cannot be read, does not follow.
                Err(Error::TargetTable { .. }) => lost.push(child),
                Err(error) => return Err(error),
            }
        }
        Ok(lost)
    }

    async fn make_flow(&mut self, map: &Arc<TableMap>, end: &BinlogPosition) -> Result<TableFlow, Error> {
        let gtid = self.state.current.as_ref().and_then(|current| current.gtid.as_ref());
        let position = describe(end, gtid);
        let shape = self.catalogue.table(&map.name).cloned().ok_or_else(|| Error::Structure {
            table: map.name.clone(),
            position: position.clone(),
            why: "the task knows no structure of it at this place".to_owned(),
        })?;
        let target = self.router.route_table(&map.name).map_err(|error| Error::Route(error.to_string()))?;
        let parts =
            FlowParts { source: &map.name, shape: &shape, table_map: map, target: &target, position: &position };
        make_flow(&parts, &mut self.targets, self.control.connection(), Deadline::after(ASKING)).await
    }

    /// Makes what judges the rows of a half-copied table by their keys.
    fn judge(&self, table: &TableName, by_key: ByKey, end: &BinlogPosition) -> Result<Judge, Error> {
        let shape = self.catalogue.table(table);
        let place = |name: &String| {
            shape?
                .logged_columns()
                .iter()
                .position(|logged| matches!(logged, LoggedColumn::Declared(column) if same_name(&column.name, name)))
        };
        let places: Option<Vec<usize>> = by_key.key.iter().map(place).collect();
        let places = places.filter(|places| !places.is_empty()).ok_or_else(|| Error::Structure {
            table: table.clone(),
            position: end.to_string(),
            why: "it was copied in parts at several positions, by a key that it no longer has".to_owned(),
        })?;
        Ok(Judge { by_key, places })
    }

    /// Writes every row's cells as literals and notes its keys.
    fn decode(
        &mut self,
        rows: &RowsEvent,
        flow: &Arc<TableFlow>,
        judge: Option<&Judge>,
        end: &BinlogPosition,
    ) -> Result<(), Error> {
        let failed = |cause: BinlogError| Error::Decode { position: end.to_string(), cause: Box::new(cause) };
        let Some(current) = &mut self.state.current else { return Ok(()) };
        let transaction = &mut current.transaction;
        let cascades = flow.is_parent && is_silent(rows);
        let mut reader = rows.rows(&flow.plan).map_err(failed)?;
        while let Some(RowChange { before, after }) = reader.next_row().map_err(failed)? {
            let (before, after) = match judge {
                Some(judge) => {
                    let not_a_key = |place| Error::Structure {
                        table: flow.apply.source.clone(),
                        position: end.to_string(),
                        why: format!("it was copied in parts by a key of integers, and column {place} holds none"),
                    };
                    (judge.counting(before).map_err(not_a_key)?, judge.counting(after).map_err(not_a_key)?)
                }
                None => (before, after),
            };
            let mut relaxed = false;
            let mut write = |values: &[Value<'_>], role: Role<'_, '_>| -> Result<Image, Error> {
                let (image, has_error_value) =
                    write_image(transaction, rows, flow, values, role).map_err(|error| Error::Structure {
                        table: flow.apply.source.clone(),
                        position: end.to_string(),
                        why: error.to_string(),
                    })?;
                relaxed |= has_error_value;
                let cells = &transaction.cells;
                flow.keys.add(&mut self.state.keys, values, |column| cells.get(image, column));
                Ok(image)
            };
            let row = match (before, after) {
                (None, Some(after)) => Row::Insert { after: write(after, Role::New)? },
                (Some(before), None) => Row::Delete { before: write(before, Role::Old(&[]))? },
                (Some(before), Some(after)) => {
                    Row::Update { before: write(before, Role::Old(after))?, after: write(after, Role::New)? }
                }
                (None, None) => continue,
            };
            transaction.changes.push(Change { table: Arc::clone(&flow.apply), row, cascades, relaxed });
        }
        Ok(())
    }

    /// A transaction that does not fit goes out in pieces, after everything before it.
    async fn stream_if_large(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        let Some(current) = &mut self.state.current else { return Ok(()) };
        let whole = self.limits.transaction_bytes;
        let limit = if current.is_streaming { whole.min(PIECE_BYTES) } else { whole };
        if current.transaction.weight() < limit {
            return Ok(());
        }
        if current.xa == Some(XaRows::Gathered) {
            current.xa = Some(XaRows::LeftOut);
            current.transaction = Transaction::default();
            self.state.keys.clear();
            return Ok(());
        }
        if !current.is_streaming {
            current.is_streaming = true;
            self.barrier(stop).await?;
        }
        let Some(current) = &mut self.state.current else { return Ok(()) };
        let piece = std::mem::take(&mut current.transaction);
        self.state.keys.clear();
        self.send_piece(piece, false, stop).await
    }
}

/// Tells which images of a half-copied table's rows are not in the target yet. An UPDATE is a DELETE of its old image
/// and an INSERT of its new one, each by the position of its own stretch.
struct Judge {
    by_key: ByKey,
    /// Where the key's columns stand in an image.
    places: Vec<usize>,
}

impl Judge {
    /// The image, if its row still lacks the change. An error is the place of a key's column that is no integer.
    fn counting<'a, 'b>(&self, image: Option<&'a [Value<'b>]>) -> Result<Option<&'a [Value<'b>]>, usize> {
        let Some(values) = image else { return Ok(None) };
        let number = |place: &usize| match values.get(*place) {
            Some(Value::Int(value)) => Ok(i128::from(*value)),
            Some(Value::UInt(value)) => Ok(i128::from(*value)),
            _ => Err(*place),
        };
        let key: Vec<i128> = self.places.iter().map(number).collect::<Result<_, _>>()?;
        Ok(image.filter(|_| self.by_key.counts(&key)))
    }
}

/// What an image is in its change.
#[derive(Clone, Copy)]
enum Role<'a, 'e> {
    New,
    /// With the new image, if there is one: of a large old value no more is needed than whether it changed.
    Old(&'a [Value<'e>]),
}

/// Writes the cells of one row; whether it holds an ENUM's error value.
fn write_image(
    transaction: &mut Transaction,
    event: &RowsEvent,
    flow: &TableFlow,
    values: &[Value<'_>],
    role: Role<'_, '_>,
) -> Result<(Image, bool), crate::binlog::ValueError> {
    let image = transaction.cells.next_image();
    let mut has_error_value = false;
    for (place, column) in flow.columns.iter().enumerate() {
        let value = values.get(column.value).unwrap_or(&Value::Null);
        if let (Role::Old(new), Value::Bytes(bytes)) = (role, value)
            && bytes.len() >= LEFT_OUT_FROM
            && !flow.apply.needs_old_value(place)
        {
            let is_same = new.get(column.value) == Some(value);
            transaction.cells.buffer().extend_from_slice(if is_same { LEFT_OUT_SAME } else { LEFT_OUT_CHANGED });
            transaction.cells.end_cell();
            continue;
        }
        if let Some(shared) = shared_value(event, flow, place, column, value)
            && matches!(role, Role::New)
        {
            transaction.cells.share(shared);
            continue;
        }
        has_error_value |= column.is_error_value(value);
        literal::append(transaction.cells.buffer(), &column.form, value)?;
        transaction.cells.end_cell();
    }
    Ok((image, has_error_value))
}

/// A large value that stays in its event: one that rows are not told apart by, and whose bytes stand there as they are.
fn shared_value(
    event: &RowsEvent,
    flow: &TableFlow,
    place: usize,
    column: &FlowColumn,
    value: &Value<'_>,
) -> Option<SharedValue> {
    let Value::Bytes(Cow::Borrowed(bytes)) = value else { return None };
    if bytes.len() < LARGE_BYTES || flow.apply.needs_old_value(place) {
        return None;
    }
    let charset = match &column.form {
        LiteralForm::Characters { charset } => Some(charset.as_str().into()),
        LiteralForm::Plain | LiteralForm::Bytes { padded_to: None } => None,
        _ => return None,
    };
    Some(SharedValue { bytes: event.share(bytes)?, charset })
}
