//! A statement's tree in one line, so that a snapshot can be read.

use ferrymaster::ddl::*;

pub fn summary(parsed: &Parsed) -> String {
    match &parsed.meaning {
        Meaning::Understood(statement) => {
            let kinds: Vec<&str> = event_kinds(statement).into_iter().map(EventKind::as_str).collect();
            let mut line = format!("[{}] {}", kinds.join(", "), statement_summary(statement, &parsed.text));
            let hazards = hazards(statement);
            if !hazards.is_empty() {
                line.push_str(&format!(" HAZARDS {hazards:?}"));
            }
            line
        }
        Meaning::Named(named) => format!("named {}", named_summary(named, &parsed.text)),
        Meaning::NotUnderstood(reason) => format!("not understood: {reason}"),
    }
}

fn names(tables: &[TableRef]) -> String {
    tables.iter().map(|table| table.table.to_string()).collect::<Vec<_>>().join(", ")
}

fn named_summary(named: &Named, text: &str) -> String {
    match named {
        Named::View { action, views } => format!("{action:?} view {}", names(views)),
        Named::Trigger { action, trigger, table } => {
            let table = table.as_ref().map(|table| format!(" on {}", table.table)).unwrap_or_default();
            format!("{action:?} trigger {}{table}", trigger.table)
        }
        Named::Routine { action, kind, routine } => format!("{action:?} {kind:?} {}", routine.table),
        Named::LoadableFunction { action, name } => format!("{action:?} loadable function {}", name.value),
        Named::Event { action, event } => format!("{action:?} event {}", event.table),
        Named::Sequence { action, sequences, .. } => format!("{action:?} sequence {}", names(sequences)),
        Named::TemporaryTables { action, tables } => format!("{action:?} temporary {}", names(tables)),
        Named::Maintenance { command, tables } => format!("{command} {}", names(tables)),
        Named::Transaction(TransactionControl::XaStart { xid }) => format!("XA START of {}", xid.of(text)),
        Named::Transaction(TransactionControl::XaCommit { xid, one_phase }) => {
            format!("XA COMMIT of {}, one phase: {one_phase}", xid.of(text))
        }
        other => format!("{other:?}"),
    }
}

fn statement_summary(statement: &Statement, text: &str) -> String {
    match statement {
        Statement::CreateTable(create) => {
            let mut parts: Vec<String> = create.elements.iter().map(|e| element_summary(&e.kind, text)).collect();
            parts.extend(create.options.iter().map(|option| format!("{:?}", option.kind)));
            parts.extend(create.partitions.map(|span| format!("partitions<{}>", span.of(text))));
            parts.extend(create.select.map(|span| format!("select<{}>", span.of(text))));
            format!("{}{}: {}", create.table.table, flags(create.or_replace, create.if_not_exists), parts.join("; "))
        }
        Statement::CreateTableLike(create) => format!(
            "{}{} like {}",
            create.table.table,
            flags(create.or_replace, create.if_not_exists),
            create.like.table
        ),
        Statement::AlterTable(alter) => {
            let items: Vec<String> = alter.items.iter().map(|item| spec_summary(&item.spec, text)).collect();
            format!("{}{}: {}", alter.table.table, if alter.if_exists { " if exists" } else { "" }, items.join("; "))
        }
        Statement::DropTable(drop) => format!("{} if exists: {}", names(&drop.tables), drop.if_exists),
        Statement::RenameTable(rename) => {
            let pairs: Vec<String> =
                rename.pairs.iter().map(|(from, to)| format!("{} -> {}", from.table, to.table)).collect();
            pairs.join(", ")
        }
        Statement::TruncateTable(table) => table.table.to_string(),
        Statement::CreateIndex(create) => {
            format!("{}{}: {}", create.table.table, flags(create.or_replace, false), key_summary(&create.key, text))
        }
        Statement::DropIndex(drop) => format!("{}: {}", drop.table.table, drop.name.value),
        Statement::CreateDatabase(create) => format!("{} {:?}", create.name.value, create.charset),
        Statement::AlterDatabase(alter) => format!("{} {:?}", alter.name, alter.charset),
        Statement::DropDatabase(drop) => format!("{} if exists: {}", drop.name.value, drop.if_exists),
    }
}

