//! Fair schedules: a thread that goes round a loop lets others go first.
//!
//! A loop that waits for another thread ends only if that thread goes. A schedule that never lets it go is none that an
//! operating system would make for long, and a search that follows it comes to no end. So schedules are made *fair*, as
//! in CHESS (Musuvathi and Qadeer, *Fair stateless model checking*, 2008): a thread that yields drops below those that
//! could have gone all the while.
//!
//! **Yields.** `yield_now`, `spin_loop`, `sleep`, and waits that time out. In straight code they mean nothing: whoever could go before
//! still can. What counts is to yield *again* at the same place of the source, with steps in between: that is a turn of a
//! loop. The next step of the thread is then a *head*. A turn that is exactly the one before, in local state and in what it did, but did more
//! than read (it took a lock and gave it back), ends in a head as well, whether the loop says that it yields or not. And a thread
//! that has taken hundreds of steps is taken to yield every now and then.
//!
//! **The rule.** Let u be another thread that could go at some moment between two heads of a thread t, and took no step in between: then t
//! *owes* u a step, from the second of these heads on, until u takes one. While u can go, t waits.
//! Two threads never wait for each other in this way: whoever is owed has taken no step since an earlier step of the one that owes; so the thread
//! whose latest step is the oldest, of those that can go, waits for nobody.
//! A thread alone never waits. An execution that still takes too many steps goes round although everybody who can go does: a livelock, if it comes back to the same state (`cycle.rs`).
//! (This is strong fairness: to be able to go again and again is enough. In CHESS a thread must be able to go all the while, or be hindered by t
//! itself, as by a loop that takes a lock and gives it back in every turn.)
//!
//! **What is left out.** Schedules in which a thread makes a third turn while another, which could go, takes no step. Nothing
//! is left out of programs whose loops make at most two turns, and of loops that only read, which are seen to by `spin.rs`
//! without any loss. If somebody was ever made to wait, reports say *fair* schedules.
//!
//! **Reductions.** Whether a head can go is a matter of what all others did since the head before. So a head *depends* on every step of every
//! other thread, and so does the step after a step that left its thread in debt: each step writes a location that stands for the progress of its
//! thread, and such a step reads all of them. These steps are thus totally ordered with the steps of others, in every order of a
//! trace the same; who could go, and who went, between two heads is the same in all of them, and so is what is owed. More
//! steps of others never make a head wait that could go before, unless they enable somebody who is owed and could not go;
//! what enables a thread touches what the thread waits for, so there is a race with that step.
//! Progress is noted only once a program has come to a head. That run is made again from its beginning, and the strategy forgets what it worked out
//! from earlier runs ([`crate::strategy::Strategy::restart`]).

use crate::event::{ThreadId, ThreadSet};

/// What a thread knows of its turns.
#[derive(Default)]
pub(crate) struct Turns {
    /// Where in the source it yielded, and how many steps it had taken then.
    yields: Vec<(usize, u32)>,
    /// Is its next step a head, because it yielded?
    pub(crate) yielded: bool,
    /// Does it stand at a head?
    pub(crate) at_head: bool,
    /// Who could go at some moment since its latest head.
    able: ThreadSet,
    /// Who has gone since.
    gone: ThreadSet,
    /// Whom it owed a step at its latest head, and still does.
    owed: ThreadSet,
    /// Did it owe somebody a step when it took its latest?
    in_debt: bool,
}

impl Turns {
    /// Forgets everything: the thread begins anew, or does something else.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.yields.is_empty() {
            self.yields.clear();
        }
        self.yielded = false;
        self.at_head = false;
        self.able = ThreadSet::EMPTY;
        self.gone = ThreadSet::EMPTY;
        self.owed = ThreadSet::EMPTY;
        self.in_debt = false;
    }

    /// Those in `able` can go now. Must the thread let one of them go first?
    pub(crate) fn waits(&mut self, able: ThreadSet) -> bool {
        self.able.0 |= able.0;
        let owed = if self.at_head { self.owed.0 | self.able.0 & !self.gone.0 } else { self.owed.0 };
        owed & able.0 != 0
    }

    /// `other` takes a step.
    pub(crate) fn goes(&mut self, other: ThreadId) {
        self.gone.insert(other);
        self.owed.remove(other);
    }

    /// The thread itself takes a step, among those in `alive`. Is it one that depends on what all others do?
    pub(crate) fn step(&mut self, this: ThreadId, alive: ThreadSet) -> bool {
        let head = std::mem::take(&mut self.at_head);
        if head {
            self.owed.0 |= self.able.0 & !self.gone.0;
            self.able = ThreadSet::EMPTY;
            self.gone = ThreadSet::EMPTY;
        }
        self.owed.0 &= alive.0;
        self.owed.remove(this);
        let depends = head || self.in_debt;
        self.in_debt = !self.owed.is_empty();
        depends
    }

    /// What it waited for has changed: the loop it is in begins anew.
    pub(crate) fn begin_again(&mut self) {
        self.yields.clear();
    }

    /// Would its next step depend on what all others do?
    pub(crate) fn depends(&self) -> bool {
        self.at_head || self.in_debt
    }

    /// It yields at `site`, after so many steps. Is that the end of a turn?
    pub(crate) fn yields(&mut self, site: usize, steps: u32) -> bool {
        match self.yields.iter_mut().find(|before| before.0 == site) {
            None => {
                self.yields.push((site, steps));
                false
            }
            Some(before) => std::mem::replace(&mut before.1, steps) < steps,
        }
    }
}
