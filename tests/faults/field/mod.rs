//! Faults that users of other tools reported, each with the outcome that is right: see `docs/field-cases.md`. `copy`
//! has those of the copy, `replicate` those of replication, `silence` those of connections, `verdicts` those of errors.

mod copy;
mod replicate;
mod silence;
mod site;
mod verdicts;
