//! Tests of the engines against the oracle.

mod brute;
mod corpus;
mod counter;
mod decide;
mod every;
mod exhaustive;
mod generate;
mod generic;
mod map;
mod metastates;
mod one_pass;
mod online;
mod priority_queue_monitor;
mod queue_monitor;
mod recheck;
mod register;
mod replay;
mod seed;
mod segments;
mod set;
mod small;
mod stack_metastates;
mod stack_monitor;
mod stepwise;
mod stream;
