//! The whole control plane in one process: a real metastore, registry, link and reconciler, and workers that run
//! nothing but say that they do.

mod bench;
mod deletions;
mod leading;
mod running;
