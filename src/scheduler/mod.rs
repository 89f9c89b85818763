//! Decides which worker holds which source and which run gets a new number: a [`World`] and a time in, a [`Plan`] out.
//!
//! Never here: I/O, clocks, chance (a seed is an argument); `reconciler` carries plans out. Wishes and their order are
//! in the README beside this file. The surprise: a source stays where it is unless its worker's incarnation is gone;
//! load alone never moves it.

mod backoff;
mod ending;
mod placement;
mod plan;
mod runs;
mod world;

pub use backoff::Retries;
pub use placement::place;
pub use plan::{Plan, Step};
pub use world::{SeenRun, Standing, WorkerView, World};

/// The same world and time give the same plan.
pub fn plan(world: &World, now_us: i64) -> Plan {
    let mut plan = Plan::default();
    runs::remember_ends(world, &mut plan);
    if world.recovering {
        return plan;
    }
    placement::replace_lost(world, &mut plan);
    placement::record_losses(world, &mut plan);
    runs::clean_before_new(world, &mut plan);
    runs::bring_back(world, &mut plan);
    runs::try_again(world, now_us, &mut plan);
    runs::forgive(world, now_us, &mut plan);
    plan
}
