//! The command `linpoint`.

fn main() {}
