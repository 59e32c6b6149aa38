//! The harness on small objects and programs.

mod claims;
mod explore;
mod freed;
mod misuse;
mod one_spec;
mod promises;
mod roles;
mod searches;
mod stuck;
mod treiber;
mod weak;

/// Lets the search over states compare memory, and freed memory be watched.
#[global_allocator]
static HEAP: linpoint::Heap = linpoint::Heap::new();
