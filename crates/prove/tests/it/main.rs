//! Proofs. Tests in `with_solver` fail where there is no solver: a proof that was not tried is not a green
//! test.

mod explored;
mod gate;
mod robustness;
mod solvers;
mod with_solver;
