//! The Treiber stack as a model of stateright, step for step as `corpus/correct/treiber.lin` with local steps fused.

use stateright::semantics::vec::{VecOp, VecRet};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester};
use stateright::{Model, Property};

/// So many threads, each with so many operations of its choice.
#[derive(Clone, Debug)]
pub struct Treiber {
    pub threads: usize,
    pub ops: u8,
    /// Is the history kept and checked?
    pub history: bool,
}

/// Where a thread is; pointers are one more than an index, 0 is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pc {
    Idle,
    /// `t = top` of a push.
    PushRead {
        node: u8,
    },
    /// `cas(top, t, x)`.
    PushCas {
        node: u8,
        top: u8,
    },
    /// `t = top` of a pop.
    PopRead,
    /// `s = t.next`.
    PopNext {
        top: u8,
    },
    /// `cas(top, t, s)`.
    PopCas {
        top: u8,
        next: u8,
    },
    /// `t.val`.
    PopValue {
        top: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Thread {
    pc: Pc,
    made: u8,
}

type History = LinearizabilityTester<u8, Vec<u8>>;

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct State {
    top: u8,
    /// Value and successor.
    nodes: Vec<(u8, u8)>,
    threads: Vec<Thread>,
    fresh: u8,
    history: Option<History>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Push(usize),
    Pop(usize),
    Step(usize),
}

impl State {
    fn invoke(&mut self, thread: usize, op: VecOp<u8>) {
        if let Some(history) = &mut self.history {
            let _ = history.on_invoke(thread as u8, op);
        }
    }

    fn answer(&mut self, thread: usize, ret: VecRet<u8>) {
        self.threads[thread].pc = Pc::Idle;
        if let Some(history) = &mut self.history {
            let _ = history.on_return(thread as u8, ret);
        }
    }

    fn step(&mut self, thread: usize) {
        match self.threads[thread].pc {
            Pc::Idle => {}
            Pc::PushRead { node } => {
                let top = self.top;
                self.nodes[usize::from(node) - 1].1 = top;
                self.threads[thread].pc = Pc::PushCas { node, top };
            }
            Pc::PushCas { node, top } if self.top == top => {
                self.top = node;
                self.answer(thread, VecRet::PushOk);
            }
            Pc::PushCas { node, .. } => self.threads[thread].pc = Pc::PushRead { node },
            Pc::PopRead => match self.top {
                0 => self.answer(thread, VecRet::PopOk(None)),
                top => self.threads[thread].pc = Pc::PopNext { top },
            },
            Pc::PopNext { top } => {
                let next = self.nodes[usize::from(top) - 1].1;
                self.threads[thread].pc = Pc::PopCas { top, next };
            }
            Pc::PopCas { top, next } if self.top == top => {
                self.top = next;
                self.threads[thread].pc = Pc::PopValue { top };
            }
            Pc::PopCas { .. } => self.threads[thread].pc = Pc::PopRead,
            Pc::PopValue { top } => {
                let value = self.nodes[usize::from(top) - 1].0;
                self.answer(thread, VecRet::PopOk(Some(value)));
            }
        }
    }
}

impl Model for Treiber {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let threads = vec![Thread { pc: Pc::Idle, made: 0 }; self.threads];
        let history = self.history.then(|| LinearizabilityTester::new(Vec::new()));
        vec![State { top: 0, nodes: Vec::new(), threads, fresh: 0, history }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (index, thread) in state.threads.iter().enumerate() {
            match thread.pc {
                Pc::Idle if thread.made < self.ops => {
                    actions.extend([Action::Push(index), Action::Pop(index)])
                }
                Pc::Idle => {}
                _ => actions.push(Action::Step(index)),
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        let thread = match action {
            Action::Push(thread) => {
                state.fresh += 1;
                let value = state.fresh;
                state.nodes.push((value, 0));
                state.threads[thread].pc = Pc::PushRead { node: state.nodes.len() as u8 };
                state.threads[thread].made += 1;
                state.invoke(thread, VecOp::Push(value));
                thread
            }
            Action::Pop(thread) => {
                state.threads[thread].pc = Pc::PopRead;
                state.threads[thread].made += 1;
                state.invoke(thread, VecOp::Pop);
                thread
            }
            Action::Step(thread) => thread,
        };
        state.step(thread);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::<Self>::always("linearizable", |_, state| {
            state.history.as_ref().is_none_or(|history| history.is_consistent())
        })]
    }
}
