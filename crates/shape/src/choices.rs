//! The choices that an abstract step leaves open, visited one way after another: a step is run again from its start for each way, so its code
//! is written as if there were only one.

/// Which way to take at each choice. The default takes the first at each.
#[derive(Debug, Default)]
pub struct Choices {
    taken: Vec<(u8, u8)>,
    at: usize,
}

impl Choices {
    /// One of `count`, which is not zero.
    pub fn pick(&mut self, count: usize) -> usize {
        if count == 1 {
            return 0;
        }
        if self.at == self.taken.len() {
            self.taken.push((0, count as u8));
        }
        let choice = self.taken[self.at].0;
        self.at += 1;
        usize::from(choice)
    }

    /// Moves to the next way; false if all were visited.
    pub fn advance(&mut self) -> bool {
        self.taken.truncate(self.at);
        self.at = 0;
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
