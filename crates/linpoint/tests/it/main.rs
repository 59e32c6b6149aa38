//! The harness on small objects.

mod treiber;
