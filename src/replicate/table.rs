//! How the rows of one source table become changes of one target table: which columns, as what literals, found by
//! which key, ordered by which keys. Made once for each shape on both sides.

use std::sync::Arc;

use super::error::Error;
use super::keys::{Equality, KeyPart, TableKeys};
use super::literal::LiteralForm;
use super::target::{TargetTable, TargetTables};
use super::transaction::{ApplyColumn, ApplyTable, Compare};
use crate::binlog::{ColumnDecoding, TableMap, TablePlan, Value};
use crate::catalogue::{Column, ColumnType, Key, KeyPartSource, LoggedColumn, TableShape};
use crate::ddl::same_name;
use crate::model::TableName;
use crate::mysql::{Connection, Deadline, identifier};

/// A source table, ready to be decoded and applied.
#[derive(Debug)]
pub struct TableFlow {
    pub apply: Arc<ApplyTable>,
    pub plan: TablePlan,
    /// The columns that are written, in the order of [`ApplyTable::columns`].
    pub columns: Vec<FlowColumn>,
    pub keys: TableKeys,
    /// Deleting or updating its rows changes rows of other tables at the target.
    pub is_parent: bool,
}

#[derive(Debug, Clone)]
pub struct FlowColumn {
    /// Its place in the row of the binlog.
    pub value: usize,
    pub form: LiteralForm,
    is_enum: bool,
}

impl FlowColumn {
    /// An ENUM's error value, which only a session that is not strict can write.
    pub fn is_error_value(&self, value: &Value<'_>) -> bool {
        self.is_enum && matches!(value, Value::Enum(0))
    }
}

/// What a flow is made of.
pub struct FlowParts<'a> {
    pub source: &'a TableName,
    pub shape: &'a TableShape,
    pub table_map: &'a Arc<TableMap>,
    pub target: &'a TableName,
    pub position: &'a str,
}

/// Makes the flow of a table, asking the target for what is not yet known of it.
pub async fn make_flow(
    parts: &FlowParts<'_>,
    targets: &mut TargetTables,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<TableFlow, Error> {
    let structure =
        |why: String| Error::Structure { table: parts.source.clone(), position: parts.position.to_owned(), why };
    crate::catalogue::check(parts.shape, parts.table_map).map_err(|mismatch| structure(mismatch.to_string()))?;
    let table = targets.table(connection, parts.target, deadline).await?;
    let written = written_columns(parts, &table)?;
    let plan = TablePlan::new(Arc::clone(parts.table_map), &decodings(parts.shape))
        .map_err(|error| structure(error.to_string()))?;
    let (is_parent, tied) = targets.ties(connection, parts.target, deadline).await?;
    let unique = unique_keys(&table, &written, targets, connection, deadline).await?;
    let keys = TableKeys::new(parts.target, tied, unique.clone().unwrap_or_default());
    let columns = written
        .iter()
        .map(|column| FlowColumn {
            value: column.value,
            form: literal_form(&column.source.column_type),
            is_enum: matches!(column.source.column_type, ColumnType::Enum { .. }),
        })
        .collect();
    Ok(TableFlow {
        apply: Arc::new(apply_table(parts, &table, &written, tied.is_some())),
        plan,
        columns,
        keys,
        is_parent,
    })
}

/// A source column that has a column of its name in the target.
struct Written<'a> {
    value: usize,
    source: &'a Column,
    target: &'a Column,
}

fn written_columns<'a>(parts: &FlowParts<'a>, table: &'a TargetTable) -> Result<Vec<Written<'a>>, Error> {
    let wrong = |why: String| Error::TargetTable { table: parts.target.clone(), why, position: String::new() };
    let mut written = Vec::new();
    for (value, logged) in parts.shape.logged_columns().into_iter().enumerate() {
        let LoggedColumn::Declared(source) = logged else { continue };
        if !source.is_writable() {
            continue;
        }
        let target = table.shape.column(&source.name).ok_or_else(|| {
            wrong(format!(
                "it has no column {}, which the source's {} has; add it (a DDL may have been filtered out), then resume",
                identifier(&source.name),
                parts.source
            ))
        })?;
        if !target.is_writable() {
            return Err(wrong(format!("its column {} is generated, the source's is not", identifier(&source.name))));
        }
        written.push(Written { value, source, target });
    }
    Ok(written)
}

/// Generated columns are stepped over: old servers log broken documents for them.
fn decodings(shape: &TableShape) -> Vec<ColumnDecoding> {
    shape
        .logged_columns()
        .into_iter()
        .map(|logged| match logged {
            LoggedColumn::Declared(column) => ColumnDecoding {
                unsigned: is_unsigned(&column.column_type),
                skip: !column.is_writable(),
                ..ColumnDecoding::default()
            },
            _ => ColumnDecoding { skip: true, ..ColumnDecoding::default() },
        })
        .collect()
}

fn is_unsigned(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Int { unsigned: true, .. })
}

fn literal_form(column_type: &ColumnType) -> LiteralForm {
    match column_type {
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Text { collation, .. } => LiteralForm::Characters { charset: collation.charset().to_owned() },
        ColumnType::Binary { length } => LiteralForm::Bytes { padded_to: usize::try_from(*length).ok() },
        ColumnType::VarBinary { .. }
        | ColumnType::Blob { .. }
        | ColumnType::Geometry { .. }
        | ColumnType::Vector { .. } => LiteralForm::Bytes { padded_to: None },
        ColumnType::Json => LiteralForm::Json,
        ColumnType::Uuid => LiteralForm::Uuid,
        ColumnType::Inet4 => LiteralForm::Inet4,
        ColumnType::Inet6 => LiteralForm::Inet6,
        _ => LiteralForm::Plain,
    }
}

