//! Programs with one place changed: steps, or annotations.

/// Changes of a text, each with what was done.
pub fn mutants(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("  op ")).expect("it has an operation");
    let last = lines.iter().position(|line| line.starts_with("  abs ")).expect("it has an abstraction");
    let mut found = Vec::new();
    let plain = |line: &str| !line.contains(['{', '}']) && !line.trim().is_empty();
    for at in first..last {
        if plain(lines[at]) {
            let mut dropped = lines.clone();
            dropped.remove(at);
            found.push((format!("without `{}`", lines[at].trim()), dropped.join("\n")));
            if plain(lines[at + 1]) {
                let mut swapped = lines.clone();
                swapped.swap(at, at + 1);
                found.push((format!("`{}` one later", lines[at].trim()), swapped.join("\n")));
            }
        }
        for (from, to) in [
            ("+ 1", "+ 2"),
            ("== full", "== reserved"),
            ("= reserved", "= full"),
            ("return true", "return false"),
            ("return false", "return true"),
            ("== x", "!= x"),
            ("&&", "||"),
            ("< N", "<= N"),
            ("= none", "= x"),
            ("% CAP", "% 2"),
            ("== CAP", "== 2"),
            ("= t\n", "= null"),
            ("len + 1", "len"),
            ("len - 1", "len"),
            ("= me", "= none"),
            ("cas(top, t, s)", "cas(top, s, s)"),
            ("cas(top, t, x)", "cas(top, t, t)"),
            ("@lin ", ""),
            ("@lin", "@query"),
        ] {
            if lines[at].contains(from) {
                let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
                changed[at] = lines[at].replace(from, to);
                found.push((format!("{to} in `{}`", lines[at].trim()), changed.join("\n")));
            }
        }
    }
    found
}

/// Annotations of a text, each dropped or changed.
pub fn other_annotations(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_annotation = |line: &str| {
        ["  abs ", "  status ", "  inv", "  disjoint "].iter().any(|word| line.starts_with(word))
    };
    let mut found = Vec::new();
    for at in (0..lines.len()).filter(|at| is_annotation(lines[*at])) {
        if !lines[at].starts_with("  abs ") {
            let mut dropped = lines.clone();
            dropped.remove(at);
            found.push((format!("without `{}`", lines[at].trim()), dropped.join("\n")));
        }
        for (from, to) in [
            ("visible[n]", "m[n].stt == full"),
            ("visible[n]", "true"),
            ("visible[n]", "false"),
            ("inout(", "out("),
            (": out(", ": inout("),
            ("out(true)", "out(false)"),
            ("out(true)", "in"),
            ("i..N", "0..N"),
            ("i + 1..N", "i..N"),
            (": in", ": out(false)"),
            ("L1..L3", "L2..L3"),
            ("<=", "<"),
            ("==", "!="),
            ("==>", "&&"),
            ("abs holder", "abs none"),
            ("len + 1", "len"),
        ] {
            if lines[at].contains(from) {
                let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
                changed[at] = lines[at].replacen(from, to, 1);
                found.push((format!("{to} in `{}`", lines[at].trim()), changed.join("\n")));
            }
        }
    }
    found
}
