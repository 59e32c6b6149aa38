//! The ways in which schedules are chosen.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use linpoint::Search;

/// A way in which schedules are chosen; one of this module.
pub trait Scheduler: fmt::Debug + sealed::Plan {}

pub(crate) mod sealed {
    use linpoint::Search;

    /// What a scheduler has the explorer do.
    #[derive(Clone, Debug)]
    pub struct Planned {
        pub search: Search,
        /// At most so many executions.
        pub iterations: Option<usize>,
        pub seed: u64,
        /// May the test ask for random numbers?
        pub random_data: bool,
        /// The one schedule to be run.
        pub replay: Option<String>,
    }

    impl Planned {
        pub(crate) fn random(search: Search, iterations: usize, seed: u64) -> Planned {
            Planned { search, iterations: Some(iterations), seed, random_data: true, replay: None }
        }
    }

    pub trait Plan {
        fn plan(&self) -> Planned;
    }

    impl<S: Plan + ?Sized> Plan for Box<S> {
        fn plan(&self) -> Planned {
            (**self).plan()
        }
    }
}

use sealed::{Plan, Planned};

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {}

/// The seed of a scheduler that was not given one.
fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

macro_rules! scheduler {
    ($name:ident, $plan:expr) => {
        impl Scheduler for $name {}

        impl Plan for $name {
            fn plan(&self) -> Planned {
                let plan: fn(&$name) -> Planned = $plan;
                plan(self)
            }
        }
    };
}

/// Every schedule. Of those that do the same, one is run.
#[derive(Clone, Debug)]
pub struct DfsScheduler {
    max_iterations: Option<usize>,
    allow_random_data: bool,
}

impl DfsScheduler {
    /// At most so many executions. `allow_random_data`: may the test ask for random numbers, which are the same in all
    /// of them?
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> DfsScheduler {
        DfsScheduler { max_iterations, allow_random_data }
    }
}

scheduler!(DfsScheduler, |me| Planned {
    search: Search::Auto,
    iterations: me.max_iterations,
    seed: 0,
    random_data: me.allow_random_data,
    replay: None,
});

/// At each step every thread that can go is equally likely.
#[derive(Clone, Debug)]
pub struct RandomScheduler {
    iterations: usize,
    seed: u64,
}

impl RandomScheduler {
    /// So many executions.
    pub fn new(max_iterations: usize) -> RandomScheduler {
        RandomScheduler::new_from_seed(seed(), max_iterations)
    }

    /// The same executions for the same seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> RandomScheduler {
        RandomScheduler { iterations: max_iterations, seed }
    }
}

scheduler!(RandomScheduler, |me| Planned::random(Search::RandomWalk, me.iterations, me.seed));

/// About every schedule is equally likely.
#[derive(Clone, Debug)]
pub struct UrwRandomScheduler {
    iterations: usize,
    seed: u64,
}

impl UrwRandomScheduler {
    /// So many executions.
    pub fn new(max_iterations: usize) -> UrwRandomScheduler {
        UrwRandomScheduler::new_from_seed(seed(), max_iterations)
    }

    /// The same executions for the same seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> UrwRandomScheduler {
        UrwRandomScheduler { iterations: max_iterations, seed }
    }
}

scheduler!(UrwRandomScheduler, |me| Planned::random(Search::UniformWalk, me.iterations, me.seed));

/// Random priorities, for bugs of a given depth (Burckhardt and others, ASPLOS 2010).
#[derive(Clone, Debug)]
pub struct PctScheduler {
    max_depth: usize,
    iterations: usize,
    seed: u64,
}

impl PctScheduler {
    /// For bugs that need so many ordered events, so many executions.
    ///
    /// # Panics
    /// If the depth is 0.
    pub fn new(max_depth: usize, max_iterations: usize) -> PctScheduler {
        PctScheduler::new_from_seed(seed(), max_depth, max_iterations)
    }

    /// The same executions for the same seed.
    ///
    /// # Panics
    /// If the depth is 0.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> PctScheduler {
        assert!(max_depth > 0, "the depth of a bug is at least 1");
        PctScheduler { max_depth, iterations: max_iterations, seed }
    }
}

scheduler!(PctScheduler, |me| Planned::random(Search::Pct(me.max_depth), me.iterations, me.seed));

/// The threads go in the order in which they were started, each as long as it can.
#[derive(Clone, Debug)]
pub struct RoundRobinScheduler {
    iterations: usize,
}

impl RoundRobinScheduler {
    /// So many executions.
    pub fn new(max_iterations: usize) -> RoundRobinScheduler {
        RoundRobinScheduler { iterations: max_iterations }
    }
}

scheduler!(RoundRobinScheduler, |me| Planned::random(Search::BoundedDfs(0), me.iterations.min(1), 0));

/// As the scheduler in it. That a test does the same under the same schedule is looked after in any case.
#[derive(Clone, Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S>(S);

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// As this one.
    pub fn new(scheduler: S) -> Self {
        UncontrolledNondeterminismCheckScheduler(scheduler)
    }
}

impl<S: Scheduler> Scheduler for UncontrolledNondeterminismCheckScheduler<S> {}

impl<S: Scheduler> Plan for UncontrolledNondeterminismCheckScheduler<S> {
    fn plan(&self) -> Planned {
        self.0.plan()
    }
}

/// One schedule, by the token that its failure printed.
#[derive(Clone, Debug)]
pub struct ReplayScheduler {
    token: String,
}

impl ReplayScheduler {
    /// By a token.
    pub fn new_from_encoded(encoded_schedule: &str) -> ReplayScheduler {
        ReplayScheduler { token: encoded_schedule.trim().to_owned() }
    }

    /// By a file with a token.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn new_from_file<P: AsRef<Path>>(path: P) -> io::Result<ReplayScheduler> {
        Ok(ReplayScheduler::new_from_encoded(&fs::read_to_string(path)?))
    }

    /// Not needed here: where the schedule no longer fits, the replay says so.
    pub fn set_allow_incomplete(&mut self) {}
}

scheduler!(ReplayScheduler, |me| Planned {
    replay: Some(me.token.clone()),
    ..Planned::random(Search::Dfs, 1, 0)
});
