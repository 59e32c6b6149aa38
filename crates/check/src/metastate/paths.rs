//! How each configuration came about: a tree of steps, of which only what the configurations disagree on is
//! kept.
//!
//! A configuration holds the number of its last step; a step knows the one before it. Steps that all
//! surviving configurations share at the beginning are final: they are handed out and forgotten, and so is
//! what no configuration reaches any more. While there is one configuration, which is nearly always, the tree
//! is emptied at every return; otherwise it is collected when it has doubled, so the cost a step is constant.

/// The path of a configuration that took no step since the last common one.
pub const ROOT: u32 = u32::MAX;

/// A tree of steps.
#[derive(Clone, Debug)]
pub struct Paths<S> {
    nodes: Vec<(u32, S)>,
    collect_at: usize,
}

const COLLECT_AT_LEAST: usize = 1024;

impl<S: Copy> Default for Paths<S> {
    fn default() -> Paths<S> {
        Paths { nodes: Vec::new(), collect_at: COLLECT_AT_LEAST }
    }
}

impl<S: Copy> Paths<S> {
    /// The path that continues `path` by `step`.
    #[inline]
    pub fn push(&mut self, path: u32, step: S) -> u32 {
        self.nodes.push((path, step));
        self.nodes.len() as u32 - 1
    }

    /// One configuration is left: its whole path is final.
    pub fn settle(&mut self, tip: &mut u32, mut give: impl FnMut(S)) {
        if *tip != ROOT {
            let mut chain = Vec::new();
            let mut at = *tip;
            while at != ROOT {
                let (parent, step) = self.nodes[at as usize];
                chain.push(step);
                at = parent;
            }
            chain.into_iter().rev().for_each(&mut give);
            *tip = ROOT;
        }
        self.nodes.clear();
        self.collect_at = COLLECT_AT_LEAST;
    }

    /// Has enough piled up that [`Paths::collect`] pays?
    #[inline]
    pub fn is_due(&self) -> bool {
        self.nodes.len() >= self.collect_at
    }

    /// Hands out what all `tips` have in common, forgets what none reaches, and renumbers `tips`.
    pub fn collect<'a>(&mut self, tips: impl Iterator<Item = &'a mut u32>, mut give: impl FnMut(S)) {
        let mut tips: Vec<&mut u32> = tips.collect();
        // How many reached steps and tips hang on each node (the last entry stands for the root), and the
        // last such step.
        let root = self.nodes.len();
        let slot = |path: u32| if path == ROOT { root } else { path as usize };
        let mut hanging = vec![0u32; root + 1];
        let mut child = vec![ROOT; root + 1];
        for tip in &tips {
            // A tip weighs two, so that a node with a tip never passes for one with a single successor.
            hanging[slot(**tip)] += 2;
        }
        for at in (0..root).rev() {
            if hanging[at] > 0 {
                let parent = slot(self.nodes[at].0);
                hanging[parent] += 1;
                child[parent] = at as u32;
            }
        }
        let mut given = vec![false; root];
        let mut top = root;
        while hanging[top] == 1 {
            top = child[top] as usize;
            give(self.nodes[top].1);
            given[top] = true;
        }
        let mut new = vec![ROOT; root + 1];
        let mut kept = 0;
        for at in 0..root {
            if hanging[at] == 0 || given[at] {
                continue;
            }
            let (parent, step) = self.nodes[at];
            self.nodes[kept] = (new[slot(parent)], step);
            new[at] = kept as u32;
            kept += 1;
        }
        self.nodes.truncate(kept);
        for tip in &mut tips {
            **tip = new[slot(**tip)];
        }
        self.collect_at = COLLECT_AT_LEAST.max(2 * kept);
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<(u32, S)>()
    }
}
