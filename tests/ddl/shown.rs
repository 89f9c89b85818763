//! What a server shows of its tables, held against the catalogue: `SHOW CREATE TABLE`, parsed anew, and
//! `information_schema`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ferrymaster::catalogue::{
    BlobSize, Catalogue, Column, ColumnType, GeneratedKind, GeometryKind, IntWidth, KeyPartSource, Settings,
    TableShape, shape_of_definition,
};
use ferrymaster::ddl::ReferenceAction;
use ferrymaster::model::TableName;
use mysql_async::Row;
use mysql_async::prelude::Queryable;

use crate::server::{Server, Session};

/// Everything in which the catalogue and the server differ, in the given databases.
pub async fn differences(
    checker: &mut Session,
    catalogue: &Catalogue,
    schemas: &[&str],
    settings: &Settings,
) -> String {
    let mut found = String::new();
    for schema in schemas {
        let query = "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = ?";
        let shown: Option<String> = checker.conn.exec_first(query, (schema,)).await.unwrap();
        let shown = shown.map(|collation| collation.replace("utf8_", "utf8mb3_"));
        let known = catalogue.database(schema).map(|collation| collation.as_str().to_owned());
        if shown != known {
            let _ = writeln!(found, "database {schema}: server {shown:?}, catalogue {known:?}");
        }
        let query = "SELECT table_name FROM information_schema.tables \
                     WHERE table_schema = ? AND table_type NOT IN ('VIEW', 'SYSTEM VIEW') ORDER BY table_name";
        let names: Vec<String> = checker.conn.exec(query, (schema,)).await.unwrap();
        let mut known: Vec<String> = catalogue
            .tables()
            .filter(|(name, _)| name.schema == **schema)
            .map(|(name, _)| name.table.clone())
            .collect();
        known.sort();
        let mut shown = names.clone();
        shown.sort();
        if shown != known {
            let _ = writeln!(found, "tables of {schema}: server {shown:?}, catalogue {known:?}");
            continue;
        }
        for name in names {
            let table = TableName::new(*schema, name);
            let known = catalogue.table(&table).expect("it is in the list");
            found.push_str(&table_differences(checker, &table, known, settings).await);
        }
    }
    found
}

async fn table_differences(
    checker: &mut Session,
    table: &TableName,
    known: &TableShape,
    settings: &Settings,
) -> String {
    let row: Row = checker.conn.query_first(format!("SHOW CREATE TABLE {table}")).await.unwrap().expect("one row");
    let definition: String = row.get(1).expect("the definition");
    let shown = match shape_of_definition(table, &definition, settings) {
        Ok(shown) => shown,
        Err(error) => return format!("{definition}\n{error}\n"),
    };
    let mut found = String::new();
    let (shown, known) = (normalised(shown), normalised(known.clone()));
    if shown != known {
        let (shown, known) = (format!("{shown:#?}"), format!("{known:#?}"));
        let lines = diff(&shown, &known);
        let _ = writeln!(found, "{definition}\nserver (-), catalogue (+):\n{lines}");
    }
    let query = "SELECT column_name, column_type, is_nullable, IFNULL(collation_name, ''), extra \
                 FROM information_schema.columns WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position";
    type ColumnRow = (String, String, String, String, String);
    let rows: Vec<ColumnRow> = checker.conn.exec(query, (&table.schema, &table.table)).await.unwrap();
    let shown: Vec<String> = rows.iter().map(|row| shown_column(row, checker.server)).collect();
    let expected: Vec<String> = known.columns.iter().map(|column| column_text(column, checker.server)).collect();
    if shown != expected {
        let _ = writeln!(found, "columns of {table}:\n{}", diff(&shown.join("\n"), &expected.join("\n")));
    }
    found
}

fn diff(one: &str, other: &str) -> String {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    let removed = one.iter().filter(|line| !other.contains(line)).map(|line| format!("- {line}"));
    let added = other.iter().filter(|line| !one.contains(line)).map(|line| format!("+ {line}"));
    let all: Vec<String> = removed.chain(added).collect();
    if all.is_empty() {
        let index = one.iter().zip(&other).position(|(one, other)| one != other).unwrap_or(0);
        let around = index.saturating_sub(15)..one.len().min(index + 3);
        return format!("another order:\n{}", one[around].join("\n"));
    }
    all.join("\n")
}

/// Without what `SHOW CREATE TABLE` does not tell, and in one order.
fn normalised(mut shape: TableShape) -> TableShape {
    shape.keys.sort_by(|one, other| one.name.cmp(&other.name));
    for key in &mut shape.keys {
        key.generated = false;
        for part in &mut key.parts {
            if let KeyPartSource::Expression(text) = &mut part.source {
                text.clear();
            }
        }
    }
    shape.foreign_keys.sort_by(|one, other| one.name.cmp(&other.name));
    for key in &mut shape.foreign_keys {
        for action in [&mut key.on_delete, &mut key.on_update] {
            if matches!(action, ReferenceAction::Unspecified | ReferenceAction::NoAction) {
                *action = ReferenceAction::Restrict;
            }
        }
    }
    shape.engine.get_or_insert_with(|| "INNODB".to_owned());
    shape
}

