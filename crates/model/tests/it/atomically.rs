//! What an expression means does not depend on where it stands: inside `atomic` it is evaluated from left to
//! right, and no further than needed, exactly as outside.
//!
//! Random expressions that do things in their middle are evaluated by one thread twice, from the same state,
//! once in one atomic step and once step by step. Values and memory are compared by the program itself, so
//! that the interpreter and the compiled steps are both asked.

use linpoint_lang::compile;
use linpoint_lang::program::{ClientThread, OpId, Program};
use linpoint_model::{Bounds, Explored, Mode, Stepper, Verdict, Workload, explore};

/// Random numbers (Marsaglia 2003, xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// A number of 0 and 1.
    fn index(&mut self, depth: u32) -> String {
        match self.below(if depth == 0 { 3 } else { 6 }) {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            2 => "i".to_owned(),
            3 => "flip()".to_owned(),
            4 => "swap(i, 1)".to_owned(),
            _ => format!("swap(i, {})", self.index(depth - 1)),
        }
    }

    fn place(&mut self, depth: u32) -> String {
        match self.below(5) {
            0 => "a".to_owned(),
            1 => "b".to_owned(),
            2 => format!("n.{}", self.one(&["v", "w"])),
            _ => format!("m[{}]", self.index(depth)),
        }
    }

    fn number(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.below(4) {
                0 => self.below(5).to_string(),
                1 => "k".to_owned(),
                _ => self.place(0),
            };
        }
        let d = depth - 1;
        match self.below(9) {
            0 => format!("swap({}, {})", self.place(d), self.number(d)),
            1 => format!("fetch_add({}, {})", self.place(d), self.number(d)),
            2 => format!("bump({})", self.number(d)),
            3 => self.place(depth),
            4 => format!("-({})", self.number(d)),
            5 => format!("({} - {})", self.number(d), self.number(d)),
            _ => format!("({} + {})", self.number(d), self.number(d)),
        }
    }

    fn truth(&mut self, depth: u32) -> String {
        if depth == 0 {
            let sign = self.one(&["==", "!=", "<", ">="]);
            return match self.below(4) {
                0 => "flag".to_owned(),
                1 => "nothing == null".to_owned(),
                _ => format!("{} {sign} {}", self.number(0), self.number(0)),
            };
        }
        let d = depth - 1;
        let sign = self.one(&["==", "!=", "<", "<=", ">", ">="]);
        match self.below(12) {
            0 => format!("cas({}, {}, {})", self.place(d), self.number(d), self.number(d)),
            1 => format!("cas(flag, {}, {})", self.truth(d), self.truth(d)),
            2 => {
                let places = [self.place(d), self.place(d)].join(", ");
                let values: Vec<String> = (0..4).map(|_| self.number(d.min(1))).collect();
                format!("dcas({places}, {})", values.join(", "))
            }
            3 => format!("(nothing != null && fetch_add(nothing.v, 1) == {})", self.number(d)),
            4 => format!("!({})", self.truth(d)),
            5 => format!("{} {sign} {}", self.number(d), self.number(d)),
            6 | 7 => format!("({} && {})", self.truth(d), self.truth(d)),
            8 | 9 => format!("({} || {})", self.truth(d), self.truth(d)),
            10 => format!("({} ==> {})", self.truth(d), self.truth(d)),
            _ => format!("(({}) == ({}))", self.truth(d), self.truth(d)),
        }
    }

    /// A statement that gives `RESULT` a value, and procedures it calls: one for atomic steps, one for others.
    fn statement(&mut self, number: usize) -> (String, String) {
        let plain = |text: String| (text, String::new());
        match self.below(8) {
            0 | 1 => plain(format!("RESULT = {}", self.number(3))),
            2 | 3 => plain(format!("RESULT = {}", self.truth(3))),
            4 => plain(format!("if {} {{ RESULT = 1 }} else {{ RESULT = 2 }}", self.truth(2))),
            5 => plain(format!("m[{}] = {}\n RESULT = 0", self.index(2), self.number(2))),
            6 => plain(format!(
                "c_RESULT = new Node {{ v: {}, w: {} }}\n RESULT = c_RESULT.v * 100 + c_RESULT.w",
                self.number(2),
                self.number(2)
            )),
            _ => {
                let body =
                    format!("(k: int) -> (int, bool) {{ return ({}, {}) }}\n", self.number(2), self.truth(2));
                let both = format!("atomic proc in{number}{body}proc out{number}{body}");
                (
                    format!(
                        "(RESULT, t_RESULT) = CALL{number}(k)\n if t_RESULT {{ RESULT = RESULT + 1000 }}"
                    ),
                    both,
                )
            }
        }
    }
}

const MEMBERS: &str = "
  struct Node { v: int, w: int }
  shared a: int
  shared b: int
  shared i: int
  shared flag: bool
  shared m: [int; 2]
  shared n: *Node = null
  shared nothing: *Node = null
  proc flip() -> int {
    r = swap(i, 0)
    if r == 0 { i = 1 }
    return r
  }
  proc bump(k: int) -> int {
    r = fetch_add(b, k)
    return r + a
  }
  proc start() {
    a = 4
    b = 1
    i = 1
    flag = false
    m[0] = 2
    m[1] = 3
    s = new Node { v: 1, w: 4 }
    n = s
  }";

const SEEN: [&str; 8] = ["a", "b", "i", "flag", "m[0]", "m[1]", "n.v", "n.w"];

fn operation(number: usize, random: &mut Random) -> String {
    let (statement, procedures) = random.statement(number);
    let inside = statement.replace("RESULT", "x").replace("CALL", "in");
    let outside = statement.replace("RESULT", "y").replace("CALL", "out");
    let kept: String = SEEN.iter().enumerate().map(|(at, place)| format!("s{at} = {place}\n")).collect();
    let same: Vec<String> = SEEN.iter().enumerate().map(|(at, place)| format!("s{at} == {place}")).collect();
    format!(
        "{procedures}op o{number}() {{\n k = 2\n start()\n atomic {{ {inside} }}\n {kept} start()\n {outside}\n \
         assert x == y && {} }}\n",
        same.join(" && ")
    )
}

#[track_caller]
fn compiled(text: &str) -> Program {
    let (mut programs, wrong) = compile(text);
    let shown: String = wrong.iter().filter(|d| d.is_error()).map(|d| d.render("random", text)).collect();
    assert!(shown.is_empty(), "{shown}");
    programs.remove(0)
}

fn run(program: &Program, stepper: Stepper) -> Explored {
    let calls = (0..program.operations.len()).map(|at| (OpId(at as u16), Vec::new())).collect();
    let workload = Workload { threads: vec![ClientThread::Calls(calls)], values: 2, rules: None };
    explore(program, &workload, Mode::Anywhere, &Bounds { stepper, ..Bounds::default() })
}

#[test]
fn an_expression_means_the_same_inside_an_atomic_step() {
    const PROGRAMS: usize = 150;
    const OPERATIONS: usize = 20;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..PROGRAMS {
        let operations: String = (0..OPERATIONS).map(|number| operation(number, &mut random)).collect();
        let text = format!("object R {{{MEMBERS}\n{operations}}}\n");
        let program = compiled(&text);
        for stepper in [Stepper::Compiled, Stepper::Interpreted] {
            match run(&program, stepper).verdict {
                Verdict::Holds(_) => {}
                Verdict::Violated(violation) => panic!("{stepper:?}: {:?}\n{text}", violation.wrong),
                Verdict::Unknown(why) => panic!("{why:?}\n{text}"),
            }
        }
    }
}
