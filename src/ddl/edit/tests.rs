//! Every edit on single statements: the text before, the text after.
#![expect(clippy::redundant_closure_for_method_calls, reason = "a path to the method fits one lifetime only")]

use super::*;
use crate::ddl::{Context, parse};

fn mariadb() -> Context {
    Context::new(Flavor::MariaDb, 101119).with_default_schema("d")
}

fn mysql() -> Context {
    Context::new(Flavor::MySql, 90704).with_default_schema("d")
}

fn edited(sql: &str, context: &Context, edit: impl FnOnce(&mut Rewrite<'_>)) -> String {
    let parsed = parse(sql, context);
    assert!(!matches!(parsed.meaning, Meaning::NotUnderstood(_)), "{sql}: {:?}", parsed.meaning);
    let mut rewrite = Rewrite::new(&parsed);
    edit(&mut rewrite);
    rewrite.finish()
}

/// Words of the text, since cuts leave blanks behind.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check_route(sql: &str, expected: &str) {
    let routed = edited(sql, &mariadb(), |rewrite| {
        rewrite.route(
            |table| TableName::new(format!("{}2", table.schema), format!("r_{}", table.table)),
            |name| format!("{name}2"),
        );
    });
    assert_eq!(routed, expected, "{sql}");
}

#[test]
fn every_name_of_a_table_is_routed_and_the_rest_stays() {
    check_route("CREATE TABLE t (a INT) -- t", "CREATE TABLE `d2`.`r_t` (a INT) -- t");
    check_route("ALTER TABLE `x` . `t` /* t */ ADD t INT", "ALTER TABLE `x2`.`r_t` /* t */ ADD t INT");
    check_route(
        "CREATE TABLE c (t INT, FOREIGN KEY (t) REFERENCES t (t), CHECK (c.t > 0 AND d.c.t < 9 AND e.c.t = 't'))",
        "CREATE TABLE `d2`.`r_c` (t INT, FOREIGN KEY (t) REFERENCES `d2`.`r_t` (t), \
         CHECK (`d2`.`r_c`.t > 0 AND `d2`.`r_c`.t < 9 AND e.c.t = 't'))",
    );
    // a parent without schema stands in the child's
    check_route(
        "ALTER TABLE x.c ADD FOREIGN KEY (t) REFERENCES t (t)",
        "ALTER TABLE `x2`.`r_c` ADD FOREIGN KEY (t) REFERENCES `x2`.`r_t` (t)",
    );
    check_route("CREATE TABLE t LIKE x.u", "CREATE TABLE `d2`.`r_t` LIKE `x2`.`r_u`");
    check_route(
        "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u",
        "ALTER TABLE `d2`.`r_t` EXCHANGE PARTITION p WITH TABLE `d2`.`r_u`",
    );
    check_route(
        "CREATE TABLE m (a INT) ENGINE=MERGE UNION=(t, x.u)",
        "CREATE TABLE `d2`.`r_m` (a INT) ENGINE=MERGE UNION=(`d2`.`r_t`, `x2`.`r_u`)",
    );
    check_route("RENAME TABLE t TO u, x.v TO w", "RENAME TABLE `d2`.`r_t` TO `d2`.`r_u`, `x2`.`r_v` TO `d2`.`r_w`");
    check_route("ALTER TABLE x.t RENAME u", "ALTER TABLE `x2`.`r_t` RENAME `d2`.`r_u`");
    check_route("DROP TABLE t,u", "DROP TABLE `d2`.`r_t`,`d2`.`r_u`");
    check_route("CREATE INDEX t ON t (t)", "CREATE INDEX t ON `d2`.`r_t` (t)");
    check_route("DROP VIEW IF EXISTS v", "DROP VIEW IF EXISTS `d2`.`r_v`");
    check_route("DROP SEQUENCE s", "DROP SEQUENCE `d2`.`r_s`");
    check_route(
        "CREATE TABLE t (a INT DEFAULT nextval(s), b INT DEFAULT (NEXT VALUE FOR `x`.`s` + 1))",
        "CREATE TABLE `d2`.`r_t` (a INT DEFAULT nextval(`d2`.`r_s`), b INT DEFAULT (NEXT VALUE FOR `x2`.`r_s` + 1))",
    );
}

#[test]
fn databases_are_routed_also_where_the_name_is_left_out() {
    check_route("CREATE DATABASE x CHARACTER SET gbk", "CREATE DATABASE `x2` CHARACTER SET gbk");
    check_route("DROP SCHEMA IF EXISTS `a``b`", "DROP SCHEMA IF EXISTS `a``b2`");
    check_route("ALTER DATABASE CHARACTER SET gbk", "ALTER DATABASE `d2` CHARACTER SET gbk");
}

