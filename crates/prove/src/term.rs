//! Formulas: integers, truth values, functions without a meaning of their own, and quantifiers over integers.
//!
//! Terms are kept once each (hash-consing), so equal terms are equal numbers and a cache by number is a cache
//! by content. Building a term simplifies what is plain: constants, double negation, nested conjunctions. A
//! bound variable is named by the depth of its quantifier; only terms without bound variables are ever put in
//! for one, so nothing is captured.

use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::symbol::Key;

/// A term, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(pub u32);

/// What a term stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sort {
    /// An integer.
    Int,
    /// A truth value.
    Bool,
}

/// A function or a constant, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// What the arguments of functions range over: indices of arrays of one length, records of one kind,
/// processes. Universal hypotheses are put to use at the terms of the family that their variable belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Family(pub u16);

/// A function or a constant.
#[derive(Clone, Debug)]
pub struct Signature {
    /// What it stands for.
    pub key: Key,
    /// Its name as people read it. Nothing is ever found or compared by it.
    pub name: String,
    /// A family an argument.
    pub arguments: Vec<Family>,
    /// What it gives.
    pub sort: Sort,
}

/// The form of a term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Node {
    Int(i64),
    Bool(bool),
    /// A variable of the quantifier at this depth.
    Bound(u32),
    App(Symbol, Vec<Term>),
    Not(Term),
    And(Vec<Term>),
    Or(Vec<Term>),
    Eq(Term, Term),
    Le(Term, Term),
    Lt(Term, Term),
    Add(Term, Term),
    Sub(Term, Term),
    Mul(Term, Term),
    Mod(Term, Term),
    Ite(Term, Term, Term),
    Forall(u32, Term),
    Exists(u32, Term),
}

#[derive(Clone, Copy, Debug)]
struct Known {
    sort: Sort,
    quantified: bool,
    bound: bool,
    nonlinear: bool,
}

/// All terms and functions of one prover.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    nodes: Vec<Node>,
    known: Vec<Known>,
    numbers: FxHashMap<Node, Term>,
    symbols: Vec<Signature>,
    by_key: FxHashMap<Key, Symbol>,
    put: FxHashMap<(Term, u32, Term), Term>,
    /// From then on terms are worth nothing: whoever makes them may stop in the middle.
    pub deadline: Option<Instant>,
    made: u32,
    late: bool,
}

impl Terms {
    /// No terms.
    pub fn new() -> Terms {
        Terms::default()
    }

    /// The function that stands for this; `name` is how people read it.
    pub fn symbol(&mut self, key: Key, name: &str, arguments: &[Family], sort: Sort) -> Symbol {
        if let Some(symbol) = self.by_key.get(&key) {
            let known = self.signature(*symbol);
            assert_eq!(
                (known.arguments.as_slice(), known.sort),
                (arguments, sort),
                "one meaning, one signature"
            );
            return *symbol;
        }
        let symbol = Symbol(self.symbols.len() as u32);
        self.symbols.push(Signature { key, name: name.to_owned(), arguments: arguments.to_vec(), sort });
        self.by_key.insert(key, symbol);
        symbol
    }

    /// What a function is.
    pub fn signature(&self, symbol: Symbol) -> &Signature {
        &self.symbols[symbol.0 as usize]
    }

    /// The form of a term.
    pub fn node(&self, term: Term) -> &Node {
        &self.nodes[term.0 as usize]
    }

    /// What a term stands for.
    pub fn sort(&self, term: Term) -> Sort {
        self.known[term.0 as usize].sort
    }

    /// Has it a quantifier in it?
    pub fn is_quantified(&self, term: Term) -> bool {
        self.known[term.0 as usize].quantified
    }

    /// Has it a bound variable in it, its own or another's?
    pub fn has_bound(&self, term: Term) -> bool {
        self.known[term.0 as usize].bound
    }

    /// Is it without quantifiers, products and remainders?
    pub fn is_plain(&self, term: Term) -> bool {
        let known = self.known[term.0 as usize];
        !known.quantified && !known.nonlinear
    }

