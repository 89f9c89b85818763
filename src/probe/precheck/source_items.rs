//! Judges what a source said. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::item::Item;
use super::result::Finding;
use super::survey::{SourceSurvey, SourceTable, TargetSurvey};
use crate::model::Flavor;
use crate::mysql::Server;

/// Engines whose rows can be read as of one moment.
const ENGINES_WITH_SNAPSHOTS: &[&str] = &["innodb", "rocksdb", "tokudb", "xpand"];

/// The findings of one item; None if it does not look at sources.
pub fn check(
    item: Item,
    source: &SourceSurvey,
    target: &TargetSurvey,
    collation_map: &BTreeMap<String, String>,
) -> Option<Vec<Finding>> {
    Some(match item {
        Item::DumpPrivilege => dump_privilege(source),
        Item::ReplicationPrivilege => replication_privilege(source),
        Item::Version => version(&source.server, "source"),
        Item::ServerId => server_id(source),
        Item::BinlogEnable => binlog_enable(source),
        Item::BinlogFormat => binlog_format(source),
        Item::BinlogRowImage => binlog_row_image(source),
        Item::Collation => collation(source, target, collation_map),
        Item::StorageEngine => storage_engine(source),
        Item::PrimaryKey => primary_key(source),
        Item::TargetPrivilege | Item::TargetTrigger | Item::TargetTopology => return None,
    })
}

fn dump_privilege(source: &SourceSurvey) -> Vec<Finding> {
    let grants = &source.grants;
    let mut findings = Vec::new();
    let flush = grants.has_globally("RELOAD") || grants.has_globally("FLUSH_TABLES");
    if !flush {
        findings.push(lacks("RELOAD", "*.*"));
    }
    if source.server.flavor == Flavor::MySql && source.server.version >= 80_000 && !grants.has_globally("BACKUP_ADMIN")
    {
        findings.push(
            Finding::warning(
                "lack of BACKUP_ADMIN privilege: the snapshot needs a short FLUSH TABLES WITH READ LOCK instead",
                "GRANT BACKUP_ADMIN ON *.* TO the account, if writers must not be held up",
            )
            .about("*.*"),
        );
        if !grants.has_globally("PROCESS") {
            findings.push(
                Finding::warning(
                    "lack of PROCESS privilege: long statements that the lock would queue behind are not seen",
                    "GRANT BACKUP_ADMIN or PROCESS ON *.* TO the account",
                )
                .about("*.*"),
            );
        }
    }
    findings.extend(select_privilege(source));
    findings
}

/// SELECT on everything, or on each table that is migrated. A database that a rule names and that cannot be seen is
/// hidden, or not there: both end in an empty copy.
fn select_privilege(source: &SourceSurvey) -> Vec<Finding> {
    let grants = &source.grants;
    if grants.has_globally("SELECT") {
        // Partial revokes may still hide a database.
        return tables_without_select(source).map(|schema| lacks("SELECT", &format!("`{schema}`.*"))).collect();
    }
    let Some(named) = &source.named_databases else { return vec![lacks("SELECT", "*.*")] };
    let hidden =
        named.iter().filter(|name| !source.databases.contains(*name) && !grants.has_on_database("SELECT", name));
    let mut lacking: BTreeSet<String> = hidden.cloned().collect();
    lacking.extend(tables_without_select(source));
    lacking.into_iter().map(|schema| lacks("SELECT", &format!("`{schema}`.*"))).collect()
}

/// The databases of migrated tables that the account may not read.
fn tables_without_select(source: &SourceSurvey) -> impl Iterator<Item = String> {
    let schemas: BTreeSet<String> = source
        .tables
        .iter()
        .filter(|table| !source.grants.has_on_table("SELECT", &table.name.schema, &table.name.table))
        .map(|table| table.name.schema.clone())
        .collect();
    schemas.into_iter()
}

fn replication_privilege(source: &SourceSurvey) -> Vec<Finding> {
    let grants = &source.grants;
    let may_see_position = grants.has_globally("REPLICATION CLIENT") || grants.has_globally("SUPER");
    let mut findings = Vec::new();
    if !grants.has_globally("REPLICATION SLAVE") {
        findings.push(lacks("REPLICATION SLAVE", "*.*"));
    }
    if !may_see_position {
        // The name under which this server grants it.
        let name = if source.server.flavor == Flavor::MariaDb { "BINLOG MONITOR" } else { "REPLICATION CLIENT" };
        findings.push(lacks(name, "*.*"));
    }
    findings
}

fn lacks(privilege: &str, level: &str) -> Finding {
    Finding::failure(
        format!("lack of {privilege} privilege on {level}"),
        format!("GRANT {privilege} ON {level} TO the source's account"),
    )
    .about(level)
}

