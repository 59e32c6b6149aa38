//! The choices that a step leaves open, visited one way after another.

use crate::program::Word;

/// More ways than this to go on from one choice, or from all choices of one step, are not tried.
pub(super) const MOST_WAYS: u32 = 100_000;

/// Which way to take at each choice. The default takes the first at each; [`Choices::next`] moves to the next way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// For each choice met: which was taken, and of how many.
    taken: Vec<(u32, u32)>,
    at: usize,
    /// How many ways were left behind.
    passed: u32,
}

impl Choices {
    /// The ways as recorded by [`Choices::path`].
    pub fn replay(path: &[u32]) -> Choices {
        Choices { taken: path.iter().map(|&choice| (choice, u32::MAX)).collect(), at: 0, passed: 0 }
    }

    /// One of `count`, which is not zero.
    pub fn pick(&mut self, count: u32) -> u32 {
        if self.at == self.taken.len() {
            self.taken.push((0, count));
        }
        let (choice, known) = &mut self.taken[self.at];
        *known = count;
        self.at += 1;
        (*choice).min(count - 1)
    }

    /// A number from `lo` to `hi`, which is not below; none if there are too many to try them all.
    pub fn between(&mut self, lo: Word, hi: Word) -> Option<Word> {
        let ways = u32::try_from(i64::from(hi) - i64::from(lo) + 1).ok().filter(|&ways| ways <= MOST_WAYS)?;
        if self.passed > MOST_WAYS {
            return None;
        }
        Some(lo + self.pick(ways) as Word)
    }

    /// What was taken at each choice of the last run.
    pub fn path(&self) -> Vec<u32> {
        self.taken[..self.at].iter().map(|(choice, _)| *choice).collect()
    }

    /// Goes back to the start of the same way.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// Moves to the next way; false if all were visited.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> bool {
        self.taken.truncate(self.at);
        self.at = 0;
        self.passed = self.passed.saturating_add(1);
        while let Some((choice, count)) = self.taken.last_mut() {
            if *choice + 1 < *count {
                *choice += 1;
                return true;
            }
            self.taken.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn visits_every_way_once() {
        let mut choices = Choices::default();
        let mut seen = Vec::new();
        loop {
            let first = choices.pick(2);
            let second = if first == 0 { choices.pick(3) } else { 9 };
            seen.push((first, second));
            if !choices.next() {
                break;
            }
        }
        assert_eq!(seen, [(0, 0), (0, 1), (0, 2), (1, 9)]);
    }

    /// Each choice is small, all of them together are not: that is said, and no way is passed over without a word.
    #[test]
    fn too_many_ways_in_all() {
        let mut choices = Choices::default();
        let refused = loop {
            if choices.between(0, 999).and_then(|_| choices.between(0, 999)).is_none() {
                break true;
            }
            if !choices.next() {
                break false;
            }
        };
        assert!(refused);
    }
}
