//! Open procedures, a stack a thread, and the `Exit` terms that wait for each to return.
//!
//! An `Exit` term belongs to the activation in which its claim was made: the innermost open one of the
//! thread. That is the return at which as many calls as returns of the procedure have been seen since the
//! claim (Sezgin et al. 2011, section 3), also when it calls itself.

use rustc_hash::FxHashMap;

use crate::watch::NONE;
use crate::{ThreadId, VarId};

/// The name of a procedure in events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcedureId(pub u64);

/// An `Exit` term that waits. The claim may be decided or gone by then; its generation tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExitTerm {
    pub claim: u32,
    pub generation: u32,
    pub term: u32,
}

/// Which variable, beside the term: it is known as long as the procedure is open, also if the claim is gone.
pub(crate) type Exit = (ExitTerm, VarId);

#[derive(Default)]
pub(crate) struct Activations {
    stacks: FxHashMap<ThreadId, Vec<Activation>>,
    links: Vec<Link>,
    /// First free link, plus one.
    free: u32,
}

struct Activation {
    procedure: ProcedureId,
    exits: u32,
}

struct Link {
    term: Exit,
    next: u32,
}

impl Activations {
    pub fn enter(&mut self, thread: ThreadId, procedure: ProcedureId) {
        self.stacks.entry(thread).or_default().push(Activation { procedure, exits: NONE });
    }

    /// Lets a term wait for the innermost open procedure of the thread; false if there is none.
    pub fn wait(&mut self, thread: ThreadId, term: Exit) -> bool {
        let Some(top) = self.stacks.get_mut(&thread).and_then(|stack| stack.last_mut()) else { return false };
        let link = Link { term, next: top.exits };
        top.exits = if self.free == 0 {
            self.links.push(link);
            (self.links.len() - 1) as u32
        } else {
            let place = self.free - 1;
            self.free = self.links[place as usize].next;
            self.links[place as usize] = link;
            place
        };
        true
    }

    /// Is a procedure of the thread open?
    pub fn is_inside(&self, thread: ThreadId) -> bool {
        self.stacks.get(&thread).is_some_and(|stack| !stack.is_empty())
    }

    /// Does the end of the innermost activation of the procedure ask for the value of a variable that others
    /// can write?
    pub fn looks(&self, thread: ThreadId, procedure: ProcedureId) -> bool {
        let stack = self.stacks.get(&thread);
        let Some(open) = stack.and_then(|stack| stack.iter().rfind(|open| open.procedure == procedure))
        else {
            return false;
        };
        let mut link = open.exits;
        while link != NONE {
            let Link { term: (_, variable), next } = self.links[link as usize];
            if variable.is_shared() {
                return true;
            }
            link = next;
        }
        false
    }

    /// Closes the innermost activation of the procedure, with those inside it whose end was not reported;
    /// hands out the terms that waited, saying of each whether it was for this procedure. An exit without an
    /// entry is ignored.
    pub fn exit(&mut self, thread: ThreadId, procedure: ProcedureId, mut each: impl FnMut(Exit, Closed)) {
        let Some(stack) = self.stacks.get_mut(&thread) else { return };
        let Some(depth) = stack.iter().rposition(|open| open.procedure == procedure) else { return };
        while stack.len() > depth {
            let closed = if stack.len() == depth + 1 { Closed::Itself } else { Closed::Inside };
            let Some(top) = stack.pop() else { return };
            let mut link = top.exits;
            while link != NONE {
                let Link { term, next } = self.links[link as usize];
                self.links[link as usize].next = self.free;
                self.free = link + 1;
                each(term, closed);
                link = next;
            }
        }
    }

    pub fn clear(&mut self) {
        self.stacks.values_mut().for_each(Vec::clear);
        self.links.clear();
        self.free = 0;
    }
}

/// How an activation was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// It is the one that ended.
    Itself,
    /// It was still open inside the one that ended, so it must have been left without notice.
    Inside,
}
