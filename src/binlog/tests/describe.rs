//! Events as lines of text, for snapshots.

use std::fmt::Write;

use super::*;

fn shown_value(value: &Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Skipped => "skipped".to_owned(),
        Value::Bit { value, .. } => format!("b'{value:b}'"),
        Value::Bytes(bytes) if bytes.len() > 60 => format!("{} bytes", bytes.len()),
        value => text_of(value).escape_ascii().to_string(),
    }
}

fn shown_row(row: &[Value<'_>]) -> String {
    row.iter().map(shown_value).collect::<Vec<_>>().join(", ")
}

fn shown_rows(rows: &RowsEvent, table: Arc<TableMap>) -> String {
    let mut out = format!("{:?} {} flags={:#x}", rows.kind, table.name, rows.flags.0);
    let plan = TablePlan::of_description(table).unwrap();
    let mut reader = match rows.rows(&plan) {
        Ok(reader) => reader,
        Err(error) => return format!("{out} | {error}"),
    };
    while let Some(change) = reader.next_row().unwrap() {
        out += match (change.before, change.after) {
            (None, Some(after)) => format!(" | {}", shown_row(after)),
            (Some(before), None) => format!(" | {}", shown_row(before)),
            (Some(before), Some(after)) => format!(" | {} -> {}", shown_row(before), shown_row(after)),
            (None, None) => unreachable!("every change has an image"),
        }
        .as_str();
    }
    out
}

fn shown_status(status: &QueryStatus) -> String {
    let mut out = String::new();
    if let Some(flags) = status.flags.filter(|flags| flags.0 != 0) {
        write!(out, " flags={:#x}", flags.0).unwrap();
    }
    for (name, value) in [
        ("sql_mode", status.sql_mode),
        ("lc_time_names", status.lc_time_names.map(u64::from)),
        ("charset_database", status.charset_database.map(u64::from)),
        ("utf8mb4", status.default_collation_for_utf8mb4.map(u64::from)),
        ("gtid_flags", status.mariadb_gtid_flags.map(u64::from)),
        ("unread_from", status.unread_from.map(u64::from)),
    ] {
        if let Some(value) = value {
            write!(out, " {name}={value:#x}").unwrap();
        }
    }
    for (name, value) in [("time_zone", &status.time_zone), ("catalog", &status.catalog)] {
        if let Some(value) = value {
            write!(out, " {name}={}", value.escape_ascii()).unwrap();
        }
    }
    for (name, value) in [
        ("explicit_defaults", status.explicit_defaults_for_timestamp),
        ("require_primary_key", status.sql_require_primary_key),
        ("encryption", status.default_table_encryption),
        ("microseconds", status.microseconds.map(|_| true)),
        ("ddl_xid", status.ddl_xid.or(status.mariadb_ddl_xid).map(|_| true)),
    ] {
        if let Some(value) = value {
            write!(out, " {name}={value}").unwrap();
        }
    }
    if let Some(charset) = status.charset {
        write!(out, " charset={},{},{}", charset.client, charset.connection, charset.server).unwrap();
    }
    if let Some(step) = status.auto_increment {
        write!(out, " auto_increment={},{}", step.increment, step.offset).unwrap();
    }
    if !status.character_set_collations.is_empty() {
        write!(out, " collations={:?}", status.character_set_collations).unwrap();
    }
    if let Some(invoker) = &status.invoker {
        write!(out, " invoker={}@{}", invoker.user.escape_ascii(), invoker.host.escape_ascii()).unwrap();
    }
    if let Some(schemas) = &status.updated_schemas {
        write!(out, " updated={schemas:?}").unwrap();
    }
    out
}

/// What does not change from one run of the same statements to the next.
pub fn describe(event: &Event, tables: &Tables) -> String {
    let name = event.header.event_type;
    let detail = match &event.body {
        EventBody::FormatDescription(format) => format!("{} {:?}", format.flavor, format.checksum),
        EventBody::Rotate(rotate) => format!("to {} {} artificial={}", rotate.file, rotate.position, rotate.artificial),
        EventBody::MysqlGtid(gtid) => {
            let tag = gtid.gtid.as_ref().and_then(|gtid| gtid.source.tag.clone());
            let number = gtid.gtid.as_ref().map(|gtid| gtid.number);
            let clock = (gtid.last_committed, gtid.sequence_number);
            format!("tag={tag:?} number={number:?} statements={} clock={clock:?}", gtid.may_have_statements)
        }
        EventBody::MariadbGtid(gtid) => {
            let xa = gtid.xa.as_ref().map(ToString::to_string);
            let commit = gtid.commit_id.is_some();
            format!("{} flags={:#x} commit={commit} xa={xa:?} alter={:?}", gtid.gtid, gtid.flags.0, gtid.alter)
        }
        EventBody::PreviousGtids(set) => format!("{} sources", set.iter().len()),
        EventBody::GtidList(list) => {
            let gtids: Vec<_> = list.gtids.iter().map(ToString::to_string).collect();
            let artificial = event.header.artificial();
            format!("{gtids:?} until={} ignored={} artificial={artificial}", list.until_reached, list.ignored)
        }
        EventBody::BinlogCheckpoint { file } => file.clone(),
        EventBody::Query(query) => {
            let sql = String::from_utf8_lossy(&query.sql).replace('\n', " ");
            let sql = if sql.len() > 150 { format!("{} bytes", sql.len()) } else { sql };
            format!("[{}] {sql} |{}", query.schema, shown_status(&query.status))
        }
        EventBody::Xid(_) | EventBody::Stop => String::new(),
        EventBody::XaPrepare(prepare) => format!("{} one_phase={}", prepare.xid, prepare.one_phase),
        EventBody::TableMap(map) => format!("{} {} columns", map.table.name, map.table.columns.len()),
        EventBody::Rows(rows) => shown_rows(rows, tables.of(rows)),
        EventBody::RowsQuery(sql) | EventBody::AnnotateRows(sql) => sql.escape_ascii().to_string(),
        EventBody::Heartbeat(heartbeat) => heartbeat.file.clone(),
        other => format!("{other:?}"),
    };
    format!("{name} {detail}")
}

pub fn describe_all(events: &[Event]) -> String {
    let mut tables = Tables::default();
    let lines = events.iter().map(|event| {
        tables.see(event);
        describe(event, &tables)
    });
    lines.collect::<Vec<_>>().join("\n")
}
