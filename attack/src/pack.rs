//! What a pack is: a source of inputs for one engine, with a second judge.

use linpoint_history::rng::Rng;

/// One kind of attack on one engine.
pub struct Pack {
    /// Which engine it attacks: `history`, `monitor`, `model`, `shape`, `obligations`, `rust` or `memory`.
    pub engine: &'static str,
    /// Its name, unique among all packs.
    pub name: &'static str,
    /// What it makes and who judges it, in one line.
    pub about: &'static str,
    /// Makes one input from the random numbers given, and has it decided twice. A round should take well below a second.
    pub round: fn(&mut Rng) -> Round,
}

/// What became of one round.
pub enum Round {
    /// All judges agree. So many cases were compared (0: the input was of no use).
    Agreed(u64),
    /// They do not.
    Disagreed(Box<Disagreement>),
}

/// An input about which an engine and its judge do not agree.
#[derive(Debug)]
pub struct Disagreement {
    /// What the engine said.
    pub said: String,
    /// What the judge says.
    pub judge: String,
    /// The input, as small as the pack could make it, in a form that the tool reads.
    pub input: String,
    /// How the tool must be called to see it, or the program that shows it.
    pub command: String,
}

impl Round {
    /// A disagreement.
    pub fn disagreed(
        said: impl Into<String>,
        judge: impl Into<String>,
        input: impl Into<String>,
        command: impl Into<String>,
    ) -> Self {
        Round::Disagreed(Box::new(Disagreement {
            said: said.into(),
            judge: judge.into(),
            input: input.into(),
            command: command.into(),
        }))
    }
}
