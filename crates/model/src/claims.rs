//! Claims about the future, decided along every run (Sezgin, Tasiran, Muslu, Qadeer 2011); `docs/claims.md`
//! says what they mean.
//!
//! Claims that were made and are not decided are part of a state: sets of them are numbered, as the monitor's
//! are. A claim keeps the values of its plain parts, where each of its terms looks, and what the term has
//! seen. A statement is one step of the program. A claim that can never be ready is dropped: it is neither
//! true nor false. One whose plain parts alone make it true is dropped as well.
//!
//! What a term looks at is a place in the row of words. So with claims records are not renumbered, and
//! threads not sorted: there are more states, and each place stays what it is. After the return of the
//! operation its locals are what they were then.
//!
//! # Why fusion loses nothing
//!
//! Making a claim is a step that others notice, so it comes in every order with theirs. What becomes of a
//! claim later depends on the order of accesses to the shared places it waits for, of steps that change what
//! the condition of a `last` reads, and of a return for which an `exit` of a shared place waits. The first
//! are never taken for local; the others are not if a claim of the operation needs them (`fusion::Claimed`).

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::interp::{ErrorKind, Event, Machine};
use linpoint_lang::program::{Access, ClaimId, Expr, Place, Term, Threads, Word};
use rustc_hash::FxHashMap;

/// A set of claims that are not decided, by number.
pub(crate) type ClaimsId = u32;

/// A claim that was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Live {
    claim: u16,
    thread: usize,
    /// Has the operation that made it not returned?
    open: bool,
    /// The values of the parts without terms.
    plain: Vec<Word>,
    terms: Vec<Looks>,
    /// The locals, once the operation has returned, if a condition reads them.
    locals: Vec<Word>,
}

/// A term, where it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Looks {
    at: usize,
    seen: Seen,
}

/// What a term knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Seen {
    Nothing,
    /// The value after the last access so far.
    Latest(Word),
    Known(Word),
    /// It never will.
    Never,
}

/// What is wrong with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refuted {
    /// It is ready and false.
    False(ClaimId),
    /// A plain part of it goes wrong.
    Error(ErrorKind),
}

/// One action of a step: what it accessed, and the words after it.
struct Acted<'e> {
    accesses: &'e [(usize, bool)],
    words: &'e [Word],
}

/// All sets of claims met.
pub(crate) struct Claims {
    sets: Vec<Vec<Live>>,
    ids: FxHashMap<Vec<Live>, ClaimsId>,
}

impl Claims {
    /// Claims of a program; `None` if it makes none.
    pub fn new(program: &Program) -> Option<Claims> {
        let ids = [(Vec::new(), 0)].into_iter().collect();
        (!program.claims.is_empty()).then(|| Claims { sets: vec![Vec::new()], ids })
    }

    /// Can every claim be decided?
    pub fn are_decidable(program: &Program) -> bool {
        fn quantifies(e: &Expr) -> bool {
            match e {
                Expr::Quantified { .. } => has_term(e),
                Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => quantifies(e),
                Expr::Binary(_, a, b) => quantifies(a) || quantifies(b),
                _ => false,
            }
        }
        !program.claims.iter().any(|claim| quantifies(&claim.body))
    }

    /// The set after a step of a thread, with what happened in it; `returned`: the operation ends with it.
    pub fn step(
        &mut self,
        machine: &Machine<'_>,
        at: ClaimsId,
        thread: usize,
        events: &[Event],
        returned: bool,
    ) -> Result<ClaimsId, Refuted> {
        let mut live = self.sets[at as usize].clone();
        // Each claim, and the first action after it.
        let mut since = vec![0; live.len()];
        let mut acted: Vec<Acted<'_>> = Vec::new();
        for event in events {
            match event {
                Event::Acted { accesses, words } => acted.push(Acted { accesses, words }),
                Event::Claim(claim) => {
                    // The words before it: those after the action before; a claim changes nothing, so those
                    // after it are the same.
                    let mut words = events.iter().filter_map(|event| match event {
                        Event::Acted { words, .. } => Some(words),
                        _ => None,
                    });
                    let Some(words) = words.nth(acted.len()) else { continue };
                    if let Some(made) = make(machine, thread, *claim, words).map_err(Refuted::Error)? {
                        live.push(made);
                        since.push(acted.len() + 1);
                    }
                }
                Event::Point(_) | Event::Reuse(_) => {}
            }
        }
        let Some(last) = acted.last() else { return Ok(at) };
        let mut left = Vec::new();
        for (mut one, since) in live.into_iter().zip(since) {
            one.look(machine, thread, &acted[since.min(acted.len())..], last.words);
            if returned && one.open && one.thread == thread {
                one.leave(machine, last.words);
            }
            match one.decide(machine.program) {
                None if one.terms.iter().any(|term| term.seen == Seen::Never) => {}
                None => left.push(one),
                Some(true) => {}
                Some(false) => return Err(Refuted::False(ClaimId(one.claim))),
            }
        }
        left.sort_unstable();
        Ok(self.number(left))
    }

