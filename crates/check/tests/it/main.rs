//! Tests of the engines against the oracle.

mod brute;
mod decide;
mod generate;
mod metastates;
mod queue_monitor;
mod recheck;
mod register;
mod small;
mod stepwise;
mod stack_monitor;
mod stream;
