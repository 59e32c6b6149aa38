//! The blocks of the heap of an execution, and what was done to each as a whole.
//!
//! A block that is freed is kept until the execution is over, so that no address means two things in it.

use std::alloc::{GlobalAlloc, Layout, System};

/// A moment between two events of a thread: so many events of it lie before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) thread: usize,
    pub(super) events: usize,
}

/// A block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) start: usize,
    layout: Layout,
    /// Who allocated it, and as its how-manieth.
    pub(super) thread: usize,
    pub(super) number: usize,
    pub(super) made: Moment,
    pub(super) freed: Option<Moment>,
    /// Was it freed while the execution was taken down?
    late: bool,
}

/// What came of a free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freeing {
    /// The block is none of the execution's.
    Unknown,
    /// It is kept for now.
    Kept,
    /// It was freed before, at that moment.
    Again(usize, Moment),
}

/// All blocks, in order of address.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    sorted: Vec<usize>,
    blocks: Vec<Block>,
}

impl Blocks {
    pub(super) fn add(&mut self, start: usize, layout: Layout, number: usize, made: Moment) {
        let at = self.sorted.partition_point(|&index| self.blocks[index].start < start);
        let block = Block { start, layout, thread: made.thread, number, made, freed: None, late: false };
        self.blocks.push(block);
        self.sorted.insert(at, self.blocks.len() - 1);
    }

    /// The block at `start` is freed; `when` is nothing while the execution is taken down.
    pub(super) fn free(&mut self, start: usize, when: Option<Moment>) -> Freeing {
        let at = self.sorted.partition_point(|&index| self.blocks[index].start < start);
        let Some(&index) = self.sorted.get(at) else { return Freeing::Unknown };
        let block = &mut self.blocks[index];
        if block.start != start {
            return Freeing::Unknown;
        }
        match (block.freed, when) {
            (None, Some(_)) => block.freed = when,
            (None, None) => block.late = true,
            (Some(before), Some(_)) => return Freeing::Again(index, before),
            (Some(_), None) => {}
        }
        Freeing::Kept
    }

    /// The block that this address is in.
    pub(super) fn containing(&self, address: usize) -> Option<(usize, &Block)> {
        let at = self.sorted.partition_point(|&index| self.blocks[index].start <= address);
        let index = self.sorted[at.checked_sub(1)?];
        let block = &self.blocks[index];
        (address < block.start + block.layout.size()).then_some((index, block))
    }

    pub(super) fn get(&self, index: usize) -> &Block {
        &self.blocks[index]
    }

    pub(super) fn all(&self) -> &[Block] {
        &self.blocks
    }

    /// The execution is over: what was freed in it goes back.
    pub(super) fn release(&mut self) {
        for block in self.blocks.drain(..) {
            if block.freed.is_some() || block.late {
                // SAFETY: it came from the system's allocator with this layout, and nobody uses it any more.
                unsafe { System.dealloc(std::ptr::with_exposed_provenance_mut(block.start), block.layout) };
            }
        }
        self.sorted.clear();
    }
}

impl Block {
    pub(super) fn size(&self) -> usize {
        self.layout.size()
    }
}
