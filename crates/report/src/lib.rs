//! Draws what Linpoint found.