#[test]
fn names_in_double_quotes_are_routed_under_ansi_quotes() {
    let mut context = mysql();
    context.ansi_quotes = true;
    let routed = edited("ALTER TABLE \"t\" ADD \"t\" INT DEFAULT 't'", &context, |rewrite| {
        rewrite.route(|_| TableName::new("o", "q\"x`y"), str::to_owned);
    });
    assert_eq!(routed, "ALTER TABLE `o`.`q\"x``y` ADD \"t\" INT DEFAULT 't'");
}

#[test]
fn repeated_statements_are_made_to_succeed() {
    let create = |sql| words(&edited(sql, &mariadb(), |rewrite| rewrite.ensure_if_not_exists()));
    assert_eq!(create("CREATE TABLE t (a INT)"), "CREATE TABLE IF NOT EXISTS t (a INT)");
    assert_eq!(create("CREATE TABLE t LIKE u"), "CREATE TABLE IF NOT EXISTS t LIKE u");
    assert_eq!(create("CREATE DATABASE x"), "CREATE DATABASE IF NOT EXISTS x");
    for same in ["CREATE TABLE IF NOT EXISTS t (a INT)", "CREATE OR REPLACE TABLE t (a INT)", "DROP TABLE t"] {
        assert_eq!(create(same), same);
    }
    let drop = |sql| words(&edited(sql, &mariadb(), |rewrite| rewrite.ensure_if_exists()));
    assert_eq!(drop("DROP TABLE t, u"), "DROP TABLE IF EXISTS t, u");
    assert_eq!(drop("DROP DATABASE x"), "DROP DATABASE IF EXISTS x");
    assert_eq!(drop("DROP TABLE IF EXISTS t"), "DROP TABLE IF EXISTS t");
    let bare = edited("CREATE TABLE IF NOT EXISTS t (a INT)", &mariadb(), |rewrite| {
        rewrite.cut_clauses(ClauseKind::IfNotExists, false);
    });
    assert_eq!(words(&bare), "CREATE TABLE t (a INT)");
}

fn check_collations(sql: &str, expected: &str) {
    let rules = CollationRules {
        collation: &|name| (name == "utf8mb4_0900_ai_ci").then(|| "utf8mb4_unicode_ci".to_owned()),
        charset: &|name| (name == "utf8mb3").then(|| "utf8".to_owned()),
        default_of: &|charset| match charset {
            "utf8mb4" => Some("utf8mb4_0900_ai_ci".to_owned()),
            "latin1" => Some("latin1_swedish_ci".to_owned()),
            _ => None,
        },
        unsaid: Some(DefaultCharset { charset: "utf8mb4".to_owned(), collation: "utf8mb4_0900_ai_ci".to_owned() }),
    };
    let mapped = edited(sql, &mysql(), |rewrite| rewrite.map_collations(&rules));
    assert_eq!(words(&mapped), expected, "{sql}");
}

#[test]
fn collations_are_renamed_and_defaults_said_aloud() {
    check_collations(
        "CREATE TABLE t (a CHAR(5) COLLATE utf8mb4_0900_ai_ci) COLLATE=utf8mb4_0900_ai_ci",
        "CREATE TABLE t (a CHAR(5) COLLATE utf8mb4_unicode_ci) COLLATE=utf8mb4_unicode_ci",
    );
    check_collations(
        "CREATE TABLE t (a INT) ENGINE=InnoDB",
        "CREATE TABLE t (a INT) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci ENGINE=InnoDB",
    );
    check_collations(
        "CREATE TABLE t (a CHAR(5) CHARACTER SET latin1 NOT NULL) CHARSET=utf8mb4 COMMENT 'x'",
        "CREATE TABLE t (a CHAR(5) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL) \
         CHARSET=utf8mb4 COLLATE utf8mb4_unicode_ci COMMENT 'x'",
    );
    // a collation that follows later belongs to the character set before it
    check_collations(
        "CREATE TABLE t (a CHAR(5) CHARACTER SET utf8mb4 NOT NULL COLLATE utf8mb4_bin) COLLATE gbk_bin CHARSET gbk",
        "CREATE TABLE t (a CHAR(5) CHARACTER SET utf8mb4 NOT NULL COLLATE utf8mb4_bin) COLLATE gbk_bin CHARSET gbk",
    );
    check_collations("ALTER TABLE t ADD a CHAR(5)", "ALTER TABLE t ADD a CHAR(5)");
    check_collations(
        "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4",
        "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
    );
    check_collations("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb3", "ALTER TABLE t CONVERT TO CHARACTER SET utf8");
    check_collations("CREATE DATABASE x", "CREATE DATABASE x DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci");
    check_collations(
        "CREATE TABLE t (a INT AS (b COLLATE utf8mb4_0900_ai_ci = CONVERT(c USING utf8mb3))) CHARSET binary",
        "CREATE TABLE t (a INT AS (b COLLATE utf8mb4_unicode_ci = CONVERT(c USING utf8))) CHARSET binary",
    );
    check_collations(
        "CREATE TABLE t (a CHAR(5) ASCII, b CHAR(4) BYTE) CHARACTER SET `latin1` COLLATE 'latin1_bin'",
        "CREATE TABLE t (a CHAR(5) ASCII COLLATE latin1_swedish_ci, b CHAR(4) BYTE) \
         CHARACTER SET `latin1` COLLATE 'latin1_bin'",
    );
    check_collations("CREATE TABLE t LIKE u", "CREATE TABLE t LIKE u");
}

