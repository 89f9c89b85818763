//! What ALTER TABLE does with partitions. Such an action stands alone, so its inside is skipped to the end.

use super::cursor::{Parser, Result};
use crate::ddl::tree::{PartitionAction, TableRole};

impl Parser<'_> {
    /// Reads a partition action if one comes next.
    pub fn partition_action(&mut self) -> Result<Option<PartitionAction>> {
        const SIMPLE: [(&str, PartitionAction); 15] = [
            ("PARTITION BY", PartitionAction::By),
            ("REMOVE PARTITIONING", PartitionAction::Remove),
            ("ADD PARTITION", PartitionAction::Add),
            ("DROP PARTITION", PartitionAction::Drop),
            ("TRUNCATE PARTITION", PartitionAction::Truncate),
            ("COALESCE PARTITION", PartitionAction::Coalesce),
            ("REORGANIZE PARTITION", PartitionAction::Reorganize),
            ("REBUILD PARTITION", PartitionAction::Rebuild),
            ("ANALYZE PARTITION", PartitionAction::Maintain),
            ("CHECK PARTITION", PartitionAction::Maintain),
            ("OPTIMIZE PARTITION", PartitionAction::Maintain),
            ("REPAIR PARTITION", PartitionAction::Maintain),
            ("DISCARD PARTITION", PartitionAction::Maintain),
            ("IMPORT PARTITION", PartitionAction::Maintain),
            ("SECONDARY_UNLOAD", PartitionAction::Maintain),
        ];
        for (keywords, action) in SIMPLE {
            if self.eat(keywords) {
                self.if_exists(true);
                self.if_not_exists(true);
                self.skip_partitions()?;
                return Ok(Some(action));
            }
        }
        if self.eat("EXCHANGE PARTITION") {
            self.name()?;
            self.expect("WITH TABLE")?;
            let with = self.table(TableRole::Partition)?;
            self.eat_any(&["WITH VALIDATION", "WITHOUT VALIDATION"]);
            return Ok(Some(PartitionAction::Exchange { with }));
        }
        if self.eat("CONVERT PARTITION") {
            self.name()?;
            self.expect("TO TABLE")?;
            let table = self.table(TableRole::Partition)?;
            return Ok(Some(PartitionAction::ConvertToTable { table }));
        }
        if self.eat("CONVERT TABLE") {
            let table = self.table(TableRole::Partition)?;
            self.expect("TO")?;
            self.skip_partitions()?;
            return Ok(Some(PartitionAction::ConvertFromTable { table }));
        }
        Ok(None)
    }

    /// To the end of the statement.
    fn skip_partitions(&mut self) -> Result<()> {
        while !self.at_end() && !self.is_sign(';') {
            if self.is_sign('(') {
                self.balanced()?;
            } else if self.is_sign(')') {
                return self.unexpected("the end");
            } else {
                self.step()?;
            }
        }
        Ok(())
    }
}
