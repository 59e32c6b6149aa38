//! Runs as data, and a tiny notation for them.
//!
//! ```text
//! 1:x=5      thread 1 writes 5 to x          1:p(    thread 1 calls p
//! 1:x?5      thread 1 reads 5                1:p)    p returns
//! 1:x?5=6    thread 1 changes 5 to 6         1:p^    p is left by a panic
//! [ … ]      one statement                   1!      thread 1 makes the claim
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use linpoint_claim::{
    ConditionDraft, Failure, Kind, Monitor, ProcedureId, Site, ThreadId, ThreadSet, Undecided, VarId,
};

#[derive(Clone, Debug)]
pub enum Event {
    /// By whom, of what, how, and the value after it.
    Access(ThreadId, char, Kind, u128),
    Begin,
    End,
    Enter(ThreadId, char),
    Exit(ThreadId, char),
    Unwind(ThreadId, char),
    Claim(ThreadId, Vec<Term>),
}

#[derive(Clone, Debug)]
pub enum Term {
    First(char, Kind, ThreadSet),
    /// The condition: one of these conjunctions of variables that are not zero holds.
    Last(char, Kind, ThreadSet, Vec<Vec<char>>),
    Exit(char),
}

pub static SITE: Site =
    Site { file: "run", line: 1, column: 1, source: "claim", terms: &["t0", "t1", "t2", "t3", "t4", "t5"] };

pub fn variable(name: char) -> VarId {
    VarId::of_address(name as usize)
}

/// What the monitor found of each claim, by the number of the claim.
pub struct Found {
    /// The values of the terms of claims that were decided. All claims are taken as false, so that failures
    /// show the values.
    pub decided: Vec<(usize, Failure)>,
    pub undecided: Vec<Undecided>,
    pub monitor: Monitor,
}

/// Feeds a run to a monitor. Variables start with zero.
pub fn feed(events: &[Event], mut monitor: Monitor) -> Found {
    let decided = Rc::new(RefCell::new(Vec::new()));
    let mut claims = 0;
    let mut environment = Environment::default();
    for event in events {
        environment.step(event);
        match event {
            Event::Access(thread, name, access, bits) => {
                monitor.access(*thread, variable(*name), *access, *bits)
            }
            Event::Begin => monitor.begin_block(),
            Event::End => monitor.end_block(),
            Event::Enter(thread, name) => monitor.enter(*thread, ProcedureId(*name as u64)),
            Event::Exit(thread, name) => monitor.exit(*thread, ProcedureId(*name as u64)),
            Event::Unwind(thread, name) => monitor.unwind(*thread, ProcedureId(*name as u64)),
            Event::Claim(thread, terms) => {
                let id = monitor.open_claim(*thread, &SITE);
                for term in terms {
                    add_term(&mut monitor, id, term, &environment);
                }
                let (number, count, decided) = (claims, terms.len() as u32, decided.clone());
                let predicate = move |values: &[u128], out: Option<&mut linpoint_claim::Explanation<'_>>| {
                    if let Some(out) = out {
                        (0..count).for_each(|index| out.term(index, &values[index as usize]));
                        decided.borrow_mut().push(number);
                    }
                    false
                };
                monitor.close_claim(id, Box::new(predicate));
                claims += 1;
            }
        }
    }
    monitor.end();
    let decided = decided.borrow().iter().copied().zip(monitor.failures().iter().cloned()).collect();
    Found { decided, undecided: monitor.undecided().to_vec(), monitor }
}

pub fn add_term(monitor: &mut Monitor, id: linpoint_claim::ClaimId, term: &Term, environment: &Environment) {
    match term.clone() {
        Term::First(name, kind, threads) => monitor.add_first(id, variable(name), kind, threads),
        Term::Last(name, kind, threads, condition) => {
            let mut draft = ConditionDraft::default();
            let mut places = |names: &Vec<char>| {
                names.iter().map(|&name| draft.watch_bits(variable(name), environment.get(name))).collect()
            };
            let condition: Vec<Vec<usize>> = condition.iter().map(&mut places).collect();
            let holds =
                move |values: &[u128]| condition.iter().any(|all| all.iter().all(|&i| values[i] != 0));
            monitor.add_last(id, variable(name), kind, threads, draft.finish(holds))
        }
        Term::Exit(name) => monitor.add_exit(id, variable(name), environment.get(name)),
    };
}

/// The values of all variables.
#[derive(Clone, Default)]
pub struct Environment(std::collections::BTreeMap<char, u128>);

impl Environment {
    pub fn get(&self, name: char) -> u128 {
        self.0.get(&name).copied().unwrap_or(0)
    }

    pub fn step(&mut self, event: &Event) {
        if let Event::Access(_, name, access, bits) = event
            && access.writes()
        {
            self.0.insert(*name, *bits);
        }
    }

    pub fn holds(&self, condition: &[Vec<char>]) -> bool {
        condition.iter().any(|all| all.iter().all(|&name| self.get(name) != 0))
    }
}

/// Reads the notation; the claim has the terms given.
pub fn parse(run: &str, terms: &[Term]) -> Vec<Event> {
    run.split_whitespace().map(|word| parse_event(word, terms)).collect()
}

fn parse_event(word: &str, terms: &[Term]) -> Event {
    match word {
        "[" => return Event::Begin,
        "]" => return Event::End,
        _ => {}
    }
    let thread = |text: &str| ThreadId(text.parse().unwrap());
    if let Some(claimant) = word.strip_suffix('!') {
        return Event::Claim(thread(claimant), terms.to_vec());
    }
    let (id, what) = word.split_once(':').unwrap();
    let (name, rest) = (what.chars().next().unwrap(), &what[1..]);
    let bits = |text: &str| text.parse::<u128>().unwrap();
    let (access, bits) = match (rest.chars().next().unwrap(), rest[1..].split_once('=')) {
        ('(', _) => return Event::Enter(thread(id), name),
        (')', _) => return Event::Exit(thread(id), name),
        ('^', _) => return Event::Unwind(thread(id), name),
        ('?', Some((_, new))) => (Kind::RW, bits(new)),
        ('?', None) => (Kind::Rd, bits(&rest[1..])),
        ('=', _) => (Kind::Wr, bits(&rest[1..])),
        _ => panic!("what is {word}?"),
    };
    Event::Access(thread(id), name, access, bits)
}
