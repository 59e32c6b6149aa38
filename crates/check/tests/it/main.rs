//! Tests of the engines against the oracle.

mod brute;
mod decide;
mod generate;
mod metastates;
mod recheck;
mod register;
mod small;
mod stream;
