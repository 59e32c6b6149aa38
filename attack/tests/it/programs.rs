//! What packs make their programs with.

use linpoint_attack::corpus::corpus;
use linpoint_attack::mutant::mutants;
use linpoint_attack::program::{Wish, random_program};
use linpoint_attack::variation::{Variation, variations};
use linpoint_history::rng::Rng;
use linpoint_lang::compile;

/// Random programs have everything that is asked for, and the same seed makes the same.
#[test]
fn random_programs_have_everything() {
    let mut seen = [0; 8];
    for seed in 0..200 {
        let (text, programs) = random_program(&mut Rng::new(seed), Wish::ALL);
        assert_eq!(text, random_program(&mut Rng::new(seed), Wish::ALL).0);
        let words = ["lock(", "free(", "@ghost", "atomic {", "proc ", "choose {", "pooled ", "new "];
        for (count, word) in seen.iter_mut().zip(words) {
            *count += usize::from(text.contains(word));
        }
        assert!(!programs.is_empty());
    }
    assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
}

/// Every program of the corpus can be told differently in most ways, and stays a program.
#[test]
fn variations_are_programs() {
    let mut found = std::collections::BTreeMap::new();
    for (name, text) in corpus() {
        for (kind, told) in variations(&text, &mut Rng::new(3)) {
            let wrong: Vec<_> = compile(&told).1.into_iter().filter(|wrong| wrong.is_error()).collect();
            let why = wrong.first().map(|wrong| wrong.render("told.lin", &told));
            assert!(wrong.is_empty(), "{name} {kind:?}: {}\n{told}", why.unwrap_or_default());
            *found.entry(format!("{kind:?}")).or_insert(0) += 1;
        }
    }
    assert_eq!(found.len(), Variation::ALL.len(), "{found:?}");
    assert!(found.values().all(|count| *count >= 3), "{found:?}");
}

#[test]
fn mutants_are_many_and_different() {
    let (_, text) = corpus().into_iter().find(|(name, _)| name == "treiber").expect("it is there");
    let mut texts: Vec<String> = mutants(&text).into_iter().map(|(_, text)| text).collect();
    assert!(texts.len() > 20, "{}", texts.len());
    let count = texts.len();
    texts.sort();
    texts.dedup();
    assert!(texts.len() * 10 >= count * 9, "{} of {count}", texts.len());
}
