//! The integration tests of the scheduler. The shims are explored, each on programs small enough to count their
//! schedules, and used outside with real threads; the strategies are compared with one another.

mod cells;
mod channels;
mod condvar;
mod counted;
mod explore;
mod fair;
mod misuse;
mod mutex;
mod once;
mod references;
mod repeats;
mod started;
mod strategies;
mod threads;
mod unwinding;
mod whims;
