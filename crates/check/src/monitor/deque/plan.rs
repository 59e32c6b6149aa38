//! Who is pushed and popped where and when, as far as the whole history tells.

use linpoint_history::specs::codes::deque;
use linpoint_history::{Operation, Spec, Value, ValueId};
use rustc_hash::FxHashMap;

use crate::engine::{Context, Stop, Violation};
use crate::timeline::{OpId, Timeline};

/// No operation.
pub(super) const NONE: u32 = u32::MAX;

/// An end of the deque.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

/// Where an element leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Front,
    Never,
    Back,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Push(u32),
    Pop(u32),
    /// A pop that found nothing.
    Empty,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) what: What,
    pub(super) earliest: u32,
    pub(super) latest: u32,
}

/// A value: how it comes and goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) push: u32,
    pub(super) at: End,
    pub(super) pop: u32,
    pub(super) part: Part,
    /// The last gap of its push, the first and the last of its pop.
    pub(super) pushed_by: u32,
    pub(super) pop_from: u32,
    pub(super) pop_by: u32,
}

#[derive(Debug)]
pub(super) struct Plan {
    /// Completed operations by number, then pending pushes of values that were popped.
    pub(super) ops: Vec<Op>,
    /// The pending ones among them.
    pending: Vec<OpId>,
    pub(super) completed: u32,
    pub(super) items: Vec<Item>,
    /// The values in the deque at first, from the front.
    pub(super) initial: Vec<u32>,
    /// Are the parts of the initial contents in order?
    pub(super) starts_well: bool,
    /// For each pop that found nothing, in order of gaps: the first gap of its window in which nothing is
    /// surely inside.
    pub(super) empties: Vec<(u32, u32)>,
    /// A pop that found nothing and has no such gap.
    pub(super) covered: Option<u32>,
}

impl Plan {
    pub(super) fn new(
        cx: &Context<'_>,
        rows: &[Operation],
        earliest: &[u32],
        timeline: &Timeline,
    ) -> Result<Plan, Stop> {
        let completed = rows.len() as u32;
        let mut plan = Plan {
            ops: Vec::with_capacity(rows.len()),
            pending: Vec::new(),
            completed,
            items: Vec::new(),
            initial: Vec::new(),
            starts_well: true,
            empties: Vec::new(),
            covered: None,
        };
        let mut numbers: FxHashMap<ValueId, u32> = FxHashMap::default();
        if let Value::List(contents) = &cx.spec.initial {
            for value in contents.iter() {
                let id = cx.symbols.find(value).ok_or_else(|| refused("an initial value has no number"))?;
                plan.initial.push(plan.items.len() as u32);
                if numbers.insert(id, plan.items.len() as u32).is_some() {
                    return Err(refused("a value is there twice at first"));
                }
                plan.items.push(Item { pushed_by: 0, ..UNKNOWN });
            }
        }
        let starting = plan.items.len() as u32;
        let number = |numbers: &mut FxHashMap<ValueId, u32>, items: &mut Vec<Item>, value: ValueId| {
            *numbers.entry(value).or_insert_with(|| {
                items.push(UNKNOWN);
                items.len() as u32 - 1
            })
        };
        let pushes = |op: &Operation| op.op() == deque::PUSH_FRONT || op.op() == deque::PUSH_BACK;
        let mut seen = |plan: &mut Plan, index: u32, op: &Operation| -> Result<What, Stop> {
            let front = op.op() == deque::PUSH_FRONT || op.op() == deque::POP_FRONT;
            if pushes(op) {
                if op.arg.is_null() || !op.result.is_null() {
                    return Err(refused("null is pushed, or a push answers something"));
                }
                let value = number(&mut numbers, &mut plan.items, op.arg);
                let item = &mut plan.items[value as usize];
                if item.push != NONE || value < starting {
                    return Err(refused(&format!("value {} is pushed twice", cx.symbols.value(op.arg))));
                }
                item.push = index;
                item.at = if front { End::Front } else { End::Back };
                item.pushed_by = if index < completed { index } else { u32::MAX };
                return Ok(What::Push(value));
            }
            if op.result.is_null() {
                return Ok(What::Empty);
            }
            let value = number(&mut numbers, &mut plan.items, op.result);
            let item = &mut plan.items[value as usize];
            if item.pop != NONE {
                let core: Vec<Operation> = rows
                    .iter()
                    .chain(timeline.pending())
                    .filter(|row| row.arg == op.result || row.result == op.result)
                    .copied()
                    .collect();
                // Another push of the value may follow, so the core says more than that it was popped twice.
                let pushed = core.iter().filter(|row| pushes(row)).count();
                if pushed + usize::from(value < starting) > 1 {
                    return Err(refused(&format!("value {} is pushed twice", cx.symbols.value(op.result))));
                }
                let name = cx.spec.signature().decl(op.op()).name;
                let shown = cx.symbols.value(op.result);
                let reason = format!(
                    "{name} -> {shown} is impossible: {shown} was popped before, and pushed only once"
                );
                return Err(Stop::Violated(Violation { at: OpId(index), core, reason }));
            }
            item.pop = index;
            item.part = if front { Part::Front } else { Part::Back };
            item.pop_from = earliest[index as usize];
            item.pop_by = index;
            Ok(What::Pop(value))
        };
        for (index, op) in rows.iter().enumerate() {
            let what = seen(&mut plan, index as u32, op)?;
            plan.ops.push(Op { what, earliest: earliest[index], latest: index as u32 });
        }
        for (index, op) in timeline.pending().iter().enumerate() {
            if !pushes(op) {
                return Err(refused("a pop never returned"));
            }
            let id = OpId::pending(index as u32);
            let number = plan.ops.len() as u32;
            let what = seen(&mut plan, number, op)?;
            plan.pending.push(id);
            plan.ops.push(Op { what, earliest: timeline.earliest(id), latest: u32::MAX });
        }
        for (value, item) in plan.items.iter().enumerate() {
            let early =
                item.pop != NONE && item.push != NONE && plan.ops[item.push as usize].earliest > item.pop_by;
            if item.pop != NONE && value as u32 >= starting && item.push == NONE || early {
                let op = &rows[item.pop as usize];
                let (name, shown) = (cx.spec.signature().decl(op.op()).name, cx.symbols.value(op.result));
                let mut core = vec![*op];
                let mut why = "never pushed";
                if early {
                    core.push(plan.row(item.push, rows, timeline));
                    why = "pushed only later";
                }
                let reason = format!("{name} -> {shown} is impossible: {shown} was {why}");
                return Err(Stop::Violated(Violation { at: OpId(item.pop), core, reason }));
            }
        }
        let rank = |value: &u32| plan.items[*value as usize].part as u8;
        plan.starts_well = plan.initial.is_sorted_by_key(rank);
        plan.place_empties();
        Ok(plan)
    }

