//! A snapshot of two entries that checks versions and forgets one; the page shows the claim that is false.
//!
//! `cargo run -p linpoint --example page -- claim.html`

use std::sync::atomic::Ordering::SeqCst;

use linpoint::sync::Arc;
use linpoint::sync::atomic::AtomicUsize;
use linpoint::{Var, procedure, tressa};

#[derive(Default)]
struct Entry {
    version: AtomicUsize,
    data: AtomicUsize,
}

impl Entry {
    fn read(&self) -> (usize, usize) {
        (self.version.load(SeqCst), self.data.load(SeqCst))
    }

    fn write(&self, value: usize) {
        self.version.fetch_add(1, SeqCst);
        self.data.store(value, SeqCst);
    }
}

fn snapshot(a: &Entry, b: &Entry) -> Option<(usize, usize)> {
    let _procedure = procedure();
    let valid = Var::new(true);
    let (_, seen_a) = a.read();
    let (version_b, seen_b) = b.read();
    // If this snapshot will succeed, its values are those of the memory now.
    tressa!(Exit(valid) ==> (seen_a == a.data.load(SeqCst) && seen_b == b.data.load(SeqCst)));
    // The version of `a` should be looked at, too.
    if version_b < b.version.load(SeqCst) {
        valid.set(false);
    }
    valid.get().then_some((seen_a, seen_b))
}

fn main() -> std::io::Result<()> {
    let explored = linpoint::exploration().report(|| {
        let memory = Arc::new((Entry::default(), Entry::default()));
        let writer = Arc::clone(&memory);
        let thread = linpoint::thread::spawn(move || writer.0.write(9));
        snapshot(&memory.0, &memory.1);
        thread.join().expect("the writer ends");
    });
    println!("{explored}");
    match std::env::args().nth(1) {
        Some(file) => std::fs::write(file, explored.page()),
        None => Ok(()),
    }
}
