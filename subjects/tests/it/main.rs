//! The subjects with real threads, under a plain search judged by brute force, under the harness, and their claims.

mod checked;
mod claims;
mod models;
mod monitored;
mod oracle;
mod priority;
mod recorded;
mod searched;
mod stuck;
mod threads;
