//! A source's rules, compiled: which of its tables are migrated, and where they go.

use super::ProbeError;
use crate::filter::Filter;
use crate::model::TableName;
use crate::model::subtask::MigrateRule;
use crate::route::Router;

/// Filter and routes of one source of a task.
pub struct Rules {
    source_name: String,
    filter: Filter,
    router: Router,
}

impl Rules {
    /// Fails if a pattern, an event name or an expression cannot be read, or rules contradict one another.
    pub fn compile(
        source_name: &str,
        rules: &[MigrateRule],
        names_ignore_case: bool,
        meta_schema: &str,
    ) -> Result<Self, ProbeError> {
        let filter = Filter::new(rules, names_ignore_case)
            .map_err(|cause| ProbeError::Filter { source_name: source_name.to_owned(), cause })?
            .without_schema(meta_schema);
        let router = Router::new(rules, names_ignore_case)
            .map_err(|cause| ProbeError::Route { source_name: source_name.to_owned(), cause: Box::new(cause) })?;
        Ok(Self { source_name: source_name.to_owned(), filter, router })
    }

    /// The table's name in the target; None if it is not migrated.
    pub fn target_of(&self, table: &TableName) -> Result<Option<TableName>, ProbeError> {
        if !self.filter.keeps_table(table) {
            return Ok(None);
        }
        let target = self.router.route_table(table);
        target
            .map(Some)
            .map_err(|cause| ProbeError::Route { source_name: self.source_name.clone(), cause: Box::new(cause) })
    }

    /// Whether anything of the database is migrated.
    pub fn keeps_schema(&self, schema: &str) -> bool {
        self.filter.keeps_schema(schema)
    }
}
