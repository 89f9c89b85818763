//! One suite for every engine: SQLite always, and MariaDB when `FERRYMASTER_TEST_MARIADB_TARGET` (host:port, root
//! without a password) names a server; `scripts/test` always does.

mod columns;
mod commits;
mod engines;
mod leases;
mod records;
