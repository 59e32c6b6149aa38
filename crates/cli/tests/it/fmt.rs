//! `linpoint fmt`: exit code, standard output and standard error together.

use crate::run::{linpoint, scratch};

const UGLY: &str = "object T {\nshared x: int=0 // here\nop get() -> int { v = x; return v }\n}\n";
const PRETTY: &str =
    "object T {\n  shared x: int = 0  // here\n\n  op get() -> int {\n    v = x\n    return v\n  }\n}\n";

#[test]
fn standard_input_to_standard_output() {
    let ran = linpoint(&["fmt", "-"], UGLY.as_bytes());
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, PRETTY, ""));
}

#[test]
fn files_in_place_and_checked() {
    let path = scratch("ugly.lin", UGLY.as_bytes());
    let name = path.display().to_string();
    let ran = linpoint(&["fmt", "--check", &name], b"");
    assert_eq!((ran.code, ran.out, ran.err.as_str()), (1, format!("{name}\n"), ""));
    let ran = linpoint(&["fmt", &name], b"");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), PRETTY);
    let ran = linpoint(&["fmt", "--check", &name], b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
}

#[test]
fn mistakes_are_shown_and_nothing_is_written() {
    let text = "object T {\n  shared x int\n}\n";
    let path = scratch("wrong.lin", text.as_bytes());
    let name = path.display().to_string();
    let ran = linpoint(&["fmt", &name], b"");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    let expected = format!(
        "error[L001]: expected `:`, found `int`\n --> {name}:2:12\n  |\n2 |   shared x int\n  |            ^^^ expected `:`\n\n"
    );
    assert_eq!(ran.err, expected);
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
    let ran = linpoint(&["fmt", "missing.lin"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: cannot read this file"), "{}", ran.err);
}
