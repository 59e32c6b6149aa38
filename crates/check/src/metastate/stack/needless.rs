//! Configurations that may be dropped, since another one can do whatever they can.
//!
//! *Implied:* another configuration reaches these contents by one step it may still take: a pop it has not
//! run yet, or a push it has not placed. *Dominated:* it differs only in which of two equal pops is done, and
//! has done the one that returns first. Both relations lead to fewer done operations or to earlier returns,
//! never in a circle, so what covers the dropped is kept.

use super::open::{Open, bits};
use super::step::{Config, Stepper};
use super::words::{NONE, Node, Words};

impl Stepper {
    /// Does another configuration of this step cover `config`? The returned operation is no longer in `open`.
    pub(super) fn is_needless(&mut self, words: &mut Words, open: &Open, config: Config) -> bool {
        self.is_after_a_pop(words, open, config)
            || self.is_after_a_push(words, open, config)
            || self.is_after_a_pending_pop(words, config)
    }

    fn is_after_a_pop(&mut self, words: &mut Words, open: &Open, config: Config) -> bool {
        for row in bits(config.done & open.pops).map(|slot| open.row(slot)) {
            let undone = config.done & !(1 << row.slot);
            if let Some(lazier) = self.find(undone, config.wild) {
                let popped = words.pop(lazier, row.value, u32::MAX);
                if popped != NONE && words.included(config.words, popped) {
                    return true;
                }
            }
            let equals = bits(open.pops & !config.done)
                .map(|slot| open.row(slot))
                .filter(|other| other.value == row.value && other.id < row.id);
            for other in equals {
                if let Some(better) = self.find(undone | 1 << other.slot, config.wild)
                    && words.included(config.words, better)
                {
                    return true;
                }
            }
        }
        false
    }

    fn is_after_a_push(&mut self, words: &mut Words, open: &Open, config: Config) -> bool {
        for slot in bits(config.done & open.pushes) {
            let Some(lazier) = self.find(config.done & !(1 << slot), config.wild) else { continue };
            let push = *open.row(slot);
            let how = self.insertion(open, push, config.done);
            let placed = if open.pending >> slot & 1 == 1 {
                words.push(push.value, how.now, lazier)
            } else {
                words.insert(lazier, how)
            };
            if words.included(config.words, placed) {
                return true;
            }
        }
        false
    }

    fn is_after_a_pending_pop(&mut self, words: &mut Words, config: Config) -> bool {
        let Some(wild) = config.wild.checked_sub(1) else { return false };
        let Some(lazier) = self.find(config.done, wild) else { return false };
        let mut popped = NONE;
        for at in 0..words.edges(lazier).len() {
            popped = words.union(popped, words.edges(lazier)[at].below);
        }
        popped != NONE && words.included(config.words, popped)
    }

    fn find(&self, done: u64, wild: u32) -> Option<Node> {
        let at = self.out.binary_search_by_key(&(done, wild), Config::key).ok()?;
        Some(self.out[at].words)
    }
}