    /// The terms right under a term.
    pub fn children(&self, term: Term) -> Vec<Term> {
        match self.node(term) {
            Node::Int(_) | Node::Bool(_) | Node::Bound(_) => Vec::new(),
            Node::App(_, list) | Node::And(list) | Node::Or(list) => list.clone(),
            Node::Not(a) | Node::Forall(_, a) | Node::Exists(_, a) => vec![*a],
            Node::Eq(a, b)
            | Node::Le(a, b)
            | Node::Lt(a, b)
            | Node::Add(a, b)
            | Node::Sub(a, b)
            | Node::Mul(a, b)
            | Node::Mod(a, b) => vec![*a, *b],
            Node::Ite(a, b, c) => vec![*a, *b, *c],
        }
    }

    /// Was the deadline reached while terms were made? Then some may be cut short, and nothing may be asked
    /// with them.
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// Looks at the clock.
    pub fn look_at_clock(&mut self) -> bool {
        self.late = self.late || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.late
    }

    fn make(&mut self, node: Node) -> Term {
        self.made = self.made.wrapping_add(1);
        if self.made.is_multiple_of(256) {
            self.look_at_clock();
        }
        if let Some(term) = self.numbers.get(&node) {
            return *term;
        }
        let sort = match &node {
            Node::Int(_) | Node::Bound(_) | Node::Add(..) | Node::Sub(..) | Node::Mul(..) | Node::Mod(..) => {
                Sort::Int
            }
            Node::App(symbol, _) => self.signature(*symbol).sort,
            Node::Ite(_, then, _) => self.sort(*then),
            _ => Sort::Bool,
        };
        let term = Term(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.known.push(Known { sort, quantified: false, bound: false, nonlinear: false });
        let children = self.children(term);
        let known = Known {
            sort,
            quantified: matches!(node, Node::Forall(..) | Node::Exists(..))
                || children.iter().any(|child| self.is_quantified(*child)),
            bound: matches!(node, Node::Bound(_)) || children.iter().any(|child| self.has_bound(*child)),
            nonlinear: matches!(node, Node::Mul(..) | Node::Mod(..))
                || children.iter().any(|child| self.known[child.0 as usize].nonlinear),
        };
        self.known[term.0 as usize] = known;
        self.numbers.insert(node, term);
        term
    }

    /// A number.
    pub fn int(&mut self, value: i64) -> Term {
        self.make(Node::Int(value))
    }

    /// A truth value.
    pub fn bool(&mut self, value: bool) -> Term {
        self.make(Node::Bool(value))
    }

    /// The variable of the quantifier at this depth.
    pub fn bound(&mut self, depth: u32) -> Term {
        self.make(Node::Bound(depth))
    }

    /// A function of arguments.
    pub fn app(&mut self, symbol: Symbol, arguments: Vec<Term>) -> Term {
        assert_eq!(self.signature(symbol).arguments.len(), arguments.len(), "as many arguments as declared");
        self.make(Node::App(symbol, arguments))
    }

    /// The constant that stands for this.
    pub fn constant(&mut self, key: Key, name: &str, sort: Sort) -> Term {
        let symbol = self.symbol(key, name, &[], sort);
        self.app(symbol, Vec::new())
    }

    fn as_bool(&self, term: Term) -> Option<bool> {
        match self.node(term) {
            Node::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn as_int(&self, term: Term) -> Option<i64> {
        match self.node(term) {
            Node::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The opposite.
    pub fn not(&mut self, term: Term) -> Term {
        match self.node(term) {
            Node::Bool(value) => {
                let value = !*value;
                self.bool(value)
            }
            Node::Not(inner) => *inner,
            _ => self.make(Node::Not(term)),
        }
    }

    fn junction(&mut self, terms: impl IntoIterator<Item = Term>, and: bool) -> Term {
        let mut flat = Vec::new();
        for term in terms {
            match self.node(term) {
                Node::Bool(value) if *value == and => {}
                Node::Bool(_) => return self.bool(!and),
                Node::And(inner) if and => flat.extend(inner.iter().copied()),
                Node::Or(inner) if !and => flat.extend(inner.iter().copied()),
                _ => flat.push(term),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        match flat.as_slice() {
            [] => self.bool(and),
            [one] => *one,
            _ => self.make(if and { Node::And(flat) } else { Node::Or(flat) }),
        }
    }

    /// All of them.
    pub fn and(&mut self, terms: impl IntoIterator<Item = Term>) -> Term {
        self.junction(terms, true)
    }

    /// Any of them.
    pub fn or(&mut self, terms: impl IntoIterator<Item = Term>) -> Term {
        self.junction(terms, false)
    }

    /// If the first, then the second.
    pub fn implies(&mut self, a: Term, b: Term) -> Term {
        let not = self.not(a);
        self.or([not, b])
    }

    /// Are they the same? Of one sort.
    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        assert_eq!(self.sort(a), self.sort(b), "only terms of one sort are compared");
        if a == b {
            return self.bool(true);
        }
        if let (Some(x), Some(y)) = (self.as_int(a), self.as_int(b)) {
            return self.bool(x == y);
        }
        match (self.as_bool(a), self.as_bool(b)) {
            (Some(true), _) => return b,
            (_, Some(true)) => return a,
            (Some(false), _) => return self.not(b),
            (_, Some(false)) => return self.not(a),
            _ => {}
        }
        let (a, b) = (a.min(b), a.max(b));
        self.make(Node::Eq(a, b))
    }

    /// At most.
    pub fn le(&mut self, a: Term, b: Term) -> Term {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x), Some(y)) => self.bool(x <= y),
            _ if a == b => self.bool(true),
            _ => self.make(Node::Le(a, b)),
        }
    }

    /// Less.
    pub fn lt(&mut self, a: Term, b: Term) -> Term {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x), Some(y)) => self.bool(x < y),
            _ if a == b => self.bool(false),
            _ => self.make(Node::Lt(a, b)),
        }
    }

