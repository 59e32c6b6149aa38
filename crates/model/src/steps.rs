//! What one step of one thread leads to, by the interpreter: the definition. [`Fast`](crate::fast::Fast) does
//! the same with less work.

use std::rc::Rc;
use std::sync::Arc;

use linpoint_lang::interp::{Choices, ErrorKind, Event, Machine, Outcome, RunError, State};
use linpoint_lang::program::{Action, ClientThread, MarkKind, OpId, Word};
use linpoint_lang::span::Span;

use crate::claims::{Claims, Refuted};
use crate::client::{FRESH, Workload};
use crate::data::{Classes, Data, MOST, Renaming};
use crate::explore::{Mode, Wrong};
use crate::fast::Names;
use crate::monitor::{self, Monitor, Places, Refused, who};
use crate::pack::{self, Full, Packer};
use crate::symmetry::{Order, Symmetry};
use crate::trace::{Happened, TraceStep};

/// A thread of a search: the program, the monitor and everything worked out beforehand.
pub(crate) struct Explorer<'p> {
    pub machine: Machine<'p>,
    pub monitor: Option<Monitor<'p>>,
    pub claims: Option<Claims>,
    pub workload: &'p Workload,
    /// Every list of arguments of each operation.
    pub arguments: Vec<Vec<Vec<Word>>>,
    /// Nodes whose steps nobody notices.
    pub local: Vec<bool>,
    pub packer: Packer,
    pub symmetry: Symmetry,
    /// Where data is, if it is renamed.
    pub data: Option<Arc<Data>>,
    /// Where operations may take effect.
    pub mode: Mode,
    /// Are steps written down?
    pub recording: bool,
    pub transitions: u64,
    /// Where a step is tried.
    pub scratch: State,
    /// Can every operation come to an end from every state, as far as that was looked at?
    pub can_end: Option<bool>,
    /// Was a thread left that takes too many steps on its own?
    pub left_alone: bool,
}

/// A state on the way, and how it was reached from the last one.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    pub full: Full,
    pub steps: Vec<TraceStep>,
}

/// A call that a thread may make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub op: OpId,
    pub args: Vec<Word>,
    /// How many values are in use after it, or were handed out.
    pub fresh: u8,
}

/// A name, and how threads and data were renamed.
pub(crate) struct Named {
    pub bytes: Vec<u8>,
    pub order: Option<Order>,
    pub data: Option<Renaming>,
}

/// A thread that goes on while nobody notices.
struct Alone {
    walker: Walker,
    steps: usize,
    /// A state that it was in some steps ago.
    earlier: Rc<State>,
    /// Was there only one way to go on since then?
    forced: bool,
}

/// A step that must not be.
pub(crate) struct Bad {
    pub wrong: Wrong,
    pub steps: Vec<TraceStep>,
}

/// More steps than this that touch nothing shared are not followed.
const MAX_LOCAL: usize = 10_000;

/// More ways than this to go on are not kept.
const MAX_OPEN: usize = 200_000;

