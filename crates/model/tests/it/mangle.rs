//! Programs that nobody wrote: those of the corpus with words exchanged, lines dropped and doubled. Some are
//! refused, some are programs of their own; whatever they are, nothing panics, and no two ways to look at
//! them disagree.

use linpoint_history::rng::Rng;
use linpoint_lang::{Program, compile, parse, print};
use linpoint_model::{
    Bounds, Deciding, Explored, Mode, Reductions, Stepper, Verdict, Workload, Wrong, explore, schedule_of,
};

/// What became of the texts that were tried.
#[derive(Debug, Default)]
pub struct Tally {
    pub refused: usize,
    pub hold: usize,
    pub violated: usize,
    pub unknown: usize,
}

/// One text after another, made from these.
pub fn mangle_and_look(texts: &[String], seed: u64, rounds: usize, tally: &mut Tally) {
    let mut rng = Rng::new(seed);
    for _ in 0..rounds {
        let text = mangled(texts, &mut rng);
        look(&text, tally);
    }
}

/// A text of these with one to three changes.
fn mangled(texts: &[String], rng: &mut Rng) -> String {
    let mut pick = |n: usize| rng.below(n.max(1) as u64) as usize;
    let mut text = texts[pick(texts.len())].clone();
    for _ in 0..1 + pick(3) {
        text = match pick(8) {
            0 => drop_or_double_line(&text, pick(2) == 0, &mut pick),
            1 => swap_lines(&text, &mut pick),
            _ => exchange_word(&text, &mut pick),
        };
    }
    text
}

fn lines_of_code(text: &str) -> Vec<usize> {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    text.lines().enumerate().filter(|(_, line)| code(line)).map(|(index, _)| index).collect()
}

fn drop_or_double_line(text: &str, drop: bool, pick: &mut impl FnMut(usize) -> usize) -> String {
    let code = lines_of_code(text);
    let Some(&at) = code.get(pick(code.len())) else { return text.to_owned() };
    let times = |index: usize| {
        if index != at {
            1
        } else if drop {
            0
        } else {
            2
        }
    };
    let lines = text.lines().enumerate().flat_map(|(index, line)| std::iter::repeat_n(line, times(index)));
    lines.collect::<Vec<_>>().join("\n")
}

fn swap_lines(text: &str, pick: &mut impl FnMut(usize) -> usize) -> String {
    let code = lines_of_code(text);
    let mut lines: Vec<&str> = text.lines().collect();
    if let (Some(&a), Some(&b)) = (code.get(pick(code.len())), code.get(pick(code.len()))) {
        lines.swap(a, b);
    }
    lines.join("\n")
}

/// Words and signs, with what is between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match in_word(first) {
            true => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

fn exchange_word(text: &str, pick: &mut impl FnMut(usize) -> usize) -> String {
    const OTHERS: &[&str] = &[
        "null",
        "none",
        "me",
        "0",
        "1",
        "2",
        "7",
        "true",
        "false",
        "==",
        "!=",
        "<",
        "+",
        "-",
        "&&",
        "data",
        "int",
        "bool",
        "lock",
        "loop",
        "if",
        "return",
        "break",
        "free",
        "new",
        "choose",
        "atomic",
        "@lin",
        "{",
        "}",
        "(",
        ")",
        ";",
        "?",
        "*",
        "pooled",
        "999999999999",
        "é",
    ];
    let mut words = words(text);
    let meant = |word: &&str| !word.trim().is_empty() && *word != "/";
    let places: Vec<usize> = (0..words.len()).filter(|&i| meant(&words[i])).collect();
    let Some(&at) = places.get(pick(places.len())) else { return text.to_owned() };
    words[at] = match pick(4) {
        0 => OTHERS[pick(OTHERS.len())],
        1 => "",
        // A word of the same kind from elsewhere: that is most often a program again.
        _ => {
            let same = |word: &str| word.starts_with(|c: char| c.is_alphanumeric());
            let like: Vec<&str> =
                places.iter().map(|i| words[*i]).filter(|word| same(word) == same(words[at])).collect();
            like[pick(like.len())]
        }
    };
    words.concat()
}

fn look(text: &str, tally: &mut Tally) {
    let (programs, wrong) = compile(text);
    for diagnostic in &wrong {
        assert!(!diagnostic.render("mangled.lin", text).is_empty());
    }
    let (file, unread) = parse(text);
    if unread.is_empty() {
        let printed = print(&file, text);
        let (again, unread) = parse(&printed);
        assert!(unread.is_empty(), "{unread:?}\n{text}\n----\n{printed}");
        assert_eq!(file.objects, again.objects, "{text}\n----\n{printed}");
        assert_eq!(print(&again, &printed), printed, "{text}");
    }
    if wrong.iter().any(|diagnostic| diagnostic.is_error()) {
        tally.refused += 1;
        return;
    }
    for program in &programs {
        explore_in_every_way(program, text, tally);
    }
}

/// Without reductions, with all of them, by the interpreter, by several workers.
fn explore_in_every_way(program: &Program, text: &str, tally: &mut Tally) {
    let workload = Workload::general(program, 2, 1);
    let all = Reductions { fusion: true, fixed: true, symmetry: true, data: true };
    let none = Reductions { fusion: false, fixed: false, symmetry: false, data: false };
    let bounds = |reductions: Reductions| Bounds {
        reductions,
        claims: Deciding::Ignored,
        states: Some(2_000),
        time: Some(std::time::Duration::from_secs(20)),
        ..Bounds::default()
    };
    for mode in [Mode::Anywhere, Mode::AtPoints] {
        let run = |bounds: &Bounds| explore(program, &workload, mode, bounds);
        let reduced = run(&bounds(all));
        let by_interpreter = run(&Bounds { stepper: Stepper::Interpreted, ..bounds(all) });
        assert_eq!(summary(&reduced), summary(&by_interpreter), "steps differ\n{text}");
        let unlimited = Bounds { states: None, ..bounds(all) };
        if !matches!(reduced.verdict, Verdict::Unknown(_)) {
            let by_several = run(&Bounds { workers: 3, shared_from: 2, ..unlimited.clone() });
            assert_eq!(summary(&reduced), summary(&by_several), "workers differ\n{text}");
        }
        let plain = run(&Bounds { states: Some(20_000), ..bounds(none) });
        match (word(&reduced), word(&plain)) {
            // Without fusion a thread that goes round on its own is a cycle like any other, and nobody asked
            // for progress.
            _ if is_endless(&reduced) => tally.violated += 1,
            ("unknown", _) | (_, "unknown") => tally.unknown += 1,
            (one, other) => {
                assert_eq!(one, other, "{:?}\n{:?}\n{mode:?}\n{text}", reduced.verdict, plain.verdict);
                if one == "holds" { tally.hold += 1 } else { tally.violated += 1 }
            }
        }
        if let Verdict::Violated(violation) = &reduced.verdict {
            assert!(violation.rechecked, "{violation:?}\n{text}");
            let schedule = schedule_of(program, &workload, mode, &unlimited, violation);
            assert!(schedule.is_some(), "it cannot be taken again: {:?}\n{text}", violation.wrong);
        }
    }
}

fn is_endless(explored: &Explored) -> bool {
    matches!(&explored.verdict, Verdict::Violated(violation) if violation.wrong == Wrong::Endless)
}

fn word(explored: &Explored) -> &'static str {
    match &explored.verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

fn summary(explored: &Explored) -> (usize, u64, usize, u64, &'static str) {
    let Explored { states, transitions, depth, digest, .. } = *explored;
    (states, transitions, depth, digest, word(explored))
}
