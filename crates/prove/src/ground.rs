//! From formulas with quantifiers to formulas without: what is unsatisfiable after is unsatisfiable before.
//!
//! Negations are pushed inwards. A variable that is claimed to exist gets a name (Skolem 1920). What is
//! claimed for all values is claimed for the terms in play only: the arguments at which functions of the
//! variable's family are read elsewhere in the formula. Leaving values out makes a formula weaker, so an
//! answer "unsatisfiable" is right whatever was left out; "satisfiable" may be due to what was left out.
//!
//! Two existential claims in different branches of a disjunction may share a name, because "there is" goes
//! through "or"; in a conjunction they may not. Disjunctions of hundreds of negated goals then need one name,
//! not hundreds.
//!
//! When time is up while formulas are made, what is left of them is left as it is; nothing is asked with it
//! (`worker.rs`).

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::symbol::Key;
use crate::term::{Family, Node, Sort, Term, Terms};

/// More terms than this are not put in for one variable.
const MAX_INSTANCES: usize = 48;

/// Terms in play, by family.
pub type InPlay = BTreeMap<Family, BTreeSet<Term>>;

/// What became of a list of claims.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The same claims, or weaker ones, without quantifiers.
    pub claims: Vec<Term>,
    /// The negated goals, or weaker ones, without quantifiers.
    pub refuted: Vec<Term>,
    /// How many times a term was put in for a variable.
    pub instances: usize,
    /// The terms in play.
    pub in_play: InPlay,
}

/// What does not depend on the claims.
#[derive(Clone, Debug, Default)]
pub struct Grounder {
    normal: FxHashMap<(Term, bool), Term>,
    indexed: FxHashMap<Term, Vec<(Family, i64)>>,
}

impl Grounder {
    /// Takes the quantifiers out of hypotheses and of negated goals: all hypotheses hold, and one of the
    /// negated goals. `also` are further terms to look at; `rounds`, how often terms that come into play by
    /// putting in are put in again.
    pub fn ground(
        &mut self,
        terms: &mut Terms,
        hypotheses: &[Term],
        goals: &[Term],
        also: &InPlay,
        rounds: usize,
    ) -> Ground {
        let mut names = 0;
        let mut stripped = Vec::with_capacity(hypotheses.len() + goals.len());
        for claim in hypotheses {
            let normal = self.normal(terms, *claim, true);
            stripped.push(strip(terms, normal, &mut Names::Counted(&mut names)));
        }
        for goal in goals {
            let mut names = names;
            let normal = self.normal(terms, *goal, false);
            stripped.push(strip(terms, normal, &mut Names::Counted(&mut names)));
        }
        let mut in_play = also.clone();
        collect(terms, &stripped, &mut in_play);
        let mut instances = 0;
        let mut done = stripped.clone();
        for _ in 0..rounds.max(1) {
            instances = 0;
            let mut known = FxHashMap::default();
            done = stripped
                .iter()
                .map(|claim| self.instantiate(terms, *claim, &in_play, &mut known, &mut instances))
                .collect();
            let before: usize = in_play.values().map(BTreeSet::len).sum();
            collect(terms, &done, &mut in_play);
            if in_play.values().map(BTreeSet::len).sum::<usize>() == before {
                break;
            }
        }
        let refuted = done.split_off(hypotheses.len());
        Ground { claims: done, refuted, instances, in_play }
    }

