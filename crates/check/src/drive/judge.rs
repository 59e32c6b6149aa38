//! Which recheck a drive uses: of a plain order, or, for stacks, of an order with holes.

use linpoint_history::{Builtin, Kind, Operation, Symbols};

use crate::engine::Context;
use crate::recheck::segments::Segments;
use crate::recheck::{BadWitness, Recheck};
use crate::timeline::OpId;

/// The recheck: of a plain order, or of one with holes.
pub(super) enum Judge {
    Plain(Recheck),
    Holes(Segments),
}

impl Judge {
    pub(super) fn new(spec: &Builtin, symbols: &Symbols) -> Judge {
        if spec.kind == Kind::Stack && spec.capacity.is_none() && !spec.spurious {
            Judge::Holes(Segments::new(spec, symbols))
        } else {
            Judge::Plain(Recheck::new(spec, symbols))
        }
    }

    #[inline]
    pub(super) fn take(&mut self, cx: &Context<'_>, id: OpId, row: &Operation) -> Result<(), BadWitness> {
        match self {
            Judge::Plain(recheck) => recheck.take(cx.spec, cx.symbols, id, row),
            Judge::Holes(segments) => segments.push(id, row),
        }
    }

    pub(super) fn first_missing(&self) -> u32 {
        match self {
            Judge::Plain(recheck) => recheck.first_missing(),
            Judge::Holes(segments) => segments.first_missing(),
        }
    }

    pub(super) fn operations(&self) -> u64 {
        match self {
            Judge::Plain(recheck) => recheck.operations(),
            Judge::Holes(segments) => segments.operations(),
        }
    }

    pub(super) fn finish(&self, completed: u32) -> Result<u64, BadWitness> {
        match self {
            Judge::Plain(recheck) => recheck.finish(completed),
            Judge::Holes(segments) => segments.finish(completed),
        }
    }
}
