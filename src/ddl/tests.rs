//! The parser on single statements.

use super::*;

fn mariadb() -> Context {
    Context::new(Flavor::MariaDb, 101119).with_default_schema("d")
}

fn understood(text: &str, context: &Context) -> Statement {
    match parse(text, context).meaning {
        Meaning::Understood(statement) => statement,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn an_executable_comment_counts_by_flavor_and_version() {
    let text = "/* header; with ; semicolons */ CREATE /* mid */ TABLE /*! IF NOT EXISTS */ cmt (
  id INT /* why */ PRIMARY KEY, -- trailing
  c1 LONGTEXT /*!99999 NOPE */, c2 VARCHAR(9) /*!40100 DEFAULT 'x' */ COMMENT '/* not a comment */ -- nor this', # hash
  c3 INT /*M!100000 DEFAULT 5 */
) /*!50100 ENGINE=InnoDB */;";
    let Statement::CreateTable(create) = understood(text, &mariadb()) else { panic!() };
    assert!(create.if_not_exists);
    assert_eq!(create.columns().filter(|column| column.default.is_some()).count(), 2);
    let mysql = Context::new(Flavor::MySql, 90704).with_default_schema("d");
    let Statement::CreateTable(create) = understood(text, &mysql) else { panic!() };
    assert_eq!(create.columns().filter(|column| column.default.is_some()).count(), 1);
}
