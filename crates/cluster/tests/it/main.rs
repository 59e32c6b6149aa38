//! Tests of the dataflow as a whole.

mod agree;
mod corpus;
mod feeds;
mod honest;
mod hosts;
mod live;
mod monitored;
mod resume;
