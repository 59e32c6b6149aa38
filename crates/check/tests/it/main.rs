//! Tests of the engines against the oracle.

mod brute;
mod decide;
mod generate;
mod generic;
mod metastates;
mod queue_monitor;
mod recheck;
mod register;
mod replay;
mod small;
mod stack_monitor;
mod stepwise;
mod stream;
