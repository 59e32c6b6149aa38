//! Every strategy that claims completeness finds what plain depth-first search finds.

mod compare;
mod first_violation;
mod keys;
mod litmus;
mod named_programs;
mod plans;
mod programs;
mod random_programs;
