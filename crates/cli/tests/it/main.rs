//! The command as people and scripts meet it: exit code, standard output and standard error together.

mod bad_input;
mod browser;
mod cluster;
mod confidence;
mod corpus;
mod explore;
mod fmt;
mod limits;
mod own_specs;
mod prove;
mod readme;
mod refine;
mod run;
mod shape;
mod verdicts;