    /// Sum.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x), Some(y)) if x.checked_add(y).is_some() => self.int(x + y),
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => self.make(Node::Add(a, b)),
        }
    }

    /// Difference.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x), Some(y)) if x.checked_sub(y).is_some() => self.int(x - y),
            (_, Some(0)) => a,
            _ if a == b => self.int(0),
            _ => self.make(Node::Sub(a, b)),
        }
    }

    /// Product.
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
        match (self.as_int(a), self.as_int(b)) {
            (Some(x), Some(y)) if x.checked_mul(y).is_some() => self.int(x * y),
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => self.make(Node::Mul(a, b)),
        }
    }

    /// The remainder that is never negative.
    pub fn modulo(&mut self, a: Term, b: Term) -> Term {
        self.make(Node::Mod(a, b))
    }

    /// One or the other.
    pub fn ite(&mut self, cond: Term, then: Term, other: Term) -> Term {
        assert_eq!(self.sort(then), self.sort(other), "both ways give one sort");
        match self.as_bool(cond) {
            Some(true) => return then,
            Some(false) => return other,
            None if then == other => return then,
            None => {}
        }
        if self.sort(then) == Sort::Bool {
            let yes = self.implies(cond, then);
            let no = self.or([cond, other]);
            return self.and([yes, no]);
        }
        self.make(Node::Ite(cond, then, other))
    }

    /// For all values of the variable at this depth.
    pub fn forall(&mut self, depth: u32, body: Term) -> Term {
        if !self.has_bound(body) { body } else { self.make(Node::Forall(depth, body)) }
    }

    /// For some value of the variable at this depth.
    pub fn exists(&mut self, depth: u32, body: Term) -> Term {
        if !self.has_bound(body) { body } else { self.make(Node::Exists(depth, body)) }
    }

    /// Puts a term without bound variables in for the variable at a depth.
    pub fn put(&mut self, term: Term, depth: u32, value: Term) -> Term {
        assert!(!self.has_bound(value), "what is put in has no bound variables");
        if self.late || !self.has_bound(term) {
            return term;
        }
        if let Some(done) = self.put.get(&(term, depth, value)) {
            return *done;
        }
        let done = match self.node(term).clone() {
            Node::Bound(at) if at == depth => value,
            Node::Bound(_) | Node::Int(_) | Node::Bool(_) => term,
            Node::App(symbol, list) => {
                let list = list.into_iter().map(|t| self.put(t, depth, value)).collect();
                self.app(symbol, list)
            }
            Node::And(list) => {
                let list: Vec<Term> = list.into_iter().map(|t| self.put(t, depth, value)).collect();
                self.and(list)
            }
            Node::Or(list) => {
                let list: Vec<Term> = list.into_iter().map(|t| self.put(t, depth, value)).collect();
                self.or(list)
            }
            Node::Not(a) => {
                let a = self.put(a, depth, value);
                self.not(a)
            }
            // A quantifier at the same depth binds the name anew.
            Node::Forall(at, _) | Node::Exists(at, _) if at == depth => term,
            Node::Forall(at, a) => {
                let a = self.put(a, depth, value);
                self.forall(at, a)
            }
            Node::Exists(at, a) => {
                let a = self.put(a, depth, value);
                self.exists(at, a)
            }
            Node::Ite(a, b, c) => {
                let (a, b, c) =
                    (self.put(a, depth, value), self.put(b, depth, value), self.put(c, depth, value));
                self.ite(a, b, c)
            }
            Node::Eq(a, b) => self.put_pair(a, b, depth, value, Terms::eq),
            Node::Le(a, b) => self.put_pair(a, b, depth, value, Terms::le),
            Node::Lt(a, b) => self.put_pair(a, b, depth, value, Terms::lt),
            Node::Add(a, b) => self.put_pair(a, b, depth, value, Terms::add),
            Node::Sub(a, b) => self.put_pair(a, b, depth, value, Terms::sub),
            Node::Mul(a, b) => self.put_pair(a, b, depth, value, Terms::mul),
            Node::Mod(a, b) => self.put_pair(a, b, depth, value, Terms::modulo),
        };
        self.put.insert((term, depth, value), done);
        done
    }

    fn put_pair(
        &mut self,
        a: Term,
        b: Term,
        depth: u32,
        value: Term,
        make: fn(&mut Terms, Term, Term) -> Term,
    ) -> Term {
        let (a, b) = (self.put(a, depth, value), self.put(b, depth, value));
        make(self, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_terms_are_one() {
        let mut terms = Terms::new();
        let (x, y) = (
            terms.constant(Key::Named("x", 0), "x", Sort::Int),
            terms.constant(Key::Named("y", 0), "y", Sort::Int),
        );
        assert_eq!(terms.eq(x, y), terms.eq(y, x));
        let (a, b) = (terms.le(x, y), terms.lt(x, y));
        assert_eq!(terms.and([a, b]), terms.and([b, a, b]));
        let not = terms.not(a);
        assert_eq!(terms.not(not), a);
        let (yes, no) = (terms.bool(true), terms.bool(false));
        assert_eq!(terms.and([a, no]), no);
        assert_eq!(terms.or([a, yes]), yes);
        assert_eq!(terms.eq(a, no), not);
    }

    #[test]
    fn putting_in_respects_inner_quantifiers() {
        let mut terms = Terms::new();
        let f = terms.symbol(Key::Named("f", 0), "f", &[Family(0)], Sort::Bool);
        let x = terms.constant(Key::Named("x", 0), "x", Sort::Int);
        let bound = terms.bound(0);
        let inner = terms.app(f, vec![bound]);
        let all = terms.forall(0, inner);
        let both = terms.and([inner, all]);
        let put = terms.put(both, 0, x);
        let fx = terms.app(f, vec![x]);
        assert_eq!(put, terms.and([fx, all]));
    }
}
