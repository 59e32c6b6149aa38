//! What a newcomer's mistakes are answered with: `tests/diagnostics.md` has programs and, below each, what is said about it.

use linpoint_lang::compile;

use crate::reference::{Fence, fences};

#[test]
fn every_mistake_gets_its_answer() {
    let text = include_str!("../diagnostics.md");
    let fences = fences(text);
    let mut pairs = 0;
    for pair in fences.chunks(2) {
        let [Fence { info, text: program, line }, Fence { info: answer, text: expected, .. }] = pair else {
            panic!("a program without an answer")
        };
        assert_eq!((info.as_str(), answer.as_str()), ("lin", "text"), "line {line}");
        let (programs, wrong) = compile(program);
        let said: String =
            wrong.iter().map(|d| d.render("example.lin", program)).collect::<Vec<_>>().join("\n");
        assert_eq!(said.trim_end(), expected.trim_end(), "line {line}; it said\n{said}");
        assert!(!wrong.is_empty(), "line {line}: nothing is wrong with it");
        assert_eq!(programs.is_empty(), wrong.iter().any(|d| d.is_error()), "line {line}");
        for diagnostic in &wrong {
            assert!(
                !diagnostic.help.is_empty(),
                "line {line}: {} says what is wrong, not what to do",
                diagnostic.code
            );
        }
        pairs += 1;
    }
    assert!(pairs >= 12, "{pairs}");
}
