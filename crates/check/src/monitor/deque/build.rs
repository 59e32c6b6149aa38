//! Builds an order, return after return. See [`super`] for what is tried and what it proves.

use std::collections::VecDeque;

use linpoint_history::rng::Rng;
use rustc_hash::FxHashMap;

use super::plan::{End, NONE, Part, Plan, What};
use crate::engine::{Budget, Stop};

/// How many elements next to an end are compared with one that is pushed there.
const NEAR: usize = 12;
/// So many returns may be taken back.
const PAST: usize = 1024;
/// So often a place is tried again.
const TRIES: u64 = 240;
/// So deep may needs lie in needs.
const DEEP: u32 = 200;

/// An order under way.
#[derive(Debug)]
pub(super) struct Build<'a> {
    plan: &'a Plan,
    /// Operations by the gap they are called in.
    called: Vec<(u32, u32)>,
    done: Vec<bool>,
    /// Is something this operation needs being done now?
    busy: Vec<bool>,
    order: Vec<u32>,
    open: Vec<u32>,
    gap: u32,
    /// What will leave by the front, and by the back; how many never leave.
    front: VecDeque<u32>,
    back: VecDeque<u32>,
    never: u32,
    /// For the last gaps: the length of the order and what was open before them.
    past: VecDeque<(usize, Vec<u32>)>,
    lessons: Lessons,
}

