//! Tests of the engines against the oracle.

mod brute;
mod decide;
mod recheck;
mod register;
mod small;
mod stream;