    fn number(&mut self, set: Vec<Live>) -> ClaimsId {
        if let Some(id) = self.ids.get(&set) {
            return *id;
        }
        let id = self.sets.len() as ClaimsId;
        self.sets.push(set.clone());
        self.ids.insert(set, id);
        id
    }
}

/// A claim as it is made; `None` if it is true whatever happens.
fn make(
    machine: &Machine<'_>,
    thread: usize,
    id: ClaimId,
    words: &[Word],
) -> Result<Option<Live>, ErrorKind> {
    let claim = &machine.program.claims[id.index()];
    let mut words = words.to_vec();
    let mut plain = Vec::new();
    // A plain left side of an outermost implication or disjunction guards what follows.
    let mut rest = &claim.body;
    while let Expr::Binary(op @ (BinOp::Implies | BinOp::Or), guard, after) = rest
        && !has_term(guard)
    {
        let value = machine.value(&mut words, thread, guard)?;
        if (value == 0) == (*op == BinOp::Implies) {
            return Ok(None);
        }
        plain.push(value);
        rest = after;
    }
    parts(machine, thread, &mut words, rest, &mut plain)?;
    let mut terms = Vec::new();
    for term in &claim.terms {
        let (Term::First { place, .. } | Term::Last { place, .. } | Term::Exit { place }) = term;
        let at = machine.place(&mut words, thread, place)?;
        let already = matches!(term, Term::Last { until, .. } if holds(machine, thread, &mut words, until));
        terms.push(Looks { at, seen: if already { Seen::Never } else { Seen::Nothing } });
    }
    let live = Live { claim: id.0, thread, open: true, plain, terms, locals: Vec::new() };
    let known = vec![None; live.terms.len()];
    Ok(match truth(&claim.body, &mut live.plain.iter(), &known) {
        Some(value) if value != 0 => None,
        _ => Some(live),
    })
}

fn holds(machine: &Machine<'_>, thread: usize, words: &mut [Word], condition: &Expr) -> bool {
    // A condition that cannot be evaluated is not true.
    machine.value(words, thread, condition).is_ok_and(|value| value != 0)
}

/// The values of the greatest parts without terms.
fn parts(
    machine: &Machine<'_>,
    thread: usize,
    words: &mut [Word],
    e: &Expr,
    plain: &mut Vec<Word>,
) -> Result<(), ErrorKind> {
    match e {
        _ if !has_term(e) => plain.push(machine.value(words, thread, e)?),
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => parts(machine, thread, words, e, plain)?,
        Expr::Binary(_, a, b) => {
            parts(machine, thread, words, a, plain)?;
            parts(machine, thread, words, b, plain)?;
        }
        _ => {}
    }
    Ok(())
}

fn has_term(e: &Expr) -> bool {
    match e {
        Expr::Term(_) => true,
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => has_term(e),
        Expr::Binary(_, a, b) => has_term(a) || has_term(b),
        Expr::Quantified { lo, hi, body, .. } => [lo, hi, body].into_iter().any(|e| has_term(e)),
        Expr::Const(_) | Expr::Size(_) | Expr::Me | Expr::Read(_) => false,
    }
}

/// The value of a claim, as far as its terms are known.
fn truth(e: &Expr, plain: &mut std::slice::Iter<'_, Word>, terms: &[Option<Word>]) -> Option<Word> {
    use linpoint_lang::interp::operate;
    match e {
        _ if !has_term(e) => plain.next().copied(),
        Expr::Term(term) => terms[usize::from(*term)],
        Expr::Not(e) => truth(e, plain, terms).map(|value| Word::from(value == 0)),
        Expr::Neg(e) => truth(e, plain, terms).map(|value| -value),
        Expr::Unwrap(e) => truth(e, plain, terms).filter(|value| *value != linpoint_lang::program::NONE),
        Expr::Binary(op, a, b) => {
            let (a, b) = (truth(a, plain, terms), truth(b, plain, terms));
            match (op, a, b) {
                (BinOp::And, Some(0), _) | (BinOp::And, _, Some(0)) => Some(0),
                (BinOp::Or, Some(x), _) | (BinOp::Or, _, Some(x)) if x != 0 => Some(1),
                (BinOp::Implies, Some(0), _) => Some(1),
                (BinOp::Implies, _, Some(x)) if x != 0 => Some(1),
                (BinOp::Implies, Some(_), Some(_)) => Some(0),
                (BinOp::Or, Some(_), Some(_)) => Some(0),
                (BinOp::And, Some(_), Some(_)) => Some(1),
                (_, Some(a), Some(b)) => operate(*op, a, b),
                _ => None,
            }
        }
        _ => None,
    }
}

