//! The atomic snapshot of Sezgin, Tasiran, Muslu and Qadeer (2010, Fig. 1), after Afek et al. (1993): cells with version
//! numbers; a snapshot reads two cells and then looks whether a version has changed.
//!
//! Each cell is read, and written, by an atomic block. A snapshot may fail: it then says so and has no effect.
//!
//! Linearization points: `write` at its block; a `snapshot` that succeeds anywhere between its second read and its
//! first validation.
//!
//! Mutation [`SEPARATE_VERSION`]: `write` stores the value first and raises the version in a step of its own. Expected:
//! not linearizable with two snapshots and two writes; one snapshot sees the first write and not the second, the other
//! the second and not the first, and both validate. The claim fails too.
//!
//! With `CLAIMS`, `snapshot` claims between its reads and its validation that, if it will succeed, the values it has read are
//! those of the cells now (Fig. 2). The claim is a step, so there are more schedules with it.

use linpoint::sync::atomic::AtomicU32;
use linpoint::sync::atomic::Ordering::SeqCst;
use linpoint::{Var, atomically, procedure, tressa};

use crate::CORRECT;

/// `write` raises the version after the value, in a second step.
pub const SEPARATE_VERSION: u8 = 1;

/// Two cells.
#[derive(Default)]
pub struct Snapshot<const MUTATION: u8 = CORRECT, const CLAIMS: bool = false> {
    cells: [Cell; 2],
}

#[derive(Default)]
struct Cell {
    value: AtomicU32,
    version: AtomicU32,
}

impl Cell {
    /// The value and its version, as one.
    fn read(&self) -> (u32, u32) {
        atomically(|| {
            let version = self.version.load(SeqCst);
            (self.value.load(SeqCst), version)
        })
    }
}

#[linpoint::object(spec = crate::spec::Cells)]
impl<const MUTATION: u8, const CLAIMS: bool> Snapshot<MUTATION, CLAIMS> {
    /// Two zeros.
    pub fn new() -> Self {
        Self::default()
    }

    /// Both values as they were at one moment; `None` if a write was in the way.
    pub fn snapshot(&self) -> Option<(u32, u32)> {
        let _procedure = procedure();
        let [a, b] = &self.cells;
        let success = Var::new(true);
        let (value_a, version_a) = a.read();
        let (value_b, version_b) = b.read();
        if CLAIMS {
            tressa!(Exit(success) ==> (value_a == a.value.load(SeqCst) && value_b == b.value.load(SeqCst)));
        }
        if version_a < a.version.load(SeqCst) {
            success.set(false);
        }
        if version_b < b.version.load(SeqCst) {
            success.set(false);
        }
        success.get().then_some((value_a, value_b))
    }

    /// Writes the first cell.
    pub fn write_first(&self, value: u32) {
        self.write(0, value);
    }

    /// Writes the second cell.
    pub fn write_second(&self, value: u32) {
        self.write(1, value);
    }
}

impl<const MUTATION: u8, const CLAIMS: bool> Snapshot<MUTATION, CLAIMS> {
    fn write(&self, index: usize, value: u32) {
        let cell = &self.cells[index];
        if MUTATION == SEPARATE_VERSION {
            cell.value.store(value, SeqCst);
            cell.version.fetch_add(1, SeqCst);
        } else {
            atomically(|| {
                cell.value.store(value, SeqCst);
                cell.version.fetch_add(1, SeqCst);
            });
        }
    }
}
