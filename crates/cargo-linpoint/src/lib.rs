//! What it takes to run a crate's loom tests under Linpoint, as the crate is.
//!
//! The crate asks for `loom` in some version. A patch puts another package of that name and version in its
//! place ([`patch`]), which is nothing but the names of `linpoint-loom`. What the models came to is read from
//! the file that they write ([`record`]).

pub mod patch;
pub mod record;