impl Live {
    /// What a step of a thread, action by action, means to the terms.
    fn look(&mut self, machine: &Machine<'_>, thread: usize, acted: &[Acted<'_>], end: &[Word]) {
        let claim = &machine.program.claims[usize::from(self.claim)];
        for (index, term) in claim.terms.iter().enumerate() {
            let Looks { at, seen } = self.terms[index];
            if matches!(seen, Seen::Known(_) | Seen::Never) {
                continue;
            }
            let among = |acted: &[Acted<'_>], access: Access, threads: Threads| {
                let mine = match threads {
                    Threads::Me => thread == self.thread,
                    Threads::Others => thread != self.thread,
                    Threads::All => true,
                };
                let kind = |write: bool| match access {
                    Access::Read => !write,
                    Access::Write => write,
                    Access::Any => true,
                };
                mine && acted
                    .iter()
                    .flat_map(|a| a.accesses)
                    .any(|(place, write)| *place == at && kind(*write))
            };
            self.terms[index].seen = match term {
                Term::First { access, threads, .. } if among(acted, *access, *threads) => {
                    Seen::Known(end[at])
                }
                Term::Last { access, threads, until, .. } => {
                    // The actions up to the one that made the condition true for good.
                    let false_until = acted.iter().rposition(|a| !self.holds(machine, a.words, until));
                    let becomes = !acted.is_empty() && false_until != Some(acted.len() - 1);
                    let before = if becomes { false_until.map_or(0, |last| last + 1) } else { acted.len() };
                    let seen = match among(&acted[..before], *access, *threads) {
                        true => Seen::Latest(end[at]),
                        false => seen,
                    };
                    match (becomes, seen) {
                        (true, Seen::Latest(value)) => Seen::Known(value),
                        (true, _) => Seen::Never,
                        (false, seen) => seen,
                    }
                }
                _ => seen,
            };
        }
    }

    /// Does a condition hold, with the locals of the operation that made the claim?
    fn holds(&self, machine: &Machine<'_>, words: &[Word], condition: &Expr) -> bool {
        let mut words = words.to_vec();
        if !self.open && !self.locals.is_empty() {
            words[machine.frame_range(self.thread)].copy_from_slice(&self.locals);
        }
        holds(machine, self.thread, &mut words, condition)
    }

    /// The operation returns; `words` are those just before its locals are gone.
    fn leave(&mut self, machine: &Machine<'_>, words: &[Word]) {
        let claim = &machine.program.claims[usize::from(self.claim)];
        self.open = false;
        for (index, term) in claim.terms.iter().enumerate() {
            let Looks { at, seen } = self.terms[index];
            let waits = matches!(seen, Seen::Nothing | Seen::Latest(_));
            self.terms[index].seen = match term {
                Term::Exit { .. } => Seen::Known(words[at]),
                Term::First { place: Place::Local(_), .. } if waits => Seen::Never,
                Term::Last { place: Place::Local(_), .. } if seen == Seen::Nothing => Seen::Never,
                Term::Last { until, .. } if waits => {
                    let (mut local, mut shared) = (false, false);
                    until.places(&mut |place| match place.is_shared() {
                        true => shared = true,
                        false => local = true,
                    });
                    if local {
                        self.locals = words[machine.frame_range(self.thread)].to_vec();
                    }
                    // Nobody can make it true any more.
                    if shared { seen } else { Seen::Never }
                }
                _ => seen,
            };
        }
    }

    /// Is it true? `None` if that is not known. False only once every term is known.
    fn decide(&self, program: &Program) -> Option<bool> {
        let terms: Vec<Option<Word>> = self
            .terms
            .iter()
            .map(|term| match term.seen {
                Seen::Known(value) => Some(value),
                _ => None,
            })
            .collect();
        if terms.iter().any(Option::is_none) {
            return None;
        }
        let body = &program.claims[usize::from(self.claim)].body;
        // What goes wrong is not true.
        Some(truth(body, &mut self.plain.iter(), &terms).is_some_and(|value| value != 0))
    }
}
