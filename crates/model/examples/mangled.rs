//! Looks at programs that nobody wrote, made from those of the corpus: `mangled ROUNDS SEED`. It panics where
//! two ways to look at one disagree, and prints the program.

#[path = "../tests/it/mangle.rs"]
mod mangle;

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse().unwrap_or(1));
    let (rounds, seed) = (args.next().unwrap_or(1_000), args.next().unwrap_or(1));
    let mut texts = Vec::new();
    for folder in ["corpus/correct", "corpus/broken"] {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = files.map(|file| file.path()).collect();
        paths.sort();
        texts.extend(paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()));
    }
    let mut tally = mangle::Tally::default();
    mangle::mangle_and_look(&texts, seed as u64, rounds, &mut tally);
    println!("{rounds} rounds: {tally:?}");
}