/// By family and version, and by what is known not to work.
pub(super) fn version(server: &Server, role: &str) -> Vec<Finding> {
    let text = server.version_text.as_str();
    if text.to_ascii_lowercase().contains("tidb") {
        return if role == "source" {
            vec![Finding::failure(
                format!("{text} writes no binlog that can be followed"),
                "take a MySQL or MariaDB server as source",
            )]
        } else {
            vec![Finding::warning(
                format!("{text} has not been tested as target"),
                "try it on a copy first; `version` in `ignore_checking_items` switches this off",
            )]
        };
    }
    let (known, range) = match server.flavor {
        Flavor::MySql => ((50_700..100_000).contains(&server.version), "MySQL 5.7 to 9.x"),
        Flavor::MariaDb => ((100_500..130_000).contains(&server.version), "MariaDB 10.5 to 12.x"),
    };
    if known {
        return Vec::new();
    }
    vec![
        Finding::warning(
            format!("version {text} of the {role} has not been tested; known to work is {range}"),
            "try it on a copy first; `version` in `ignore_checking_items` switches this off",
        )
        .about(text),
    ]
}

fn variable<'a>(source: &'a SourceSurvey, name: &str) -> Option<&'a str> {
    source.variables.get(name).map(String::as_str)
}

fn server_id(source: &SourceSurvey) -> Vec<Finding> {
    match variable(source, "server_id") {
        Some("0") => vec![Finding::warning(
            "server_id is 0: the server refuses to send its binlog",
            "SET GLOBAL server_id to a number that no other server of the topology has",
        )],
        _ => Vec::new(),
    }
}

fn binlog_enable(source: &SourceSurvey) -> Vec<Finding> {
    match variable(source, "log_bin") {
        Some(value) if is_on(value) => Vec::new(),
        value => vec![Finding::failure(
            format!("log_bin is {}, and should be ON", value.unwrap_or("unknown")),
            "switch the binlog on (`log_bin` in the server's configuration file) and restart the server",
        )],
    }
}

/// A server without the variable logs rows and knows nothing else.
fn binlog_format(source: &SourceSurvey) -> Vec<Finding> {
    match variable(source, "binlog_format") {
        Some(value) if !value.eq_ignore_ascii_case("ROW") => vec![Finding::failure(
            format!("binlog_format is {value}, and should be ROW"),
            "SET GLOBAL binlog_format = 'ROW', and let open sessions connect anew",
        )],
        _ => Vec::new(),
    }
}

fn binlog_row_image(source: &SourceSurvey) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(value) = variable(source, "binlog_row_image").filter(|value| !value.eq_ignore_ascii_case("FULL")) {
        findings.push(Finding::failure(
            format!("binlog_row_image is {value}, and should be FULL"),
            "SET GLOBAL binlog_row_image = 'FULL', and let open sessions connect anew",
        ));
    }
    if let Some(value) = variable(source, "binlog_row_value_options").filter(|value| !value.is_empty()) {
        findings.push(Finding::failure(
            format!("binlog_row_value_options is {value}, and should be empty"),
            "SET GLOBAL binlog_row_value_options = '', and let open sessions connect anew",
        ));
    }
    findings
}

fn is_on(value: &str) -> bool {
    value.eq_ignore_ascii_case("ON") || value == "1"
}

/// Every collation in use, or the one the map gives for it, must be known to the target.
fn collation(source: &SourceSurvey, target: &TargetSurvey, collation_map: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    // Columns say it best, so they come first.
    let (columns, others): (Vec<_>, Vec<_>) =
        source.collations.iter().partition(|collation_use| collation_use.place.starts_with("column"));
    for collation_use in columns.into_iter().chain(others) {
        let collation = collation_use.collation.to_ascii_lowercase();
        let mapped = collation_map.iter().find(|(from, _)| from.eq_ignore_ascii_case(&collation)).map(|(_, to)| to);
        let wanted = mapped.map_or_else(|| collation.clone(), |to| to.to_ascii_lowercase());
        if target_knows(target, &wanted) || !seen.insert(wanted.clone()) {
            continue;
        }
        let place = &collation_use.place;
        findings.push(if mapped.is_some() {
            Finding::failure(
                format!("`target_config.collation_map` gives {wanted} for {collation}, which the target does not know"),
                "name a collation of the target",
            )
            .about(place)
        } else {
            Finding::failure(
                format!("collation {collation} of {place} is not known to the target"),
                format!(
                    "name one of the target's collations for it: `target_config.collation_map` {{\"{collation}\": …}}"
                ),
            )
            .about(place)
        });
    }
    findings
}

