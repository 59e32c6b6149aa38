//! Random objects that claim to be a register: what happens when a few loads and stores are taken for one.
//!
//! All writes of one program have the same code, and all reads. Some reads are blocked when they see a
//! certain value, so that graphs have operations that never return.

use crate::explore::Random;
use crate::machine::{Assembler, Expression, Machine, Operator};
use crate::ordering::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// A step of an operation.
#[derive(Clone, Copy, Debug)]
enum Part {
    Access(i64, Ordering),
    Swap(i64, Ordering),
    Fence(Ordering),
}

/// How a read uses its second load.
#[derive(Clone, Copy, Debug)]
enum Combine {
    Greater,
    Latter,
    IfNothing,
}

/// A random object with a client of two or three threads and four operations.
#[must_use]
pub fn register(seed: u64) -> Machine {
    let mut random = Random::new(seed ^ 0x5EED);
    let cells = 1 + random.below(2);
    let write = parts(&mut random, cells, &[Relaxed, Release, SeqCst]);
    let read = parts(&mut random, cells, &[Relaxed, Acquire, SeqCst]);
    let combine = [Combine::Greater, Combine::Latter, Combine::IfNothing][random.below(3)];
    let blocks = random.below(4) == 0;
    let counts: &[usize] = if random.below(2) == 0 { &[2, 2] } else { &[1, 1, 2] };
    let mut value = 0;
    let mut codes = Vec::new();
    for &count in counts {
        let mut code = Assembler::new();
        for _ in 0..count {
            code.release_registers();
            if random.below(2) == 0 {
                value += 1;
                write_operation(&mut code, &write, value);
            } else {
                read_operation(&mut code, &read, combine, blocks);
            }
        }
        codes.push(code.finish());
    }
    Machine::new(codes, Vec::new())
}

fn parts(random: &mut Random, cells: usize, orderings: &[Ordering]) -> Vec<Part> {
    let mut parts = Vec::new();
    for k in 0..1 + random.below(2) {
        if k > 0 && random.below(3) == 0 {
            parts.push(Part::Fence([AcqRel, SeqCst][random.below(2)]));
        }
        let cell = random.below(cells) as i64;
        let ordering = orderings[random.below(orderings.len())];
        parts.push(if random.below(5) == 0 {
            Part::Swap(cell, ordering)
        } else {
            Part::Access(cell, ordering)
        });
    }
    parts
}

fn write_operation(code: &mut Assembler, parts: &[Part], value: i64) {
    code.call(0, value);
    for part in parts {
        match *part {
            Part::Access(cell, ordering) => code.store(cell, value, ordering),
            Part::Swap(cell, ordering) => {
                code.fetch_add(cell, value, ordering);
            }
            Part::Fence(ordering) => code.fence(ordering),
        }
    }
    code.returns(0);
}

fn read_operation(code: &mut Assembler, parts: &[Part], combine: Combine, blocks: bool) {
    code.call(1, 0);
    let result = code.register();
    code.set(result, 0);
    for part in parts {
        let (cell, ordering) = match *part {
            Part::Access(cell, ordering) | Part::Swap(cell, ordering) => (cell, ordering),
            Part::Fence(ordering) => {
                code.fence(ordering);
                continue;
            }
        };
        let skip = match combine {
            Combine::IfNothing => Some(code.leave_unless(result.with(Operator::Equal, 0))),
            Combine::Greater | Combine::Latter => None,
        };
        let loaded = code.load(cell, ordering);
        let less = match combine {
            Combine::Greater => Some(code.leave_unless(loaded.with(Operator::Greater, result))),
            Combine::Latter | Combine::IfNothing => None,
        };
        code.set(result, loaded);
        code.land(skip.into_iter().chain(less));
    }
    if blocks {
        code.assume(Expression::from(result).with(Operator::Different, 1));
    }
    code.returns(result);
}
