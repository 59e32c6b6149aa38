//! Random small programs of the algorithm language, well typed by construction.
//!
//! An object has a few shared variables, arrays, records and locks, and two or three operations with random bodies. Its specification is a `spec` with the same bodies, without locks and atomic
//! blocks: the object is right if it behaves as if its operations ran one after the other. Some bodies run under one lock or in one atomic step as a whole, so many programs are right; many are
//! nearly right.
//!
//! What a program may contain is said by [`Wish`]; each engine asks for what it accepts.

mod body;
mod names;

use linpoint_history::rng::Rng;
use linpoint_lang::{Program, compile};

use body::Writer;
use names::Names;

/// What a program may contain. What is allowed is used about every second time.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Records that are linked and point to each other.
    pub heap: bool,
    /// Records that are given back, some from a pool.
    pub free: bool,
    /// Locks: shared ones, and two a record.
    pub locks: bool,
    /// Arrays of numbers and of records.
    pub arrays: bool,
    /// Ghost variables and fields, and assignments to them.
    pub ghosts: bool,
    /// Results that are tuples, options, and options of tuples.
    pub tuples: bool,
    /// Atomic blocks.
    pub atomic: bool,
    /// Procedures.
    pub procedures: bool,
    /// `choose`, and waiting with `assume`.
    pub choices: bool,
    /// `@lin` at random steps.
    pub points: bool,
    /// `@lin` and `abs` where every operation is one atomic step: what a proof by obligations needs.
    pub proof: bool,
    /// Names that mean something elsewhere, and the same name in several places.
    pub odd_names: bool,
    /// Several objects in a file.
    pub objects: bool,
}

impl Wish {
    /// Everything.
    pub const ALL: Wish = Wish {
        heap: true,
        free: true,
        locks: true,
        arrays: true,
        ghosts: true,
        tuples: true,
        atomic: true,
        procedures: true,
        choices: true,
        points: true,
        proof: false,
        odd_names: true,
        objects: true,
    };

    /// A random part of what is wished.
    #[must_use]
    pub fn some(self, rng: &mut Rng) -> Wish {
        let mut maybe = |wished: bool| wished && rng.chance(0.5);
        Wish {
            heap: maybe(self.heap),
            free: maybe(self.free),
            locks: maybe(self.locks),
            arrays: maybe(self.arrays),
            ghosts: maybe(self.ghosts),
            tuples: maybe(self.tuples),
            atomic: maybe(self.atomic),
            procedures: maybe(self.procedures),
            choices: maybe(self.choices),
            points: maybe(self.points),
            proof: self.proof,
            odd_names: maybe(self.odd_names),
            objects: maybe(self.objects),
        }
    }
}

/// A random file that is accepted, and its objects.
///
/// What odd names make of a text is not always a program; then another is made.
#[must_use]
pub fn random_program(rng: &mut Rng, wish: Wish) -> (String, Vec<Program>) {
    for _ in 0..100 {
        let part = wish.some(rng);
        let text = random_text(rng, part);
        let (programs, wrong) = compile(&text);
        if !programs.is_empty() && wrong.iter().all(|diagnostic| !diagnostic.is_error()) {
            return (text, programs);
        }
    }
    unreachable!("one in a hundred texts is a program");
}

/// A random text that is most often a program.
#[must_use]
pub fn random_text(rng: &mut Rng, wish: Wish) -> String {
    let count = if wish.objects { 2 } else { 1 };
    let texts: Vec<String> = (0..count).map(|number| object(rng, wish, number)).collect();
    texts.join("\n")
}

fn object(rng: &mut Rng, wish: Wish, number: usize) -> String {
    let names = Names::new(rng, wish.odd_names);
    let name = names.object(number);
    let mut writer = Writer::new(rng, wish, names);
    let operations = writer.operations();
    let (shared, spec_shared) = writer.declarations();
    let mut text = format!("object {name} {{\n{shared}");
    for (here, _) in &operations {
        text.push_str(here);
    }
    text.push_str(&format!("spec {{\n{spec_shared}"));
    for (_, spec) in &operations {
        text.push_str(spec);
    }
    text.push_str("}\n");
    text.push_str(&writer.annotations());
    text.push_str("}\n");
    text
}
