use super::*;

const ONE: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const OTHER: &str = "6f21fa47-71ca-11e1-9e33-c80aa9429563";

/// Who answers.
struct Server {
    flavor: Flavor,
    identity: &'static str,
}

fn source(flavor: Flavor, identity: &'static str) -> Server {
    Server { flavor, identity }
}

/// What it answers.
fn answer(files: Option<Vec<(String, u64)>>, gtids: Gtids, place: Place) -> SourceLog {
    SourceLog { identity: String::new(), flavor: Flavor::MySql, files, gtids, place }
}

fn position(file: &str, offset: u64, gtid: Option<&str>) -> SourcePosition {
    SourcePosition { binlog: BinlogPosition::new(file, offset), gtid: gtid.map(str::to_owned) }
}

fn files(files: &[(&str, u64)]) -> Option<Vec<(String, u64)>> {
    Some(files.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect())
}

fn mysql(executed: &str, purged: &str, on: bool) -> Gtids {
    let set = |text: &str| GtidSet::parse(Flavor::MySql, text).unwrap();
    Gtids::Mysql { executed: set(executed), purged: set(purged), on }
}

fn mariadb(state: &str) -> Gtids {
    let state = state.split(',').map(|text| text.parse().unwrap()).collect();
    Gtids::Mariadb { state, replica: MariadbGtidList::default() }
}