    fn place_empties(&mut self) {
        let gaps = self.completed as usize + 1;
        let mut change = vec![0i32; gaps + 1];
        for value in 0..self.items.len() {
            let (from, to) = self.cover(value as u32);
            if from < to {
                change[from as usize] += 1;
                change[to as usize] -= 1;
            }
        }
        let mut inside = 0;
        let covered: Vec<bool> = change[..gaps]
            .iter()
            .map(|change| {
                inside += change;
                inside > 0
            })
            .collect();
        let mut free = vec![u32::MAX; gaps + 1];
        for gap in (0..gaps).rev() {
            free[gap] = if covered[gap] { free[gap + 1] } else { gap as u32 };
        }
        for (index, op) in self.ops.iter().enumerate().filter(|(_, op)| op.what == What::Empty) {
            let gap = free[op.earliest as usize];
            if gap > op.latest {
                self.covered = self.covered.or(Some(index as u32));
            }
            self.empties.push((gap, index as u32));
        }
        self.empties.sort_unstable();
    }

    /// The gaps in which a value is surely inside: from the first to before the second.
    pub(super) fn cover(&self, value: u32) -> (u32, u32) {
        let item = &self.items[value as usize];
        let from = match item.push {
            NONE if (value as usize) < self.initial.len() => 0,
            NONE => return (0, 0),
            _ => item.pushed_by.saturating_add(1),
        };
        (from.min(self.completed + 1), item.pop_from.min(self.completed + 1))
    }

    /// The row of an operation.
    pub(super) fn row(&self, op: u32, rows: &[Operation], timeline: &Timeline) -> Operation {
        match op.checked_sub(self.completed) {
            Some(pending) => *timeline.op(self.pending[pending as usize]),
            None => rows[op as usize],
        }
    }

    /// Only these operations, all there are of each value; with nothing inside at first. They may be placed,
    /// but have no names.
    pub(super) fn part(&self, mut kept: Vec<u32>) -> Plan {
        kept.sort_unstable();
        kept.dedup();
        let gap = |gap: u32| kept.partition_point(|&op| op < gap.min(self.completed)) as u32;
        let number = |op: u32| if op == NONE { NONE } else { kept.partition_point(|&one| one < op) as u32 };
        let by = |latest: u32| if latest == u32::MAX { latest } else { gap(latest) };
        let mut values: FxHashMap<u32, u32> = FxHashMap::default();
        let mut items = Vec::new();
        let mut value = |old: u32| {
            *values.entry(old).or_insert_with(|| {
                let item = self.items[old as usize];
                items.push(Item {
                    push: number(item.push),
                    pop: number(item.pop),
                    pushed_by: by(item.pushed_by),
                    pop_from: by(item.pop_from),
                    pop_by: by(item.pop_by),
                    ..item
                });
                items.len() as u32 - 1
            })
        };
        let ops = kept.iter().map(|&op| {
            let Op { what, earliest, latest } = self.ops[op as usize];
            let what = match what {
                What::Push(old) => What::Push(value(old)),
                What::Pop(old) => What::Pop(value(old)),
                What::Empty => What::Empty,
            };
            Op { what, earliest: gap(earliest), latest: by(latest) }
        });
        Plan {
            ops: ops.collect(),
            pending: Vec::new(),
            completed: gap(self.completed),
            items,
            initial: Vec::new(),
            starts_well: true,
            empties: Vec::new(),
            covered: None,
        }
    }

    /// A pending push of a value that nobody popped need not take effect.
    pub(super) fn is_left_out(&self, op: u32) -> bool {
        match self.ops[op as usize].what {
            What::Push(value) => op >= self.completed && self.items[value as usize].pop == NONE,
            _ => false,
        }
    }

    /// The name of an operation.
    pub(super) fn id(&self, op: u32) -> OpId {
        match op.checked_sub(self.completed) {
            Some(pending) => self.pending[pending as usize],
            None => OpId(op),
        }
    }

    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        self.ops.capacity() * size_of::<Op>() + self.items.capacity() * (size_of::<Item>() + 16)
    }
}

const UNKNOWN: Item = Item {
    push: NONE,
    at: End::Back,
    pop: NONE,
    part: Part::Never,
    pushed_by: u32::MAX,
    pop_from: u32::MAX,
    pop_by: u32::MAX,
};

fn refused(why: &str) -> Stop {
    Stop::Unsupported(why.to_owned())
}