fn shown_column(
    (name, column_type, nullable, collation, extra): &(String, String, String, String, String),
    server: Server,
) -> String {
    let collation = if collation == "binary" { String::new() } else { collation.replace("utf8_", "utf8mb3_") };
    let extra = extra.to_ascii_lowercase();
    let mut flags = String::new();
    for (word, flag) in [
        ("auto_increment", "auto_increment"),
        ("virtual generated", "virtual"),
        ("stored generated", "stored"),
        ("invisible", "invisible"),
    ] {
        if extra.contains(word) {
            flags.push(' ');
            flags.push_str(flag);
        }
    }
    let mut column_type = column_type.replace(" zerofill", "").replace(" /*M!100301 COMPRESSED*/", "");
    if server == Server::MariaDb && column_type == "year(4)" {
        column_type = "year".to_owned();
    }
    format!("{name} {} {nullable} {collation}{flags}", without_display_width(&column_type))
}

/// `int(11) unsigned` is `int unsigned`, `float(7,4)` is `float`.
fn without_display_width(column_type: &str) -> String {
    const WIDE: [&str; 7] = ["tinyint", "smallint", "mediumint", "int", "bigint", "float", "double"];
    let Some((name, rest)) = column_type.split_once('(') else { return column_type.to_owned() };
    match rest.split_once(')') {
        Some((_, after)) if WIDE.contains(&name) => format!("{name}{after}"),
        _ => column_type.to_owned(),
    }
}

fn column_text(column: &Column, server: Server) -> String {
    let mut text = format!(
        "{} {} {} {}",
        column.name,
        type_text(&column.column_type, server),
        if column.nullable { "YES" } else { "NO" },
        column.column_type.collation().filter(|c| !c.is_binary()).map_or("", |collation| collation.as_str())
    );
    if column.auto_increment {
        text.push_str(" auto_increment");
    }
    match column.generated {
        Some(GeneratedKind::Virtual) => text.push_str(" virtual"),
        // the server shows the columns of a period as stored ones
        Some(GeneratedKind::Stored | GeneratedKind::RowStart | GeneratedKind::RowEnd) => text.push_str(" stored"),
        None => {}
    }
    if column.invisible {
        text.push_str(" invisible");
    }
    text
}

/// As `information_schema` writes it.
fn type_text(column_type: &ColumnType, server: Server) -> String {
    let sign = |unsigned: bool| if unsigned { " unsigned" } else { "" };
    let fraction = |name: &str, fraction: u32| {
        if fraction == 0 { name.to_owned() } else { format!("{name}({fraction})") }
    };
    let size = |size: BlobSize, name: &str| match size {
        BlobSize::Tiny => format!("tiny{name}"),
        BlobSize::Normal => name.to_owned(),
        BlobSize::Medium => format!("medium{name}"),
        BlobSize::Long => format!("long{name}"),
    };
    let members = |name: &str, members: &[String]| {
        let quoted: Vec<String> = members.iter().map(|member| format!("'{}'", member.replace('\'', "''"))).collect();
        format!("{name}({})", quoted.join(","))
    };
    match column_type {
        ColumnType::Int { width, unsigned } => {
            let names = BTreeMap::from([(0, "tinyint"), (1, "smallint"), (2, "mediumint"), (3, "int"), (4, "bigint")]);
            let index = match width {
                IntWidth::Tiny => 0,
                IntWidth::Small => 1,
                IntWidth::Medium => 2,
                IntWidth::Normal => 3,
                IntWidth::Big => 4,
            };
            format!("{}{}", names[&index], sign(*unsigned))
        }
        ColumnType::Decimal { precision, scale, unsigned } => {
            format!("decimal({precision},{scale}){}", sign(*unsigned))
        }
        ColumnType::Float { unsigned } => format!("float{}", sign(*unsigned)),
        ColumnType::Double { unsigned } => format!("double{}", sign(*unsigned)),
        ColumnType::Bit { length } => format!("bit({length})"),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Time { fraction: digits } => fraction("time", *digits),
        ColumnType::DateTime { fraction: digits } => fraction("datetime", *digits),
        ColumnType::Timestamp { fraction: digits } => fraction("timestamp", *digits),
        ColumnType::Year => "year".to_owned(),
        ColumnType::Char { length, .. } => format!("char({length})"),
        ColumnType::VarChar { length, .. } => format!("varchar({length})"),
        ColumnType::Text { size: bytes, .. } => size(*bytes, "text"),
        ColumnType::Binary { length } => format!("binary({length})"),
        ColumnType::VarBinary { length } => format!("varbinary({length})"),
        ColumnType::Blob { size: bytes } => size(*bytes, "blob"),
        ColumnType::Enum { members: words, .. } => members("enum", words),
        ColumnType::Set { members: words, .. } => members("set", words),
        ColumnType::Json => "json".to_owned(),
        ColumnType::Geometry { kind, .. } => match kind {
            GeometryKind::Geometry => "geometry",
            GeometryKind::Point => "point",
            GeometryKind::LineString => "linestring",
            GeometryKind::Polygon => "polygon",
            GeometryKind::MultiPoint => "multipoint",
            GeometryKind::MultiLineString => "multilinestring",
            GeometryKind::MultiPolygon => "multipolygon",
            GeometryKind::Collection if server == Server::MySql => "geomcollection",
            GeometryKind::Collection => "geometrycollection",
        }
        .to_owned(),
        ColumnType::Uuid => "uuid".to_owned(),
        ColumnType::Inet4 => "inet4".to_owned(),
        ColumnType::Inet6 => "inet6".to_owned(),
        ColumnType::Vector { dimensions } => format!("vector({dimensions})"),
    }
}
