//! What the method is told about an object besides its sequential behaviour.
//!
//! The text states these facts for each object and proves them from its specification (corollaries 1 to 3 for
//! the priority queue); an object about which nothing is stated is decided without the optimisations that
//! need them.

use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Call, Kind, Value};

/// What two operations make together, the first having taken effect before the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Neither has to do with the other.
    Unrelated,
    /// The second undoes the first.
    Redundant,
    /// Together they do what the first would have done with this argument.
    SemiRedundant(Value),
}

/// See the module's text. What is not known is not said: every default is safe.
pub trait Knowledge {
    /// Can this operation take effect in every state?
    fn is_always_applicable(&self, call: Call<'_>, result: &Value) -> bool {
        let _ = (call, result);
        false
    }

    /// What `second` does to `first`, if it touches what `first` put in.
    fn pair(&self, first: (Call<'_>, &Value), second: (Call<'_>, &Value)) -> Pair {
        let _ = (first, second);
        Pair::Unrelated
    }

    /// Of several operations that could be the first of a pair, is it the one that came last (a stack)?
    fn pairs_with_last(&self) -> bool {
        false
    }
}

impl Knowledge for Builtin {
    fn is_always_applicable(&self, call: Call<'_>, _result: &Value) -> bool {
        let first = call.op.0 == 0;
        match self.kind {
            Kind::Register | Kind::CasRegister | Kind::RmwRegister => call.op == codes::register::WRITE,
            Kind::Kv => call.op == codes::kv::PUT || call.op == codes::kv::DELETE,
            Kind::Queue | Kind::Stack | Kind::Deque | Kind::PriorityQueue | Kind::PriorityQueueMax => {
                self.capacity.is_none() && (first || self.kind == Kind::Deque && call.op.0 == 1)
            }
            Kind::Multiset | Kind::List => self.capacity.is_none() && first,
            Kind::Counter => call.op != codes::counter::READ,
            Kind::Snapshot => call.op == codes::snapshot::WRITE,
            _ => false,
        }
    }

    fn pair(&self, first: (Call<'_>, &Value), second: (Call<'_>, &Value)) -> Pair {
        if first.0.op.0 != 0 {
            return Pair::Unrelated;
        }
        let put = first.0.arg;
        let (call, result) = second;
        match self.kind {
            Kind::Queue | Kind::Stack if call.op.0 == 1 && result == put => Pair::Redundant,
            Kind::PriorityQueue | Kind::PriorityQueueMax => match (call.op, call.arg.as_pair()) {
                (codes::priority_queue::REMOVE, _) if result == put => Pair::Redundant,
                (codes::priority_queue::CHANGE_KEY, Some((from, to)))
                    if from == put && *result == Value::Bool(true) =>
                {
                    Pair::SemiRedundant(to.clone())
                }
                _ => Pair::Unrelated,
            },
            Kind::Set | Kind::Multiset | Kind::List
                if call.op == codes::set::REMOVE && call.arg == put && *result == Value::Bool(true) =>
            {
                Pair::Redundant
            }
            _ => Pair::Unrelated,
        }
    }

    fn pairs_with_last(&self) -> bool {
        self.kind == Kind::Stack
    }
}
