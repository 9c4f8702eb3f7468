//! What tables can't say: all steps of a run, random runs, and lifetimes.

mod checks;
mod jumps;
mod lazy;
mod lifetimes;
mod loads;
mod natives;
mod random;
