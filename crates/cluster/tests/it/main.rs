//! Tests of the dataflow as a whole.

mod agree;
mod feeds;