impl Explorer<'_> {
    /// Did every thread make all the calls that it can make, and did they all return?
    pub(crate) fn is_finished(&self, packed: &[u8]) -> bool {
        let full = self.state_of(packed);
        (0..self.machine.threads).all(|thread| {
            self.machine.pc(&full.state, thread).is_none() && self.calls(&full, thread).is_empty()
        })
    }

    /// Is there an assert, or a claim that is decided?
    pub(crate) fn may_say_something(&self) -> bool {
        let mut edges = self.machine.program.nodes.iter().flat_map(|node| &node.edges);
        let asserts = |edge: &linpoint_lang::program::Edge| {
            edge.actions.iter().any(|action| matches!(action, Action::Assert(..)))
        };
        self.claims.is_some() || edges.any(asserts)
    }

    /// Is some piece of data one that no call had before?
    pub(crate) fn hands_out_data(&self) -> bool {
        self.arguments.iter().flatten().flatten().any(|word| *word == FRESH)
    }

    /// A state by its one name, the same for states that differ only in the names of threads, records and
    /// data.
    pub(crate) fn name_of(&mut self, full: &Full) -> Named {
        let (mut full, mut packed) = (full.clone(), Vec::new());
        let order = self.symmetry.sort(&self.machine, &mut full);
        if self.claims.is_none() {
            self.machine.canonical(&mut full.state);
        }
        let threads = self.machine.threads;
        let places = Places::of((0..threads).map(|i| order.map_or(i, |order| order[i])));
        let (mut data, mut names) = (None, None);
        match &self.data {
            Some(renamed) if full.fresh <= MOST => {
                let classes = match &mut self.monitor {
                    Some(monitor) => {
                        let settled = monitor.settle(full.monitor, places);
                        full.monitor = settled.id;
                        settled.classes
                    }
                    None => Classes::default(),
                };
                data = Some(renamed.rename(&self.machine, classes, &mut full));
                if renamed.distinct {
                    names = Some(renamed.by_walk(&self.machine, &mut full));
                }
            }
            _ => {
                if let (Some(monitor), true) = (&mut self.monitor, order.is_some()) {
                    full.monitor = monitor.permute(full.monitor, places);
                }
            }
        }
        let names = match (&names, self.values_are()) {
            (_, pack::Named::No) => None,
            (Some(names), pack::Named::Yes) => Some(pack::Names::Before(names)),
            (None, pack::Named::Yes) => Some(pack::Names::InState),
        };
        self.packer.pack(&self.machine, &full, names, &mut packed);
        Named { bytes: packed, order, data }
    }

    /// Adds the name of a state.
    pub(crate) fn name_into(&mut self, full: &Full, names: &mut Names) {
        names.bytes.extend_from_slice(&self.name_of(full).bytes);
        names.ends.push(names.bytes.len());
    }

    /// The state behind packed bytes.
    pub(crate) fn state_of(&self, packed: &[u8]) -> Full {
        let mut full = Full { state: State::default(), monitor: 0, claims: 0, made: Vec::new(), fresh: 0 };
        let names = self.packer.unpack(&self.machine, packed, self.values_are(), &mut full);
        if let (Some(data), false) = (&self.data, names.is_empty()) {
            data.with_names(&self.machine, names, &mut full);
        }
        full
    }

    /// Do states have the names of their values before them?
    fn values_are(&self) -> pack::Named {
        let named = self.data.as_ref().is_some_and(|data| data.distinct);
        if named { pack::Named::Yes } else { pack::Named::No }
    }

    /// Every state that one step of one thread leads to, and whose step each is.
    ///
    /// A call goes together with its first step that others notice, so an operation that would wait there is
    /// not called yet: it can as well be called later. Only where nobody inside an operation can go on is it
    /// called and waits, for that may be a deadlock.
    pub(crate) fn successors(&mut self, full: &Full, out: &mut Vec<Walker>) -> Result<Vec<u8>, Bad> {
        let mut whose = Vec::new();
        let (idle, inside): (Vec<_>, Vec<_>) =
            (0..self.machine.threads).partition(|thread| self.machine.pc(&full.state, *thread).is_none());
        for thread in inside {
            self.visible_step(&Walker { full: full.clone(), steps: Vec::new() }, thread, out)?;
            whose.resize(out.len(), thread as u8);
        }
        let waiting = out.is_empty();
        for thread in idle {
            self.call(full, thread, waiting, out)?;
            whose.resize(out.len(), thread as u8);
        }
        Ok(whose)
    }

    /// Every state that one step of this thread leads to, waiting calls among them.
    pub(crate) fn successors_of(
        &mut self,
        full: &Full,
        thread: usize,
        out: &mut Vec<Walker>,
    ) -> Result<(), Bad> {
        match self.machine.pc(&full.state, thread) {
            Some(_) => {
                let walker = Walker { full: full.clone(), steps: Vec::new() };
                self.visible_step(&walker, thread, out)
            }
            None => self.call(full, thread, true, out),
        }
    }

    /// Does some thread wait for others: inside an operation, or at its first step after a call? `moving` are
    /// the threads that have a step.
    pub(crate) fn has_waiting(&mut self, packed: &[u8], moving: &[u8]) -> Result<bool, Bad> {
        let full = self.state_of(packed);
        for thread in 0..self.machine.threads {
            match self.machine.pc(&full.state, thread) {
                Some(_) if !moving.contains(&(thread as u8)) => return Ok(true),
                Some(_) => {}
                None if self.waiting_call(&full, thread)?.is_some() => return Ok(true),
                None => {}
            }
        }
        Ok(false)
    }

    /// A call that an idle thread could make and then find its first visible step closed, up to there.
    pub(crate) fn waiting_call(&mut self, full: &Full, thread: usize) -> Result<Option<Walker>, Bad> {
        for call in self.calls(full, thread) {
            let mut ready = Vec::new();
            let walker = self.called(full, thread, &call);
            self.run_locally(walker, thread, &mut ready)?;
            for walker in ready {
                let pc = self.machine.pc(&walker.full.state, thread);
                let mut out = Vec::new();
                self.visible_step(&walker, thread, &mut out)?;
                if pc.is_some_and(|pc| !self.local[pc.index()]) && out.is_empty() {
                    return Ok(Some(walker));
                }
            }
        }
        Ok(None)
    }

    /// What an idle thread may call next.
    pub(crate) fn calls(&self, full: &Full, thread: usize) -> Vec<Given> {
        let made = usize::from(full.made[thread]);
        match &self.workload.threads[thread] {
            _ if !self.workload.has_calls_left(thread, made) => Vec::new(),
            ClientThread::Calls(calls) => {
                let (op, args) = calls[made].clone();
                vec![Given { op, args, fresh: full.fresh }]
            }
            ClientThread::Any(ops, _) => {
                let with = |op: OpId, args: &Vec<Word>| {
                    let mut fresh = match &self.data {
                        Some(data) => data.admits(op.index(), args, full.fresh)?,
                        None => full.fresh,
                    };
                    let mut args = args.clone();
                    for word in args.iter_mut().filter(|word| **word == FRESH) {
                        fresh += 1;
                        *word = Word::from(fresh);
                    }
                    Some(Given { op, args, fresh })
                };
                let of = |op: &OpId| {
                    let op = *op;
                    self.arguments[op.index()].iter().filter_map(move |args| with(op, args))
                };
                ops.iter().filter(|op| self.workload.allows(made, **op)).flat_map(of).collect()
            }
        }
    }

    fn call(&mut self, full: &Full, thread: usize, waiting: bool, out: &mut Vec<Walker>) -> Result<(), Bad> {
        for call in self.calls(full, thread) {
            self.make_call(full, thread, &call, waiting, out)?;
        }
        Ok(())
    }

    fn make_call(
        &mut self,
        full: &Full,
        thread: usize,
        call: &Given,
        waiting: bool,
        out: &mut Vec<Walker>,
    ) -> Result<(), Bad> {
        let walker = self.called(full, thread, call);
        let mut ready = Vec::new();
        self.run_locally(walker, thread, &mut ready)?;
        for walker in ready {
            match self.machine.pc(&walker.full.state, thread) {
                None => out.push(walker),
                Some(_) => {
                    let before = out.len();
                    self.visible_step(&walker, thread, out)?;
                    if waiting && out.len() == before {
                        out.push(walker);
                    }
                }
            }
        }
        Ok(())
    }

    /// A thread has called an operation.
    pub(crate) fn called(&mut self, full: &Full, thread: usize, call: &Given) -> Walker {
        let Given { op, args, fresh } = call;
        let mut walker = Walker { full: full.clone(), steps: Vec::new() };
        let full = &mut walker.full;
        full.fresh = *fresh;
        full.made[thread] = self.workload.called(usize::from(full.made[thread]), *op) as u8;
        self.machine.call(&mut full.state, thread, *op, args);
        if let Some(monitor) = &mut self.monitor {
            let call = monitor.call_id(thread, *op, args);
            full.monitor = monitor.call(full.monitor, thread, call);
        }
        if self.recording {
            let span = self.machine.program.operation(*op).span;
            walker.note(thread, span, Happened::Call { op: *op, args: args.clone() });
        }
        walker
    }

    /// A step that others can notice, and what follows it unnoticed.
    fn visible_step(&mut self, walker: &Walker, thread: usize, out: &mut Vec<Walker>) -> Result<(), Bad> {
        let Some(pc) = self.machine.pc(&walker.full.state, thread) else { return Ok(()) };
        for edge in 0..self.machine.program.node(pc).edges.len() {
            let mut choices = Choices::default();
            loop {
                if let Some(after) = self.take(walker, thread, edge, &mut choices)? {
                    self.run_locally(after, thread, out)?;
                }
                if !choices.next() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Goes on while nobody can notice.
    fn run_locally(&mut self, walker: Walker, thread: usize, out: &mut Vec<Walker>) -> Result<(), Bad> {
        // The state some steps ago: to meet it again is to go round for ever, unless there was another way
        // since.
        let mut open = vec![Alone { walker, steps: 0, earlier: Rc::new(State::default()), forced: true }];
        let (mut taken, already, mut round) = (0, out.len(), None);
        while let Some(Alone { walker, steps, earlier, forced }) = open.pop() {
            let Some(pc) = self.machine.pc(&walker.full.state, thread) else {
                out.push(walker);
                continue;
            };
            if !self.local[pc.index()] {
                out.push(walker);
                continue;
            }
            if walker.full.state == *earlier {
                if forced {
                    return Err(Bad { wrong: Wrong::Endless, steps: walker.steps });
                }
                round = Some(walker.steps);
                continue;
            }
            taken += 1;
            if taken > MAX_LOCAL {
                self.left_alone = true;
                return Err(Bad { wrong: Wrong::Endless, steps: walker.steps });
            }
            let (earlier, mut forced) = match steps > 3 && steps.is_power_of_two() {
                true => (Rc::new(walker.full.state.clone()), true),
                false => (earlier, forced),
            };
            let before = open.len();
            for edge in 0..self.machine.program.node(pc).edges.len() {
                let mut choices = Choices::default();
                loop {
                    if let Some(after) = self.take(&walker, thread, edge, &mut choices)? {
                        let earlier = Rc::clone(&earlier);
                        open.push(Alone { walker: after, steps: steps + 1, earlier, forced });
                    }
                    if !choices.next() {
                        break;
                    }
                }
            }
            if open.len() > MAX_OPEN {
                let wrong = Wrong::Error(ErrorKind::TooManyWays);
                return Err(Bad { wrong, steps: open.swap_remove(0).walker.steps });
            }
            if open.len() > before + 1 {
                forced = false;
                open[before..].iter_mut().for_each(|alone| alone.forced = forced);
            }
            // Nothing that others do can let it go on, but what it did so far they can see.
            if open.len() == before {
                out.push(walker);
            }
        }
        match round {
            // Whatever it chooses, it goes round.
            Some(steps) if out.len() == already => Err(Bad { wrong: Wrong::Endless, steps }),
            _ => Ok(()),
        }
    }

    /// Takes one edge, if it is enabled.
    pub(crate) fn take(
        &mut self,
        walker: &Walker,
        thread: usize,
        edge: usize,
        choices: &mut Choices,
    ) -> Result<Option<Walker>, Bad> {
        let Some(pc) = self.machine.pc(&walker.full.state, thread) else { return Ok(None) };
        let node = self.machine.program.node(pc);
        let span = node.edges[edge].span;
        // Many steps are not enabled: they are tried where nothing has to be made anew.
        self.scratch.words.clone_from(&walker.full.state.words);
        let mut events = Vec::new();
        let tried = self.machine.step(&mut self.scratch, thread, edge, choices, &mut events);
        if tried == Ok(Outcome::Disabled) {
            return Ok(None);
        }
        let mut after = walker.moved_to(&self.scratch);
        let outcome = match tried {
            Ok(outcome) => outcome,
            Err(RunError { kind, .. }) => {
                if self.recording {
                    after.note(thread, span, Happened::Step);
                }
                return Err(Bad { wrong: Wrong::Error(kind), steps: after.steps });
            }
        };
        if self.recording {
            after.note(thread, span, Happened::Step);
        }
        let decided = match &mut self.claims {
            Some(claims) => {
                let returned = matches!(outcome, Outcome::Returned(_));
                claims.step(&self.machine, after.full.claims, thread, &events, returned)
            }
            None => Ok(0),
        };
        for event in events {
            self.observe(&mut after, event, node.op)?;
        }
        if let Outcome::Returned(words) = outcome {
            self.returned(&mut after, thread, node.op, &words, span)?;
        }
        match decided {
            Ok(claims) => after.full.claims = claims,
            Err(refuted) => {
                let wrong = match refuted {
                    Refuted::False(claim) => Wrong::Claim(claim),
                    Refuted::Error(kind) => Wrong::Error(kind),
                };
                return Err(Bad { wrong, steps: after.steps });
            }
        }
        Ok(Some(after))
    }

    fn observe(&mut self, after: &mut Walker, event: Event, op: OpId) -> Result<(), Bad> {
        let (Event::Point(point), Some(monitor)) = (event, &mut self.monitor) else { return Ok(()) };
        if !monitor.with_points {
            return Ok(());
        }
        let seen = match point.kind {
            MarkKind::Lin => {
                let result = point.result.map(|words| monitor.result_id(op, &words));
                monitor::Event::Point(who(point.thread), result)
            }
            MarkKind::Query => monitor::Event::Query(who(point.thread)),
        };
        match monitor.event(after.full.monitor, seen) {
            Ok(id) => after.full.monitor = id,
            Err(Refused::Impossible | Refused::Misplaced) => {
                return Err(Bad { wrong: Wrong::Points, steps: after.steps.clone() });
            }
        }
        Ok(())
    }

    fn returned(
        &mut self,
        after: &mut Walker,
        thread: usize,
        op: OpId,
        words: &[Word],
        span: Span,
    ) -> Result<(), Bad> {
        if self.recording {
            after.note(thread, span, Happened::Return { op, result: words.to_vec() });
        }
        let made = usize::from(after.full.made[thread]);
        after.full.made[thread] = self.workload.answered(made, op, words) as u8;
        let Some(monitor) = &mut self.monitor else { return Ok(()) };
        let result = monitor.result_id(op, words);
        match monitor.event(after.full.monitor, monitor::Event::Return(who(thread), result)) {
            Ok(id) => after.full.monitor = id,
            Err(_) => {
                let wrong = if monitor.with_points { Wrong::Points } else { Wrong::NotLinearizable };
                return Err(Bad { wrong, steps: after.steps.clone() });
            }
        }
        Ok(())
    }
}

impl Walker {
    /// The same but for the program's state.
    fn moved_to(&self, state: &State) -> Walker {
        let Full { monitor, claims, made, fresh, .. } = &self.full;
        let (monitor, claims, fresh) = (*monitor, *claims, *fresh);
        let full = Full { state: state.clone(), monitor, claims, made: made.clone(), fresh };
        Walker { full, steps: self.steps.clone() }
    }

    fn note(&mut self, thread: usize, span: Span, what: Happened) {
        self.steps.push(TraceStep { thread, span, what, state: self.full.state.clone() });
    }
}