#[test]
fn keys_and_foreign_keys_are_cut_and_added_later_in_their_own_words() {
    let sql = "CREATE TABLE t (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `a` int,\n  KEY `ka` (`a`) COMMENT 'x, y',\n  \
               UNIQUE KEY `ua` (`a`),\n  KEY `kid` (`id`),\n  FULLTEXT KEY `ft` (`b`),\n  FULLTEXT KEY `ft2` (`c`),\n  \
               KEY `kb` (`b`) /*!80000 INVISIBLE */,\n  CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`id`)\n) ENGINE=InnoDB";
    let sql = &sql.replace("`a` int,", "`a` int, `b` text, `c` text,");
    let parsed = parse(sql, &mysql());
    let mut rewrite = Rewrite::new(&parsed);
    rewrite.route(|table| TableName::new("o", table.table.clone()), str::to_owned);
    let (create, deferred) = rewrite.finish_deferred();
    assert_eq!(
        words(&create),
        "CREATE TABLE `o`.`t` ( `id` int NOT NULL AUTO_INCREMENT, `a` int, `b` text, `c` text , UNIQUE KEY `ua` (`a`), KEY `kid` (`id`) ) ENGINE=InnoDB"
    );
    assert_eq!(
        add_key_statements(&TableName::new("o", "t"), &deferred),
        [
            "ALTER TABLE `o`.`t` ADD KEY `ka` (`a`) COMMENT 'x, y', ADD KEY `kb` (`b`) /*!80000 INVISIBLE */",
            "ALTER TABLE `o`.`t` ADD FULLTEXT KEY `ft` (`b`)",
            "ALTER TABLE `o`.`t` ADD FULLTEXT KEY `ft2` (`c`)",
            "ALTER TABLE `o`.`t` ADD CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `o`.`p` (`id`)",
        ]
    );
}

#[test]
fn elements_at_the_beginning_are_cut_with_the_comma_after_them() {
    let parsed = parse("CREATE TABLE t (KEY (a), KEY (b), a INT, KEY (c), b INT, c INT, KEY (a, b))", &mysql());
    let (create, deferred) = Rewrite::new(&parsed).finish_deferred();
    assert_eq!(words(&create), "CREATE TABLE t ( a INT , b INT, c INT )");
    assert_eq!(deferred.len(), 4);
}

#[test]
fn a_cut_inside_of_an_executable_comment_leaves_the_rest_of_it() {
    let parsed = parse("CREATE TABLE t (a INT /*!50100 NOT NULL, KEY (a)*/, b INT)", &mysql());
    let (create, deferred) = Rewrite::new(&parsed).finish_deferred();
    assert_eq!(words(&create), "CREATE TABLE t (a INT /*!50100 NOT NULL */, b INT)");
    assert_eq!(deferred[0].definition, "KEY (a)");
}

#[test]
fn the_select_of_a_create_and_what_announces_its_rows_are_cut() {
    let cut = |sql| words(&edited(sql, &mysql(), |rewrite| rewrite.cut_select()));
    assert_eq!(cut("CREATE TABLE t (a INT) ENGINE=InnoDB AS SELECT 1 AS a"), "CREATE TABLE t (a INT) ENGINE=InnoDB");
    assert_eq!(cut("CREATE TABLE t (a INT) START TRANSACTION"), "CREATE TABLE t (a INT)");
}

#[test]
fn the_counter_is_cut_with_one_comma() {
    let cut = |sql| words(&edited(sql, &mysql(), |rewrite| rewrite.cut_clauses(ClauseKind::AutoIncrement, false)));
    assert_eq!(
        cut("CREATE TABLE t (a INT) ENGINE=x AUTO_INCREMENT=5 COMMENT 'y'"),
        "CREATE TABLE t (a INT) ENGINE=x COMMENT 'y'"
    );
    assert_eq!(
        cut("CREATE TABLE t (a INT) ENGINE=x, AUTO_INCREMENT=5, CHECKSUM=1"),
        "CREATE TABLE t (a INT) ENGINE=x, CHECKSUM=1"
    );
    assert_eq!(cut("CREATE TABLE t (a INT) ENGINE=x, AUTO_INCREMENT 5"), "CREATE TABLE t (a INT) ENGINE=x");
    assert_eq!(cut("CREATE TABLE t (a INT) AUTO_INCREMENT=5"), "CREATE TABLE t (a INT)");
}

