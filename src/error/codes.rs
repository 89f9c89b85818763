//! The catalogue of error codes: DM's numbers, classes and levels, so that its clients and runbooks still fit.
//!
//! A number never changes its meaning. Codes of our own stand in the ranges that DM leaves free, and say so.

use super::Code;

// Databases.
/// A server could not be reached, or did not answer in time.
pub const DATABASE_DRIVER: Code = Code::new(10001, "database", "high");
pub const DATABASE_BAD_CONNECTION: Code = Code::new(10002, "database", "high");
pub const DATABASE_INVALID_CONNECTION: Code = Code::new(10003, "database", "high");
pub const DATABASE_QUERY_FAILED: Code = Code::new(10005, "database", "high");
pub const DATABASE_EXECUTE_FAILED: Code = Code::new(10006, "database", "high");
pub const DATABASE_BEGIN_FAILED: Code = Code::new(10007, "database", "high");
pub const FLAVOR_NOT_SUPPORTED: Code = Code::new(11010, "functional", "high");

// Task configuration.
pub const CHECK_ITEM_NOT_SUPPORTED: Code = Code::new(20001, "config", "medium");
pub const TASK_NAME_EMPTY: Code = Code::new(20004, "config", "medium");
pub const TIMEZONE_INVALID: Code = Code::new(20008, "config", "medium");
pub const TASK_MODE_INVALID: Code = Code::new(20020, "config", "medium");
pub const METADATA_NOT_SET: Code = Code::new(20022, "config", "medium");
pub const SHARD_MODE_NOT_SUPPORTED: Code = Code::new(20033, "config", "medium");
pub const BINLOG_EVENT_FILTER_INVALID: Code = Code::new(20037, "config", "high");
pub const ALLOW_LIST_INVALID: Code = Code::new(20044, "config", "high");
pub const ROUTE_INVALID: Code = Code::new(20045, "config", "high");
pub const IMPORT_MODE_INVALID: Code = Code::new(20053, "config", "medium");
pub const DUPLICATE_RESOLUTION_INVALID: Code = Code::new(20054, "config", "medium");
pub const SAFE_MODE_DURATION_INVALID: Code = Code::new(20060, "config", "medium");
pub const CHECKSUM_INVALID: Code = Code::new(20062, "config", "medium");
pub const ANALYZE_INVALID: Code = Code::new(20063, "config", "medium");
pub const STRICT_OPTIMISTIC_WITHOUT_OPTIMISTIC: Code = Code::new(20066, "config", "medium");

// Precheck.
pub const PRECHECK_FAILED: Code = Code::new(26005, "dm-master", "medium");
pub const SOURCE_GTID_MODE_OFF: Code = Code::new(26007, "task-check", "medium");

// Master and workers.
pub const WORKER_NOT_HEARD: Code = Code::new(38008, "dm-master", "high");
pub const SOURCE_WITHOUT_WORKER: Code = Code::new(38029, "dm-master", "high");
pub const MASTER_UNKNOWN: Code = Code::new(38048, "dm-master", "low");
pub const TASK_CANNOT_START: Code = Code::new(38058, "dm-master", "high");
pub const SOURCE_NAME_EMPTY: Code = Code::new(40005, "dm-worker", "medium");
pub const SOURCE_NAME_TOO_LONG: Code = Code::new(40006, "dm-worker", "medium");
pub const SOURCE_UNBOUND: Code = Code::new(40070, "dm-worker", "high");
/// The metastore failed.
pub const METASTORE_FAILED: Code = Code::new(42501, "ha", "high");

// Scheduling.
pub const WORKER_UNKNOWN: Code = Code::new(46004, "scheduler", "medium");
pub const WORKER_ONLINE: Code = Code::new(46005, "scheduler", "medium");
pub const SOURCE_EXISTS: Code = Code::new(46007, "scheduler", "medium");
pub const SOURCE_UNKNOWN: Code = Code::new(46008, "scheduler", "medium");
pub const SOURCES_UNBOUND: Code = Code::new(46009, "dm-master", "medium");
pub const SOURCE_HAS_TASKS: Code = Code::new(46010, "dm-master", "medium");
pub const SUBTASKS_EXIST: Code = Code::new(46014, "scheduler", "medium");
pub const OPERATION_TASK_UNKNOWN: Code = Code::new(46016, "dm-master", "medium");
pub const OPERATION_SOURCES_UNKNOWN: Code = Code::new(46017, "dm-master", "medium");
pub const TASK_UNKNOWN: Code = Code::new(46018, "scheduler", "medium");
/// Another request holds the task.
pub const LATCH_IN_USE: Code = Code::new(46024, "scheduler", "low");
pub const SOURCE_NOT_UPDATABLE: Code = Code::new(46025, "scheduler", "low");
pub const WORKER_NOT_FREE: Code = Code::new(46033, "scheduler", "low");
pub const SUBTASK_UNKNOWN: Code = Code::new(46034, "scheduler", "medium");
pub const SUBTASK_NOT_UPDATABLE: Code = Code::new(46035, "scheduler", "low");

// The API.
/// What has no code of its own.
pub const API_COMMON: Code = Code::new(49001, "openapi", "high");
