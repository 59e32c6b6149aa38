//! Tests of the engines against the oracle.

mod brute;
mod small;