fn flags(or_replace: bool, if_not_exists: bool) -> &'static str {
    match (or_replace, if_not_exists) {
        (true, _) => " or replace",
        (_, true) => " if not exists",
        _ => "",
    }
}

fn element_summary(element: &ElementKind, text: &str) -> String {
    match element {
        ElementKind::Column(column) => column_summary(column),
        ElementKind::Key(key) => key_summary(key, text),
        ElementKind::ForeignKey(foreign_key) => foreign_key_summary(foreign_key),
        ElementKind::Check { name } => format!("check {}", name.as_ref().map_or("", |name| &name.value)),
        ElementKind::Period { name, start, end } => format!("period {} ({}, {})", name.value, start.value, end.value),
    }
}

fn column_summary(column: &ColumnDefinition) -> String {
    let data_type = &column.data_type;
    let mut line = format!("{} {:?}", column.name.value, data_type.name);
    match (data_type.length, data_type.scale) {
        (Some(length), Some(scale)) => line.push_str(&format!("({length},{scale})")),
        (Some(length), None) => line.push_str(&format!("({length})")),
        _ => {}
    }
    if !data_type.members.is_empty() {
        line.push_str(&format!("{:?}", data_type.members));
    }
    for charset in [&data_type.charset.charset, &data_type.charset.collation].into_iter().flatten() {
        line.push_str(&format!(" {charset}"));
    }
    for (flag, word) in [
        (data_type.unsigned, "unsigned"),
        (data_type.binary, "binary"),
        (data_type.national, "national"),
        (column.nullable == Some(false), "not-null"),
        (column.nullable == Some(true), "null"),
        (column.auto_increment, "auto-increment"),
        (column.primary_key, "primary"),
        (column.unique_key, "unique"),
        (column.invisible, "invisible"),
        (column.compressed, "compressed"),
        (column.on_update.is_some(), "on-update"),
        (column.without_system_versioning, "without-versioning"),
        (column.with_system_versioning, "with-versioning"),
        (column.checks > 0, "checked"),
    ] {
        if flag {
            line.push_str(&format!(" {word}"));
        }
    }
    if let Some(srid) = data_type.srid {
        line.push_str(&format!(" srid={srid}"));
    }
    match column.default.as_ref().map(|default| &default.kind) {
        Some(DefaultKind::Expression(expression)) => line.push_str(&format!(" default={}", calls(expression))),
        Some(kind) => line.push_str(&format!(" default={kind:?}")),
        None => {}
    }
    match &column.generated {
        Some(Generated::Virtual(expression)) => line.push_str(&format!(" virtual={}", calls(expression))),
        Some(Generated::Stored(expression)) => line.push_str(&format!(" stored={}", calls(expression))),
        Some(other) => line.push_str(&format!(" {other:?}")),
        None => {}
    }
    if let Some(references) = &column.references {
        line.push_str(&format!(" {}", foreign_key_summary(references)));
    }
    line
}

fn calls(expression: &Expression) -> String {
    let sequences: Vec<String> = expression.sequences.iter().map(|s| s.table.to_string()).collect();
    format!("Expression{:?}{}", expression.functions, sequences.join(","))
}

fn key_summary(key: &KeyDefinition, text: &str) -> String {
    let parts: Vec<String> = key
        .parts
        .iter()
        .map(|part| {
            let source = match &part.source {
                KeyPartSource::Column(column) => column.value.clone(),
                KeyPartSource::Expression(span) => format!("<{}>", span.of(text)),
                KeyPartSource::Period(name) => format!("{} without overlaps", name.value),
            };
            let prefix = part.prefix.map(|prefix| format!("({prefix})")).unwrap_or_default();
            format!("{source}{prefix}{}", if part.descending { " desc" } else { "" })
        })
        .collect();
    let name = key.name.as_ref().map_or("-", |name| &name.value);
    format!("{:?} {name} ({}){}", key.kind, parts.join(", "), flags(false, key.if_not_exists))
}

