//! The programs of the corpus, for packs that start from real ones.

use std::path::Path;

/// Name and text of every program, in order of names.
#[must_use]
pub fn corpus() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let mut found = Vec::new();
    for folder in ["correct", "broken"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.extension().is_some_and(|end| end == "lin")
                && let (Some(name), Ok(text)) = (path.file_stem(), std::fs::read_to_string(&path))
            {
                found.push((name.to_string_lossy().into_owned(), text));
            }
        }
    }
    found.sort();
    found
}
