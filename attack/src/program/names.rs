//! Names for everything in a random program: plain ones, or odd ones, some of which several things share.

use linpoint_history::rng::Rng;

/// Words that mean something in some engine, or look like what an engine might make up.
const ODD: &[&str] = &[
    "result",
    "result_0",
    "x",
    "v",
    "t",
    "n",
    "top",
    "next",
    "state",
    "frame",
    "pc",
    "op",
    "spec_state",
    "_",
    "__",
    "a_b",
    "b",
    "old",
    "value",
    "out",
    "self",
    "heap",
    "holder",
    "abs_",
    "q_result",
    "x_0",
    "x_1",
    "me_",
    "Node",
];

/// The names of one object.
pub(super) struct Names {
    odd: Option<Vec<String>>,
    made: usize,
}

impl Names {
    pub fn new(rng: &mut Rng, odd: bool) -> Names {
        let odd = odd.then(|| {
            let mut words: Vec<String> = ODD.iter().map(|word| (*word).to_owned()).collect();
            for at in (1..words.len()).rev() {
                words.swap(at, rng.below(at as u64 + 1) as usize);
            }
            words
        });
        Names { odd, made: 0 }
    }

    pub fn object(&self, number: usize) -> String {
        match &self.odd {
            Some(words) => format!("{}_{number}", words[0]),
            None => format!("T{number}"),
        }
    }

    /// A name that nothing else at its level has.
    pub fn of(&mut self, plain: &str) -> String {
        self.made += 1;
        match &self.odd {
            Some(words) => match words.get(self.made) {
                Some(word) => word.clone(),
                None => format!("result_{}", self.made),
            },
            None => plain.to_owned(),
        }
    }

    /// A name of a local: odd ones are the same in every routine.
    pub fn local(&mut self, at: usize) -> String {
        match &self.odd {
            Some(words) => match words.get(words.len() - 1 - at % words.len()) {
                Some(word) if at < words.len() / 3 => word.clone(),
                _ => format!("result{at}"),
            },
            None => format!("y{at}"),
        }
    }
}