fn foreign_key_summary(key: &ForeignKeyDefinition) -> String {
    let list = |columns: &[Ident]| columns.iter().map(|c| c.value.clone()).collect::<Vec<_>>().join(",");
    format!(
        "foreign {} {} ({}) -> {} ({}) delete {:?} update {:?}",
        key.name.as_ref().map_or("-", |name| &name.value),
        key.index_name.as_ref().map_or("-", |name| &name.value),
        list(&key.columns),
        key.parent.table,
        list(&key.parent_columns),
        key.on_delete,
        key.on_update
    )
}

fn place_summary(place: &Place) -> String {
    match place {
        Place::Unspecified => String::new(),
        Place::First => " first".to_owned(),
        Place::After(column) => format!(" after {}", column.value),
    }
}

fn spec_summary(spec: &AlterSpec, text: &str) -> String {
    match spec {
        AlterSpec::AddColumn { if_not_exists, column, place } => {
            format!("add{} {}{}", flags(false, *if_not_exists), column_summary(column), place_summary(place))
        }
        AlterSpec::AddElements { elements, .. } => {
            let elements: Vec<String> = elements.iter().map(|e| element_summary(&e.kind, text)).collect();
            format!("add ({})", elements.join("; "))
        }
        AlterSpec::AddKey(key) => format!("add {}", key_summary(key, text)),
        AlterSpec::AddForeignKey(key) => format!("add {}", foreign_key_summary(key)),
        AlterSpec::ChangeColumn { old, column, place, .. } => {
            format!("change {} to {}{}", old.value, column_summary(column), place_summary(place))
        }
        AlterSpec::ModifyColumn { column, place, .. } => {
            format!("modify {}{}", column_summary(column), place_summary(place))
        }
        AlterSpec::DropColumn { if_exists, name } => format!("drop column {} if exists: {if_exists}", name.value),
        AlterSpec::DropKey { if_exists, name } => format!("drop key {} if exists: {if_exists}", name.value),
        AlterSpec::DropForeignKey { name, .. } => format!("drop foreign key {}", name.value),
        AlterSpec::DropConstraint { name, .. } => format!("drop constraint {}", name.value),
        AlterSpec::DropCheck { name } => format!("drop check {}", name.value),
        AlterSpec::AlterColumn { name, change, .. } => match change {
            DefaultChange::Set(value) => format!("default of {} to {}", name.value, value.span.of(text)),
            other => format!("{other:?} of {}", name.value),
        },
        AlterSpec::RenameColumn { old, new, .. } => format!("rename column {} to {}", old.value, new.value),
        AlterSpec::RenameKey { old, new, .. } => format!("rename key {} to {}", old.value, new.value),
        AlterSpec::Rename(to) => format!("rename to {}", to.table),
        AlterSpec::Options { options, .. } => {
            let options: Vec<String> = options.iter().map(|option| format!("{:?}", option.kind)).collect();
            options.join(" ")
        }
        AlterSpec::ConvertCharset(charset) => format!("convert {charset:?}"),
        AlterSpec::AddCheck { name, .. } => format!("add check {}", name.as_ref().map_or("-", |name| &name.value)),
        AlterSpec::AlterCheck { name } => format!("alter check {}", name.value),
        AlterSpec::AlterKey { name, ignored, .. } => format!("key {} ignored: {ignored}", name.value),
        AlterSpec::AddPeriod { name, start, end, .. } => {
            format!("add period {} ({}, {})", name.value, start.value, end.value)
        }
        AlterSpec::DropPeriod { name, .. } => format!("drop period {}", name.value),
        AlterSpec::Partition(PartitionAction::Exchange { with }) => format!("exchange partition with {}", with.table),
        AlterSpec::Partition(PartitionAction::ConvertToTable { table }) => format!("partition to {}", table.table),
        AlterSpec::Partition(PartitionAction::ConvertFromTable { table }) => format!("partition from {}", table.table),
        AlterSpec::Partition(action) => format!("partition {action:?}"),
        other => format!("{other:?}"),
    }
}