#[test]
fn idle_items_are_cut_from_an_alter() {
    let sql = "ALTER TABLE t ADD a INT, DROP b, ADD KEY (a, c), FORCE PARTITION BY HASH (a)";
    let cut = |which: &[usize]| {
        words(&edited(sql, &mariadb(), |rewrite| {
            let left = rewrite.cut_items(|index| which.contains(&index));
            assert_eq!(left, which.len() < 5);
        }))
    };
    assert_eq!(cut(&[0]), "ALTER TABLE t DROP b, ADD KEY (a, c), FORCE PARTITION BY HASH (a)");
    assert_eq!(cut(&[0, 1]), "ALTER TABLE t ADD KEY (a, c), FORCE PARTITION BY HASH (a)");
    assert_eq!(cut(&[1, 2]), "ALTER TABLE t ADD a INT , FORCE PARTITION BY HASH (a)");
    assert_eq!(cut(&[3]), "ALTER TABLE t ADD a INT, DROP b, ADD KEY (a, c) PARTITION BY HASH (a)");
    assert_eq!(cut(&[0, 1, 2, 3, 4]), "ALTER TABLE t");
}

#[test]
fn a_mariadb_statement_is_made_one_of_mysql() {
    let fit = |sql| words(&edited(sql, &mariadb(), |rewrite| rewrite.fit_to(Flavor::MySql, 90704)));
    assert_eq!(
        fit("ALTER ONLINE TABLE IF EXISTS t WAIT 5 ADD COLUMN IF NOT EXISTS a INT, DROP KEY IF EXISTS k"),
        "ALTER TABLE t ADD COLUMN a INT, DROP KEY k"
    );
    assert_eq!(
        fit("SET STATEMENT max_statement_time=1 FOR CREATE INDEX IF NOT EXISTS i ON t (a)"),
        "CREATE INDEX i ON t (a)"
    );
    assert_eq!(fit("DROP TABLE IF EXISTS t NOWAIT"), "DROP TABLE IF EXISTS t");
    assert_eq!(
        fit(
            "CREATE TABLE t (a CHAR(36) DEFAULT uuid(), b INT DEFAULT (1 + 1), c INT DEFAULT 3, d DATETIME DEFAULT NOW())"
        ),
        "CREATE TABLE t (a CHAR(36) DEFAULT (uuid()), b INT DEFAULT (1 + 1), c INT DEFAULT 3, d DATETIME DEFAULT NOW())"
    );
    assert_eq!(
        fit(
            "CREATE TABLE t (a VARCHAR(9) /*M!100301 COMPRESSED*/ /*!50701 NOPE */ NOT NULL) /*!50100 ENGINE=InnoDB */"
        ),
        "CREATE TABLE t (a VARCHAR(9) NOT NULL) /*!50100 ENGINE=InnoDB */"
    );
}

#[test]
fn a_mysql_statement_is_made_one_of_mariadb() {
    let fit = |sql| words(&edited(sql, &mysql(), |rewrite| rewrite.fit_to(Flavor::MariaDb, 101119)));
    assert_eq!(
        fit("CREATE TABLE t (a INT /*!80023 INVISIBLE */, p POINT NOT NULL /*!80003 SRID 4326 */, \
             b INT /*!50606 STORAGE MEMORY */ /*!50606 COLUMN_FORMAT FIXED */) /*!50100 PARTITION BY HASH (a) */"),
        "CREATE TABLE t (a INT INVISIBLE , p POINT NOT NULL REF_SYSTEM_ID = 4326 , \
         b INT /*!50606 STORAGE MEMORY */ /*!50606 COLUMN_FORMAT FIXED */) /*!50100 PARTITION BY HASH (a) */"
    );
    assert_eq!(
        fit("CREATE DATABASE x /*!40100 DEFAULT CHARACTER SET utf8mb4 */ /*!80016 DEFAULT ENCRYPTION='N' */"),
        "CREATE DATABASE x /*!40100 DEFAULT CHARACTER SET utf8mb4 */"
    );
    let old = Context::new(Flavor::MySql, 80045).with_default_schema("d");
    let ignored = edited("CREATE TABLE t (a INT REFERENCES p (id) ON DELETE CASCADE)", &old, |rewrite| {
        rewrite.fit_to(Flavor::MariaDb, 101119);
    });
    assert_eq!(words(&ignored), "CREATE TABLE t (a INT )");
}

#[test]
fn a_statement_that_is_not_understood_is_not_routed() {
    let parsed = parse("CREATE TABLE t (a FROB)", &mysql());
    assert_eq!(route_names(&parsed, TableName::clone, str::to_owned), None);
}
