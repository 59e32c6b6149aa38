//! Heap numbering: states that differ only in where records lie become equal.
//!
//! Cells are numbered in the order in which a walk meets them: from shared variables, then from the locals of
//! each thread, then from the fields of cells met, first come, first walked. What is not met is dropped.
//! Every pointer that can still be followed or compared is in one of these places, so nothing is lost.

use super::layout::IDLE;
use super::{Machine, State};
use crate::program::{NONE, UNSET, Word};

impl Machine<'_> {
    /// Renumbers the heap and drops what nobody can reach.
    pub fn canonical(&self, state: &mut State) {
        let cells = self.cells(state);
        if cells == 0 {
            return;
        }
        let mut walk = Walk { number: vec![0; cells], order: Vec::with_capacity(cells) };
        for &at in &self.global_pointers {
            walk.meet(&mut state.words[at]);
        }
        for thread in 0..self.threads {
            let frame = self.frames + thread * self.frame;
            let pc = state.words[frame];
            if pc == IDLE {
                continue;
            }
            let op = self.program.nodes[pc as usize].op.index();
            for &local in &self.local_pointers[op] {
                walk.meet(&mut state.words[frame + 1 + local]);
            }
        }
        let mut next = 0;
        while next < walk.order.len() {
            let start = self.heap + walk.order[next] * self.cell;
            let record = state.words[start].unsigned_abs() as usize - 1;
            for &field in &self.field_pointers[record] {
                walk.meet(&mut state.words[start + 1 + field]);
            }
            next += 1;
        }
        let in_place =
            walk.order.len() == cells && walk.order.iter().enumerate().all(|(new, &old)| new == old);
        if !in_place {
            let mut heap = Vec::with_capacity(walk.order.len() * self.cell);
            for &old in &walk.order {
                let start = self.heap + old * self.cell;
                heap.extend_from_slice(&state.words[start..start + self.cell]);
            }
            state.words.truncate(self.heap);
            state.words.extend_from_slice(&heap);
        }
    }
}

struct Walk {
    /// One more than the new number of each cell; 0 if it was not met.
    number: Vec<Word>,
    /// The cells met, by their old numbers.
    order: Vec<usize>,
}

impl Walk {
    /// Follows a pointer, and renumbers it.
    fn meet(&mut self, pointer: &mut Word) {
        if *pointer == 0 || *pointer == NONE || *pointer == UNSET {
            return;
        }
        let old = *pointer as usize - 1;
        if self.number[old] == 0 {
            self.order.push(old);
            self.number[old] = self.order.len() as Word;
        }
        *pointer = self.number[old];
    }
}