fn compare(target: &Column) -> Compare {
    match &target.column_type {
        ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Text { .. } => Compare::Characters,
        ColumnType::Enum { .. } | ColumnType::Set { .. } => Compare::Member,
        ColumnType::Json => Compare::Json,
        ColumnType::Geometry { .. } => Compare::Geometry,
        _ => Compare::Exact,
    }
}

fn apply_table(parts: &FlowParts<'_>, table: &TargetTable, written: &[Written<'_>], keeps_order: bool) -> ApplyTable {
    let place = |name: &str| written.iter().position(|column| same_name(&column.target.name, name));
    let places = |key: &Key| key.columns().map(place).collect::<Option<Vec<usize>>>();
    let is_whole = |key: &&Key| key.columns().count() == key.parts.len() && !key.hashed;
    let is_never_null =
        |key: &&Key| key.columns().all(|name| table.shape.column(name).is_some_and(|column| !column.nullable));
    let mut candidates: Vec<&Key> = table.shape.unique_keys().filter(is_whole).filter(is_never_null).collect();
    candidates.sort_by_key(|key| Some(key.name.as_str()) != table.shape.primary_key().map(|key| key.name.as_str()));
    let identity = candidates.iter().find_map(|key| Some((key.name.clone(), places(key)?)));
    let other_unique = table
        .shape
        .unique_keys()
        .filter(|key| identity.as_ref().is_none_or(|(name, _)| *name != key.name))
        // A functional part is computed from columns that are not known here: any change may change it.
        .map(|key| if is_whole(&key) { places(key) } else { None }.unwrap_or_else(|| (0..written.len()).collect()))
        .collect();
    let columns: Vec<ApplyColumn> = written
        .iter()
        .map(|column| ApplyColumn { name: identifier(&column.target.name), compare: compare(column.target) })
        .collect();
    let all_written = table.shape.writable_columns().count() == written.len();
    let all_listable = !columns.iter().any(|column| matches!(column.compare, Compare::Json | Compare::Geometry));
    ApplyTable {
        target: parts.target.clone(),
        source: parts.source.clone(),
        is_multiset: identity.is_none() && !keeps_order && all_written && all_listable,
        lead: table.shape.keys.iter().find_map(|key| place(key.columns().next()?)),
        columns,
        identity: identity.map(|(_, places)| places).unwrap_or_default(),
        other_unique,
        always_set: table.set_on_update.iter().filter_map(|name| place(name)).collect(),
        keeps_order,
    }
}

/// The parts of every unique key of the target; None: one of them cannot be keyed, and the table is one key.
async fn unique_keys(
    table: &TargetTable,
    written: &[Written<'_>],
    targets: &mut TargetTables,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<Option<Vec<Vec<KeyPart>>>, Error> {
    let mut keys = Vec::new();
    for key in table.shape.unique_keys() {
        let mut parts = Vec::new();
        for part in &key.parts {
            let KeyPartSource::Column(name) = &part.source else { return Ok(None) };
            let found = written.iter().enumerate().find(|(_, column)| same_name(&column.target.name, name));
            // A column that the source does not have holds its default in every row, or is computed.
            let Some((cell, column)) = found else {
                if table.shape.column(name).is_some_and(|column| !column.is_writable()) {
                    return Ok(None);
                }
                continue;
            };
            let equality = equality(column, targets, connection, deadline).await?;
            let prefix = part.prefix.and_then(|length| usize::try_from(length).ok());
            parts.push(KeyPart { value: column.value, cell, equality, prefix });
        }
        keys.push(parts);
    }
    Ok(Some(keys))
}

async fn equality(
    column: &Written<'_>,
    targets: &mut TargetTables,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<Equality, Error> {
    let (source, target) = (&column.source.column_type, &column.target.column_type);
    if let ColumnType::Char { collation, .. }
    | ColumnType::VarChar { collation, .. }
    | ColumnType::Text { collation, .. } = target
    {
        if collation.as_str().ends_with("_bin") {
            let same = source.collation().is_some_and(|source| source.charset() == collation.charset());
            return Ok(if same { Equality::PaddedBytes } else { Equality::Unknown });
        }
        let failed = |cause| Error::Target { doing: "ask for the collations of", position: String::new(), cause };
        let weights =
            targets.weights.of(connection, collation.charset(), collation.as_str(), deadline).await.map_err(failed)?;
        return Ok(weights.map_or(Equality::Unknown, Equality::Weights));
    }
    Ok(if keeps_values_apart(source, target) { Equality::Literal } else { Equality::Unknown })
}

/// Whether two values that differ at the source always differ at the target.
fn keeps_values_apart(source: &ColumnType, target: &ColumnType) -> bool {
    match (source, target) {
        (ColumnType::Int { .. }, ColumnType::Int { .. }) | (ColumnType::Enum { .. }, ColumnType::Enum { .. }) => true,
        (ColumnType::Set { .. }, ColumnType::Set { .. }) => true,
        (ColumnType::VarBinary { .. } | ColumnType::Binary { .. } | ColumnType::Blob { .. }, _) => {
            matches!(target, ColumnType::VarBinary { .. } | ColumnType::Binary { .. } | ColumnType::Blob { .. })
        }
        (source, target) => source == target,
    }
}