impl<'a> Build<'a> {
    /// The beginning of an order.
    pub(super) fn new(plan: &'a Plan) -> Build<'a> {
        let of =
            |part: Part| plan.initial.iter().copied().filter(move |v| plan.items[*v as usize].part == part);
        let mut called: Vec<(u32, u32)> =
            plan.ops.iter().enumerate().map(|(index, op)| (op.earliest, index as u32)).collect();
        // A pending push of a value nobody popped is left out.
        called.retain(|&(_, op)| !plan.is_left_out(op));
        called.sort_unstable();
        Build {
            called,
            done: vec![false; plan.ops.len()],
            busy: vec![false; plan.ops.len()],
            order: Vec::with_capacity(plan.ops.len()),
            open: Vec::new(),
            gap: 0,
            front: of(Part::Front).collect(),
            back: of(Part::Back).collect(),
            never: of(Part::Never).count() as u32,
            past: VecDeque::new(),
            lessons: Lessons::new(plan.ops.len()),
            plan,
        }
    }

    /// Explains all returns; says where it is stuck, if it is.
    pub(super) fn run(&mut self, budget: &Budget) -> Result<Option<Stuck>, Stop> {
        while self.gap < self.plan.completed {
            if self.gap.is_multiple_of(1024) {
                budget.check(self.order.capacity() * 8)?;
            }
            let gap = self.gap;
            let hopeless = !self.plan.starts_well || self.plan.covered.is_some();
            if hopeless || !self.advance(None) {
                let stuck = Stuck { gap, ends: self.ends() };
                if !hopeless && self.learn() {
                    budget.check(0)?;
                    continue;
                }
                if hopeless || !self.mend(gap, budget)? {
                    return Ok(Some(stuck));
                }
            }
        }
        Ok(None)
    }

    /// The values at both ends of both parts, at the moment.
    fn ends(&self) -> Vec<u32> {
        let both = |part: &VecDeque<u32>| {
            let (first, last) = (part.iter().take(NEAR), part.iter().rev().take(NEAR));
            first.chain(last).copied().collect::<Vec<u32>>()
        };
        [both(&self.front), both(&self.back)].concat()
    }

    /// How many returns are explained.
    pub(super) fn explained(&self) -> u32 {
        self.gap
    }

    /// Everything in its order.
    pub(super) fn into_order(self) -> Vec<u32> {
        self.order
    }

    /// The next return. With `noise`, some open operations are done early.
    fn advance(&mut self, noise: Option<&mut Rng>) -> bool {
        if self.past.len() == PAST {
            self.past.pop_front();
        }
        self.past.push_back((self.order.len(), self.open.clone()));
        self.lessons.blame = None;
        let plan = self.plan;
        let from = self.called.partition_point(|&(gap, _)| gap < self.gap);
        let to = self.called.partition_point(|&(gap, _)| gap <= self.gap);
        let new = self.called[from..to].iter().map(|&(_, op)| op);
        self.open.extend(new);
        self.serve();
        self.empty_now();
        if let Some(rng) = noise
            && !self.open.is_empty()
        {
            for _ in 0..rng.below(3) {
                let op = *rng.pick(&self.open);
                let mark = self.order.len();
                if !self.done[op as usize] && !self.reach(op, 0) {
                    self.back_to(mark);
                }
            }
        }
        if !self.reach(self.gap, 0) {
            self.undo_gap();
            return false;
        }
        let (done, gap) = (&self.done, self.gap);
        self.open.retain(|&op| !done[op as usize] && plan.ops[op as usize].latest > gap);
        self.gap += 1;
        true
    }

    /// Draws a lesson from what went wrong, and takes back what was done since the moment it is about. False:
    /// nothing new is to be learnt.
    fn learn(&mut self) -> bool {
        let Some(Blame { late, early }) = self.lessons.blame.take() else { return false };
        let then = self.lessons.done_in[early as usize];
        let depth = (self.gap - then) as usize;
        // What was not called by then could not have gone first.
        if self.plan.ops[late as usize].earliest > then
            || depth > self.past.len()
            || !self.lessons.add(late, early, self.gap)
        {
            return false;
        }
        for _ in 0..depth {
            self.undo_gap();
            self.gap -= 1;
        }
        true
    }

    /// Something cannot take effect because of `value`, which is in its way: `op` should have come before it
    /// was pushed.
    fn blame(&mut self, op: u32, value: u32) {
        let early = self.plan.items[value as usize].push;
        if early != NONE && op != NONE && self.lessons.blame.is_none() {
            self.lessons.blame = Some(Blame { late: op, early });
        }
    }

    /// A value cannot leave because of another, which lies nearer to the end: they should have been pushed
    /// the other way round.
    fn blame_order(&mut self, value: u32, other: u32) {
        let items = &self.plan.items;
        let when = |push: u32| if push == NONE { 0 } else { self.lessons.done_as[push as usize] };
        let (first, second) = (items[value as usize].push, items[other as usize].push);
        if when(first) > when(second) {
            self.blame(first, other);
        } else {
            self.blame(second, value);
        }
    }

    /// Lets pops find nothing that have their first chance now.
    fn empty_now(&mut self) {
        let empties = &self.plan.empties;
        for &(gap, op) in &empties[empties.partition_point(|(gap, _)| *gap < self.gap)..] {
            if gap > self.gap {
                return;
            }
            let mark = self.order.len();
            if !self.reach(op, 0) {
                self.back_to(mark);
            }
        }
    }

    /// Tries again from a few returns back, farther and farther, until the return of `gap` is explained.
    fn mend(&mut self, gap: u32, budget: &Budget) -> Result<bool, Stop> {
        for attempt in 0..TRIES {
            budget.check(0)?;
            let mut rng = Rng::new(u64::from(gap) << 16 | attempt);
            let reach = 4u32 << (attempt / 24);
            while self.gap + reach > gap && !self.past.is_empty() {
                self.undo_gap();
                self.gap -= 1;
            }
            while self.gap <= gap {
                if !self.advance(Some(&mut rng)) {
                    break;
                }
            }
            if self.gap > gap {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes back what was done in the last gap.
    fn undo_gap(&mut self) {
        if let Some((mark, open)) = self.past.pop_back() {
            self.back_to(mark);
            self.open = open;
        }
    }

    fn back_to(&mut self, mark: usize) {
        while self.order.len() > mark {
            let Some(op) = self.order.pop() else { return };
            self.done[op as usize] = false;
            match self.plan.ops[op as usize].what {
                What::Empty => {}
                What::Push(value) => {
                    let item = &self.plan.items[value as usize];
                    match (item.part, item.at) {
                        (Part::Never, _) => self.never -= 1,
                        (Part::Front, End::Front) => drop(self.front.pop_front()),
                        (Part::Front, End::Back) => drop(self.front.pop_back()),
                        (Part::Back, End::Front) => drop(self.back.pop_front()),
                        (Part::Back, End::Back) => drop(self.back.pop_back()),
                    }
                }
                What::Pop(value) => match self.plan.items[value as usize].part {
                    Part::Front => self.front.push_front(value),
                    _ => self.back.push_back(value),
                },
            }
        }
    }

    /// Makes `op` take effect now, with all it needs before it. If it cannot, some of that may have been
    /// done.
    fn reach(&mut self, op: u32, depth: u32) -> bool {
        if self.done[op as usize] {
            return true;
        }
        let Op { what, earliest } = self.op(op);
        if depth > DEEP || self.busy[op as usize] || earliest > self.gap {
            return false;
        }
        self.busy[op as usize] = true;
        let ready = match what {
            What::Push(value) => self.ready_to_push(op, value, depth),
            What::Pop(value) => self.ready_to_pop(value, depth),
            What::Empty => {
                self.clear(op, End::Front, depth) && self.clear(op, End::Back, depth) && self.never == 0
            }
        };
        self.busy[op as usize] = false;
        if ready && !self.done[op as usize] {
            self.apply(op, what);
        }
        ready
    }

    fn op(&self, op: u32) -> Op {
        let op = &self.plan.ops[op as usize];
        Op { what: op.what, earliest: op.earliest }
    }

    fn ready_to_pop(&mut self, value: u32, depth: u32) -> bool {
        let item = self.plan.items[value as usize];
        if item.push != NONE && !self.reach(item.push, depth + 1) {
            return false;
        }
        let end = if item.part == Part::Front { End::Front } else { End::Back };
        loop {
            match self.next(end) {
                None => return false,
                Some(next) if next == value => return true,
                Some(next) => {
                    if !self.reach(self.plan.items[next as usize].pop, depth + 1) {
                        self.blame_order(value, next);
                        return false;
                    }
                }
            }
        }
    }

    fn ready_to_push(&mut self, op: u32, value: u32, depth: u32) -> bool {
        let item = self.plan.items[value as usize];
        for index in 0..self.open.len() {
            let other = self.open[index];
            if other != op
                && !self.done[other as usize]
                && !self.busy[other as usize]
                && (self.must_precede(other, value) || self.lessons.has(other, op))
                && !self.reach(other, depth + 1)
            {
                return false;
            }
        }
        if self.done[op as usize] {
            return true;
        }
        let items = &self.plan.items;
        match (item.at, item.part) {
            (End::Back, Part::Front) => {
                if !self.clear(op, End::Back, depth) || self.never > 0 {
                    return false;
                }
                let late = |v: &&u32| items[**v as usize].pop_from > item.pop_by;
                let late = self.front.iter().rev().take(NEAR).find(late).copied();
                late.map(|late| self.blame(op, late)).is_none()
            }
            (End::Front, Part::Back) => {
                if !self.clear(op, End::Front, depth) || self.never > 0 {
                    return false;
                }
                let late = |v: &&u32| items[**v as usize].pop_from > item.pop_by;
                let late = self.back.iter().take(NEAR).find(late).copied();
                late.map(|late| self.blame(op, late)).is_none()
            }
            (End::Back, Part::Never) => self.clear(op, End::Back, depth),
            (End::Front, Part::Never) => self.clear(op, End::Front, depth),
            (End::Front, Part::Front) => self.uncover(op, End::Front, item.pop_from, depth),
            (End::Back, Part::Back) => self.uncover(op, End::Back, item.pop_from, depth),
        }
    }

    /// Pops what must leave before gap `from`, when what `op` pushes will lie on it and cannot leave earlier.
    fn uncover(&mut self, op: u32, end: End, from: u32, depth: u32) -> bool {
        loop {
            let items = &self.plan.items;
            let in_time = |v: &u32| items[*v as usize].pop_by >= from;
            let fits = match end {
                End::Front => self.front.iter().take(NEAR).all(in_time),
                End::Back => self.back.iter().rev().take(NEAR).all(in_time),
            };
            if fits {
                return true;
            }
            let Some(next) = self.next(end) else { return true };
            if !self.reach(self.plan.items[next as usize].pop, depth + 1) {
                self.blame(op, next);
                return false;
            }
        }
    }

    /// Pops everything that leaves by one end, for `op`.
    fn clear(&mut self, op: u32, end: End, depth: u32) -> bool {
        while let Some(next) = self.next(end) {
            if !self.reach(self.plan.items[next as usize].pop, depth + 1) {
                self.blame(op, next);
                return false;
            }
        }
        true
    }

    fn next(&self, end: End) -> Option<u32> {
        match end {
            End::Front => self.front.front().copied(),
            End::Back => self.back.back().copied(),
        }
    }

    /// Could the open operation `other` not come after a push of `value`?
    fn must_precede(&self, other: u32, value: u32) -> bool {
        let item = self.plan.items[value as usize];
        match self.plan.ops[other as usize].what {
            What::Pop(_) => false,
            What::Empty => item.pop_from > self.plan.ops[other as usize].latest,
            What::Push(later) => {
                let later = self.plan.items[later as usize];
                if item.pop_from <= later.pushed_by {
                    return false; // The value may have left by then.
                }
                let fits = match (later.at, later.part) {
                    (End::Back, Part::Front) => item.part == Part::Front && item.pop_from <= later.pop_by,
                    (End::Front, Part::Back) => item.part == Part::Back && item.pop_from <= later.pop_by,
                    (End::Back, Part::Never) => item.part != Part::Back,
                    (End::Front, Part::Never) => item.part != Part::Front,
                    (End::Front, Part::Front) => item.part != Part::Front || later.pop_from <= item.pop_by,
                    (End::Back, Part::Back) => item.part != Part::Back || later.pop_from <= item.pop_by,
                };
                !fits
            }
        }
    }

    fn apply(&mut self, op: u32, what: What) {
        match what {
            What::Empty => {}
            What::Push(value) => {
                let item = &self.plan.items[value as usize];
                match (item.part, item.at) {
                    (Part::Never, _) => self.never += 1,
                    (Part::Front, End::Front) => self.front.push_front(value),
                    (Part::Front, End::Back) => self.front.push_back(value),
                    (Part::Back, End::Front) => self.back.push_front(value),
                    (Part::Back, End::Back) => self.back.push_back(value),
                }
            }
            What::Pop(value) => match self.plan.items[value as usize].part {
                Part::Front => drop(self.front.pop_front()),
                _ => drop(self.back.pop_back()),
            },
        }
        self.done[op as usize] = true;
        self.order.push(op);
        self.lessons.note(op, self.gap);
        self.serve();
    }

    /// Nothing is there: pops that find nothing take effect.
    fn serve(&mut self) {
        if self.never > 0 || !self.front.is_empty() || !self.back.is_empty() {
            return;
        }
        for index in 0..self.open.len() {
            let op = self.open[index];
            if self.plan.ops[op as usize].what == What::Empty && !self.done[op as usize] {
                self.done[op as usize] = true;
                self.order.push(op);
            }
        }
    }
}

/// What was learnt from getting stuck: which operations go before which pushes.
///
/// A lesson is a guess as all else here. Without it the push came first, and then lay in the way of the other
/// operation until that returned.
#[derive(Debug)]
struct Lessons {
    blame: Option<Blame>,
    /// For each push, what goes first.
    first: FxHashMap<u32, Vec<u32>>,
    /// For each operation that is done, or was: in which gap, and as the how-manieth.
    done_in: Vec<u32>,
    done_as: Vec<u64>,
    count: u64,
    /// How many lessons were drawn since building came as far as this.
    furthest: u32,
    drawn: u32,
}

/// `late` should have gone before `early`, a push.
#[derive(Clone, Copy, Debug)]
struct Blame {
    late: u32,
    early: u32,
}

/// So many lessons may be drawn without getting on.
const LESSONS: u32 = 400;

impl Lessons {
    fn new(ops: usize) -> Lessons {
        Lessons {
            blame: None,
            first: FxHashMap::default(),
            done_in: vec![0; ops],
            done_as: vec![0; ops],
            count: 0,
            furthest: 0,
            drawn: 0,
        }
    }

    fn note(&mut self, op: u32, gap: u32) {
        self.count += 1;
        (self.done_in[op as usize], self.done_as[op as usize]) = (gap, self.count);
    }

    /// Adds a lesson, if it is new and there were not too many in this place.
    fn add(&mut self, late: u32, early: u32, gap: u32) -> bool {
        if gap > self.furthest {
            (self.furthest, self.drawn) = (gap, 0);
        }
        self.drawn += 1;
        if late == early || self.drawn > LESSONS || self.has(late, early) || self.has(early, late) {
            return false;
        }
        self.first.entry(early).or_default().push(late);
        true
    }

    fn has(&self, late: u32, early: u32) -> bool {
        !self.first.is_empty() && self.first.get(&early).is_some_and(|first| first.contains(&late))
    }
}

/// Where no way on was found.
#[derive(Debug)]
pub(super) struct Stuck {
    /// The return.
    pub(super) gap: u32,
    /// Values at the ends of the parts then.
    pub(super) ends: Vec<u32>,
}

/// What building looks at.
struct Op {
    what: What,
    earliest: u32,
}
