//! The subjects on their own: with real threads, and under a plain search judged by brute force.

mod checked;
mod oracle;
mod searched;
mod threads;
