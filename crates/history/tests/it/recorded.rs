//! Histories recorded by others, where they are at hand: all of them can be read.

use std::path::Path;

use linpoint_history::formats::{self, Input, ReadOptions};

use crate::samples::spec;

#[test]
fn recorded_histories_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories");
    let Ok(expected) = std::fs::read_to_string(folder.join("expected.csv")) else { return };
    for line in expected.lines().skip(1) {
        let mut fields = line.split(',');
        let (Some(file), Some(name)) = (fields.next(), fields.next()) else { continue };
        let input = Input::File(folder.join(file));
        let history = formats::read_all(&input, &spec(name), &ReadOptions::default());
        let count = history.unwrap_or_else(|problem| panic!("{problem}")).operations.len();
        // In two of them nothing happened: only the nemesis was at work, or every operation failed.
        assert!(count > 0 || file.contains("ack-rollback-"), "{file} has no operations");
    }
}
