//! The choices that a step leaves open, visited one way after another.

use std::sync::Arc;

use crate::program::Word;

/// More ways than this to go on from one choice, or from all choices of one step, are not tried.
pub(super) const MOST_WAYS: u32 = 100_000;

/// Where only a sample is asked for, choices of more values than this are not visited whole.
const VALUES_VISITED_WHOLE: u32 = 64;

/// So many values of a sample lie anywhere.
const ANYWHERE: u64 = 8;

/// Which way to take at each choice. The default takes the first at each; [`Choices::next`] moves to the next
/// way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// For each choice met: which was taken, and of how many.
    taken: Vec<(u32, u32)>,
    at: usize,
    /// How many ways were left behind.
    passed: u32,
    /// Numbers that are worth a try, where a sample of many values is enough.
    hints: Option<Arc<[Word]>>,
    /// Were values passed over?
    sampled: bool,
}

impl Choices {
    /// The ways as recorded by [`Choices::path`].
    pub fn replay(path: &[u32]) -> Choices {
        Choices { taken: path.iter().map(|&choice| (choice, u32::MAX)).collect(), ..Choices::default() }
    }

    /// Of many values visits a few only: the ends, what is next to them, these numbers as far as they lie
    /// between, and some that lie anywhere. [`Choices::is_sampled`] says whether that came to pass.
    #[must_use]
    pub fn sampling(hints: &Arc<[Word]>) -> Choices {
        Choices { hints: Some(Arc::clone(hints)), ..Choices::default() }
    }

    /// Was a value passed over?
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.sampled
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
        let ways = u32::try_from(i64::from(hi) - i64::from(lo) + 1).ok()?;
        if let Some(hints) = self.hints.as_ref().filter(|_| ways > VALUES_VISITED_WHOLE) {
            let sample = sample(lo, hi, hints);
            self.sampled = true;
            let at = self.pick(sample.len() as u32) as usize;
            return sample.get(at).copied();
        }
        if ways > MOST_WAYS || self.passed > MOST_WAYS {
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

/// Some numbers from `lo` to `hi`, the same ones each time.
fn sample(lo: Word, hi: Word, hints: &[Word]) -> Vec<Word> {
    let width = (i64::from(hi) - i64::from(lo)) as u64;
    let anywhere = (1..=ANYWHERE).map(|number| {
        // Spread by multiples of the golden ratio.
        let far = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (width + 1);
        (i64::from(lo) + far as i64) as Word
    });
    let ends = [lo, hi, lo.saturating_add(1), hi.saturating_sub(1), 0, 1, -1];
    let mut sample: Vec<Word> = ends.into_iter().chain(hints.iter().copied()).chain(anywhere).collect();
    sample.retain(|word| (lo..=hi).contains(word));
    sample.sort_unstable();
    sample.dedup();
    sample
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Choices;

    /// Of a choice that is too large to be visited, a sample has the ends and the numbers that were named,
    /// and says that it is one.
    #[test]
    fn a_sample_of_many() {
        let hints: Arc<[i32]> = Arc::from([77, -5]);
        let mut choices = Choices::sampling(&hints);
        let mut seen = Vec::new();
        loop {
            seen.push(choices.between(0, 1_073_741_823).expect("there is a sample"));
            if !choices.next() {
                break;
            }
        }
        assert!([0, 1, 77, 1_073_741_822, 1_073_741_823].iter().all(|word| seen.contains(word)), "{seen:?}");
        assert!(seen.iter().all(|word| *word >= 0) && seen.len() < 32, "{seen:?}");
        assert!(choices.is_sampled());
        let mut few = Choices::sampling(&hints);
        assert_eq!(few.between(3, 9), Some(3));
        assert!(!few.is_sampled());
        // Without being asked for a sample, nothing is passed over.
        assert_eq!(Choices::default().between(0, 1_073_741_823), None);
    }

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

    /// Each choice is small, all of them together are not: that is said, and no way is passed over without a
    /// word.
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
