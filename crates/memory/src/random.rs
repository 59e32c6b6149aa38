//! Random small programs, as text in the notation of litmus tests: a program that shows a mistake can be kept
//! as it is.
//!
//! Two or three threads, one or two locations, at most seven accesses (a read-modify-write counts as two),
//! all orderings, data and control dependencies, assumptions, choices, joins, created threads. The same seed
//! gives the same program.

pub mod objects;

use crate::explore::Random;

/// A random program of at most seven accesses.
#[must_use]
pub fn program(seed: u64) -> String {
    program_of(seed, 7)
}

/// A random program of at most so many accesses.
#[must_use]
pub fn program_of(seed: u64, accesses: usize) -> String {
    Generator::new(seed).program(accesses)
}

struct Generator {
    random: Random,
    /// Are most orderings sequentially consistent?
    mostly_sc: bool,
    locations: usize,
}

const LOADS: [&str; 3] = ["rlx", "acq", "sc"];
const STORES: [&str; 3] = ["rlx", "rel", "sc"];
const UPDATES: [&str; 5] = ["rlx", "acq", "rel", "ar", "sc"];
const FENCES: [&str; 4] = ["acq", "rel", "ar", "sc"];

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut random = Random::new(seed);
        let locations = 1 + random.below(2);
        Generator { random, mostly_sc: seed.is_multiple_of(3), locations }
    }

    fn program(&mut self, accesses: usize) -> String {
        let count = 2 + self.random.below(2);
        let mut threads = vec![Vec::new(); count];
        let mut budget = 3 + self.random.below(accesses.saturating_sub(2));
        for _ in 0..50 {
            let thread = self.random.below(count);
            if budget == 0 {
                break;
            }
            if threads[thread].len() < 5 {
                let (statement, cost) = self.statement();
                budget = budget.saturating_sub(cost);
                threads[thread].push(statement);
            }
        }
        if self.random.below(12) == 0 {
            self.order_threads(&mut threads);
        }
        threads.iter().map(|statements| statements.join("; ")).collect::<Vec<_>>().join(" || ")
    }

    /// One thread waits for the end of another, or creates it.
    fn order_threads(&mut self, threads: &mut [Vec<String>]) {
        let one = self.random.below(threads.len());
        let other = (one + 1) % threads.len();
        let at = self.random.below(threads[one].len() + 1);
        let statement = if self.random.below(2) == 0 { "J" } else { "T" };
        threads[one].insert(at, format!("{statement} {other}"));
    }

    /// A statement, and how many accesses it is.
    fn statement(&mut self) -> (String, usize) {
        let condition = match self.random.below(8) {
            0 => format!("[a!={}]", self.random.below(2)),
            1 => format!("[a=={}]", self.random.below(3)),
            _ => String::new(),
        };
        let (statement, cost) = self.bare_statement();
        (format!("{condition}{statement}"), cost)
    }

    fn bare_statement(&mut self) -> (String, usize) {
        let location = ["x", "y"][self.random.below(self.locations)];
        let small = 1 + self.random.below(3);
        match self.random.below(16) {
            0..=4 => (format!("R {location} {} a", self.ordering(&LOADS)), 1),
            5..=8 => (format!("W {location} {} {small}", self.ordering(&STORES)), 1),
            9 => (format!("W {location} {} a+1", self.ordering(&STORES)), 1),
            10 => (format!("U {location} {} {} a", self.ordering(&UPDATES), 1 + small % 2), 2),
            11 => (format!("X {location} {} {small} a", self.ordering(&UPDATES)), 2),
            12 => {
                let name = if self.random.below(4) == 0 { "B" } else { "C" };
                let expected = self.random.below(3);
                let (success, failure) = (self.ordering(&UPDATES), self.ordering(&LOADS));
                (format!("{name} {location} {expected} {small} {success} {failure} a"), 2)
            }
            13 | 14 => (format!("F {}", self.ordering(&FENCES)), 1),
            _ if self.random.below(3) == 0 => (format!("N a {}", 1 + small % 3), 0),
            _ => (format!("A a>={}", self.random.below(2)), 0),
        }
    }

    fn ordering(&mut self, some: &[&'static str]) -> &'static str {
        if self.mostly_sc && self.random.below(2) == 0 {
            return "sc";
        }
        // Now and then one that is not atomic.
        if self.random.below(12) == 0 { "na" } else { some[self.random.below(some.len())] }
    }
}
