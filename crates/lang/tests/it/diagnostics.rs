//! What a newcomer's mistakes are answered with: `tests/diagnostics.md` has programs and, below each, what is
//! said about it.

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

/// A loop that goes on until its step succeeds passes one point: the flag says so.
#[test]
fn a_flag_that_ends_a_loop() {
    let text = "object C : counter {
      shared n: int
      op increment() {
        var ok = false
        while !ok {
          v = n
          ok = cas(n, v, v + 1) @lin
        }
      }
      op read() -> int { return n @lin(n) }
    }";
    let said = |text: &str| compile(text).1.iter().map(|d| d.code).collect::<Vec<_>>();
    assert_eq!(said(text), Vec::<&str>::new());
    assert_eq!(said(&text.replace("var ok = false", "var ok = true")), ["L040"]);
    // Both: the write after the step, and the step of the next round.
    assert_eq!(said(&text.replace("@lin\n        }", "@lin\n          n = v @lin\n        }")), ["L041"; 2]);
}

/// Procedures that call each other twice, again and again, would be inlined a million times: that is said
/// once, at the call, and nothing that is not so beside it.
#[test]
fn procedures_without_end() {
    for depth in [16, 18, 40] {
        let mut text = "object C : counter {\n  shared c: int\n  proc p0() -> int { return c }\n".to_owned();
        for number in 1..=depth {
            let before = number - 1;
            text.push_str(&format!("  proc p{number}() -> int {{ return p{before}() + p{before}() }}\n"));
        }
        text.push_str(&format!("  op inc() {{ x = p{depth}() }}\n  op get() -> int {{ return c }}\n}}\n"));
        let (programs, wrong) = compile(&text);
        assert!(programs.is_empty());
        let said: Vec<_> =
            wrong.iter().map(|d| (d.code, &text[d.span.start as usize..d.span.end as usize])).collect();
        assert_eq!(said, [("L034", format!("p{depth}()").as_str())], "{wrong:?}");
    }
}
