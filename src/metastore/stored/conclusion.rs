//! How a run ended, at rest: the worker's last report, in the shape it travels in.
//!
//! Surprise: the report's own type is stored here, and not a twin of it. It is written anew at the end of every run
//! and only shown; the sample in `tests/stored/` keeps its shape loadable.

use serde::{Deserialize, Serialize};

use crate::model::record::Conclusion;
use crate::model::report::SubtaskReport;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "version")]
pub(in crate::metastore) enum StoredConclusion {
    #[serde(rename = "1")]
    V1(ConclusionV1),
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::metastore) struct ConclusionV1 {
    report: SubtaskReport,
    ended_us: i64,
    #[serde(default)]
    worked: bool,
}

impl From<&Conclusion> for StoredConclusion {
    fn from(conclusion: &Conclusion) -> Self {
        let Conclusion { report, ended_us, worked } = conclusion.clone();
        Self::V1(ConclusionV1 { report, ended_us, worked })
    }
}

impl From<StoredConclusion> for Conclusion {
    fn from(StoredConclusion::V1(stored): StoredConclusion) -> Self {
        Self { report: stored.report, ended_us: stored.ended_us, worked: stored.worked }
    }
}
