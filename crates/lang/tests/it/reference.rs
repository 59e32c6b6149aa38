//! The reference, `docs/language.md`: every program in it is compiled, and every code it lists exists.

use linpoint_lang::{compile, compile_specifications, parse, print};

/// A fenced block of a Markdown text.
pub struct Fence {
    /// What stands after the opening fence.
    pub info: String,
    /// The lines inside.
    pub text: String,
    /// Where it starts.
    pub line: usize,
}

/// All fenced blocks.
pub fn fences(text: &str) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(info) if !open => {
                fences.push(Fence { info: info.trim().to_owned(), text: String::new(), line: index + 1 });
                open = true;
            }
            Some(_) => open = false,
            None if open => {
                let fence = fences.last_mut().expect("one is open");
                fence.text.push_str(line);
                fence.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!open, "a fence is not closed");
    fences
}

#[test]
fn every_example_is_right() {
    let text = include_str!("../../../../docs/language.md");
    let (mut programs, mut members, mut bodies) = (0, 0, 0);
    for Fence { info, text, line } in fences(text) {
        let program = match info.as_str() {
            "lin" => {
                programs += 1;
                text.clone()
            }
            // Members of an object that has what the examples use.
            "lin members" => {
                members += 1;
                let indented: String = text.lines().map(|l| format!("  {l}\n")).collect();
                format!("object Example {{\n{indented}}}\n")
            }
            // Statements of an operation of such an object.
            "lin statements" => {
                bodies += 1;
                let indented: String = text.lines().map(|l| format!("    {l}\n")).collect();
                format!("{SURROUNDINGS}\n  op example(v: data, k: 0..3) {{\n{indented}  }}\n}}\n")
            }
            "text" | "sh" => continue,
            other => panic!("line {line}: a fence of kind `{other}`"),
        };
        let (compiled, mut wrong) = compile(&program);
        // A specification that stands alone is no program.
        let mut found = compiled.len();
        if compiled.is_empty() && wrong.is_empty() {
            let (specifications, errors) = compile_specifications(&program);
            found = specifications.len();
            wrong = errors;
        }
        let shown: String = wrong.iter().map(|d| d.render("language.md", &program)).collect();
        assert!(wrong.is_empty() && found > 0, "docs/language.md, line {line}:\n{shown}");
        let (file, _) = parse(&program);
        let printed = print(&file, &program);
        assert_eq!(parse(&printed).0.objects, file.objects, "line {line}");
    }
    assert!(programs >= 3 && members >= 4 && bodies >= 4, "{programs} {members} {bodies}");
}

const SURROUNDINGS: &str = "object Example {
  enum Status { empty, full }
  struct Node { val: data, next: *Node, lk: lock }
  struct Slot { elt: data, stt: Status, lk: lock }
  size N = 3
  shared top: *Node = null
  shared count: int
  shared big: lock
  shared m: [Slot; N]
  ghost shared owner: [thread?; N]
";

#[test]
fn every_code_is_listed() {
    let text = include_str!("../../../../docs/language.md");
    let source = include_str!("../../src/diagnostic.rs");
    for line in source.lines().filter(|line| line.trim_start().starts_with("pub const ")) {
        let code = line.split('"').nth(1).expect("a code");
        assert!(text.contains(&format!("| `{code}` |")), "docs/language.md does not list {code}");
    }
}
