//! The integration tests of the scheduler. The shims are explored, each on programs small enough to count their
//! schedules, and used outside with real threads; the strategies are compared with one another.

mod condvar;
mod explore;
mod mutex;
mod strategies;
mod threads;
