//! What `tressa!` refuses, and how it says so.

#[test]
fn refused() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