    /// Negations inside, quantifiers as they count.
    fn normal(&mut self, terms: &mut Terms, term: Term, positive: bool) -> Term {
        if !terms.is_quantified(term) {
            return if positive { term } else { terms.not(term) };
        }
        if terms.is_late() {
            return term;
        }
        if let Some(done) = self.normal.get(&(term, positive)) {
            return *done;
        }
        let done = match terms.node(term).clone() {
            Node::Not(a) => self.normal(terms, a, !positive),
            Node::And(list) | Node::Or(list) => {
                let and = matches!(terms.node(term), Node::And(_));
                let list: Vec<Term> = list.into_iter().map(|t| self.normal(terms, t, positive)).collect();
                if and == positive { terms.and(list) } else { terms.or(list) }
            }
            Node::Forall(depth, body) | Node::Exists(depth, body) => {
                let all = matches!(terms.node(term), Node::Forall(..));
                let body = self.normal(terms, body, positive);
                if all == positive { terms.forall(depth, body) } else { terms.exists(depth, body) }
            }
            Node::Eq(a, b) if terms.sort(a) == Sort::Bool => {
                let (yes_a, no_a) = (self.normal(terms, a, true), self.normal(terms, a, false));
                let (yes_b, no_b) = (self.normal(terms, b, true), self.normal(terms, b, false));
                let (one, two) =
                    if positive { ([yes_a, no_b], [no_a, yes_b]) } else { ([yes_a, yes_b], [no_a, no_b]) };
                let (one, two) = (terms.or(one), terms.or(two));
                terms.and([one, two])
            }
            // A quantifier inside an integer stays as it is: the solver has to cope.
            _ if positive => term,
            _ => terms.not(term),
        };
        self.normal.insert((term, positive), done);
        done
    }

    fn instantiate(
        &mut self,
        terms: &mut Terms,
        term: Term,
        in_play: &InPlay,
        known: &mut FxHashMap<Term, Term>,
        instances: &mut usize,
    ) -> Term {
        if terms.is_late() || !terms.is_quantified(term) {
            return term;
        }
        if let Some(done) = known.get(&term) {
            return *done;
        }
        let done = match terms.node(term).clone() {
            Node::And(list) => {
                let list: Vec<Term> =
                    list.into_iter().map(|t| self.instantiate(terms, t, in_play, known, instances)).collect();
                terms.and(list)
            }
            Node::Or(list) => {
                let list: Vec<Term> =
                    list.into_iter().map(|t| self.instantiate(terms, t, in_play, known, instances)).collect();
                terms.or(list)
            }
            Node::Forall(at, body) => {
                let mut all = Vec::new();
                for value in self.values(terms, term, at, body, in_play) {
                    *instances += 1;
                    let one = terms.put(body, at, value);
                    let one = strip(terms, one, &mut Names::ByTerm);
                    all.push(self.instantiate(terms, one, in_play, known, instances));
                }
                terms.and(all)
            }
            _ => term,
        };
        known.insert(term, done);
        done
    }

    /// What to put in for the variable of a claim.
    fn values(&mut self, terms: &mut Terms, term: Term, at: u32, body: Term, in_play: &InPlay) -> Vec<Term> {
        let indexed = match self.indexed.get(&term) {
            Some(found) => found.clone(),
            None => {
                let mut found = BTreeSet::new();
                indexed(terms, body, at, &mut FxHashSet::default(), &mut found);
                let found: Vec<(Family, i64)> = found.into_iter().collect();
                self.indexed.insert(term, found.clone());
                found
            }
        };
        let mut values = BTreeSet::new();
        if indexed.is_empty() {
            values.extend(in_play.values().flatten().copied());
        }
        for (family, offset) in indexed {
            for value in in_play.get(&family).into_iter().flatten() {
                let offset = terms.int(offset);
                values.insert(terms.sub(*value, offset));
            }
        }
        values.into_iter().take(MAX_INSTANCES).collect()
    }
}

enum Names<'n> {
    /// One after another; branches of a disjunction share.
    Counted(&'n mut u32),
    /// One for each formula.
    ByTerm,
}

/// Gives names to what is claimed to exist, down to the first universal quantifier.
fn strip(terms: &mut Terms, term: Term, names: &mut Names<'_>) -> Term {
    if terms.is_late() || !terms.is_quantified(term) {
        return term;
    }
    match terms.node(term).clone() {
        Node::And(list) => {
            let list: Vec<Term> = list.into_iter().map(|t| strip(terms, t, names)).collect();
            terms.and(list)
        }
        Node::Or(list) => {
            let start = if let Names::Counted(next) = names { **next } else { 0 };
            let mut last = start;
            let mut stripped = Vec::with_capacity(list.len());
            for branch in list {
                if let Names::Counted(next) = names {
                    **next = start;
                }
                stripped.push(strip(terms, branch, names));
                if let Names::Counted(next) = names {
                    last = last.max(**next);
                }
            }
            if let Names::Counted(next) = names {
                **next = last;
            }
            terms.or(stripped)
        }
        Node::Exists(at, body) => {
            let key = match names {
                Names::Counted(next) => {
                    **next += 1;
                    Key::Witness(**next)
                }
                Names::ByTerm => Key::WitnessOf(term),
            };
            let name = terms.constant(key, "k", Sort::Int);
            let body = terms.put(body, at, name);
            strip(terms, body, names)
        }
        _ => term,
    }
}

