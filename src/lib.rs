//! ferrymaster migrates live MySQL-family databases, exactly once, through a REST API.
//!
//! A map, in reading order; each module uses only what `tests/tidy.rs` allows it:
//!
//! - what users can do: [`api`]
//! - what is remembered: [`metastore`]; who is alive: [`registry`]; how a worker and the master talk: [`link`]
//! - what the master decides: [`scheduler`] (pure); how it is carried out: [`reconciler`]; what it asks of databases: [`probe`]
//! - what moves data: [`worker`] drives [`snapshot`], [`load`] and [`replicate`], with progress in the [`ledger`]
//! - what the source says: [`binlog`] (bytes), [`ddl`] (statements), [`catalogue`] (columns at a position)
//! - which tables, under which name: [`filter`], [`route`]
//! - the driver of the databases, and nothing else: [`mysql`]

pub mod api;
pub mod binlog;
pub mod catalogue;
pub mod cli;
pub mod config;
pub mod ddl;
pub mod error;
pub mod faults;
pub mod filter;
pub mod ledger;
pub mod link;
pub mod load;
pub mod master;
pub mod metastore;
pub mod model;
pub mod mysql;
pub mod probe;
pub mod reconciler;
pub mod registry;
pub mod replicate;
pub mod route;
pub mod scheduler;
pub mod secrets;
pub mod shutdown;
pub mod snapshot;
pub mod telemetry;
pub mod worker;