/// `utf8` is an old name of `utf8mb3`, which servers still understand.
fn target_knows(target: &TargetSurvey, collation: &str) -> bool {
    let known = |name: &str| target.collations.contains(name);
    known(collation)
        || collation.strip_prefix("utf8_").is_some_and(|rest| known(&format!("utf8mb3_{rest}")))
        || collation.strip_prefix("utf8mb3_").is_some_and(|rest| known(&format!("utf8_{rest}")))
}

fn storage_engine(source: &SourceSurvey) -> Vec<Finding> {
    source
        .tables
        .iter()
        .filter(|table| !ENGINES_WITH_SNAPSHOTS.iter().any(|engine| table.engine.eq_ignore_ascii_case(engine)))
        .map(|table| {
            Finding::warning(
                format!("{} is in the engine {}, which has no snapshots", table.name, table.engine),
                "alter it to InnoDB at the source, or let nothing write to it while it is copied",
            )
            .about(table.name.to_string())
        })
        .collect()
}

fn primary_key(source: &SourceSurvey) -> Vec<Finding> {
    let without = source.tables.iter().filter(|table| !table.has_key);
    let finding = |table: &SourceTable| {
        Finding::warning(
            format!("{} has no primary key, and no unique key without NULL", table.name),
            "give it one; else each changed row is looked for by all of its columns, which reads the whole table at \
             the target unless an index there holds one of them. `primary_key` in `ignore_checking_items` switches \
             this off",
        )
        .about(table.name.to_string())
    };
    without.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableName;
    use crate::probe::precheck::grants::Grants;
    use crate::probe::precheck::survey::CollationUse;

    fn server(flavor: Flavor, version: u32, version_text: &str) -> Server {
        Server {
            flavor,
            version,
            version_text: version_text.to_owned(),
            connection_id: 1,
            max_allowed_packet: 1 << 24,
            lower_case_table_names: 0,
            default_character_set: "utf8mb4".to_owned(),
            default_collation: "utf8mb4_general_ci".to_owned(),
            sql_mode: String::new(),
        }
    }

    /// A source of two tables in two databases, with everything as it should be.
    fn source(grants: &[&str]) -> SourceSurvey {
        let table = |schema: &str, table: &str| SourceTable {
            name: TableName::new(schema, table),
            target: TableName::new(schema, table),
            engine: "InnoDB".to_owned(),
            has_key: true,
        };
        SourceSurvey {
            server: server(Flavor::MariaDb, 101_119, "10.11.19-MariaDB"),
            variables: [("log_bin", "ON"), ("binlog_format", "ROW"), ("binlog_row_image", "FULL"), ("server_id", "7")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            grants: Grants::parse(grants.iter().copied()),
            tables: vec![table("shop", "orders"), table("crm", "people")],
            collations: Vec::new(),
            databases: ["shop", "crm"].map(str::to_owned).into(),
            named_databases: Some(["shop", "crm"].map(str::to_owned).into()),
        }
    }

    fn target(collations: &[&str]) -> TargetSurvey {
        TargetSurvey {
            server: server(Flavor::MariaDb, 101_119, "10.11.19-MariaDB"),
            variables: BTreeMap::new(),
            grants: Grants::default(),
            collations: collations.iter().map(|name| (*name).to_owned()).collect(),
            triggers: Vec::new(),
            writable_servers: 1,
        }
    }

    fn errors(item: Item, source: &SourceSurvey) -> Vec<String> {
        let findings = check(item, source, &target(&[]), &BTreeMap::new()).unwrap();
        findings.into_iter().map(|finding| finding.error).collect()
    }

    #[test]
    fn a_missing_privilege_is_named_and_no_other() {
        let with = |line: &str| source(&[line]);
        for (grants, item, missing) in [
            ("GRANT SELECT, RELOAD ON *.* TO u", Item::DumpPrivilege, vec![]),
            ("GRANT SELECT ON *.* TO u", Item::DumpPrivilege, vec!["lack of RELOAD privilege on *.*"]),
            (
                "GRANT RELOAD ON *.* TO u",
                Item::DumpPrivilege,
                vec!["lack of SELECT privilege on `crm`.*", "lack of SELECT privilege on `shop`.*"],
            ),
            ("GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO u", Item::ReplicationPrivilege, vec![]),
            (
                "GRANT REPLICATION SLAVE ON *.* TO u",
                Item::ReplicationPrivilege,
                vec!["lack of BINLOG MONITOR privilege on *.*"],
            ),
            (
                "GRANT REPLICATION CLIENT ON *.* TO u",
                Item::ReplicationPrivilege,
                vec!["lack of REPLICATION SLAVE privilege on *.*"],
            ),
        ] {
            assert_eq!(errors(item, &with(grants)), missing, "{grants}");
        }
    }

    #[test]
    fn select_on_just_the_chosen_databases_is_enough_when_rules_name_them() {
        let lines =
            ["GRANT RELOAD ON *.* TO u", "GRANT SELECT ON `shop`.* TO u", "GRANT SELECT ON `crm`.`people` TO u"];
        assert!(errors(Item::DumpPrivilege, &source(&lines)).is_empty());
        let everything = SourceSurvey { named_databases: None, ..source(&lines) };
        assert_eq!(errors(Item::DumpPrivilege, &everything), ["lack of SELECT privilege on *.*"]);
    }

    #[test]
    fn a_named_database_that_is_hidden_is_told() {
        let lines = ["GRANT RELOAD ON *.* TO u", "GRANT SELECT ON `shop`.* TO u"];
        let hidden = SourceSurvey { tables: Vec::new(), databases: ["shop".to_owned()].into(), ..source(&lines) };
        assert_eq!(errors(Item::DumpPrivilege, &hidden), ["lack of SELECT privilege on `crm`.*"]);
    }

    #[test]
    fn settings_of_the_binlog_are_told_with_their_value() {
        let set = |name: &str, value: &str| {
            let mut source = source(&[]);
            source.variables.insert(name.to_owned(), value.to_owned());
            source
        };
        for (item, name, value, error) in [
            (Item::BinlogEnable, "log_bin", "OFF", "log_bin is OFF, and should be ON"),
            (Item::BinlogFormat, "binlog_format", "MIXED", "binlog_format is MIXED, and should be ROW"),
            (Item::BinlogRowImage, "binlog_row_image", "MINIMAL", "binlog_row_image is MINIMAL, and should be FULL"),
            (
                Item::BinlogRowImage,
                "binlog_row_value_options",
                "PARTIAL_JSON",
                "binlog_row_value_options is PARTIAL_JSON, and should be empty",
            ),
            (Item::ServerId, "server_id", "0", "server_id is 0: the server refuses to send its binlog"),
        ] {
            assert!(errors(item, &source(&[])).is_empty(), "{item:?}");
            assert_eq!(errors(item, &set(name, value)), [error]);
        }
    }

    #[test]
    fn versions_are_judged_by_family() {
        for (flavor, number, text, role, findings) in [
            (Flavor::MySql, 80_400, "8.4.0", "source", 0),
            (Flavor::MySql, 90_704, "9.7.4", "target", 0),
            (Flavor::MySql, 50_651, "5.6.51", "source", 1),
            (Flavor::MariaDb, 101_119, "10.11.19-MariaDB", "source", 0),
            (Flavor::MariaDb, 100_100, "10.1.0-MariaDB", "source", 1),
            (Flavor::MySql, 50_725, "5.7.25-TiDB-v5.2.1", "target", 1),
            (Flavor::MySql, 80_011, "8.0.11-TiDB-v8.5.1", "source", 1),
        ] {
            assert_eq!(version(&server(flavor, number, text), role).len(), findings, "{text} as {role}");
        }
    }

    #[test]
    fn a_collation_the_target_lacks_is_told_by_column_unless_it_is_mapped() {
        let mut source = source(&[]);
        source.collations = vec![
            CollationUse { collation: "utf8mb4_0900_ai_ci".to_owned(), place: "the default of table x".to_owned() },
            CollationUse { collation: "utf8mb4_0900_ai_ci".to_owned(), place: "column `c` of x".to_owned() },
            CollationUse { collation: "utf8_general_ci".to_owned(), place: "column `d` of x".to_owned() },
        ];
        let target = target(&["utf8mb4_uca1400_ai_ci", "utf8mb3_general_ci"]);
        let map = |to: &str| BTreeMap::from([("utf8mb4_0900_ai_ci".to_owned(), to.to_owned())]);
        let errors = |map: &BTreeMap<String, String>| -> Vec<String> {
            collation(&source, &target, map).into_iter().map(|finding| finding.error).collect()
        };
        assert_eq!(
            errors(&BTreeMap::new()),
            ["collation utf8mb4_0900_ai_ci of column `c` of x is not known to the target"]
        );
        assert!(errors(&map("utf8mb4_uca1400_ai_ci")).is_empty());
        assert_eq!(errors(&map("utf8mb4_nonsense")).len(), 1);
    }

    #[test]
    fn tables_in_engines_without_snapshots_are_named() {
        let mut source = source(&[]);
        source.tables[0].engine = "MyISAM".to_owned();
        assert_eq!(
            errors(Item::StorageEngine, &source),
            ["`shop`.`orders` is in the engine MyISAM, which has no snapshots"]
        );
    }

    #[test]
    fn tables_without_a_key_are_named() {
        let mut source = source(&[]);
        assert!(errors(Item::PrimaryKey, &source).is_empty());
        source.tables[1].has_key = false;
        assert_eq!(
            errors(Item::PrimaryKey, &source),
            ["`crm`.`people` has no primary key, and no unique key without NULL"]
        );
    }
}