/// Arguments of functions that stand under no quantifier.
fn collect(terms: &Terms, claims: &[Term], in_play: &mut InPlay) {
    let mut seen = FxHashSet::default();
    let mut open = claims.to_vec();
    while let Some(term) = open.pop() {
        if !seen.insert(term) {
            continue;
        }
        match terms.node(term) {
            Node::Forall(..) | Node::Exists(..) => continue,
            Node::App(symbol, arguments) => {
                for (family, argument) in terms.signature(*symbol).arguments.iter().zip(arguments) {
                    if !terms.has_bound(*argument) {
                        in_play.entry(*family).or_default().insert(*argument);
                    }
                }
            }
            _ => {}
        }
        open.extend(terms.children(term));
    }
}

/// Which families a bound variable indexes, and how far off.
fn indexed(
    terms: &Terms,
    term: Term,
    at: u32,
    seen: &mut FxHashSet<Term>,
    found: &mut BTreeSet<(Family, i64)>,
) {
    if !terms.has_bound(term) || !seen.insert(term) {
        return;
    }
    if let Node::App(symbol, arguments) = terms.node(term) {
        for (family, argument) in terms.signature(*symbol).arguments.iter().zip(arguments) {
            match *terms.node(*argument) {
                Node::Bound(depth) if depth == at => drop(found.insert((*family, 0))),
                Node::Add(a, b) => match (terms.node(a), terms.node(b)) {
                    (Node::Bound(depth), Node::Int(n)) | (Node::Int(n), Node::Bound(depth))
                        if *depth == at =>
                    {
                        found.insert((*family, *n));
                    }
                    _ => {}
                },
                Node::Sub(a, b) => {
                    if let (Node::Bound(depth), Node::Int(n)) = (terms.node(a), terms.node(b))
                        && *depth == at
                    {
                        found.insert((*family, -*n));
                    }
                }
                _ => {}
            }
        }
    }
    for child in terms.children(term) {
        indexed(terms, child, at, seen, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_share_names_and_conjuncts_do_not() {
        let mut terms = Terms::new();
        let f = terms.symbol(Key::Named("f", 0), "f", &[Family(0)], Sort::Bool);
        let g = terms.symbol(Key::Named("g", 0), "g", &[Family(0)], Sort::Bool);
        let bound = terms.bound(0);
        let (fb, gb) = (terms.app(f, vec![bound]), terms.app(g, vec![bound]));
        let (some_f, some_g) = (terms.exists(0, fb), terms.exists(0, gb));
        let mut grounder = Grounder::default();
        let either = terms.or([some_f, some_g]);
        let ground = grounder.ground(&mut terms, &[either], &[], &InPlay::new(), 1);
        assert_eq!(ground.in_play[&Family(0)].len(), 1);
        let ground = grounder.ground(&mut terms, &[some_f, some_g], &[], &InPlay::new(), 1);
        assert_eq!(ground.in_play[&Family(0)].len(), 2);
    }

    #[test]
    fn universal_claims_are_made_of_terms_in_play() {
        let mut terms = Terms::new();
        let f = terms.symbol(Key::Named("f", 0), "f", &[Family(0)], Sort::Bool);
        let x = terms.constant(Key::Named("x", 0), "x", Sort::Int);
        let bound = terms.bound(0);
        let fb = terms.app(f, vec![bound]);
        let all = terms.forall(0, fb);
        let fx = terms.app(f, vec![x]);
        let not = terms.not(fx);
        let ground = Grounder::default().ground(&mut terms, &[all], &[fx], &InPlay::new(), 2);
        assert_eq!((ground.claims, ground.refuted), (vec![fx], vec![not]));
        assert_eq!(ground.instances, 1);
    }
}