/// What is said of a stored position: `by GTID`, `by file`, with `successor` behind it, or the kind of the error.
fn said(position: &SourcePosition, by_gtid: bool, source: &Server, log: SourceLog) -> &'static str {
    let identity = if source.flavor == Flavor::MySql { ONE } else { "server-1 domain-0" };
    let stored = Stored { position, identity, by_gtid, is_consistent: true };
    let log = SourceLog { identity: source.identity.to_owned(), flavor: source.flavor, ..log };
    match judge(stored, &log) {
        Ok(Way { by_gtid: true, is_successor: false }) => "by GTID",
        Ok(Way { by_gtid: true, is_successor: true }) => "successor",
        Ok(Way { by_gtid: false, is_successor: false }) => "by file",
        Ok(Way { by_gtid: false, is_successor: true }) => "nonsense",
        Err(Error::SourceReplaced { .. }) => "replaced",
        Err(Error::LogBegunAnew { .. }) => "anew",
        Err(Error::BinlogGone { .. }) => "gone",
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn mysql_is_gone_on_with_only_where_what_comes_next_is_what_was_meant() {
    let (ours, theirs) = (format!("{ONE}:1-50"), format!("{OTHER}:1-90"));
    let both = format!("{ours},{theirs}");
    let more = format!("{ONE}:1-70");
    let stored = position("b.000003", 500, Some(&ours));
    let same = [("b.000002", 900), ("b.000003", 800)];
    let log = |gtids: Gtids, shown: &[(&str, u64)], place: Place| answer(files(shown), gtids, place);
    let not_looked = || Place::NotLookedAt;
    let at_one = source(Flavor::MySql, ONE);
    let at_other = source(Flavor::MySql, OTHER);
    for (expected, source, by_gtid, log) in [
        ("by GTID", &at_one, true, log(mysql(&more, "", true), &same, not_looked())),
        ("by file", &at_one, false, log(mysql(&more, "", true), &same, not_looked())),
        // GTIDs are off at the source
        ("by file", &at_one, true, log(mysql(&more, "", false), &same, not_looked())),
        ("replaced", &at_other, true, log(mysql(&both, "", false), &same, not_looked())),
        // a reset, with nothing, little and much after it
        ("anew", &at_one, true, log(mysql("", "", true), &[("b.000001", 150)], not_looked())),
        ("anew", &at_one, true, log(mysql(&more, "", true), &[("b.000001", 150)], not_looked())),
        ("anew", &at_one, true, log(mysql(&more, "", true), &[("b.000003", 150)], not_looked())),
        ("anew", &at_one, true, log(mysql(&more, "", true), &same, Place::InsideOfAnEvent)),
        ("anew", &at_one, false, log(mysql(&more, "", true), &[("b.000001", 150)], not_looked())),
        ("anew", &at_one, false, log(mysql(&more, "", true), &same, Place::InsideOfAnEvent)),
        // purged: only what is in the target already, and more
        ("by GTID", &at_one, true, log(mysql(&more, &ours, true), &[("b.000004", 150)], not_looked())),
        ("gone", &at_one, true, log(mysql(&more, &format!("{ONE}:1-60"), true), &[("b.000004", 150)], not_looked())),
        ("gone", &at_one, false, log(mysql(&more, "", true), &[("b.000004", 150)], not_looked())),
        // another server: with and without the data
        ("successor", &at_other, true, log(mysql(&both, "", true), &[("x.000001", 150)], not_looked())),
        ("replaced", &at_other, true, log(mysql(&theirs, "", true), &same, not_looked())),
        ("replaced", &at_other, false, log(mysql(&both, "", true), &same, not_looked())),
    ] {
        let shown = log.describe();
        assert_eq!(said(&stored, by_gtid, source, log), expected, "{shown}");
    }
}

#[test]
fn mariadb_is_gone_on_with_only_where_what_comes_next_is_what_was_meant() {
    let stored = position("b.000003", 500, Some("0-1-50,7-1-3"));
    let same = [("b.000002", 900), ("b.000003", 800)];
    let log = |state: &str, shown: &[(&str, u64)], place: Place| answer(files(shown), mariadb(state), place);
    let after = |text: &str| Place::After(text.parse().unwrap());
    let one = source(Flavor::MariaDb, "server-1 domain-0");
    let other = source(Flavor::MariaDb, "server-2 domain-0");
    for (expected, source, by_gtid, log) in [
        ("by GTID", &one, true, log("0-1-50,7-1-3", &same, after("0-1-50,7-1-3"))),
        ("by file", &one, false, log("0-1-90,7-1-3", &same, after("0-1-50,7-1-3"))),
        // a stream by GTID begins to look at the head of a file
        ("by GTID", &one, true, log("0-1-90,7-1-3", &same, after("0-1-30"))),
        ("anew", &one, true, log("0-1-90,7-1-3", &same, after("0-1-51,7-1-3"))),
        ("anew", &one, true, log("0-1-40", &same, Place::NotLookedAt)),
        ("anew", &one, true, log("0-1-90,7-1-9", &same, Place::InsideOfAnEvent)),
        ("anew", &one, false, log("0-1-90,7-1-9", &[("b.000001", 1)], Place::NotLookedAt)),
        ("gone", &one, false, log("0-1-90,7-1-9", &[("b.000004", 1)], Place::NotLookedAt)),
        ("successor", &other, true, log("0-1-50,0-2-60,7-1-3", &[("c.000001", 1)], Place::NotLookedAt)),
        ("replaced", &other, true, log("0-2-60,7-1-3", &same, Place::NotLookedAt)),
    ] {
        let shown = log.describe();
        assert_eq!(said(&stored, by_gtid, source, log), expected, "{shown}");
    }
}

#[test]
fn a_position_of_the_other_family_is_none() {
    let of_mysql = position("b.000003", 500, Some(&format!("{ONE}:1-50")));
    let log = answer(None, mariadb("0-1-50"), Place::NotLookedAt);
    assert_eq!(said(&of_mysql, true, &source(Flavor::MariaDb, "server-1 domain-0"), log), "replaced");
}

#[test]
fn files_that_may_not_be_seen_and_positions_by_gtid_alone_stop_nobody() {
    let log = || answer(None, mysql(&format!("{ONE}:1-70"), "", true), Place::NotLookedAt);
    let one = source(Flavor::MySql, ONE);
    assert_eq!(said(&position("b.000003", 500, None), false, &one, log()), "by file");
    assert_eq!(said(&position("", 4, Some(&format!("{ONE}:1-50"))), true, &one, log()), "by GTID");
    // without a place in this server's files there is no going on by file
    assert_eq!(said(&position("", 4, Some(&format!("{ONE}:1-50"))), false, &one, log()), "replaced");
}
