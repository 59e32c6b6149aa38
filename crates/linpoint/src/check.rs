//! `linpoint::check::<Object>()`: scenarios, small first, each under every schedule.

use std::fmt::Display;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use linpoint_sched::explore::{Plan, Search};
use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::strategy::shared_dfs::{Pool, SharedDfs};
use linpoint_sched::weak::Instead;
use linpoint_sched::{Execution, Limits};

use crate::argument::Domain;
use crate::asked_twice;
use crate::audit::{Orderings, Tried};
use crate::counterexample::FailingRun;
use crate::explore::page_note;
use crate::explored::{Exploration, Finding, Stop};
use crate::linearize::Criterion;
use crate::memory::Memory;
use crate::plan::{self, Reached};
use crate::promise::{self, Promise};
use crate::report::{Coverage, Report};
use crate::scenario::{Alphabet, Scenario, Size, shapes};
use crate::spec::{Object, Specification};
use crate::token::{Token, TokenError};
use crate::weak::{self, GraphToken, Setting};

/// Checks that an object does what its specification says: `linpoint::check::<MsQueue>().run()`.
///
/// Unless more is asked for, scenarios have up to two threads with two operations each, and one operation before: small
/// enough for most objects to be done in seconds even where nothing is optimised.
pub fn check<O: Object>() -> Check<O> {
    Check {
        size: Size { threads: 2, ops: 2, before: 1, after: 0 },
        domain: Domain::default(),
        arguments: None,
        scenario: None,
        criterion: Criterion::Linearizability,
        search: Search::Auto,
        time_limit: Duration::from_secs(60),
        workers: None,
        limits: Limits::default(),
        memory: Memory::Sc,
        page: None,
        as_far_as_it_goes: false,
        after_set: false,
        object: PhantomData,
    }
}

/// What to check, and how much of it.
pub struct Check<O: Object> {
    size: Size,
    domain: Domain,
    arguments: Option<Vec<<O::Spec as Specification>::Op>>,
    scenario: Option<Arc<Scenario<O::Spec>>>,
    criterion: Criterion,
    search: Search,
    time_limit: Duration,
    workers: Option<usize>,
    limits: Limits,
    memory: Memory,
    page: Option<PathBuf>,
    as_far_as_it_goes: bool,
    /// Did the user say how many operations come after?
    after_set: bool,
    object: PhantomData<fn() -> O>,
}

impl<O: Object> Check<O> {
    /// At most so many threads (2 unless set).
    pub fn threads(mut self, threads: usize) -> Self {
        self.size.threads = threads.max(1);
        self
    }

    /// At most so many operations in a thread (2 unless set).
    pub fn ops(mut self, ops: usize) -> Self {
        self.size.ops = ops.max(1);
        if !self.after_set {
            self.size.after = usize::from(self.size.ops == 1);
        }
        self
    }

    /// At most so many operations before the threads start (1 unless set).
    pub fn before(mut self, ops: usize) -> Self {
        self.size.before = ops;
        self
    }

    /// At most so many operations after the threads have ended. Unless set there is none, or one where each thread has one
    /// only: a thread with two can look at what is left itself.
    pub fn after(mut self, ops: usize) -> Self {
        self.size.after = ops;
        self.after_set = true;
        self
    }

    /// How many different values the arguments may take (3 unless set).
    pub fn values(mut self, values: usize) -> Self {
        self.domain.values = values.max(1);
        self
    }

    /// The operations to build scenarios of, arguments and all, instead of generated ones.
    pub fn arguments(mut self, ops: impl IntoIterator<Item = <O::Spec as Specification>::Op>) -> Self {
        self.arguments = Some(ops.into_iter().collect());
        self
    }

    /// This scenario and no other.
    pub fn scenario(mut self, scenario: Scenario<O::Spec>) -> Self {
        self.scenario = Some(Arc::new(scenario));
        self
    }

    /// What memory may do (sequentially consistent unless set). Under a weak model the object must be linearizable in
    /// every execution, for every client: whatever synchronisation there is around its operations.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// What "correct" means (linearizability unless set).
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.criterion = criterion;
        self
    }

    /// How the schedules are walked (the best way for each scenario unless set).
    pub fn search(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// Stop after this long (60 s unless set), and say how far it got.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// How many OS threads explore (all cores unless set).
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers.max(1));
        self
    }

    /// What bounds a single execution.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Something may fail without a reason, where std allows that, so many times in an execution (never unless set): a
    /// `compare_exchange_weak`, `park`, or a wait for a condition variable, which then ends without a notification.
    pub fn spurious(mut self, failures: u32) -> Self {
        self.limits.spurious = failures;
        self
    }

    /// Writes the page of what is found to this file, before anything panics.
    pub fn page(mut self, file: impl Into<PathBuf>) -> Self {
        self.page = Some(file.into());
        self
    }

    /// Lets [`Check::run`] pass with what could be covered in the time given, or by a random search. What that was is in
    /// the [`Coverage`] that it returns. Without this, less than every schedule of every scenario does not pass.
    pub fn as_far_as_it_goes(mut self) -> Self {
        self.as_far_as_it_goes = true;
        self
    }

    /// Checks, and panics with the counterexample if there is one, and also if there is none but not everything was
    /// covered: every schedule of every scenario, or within the bound on preemptions of a search that has one.
    ///
    /// # Panics
    /// If the object does not do what its specification says, or if not all was covered that was promised, unless
    /// [`Check::as_far_as_it_goes`].
    #[track_caller]
    pub fn run(self) -> Coverage {
        let as_far_as_it_goes = self.as_far_as_it_goes;
        let report = self.report();
        if let Some(counterexample) = &report.counterexample {
            panic!("{counterexample}");
        }
        if let Some(why) = promise::broken(&report, as_far_as_it_goes) {
            panic!("{why}");
        }
        report.coverage
    }

    /// Checks, and returns what was found and what was covered.
    ///
    /// # Panics
    /// If the specification answers the same question in two ways.
    pub fn report(self) -> Report {
        linpoint_sched::must_be_outside();
        let page = self.page.clone();
        let mut report = self.explored();
        if let Some(file) = page {
            let written = std::fs::write(&file, report.page());
            if let Some(found) = &mut report.counterexample {
                found.notes.push(page_note(&file, written));
            }
        }
        report
    }

    fn explored(self) -> Report {
        let start = Instant::now();
        let deadline = start + self.time_limit;
        let mut coverage = Coverage::new(self.size_in_words(), self.criterion);
        coverage.spurious = self.limits.spurious;
        coverage.promise = Promise::of(self.search);
        coverage.memory = self.memory;
        let (scenarios, missing) = self.scenarios(deadline, &mut coverage);
        // The last is among the longest.
        if let Some(text) = scenarios.last().and_then(asked_twice::difference) {
            panic!(
                "the specification {} is not deterministic, so nothing can be compared with it: {text}",
                std::any::type_name::<O::Spec>()
            );
        }
        if self.memory != Memory::Sc {
            return self.graphs(&scenarios, start, coverage);
        }
        let mut open: Vec<usize> = (0..scenarios.len()).collect();
        for level in 0.. {
            let (found, reached) = self.pass(&scenarios, &open, level, deadline);
            if let Some((index, finding)) = found {
                coverage.note_runs(&reached);
                let counterexample = FailingRun::shown(&self, &scenarios[index], *finding);
                return Report { coverage, elapsed: start.elapsed(), counterexample: Some(counterexample) };
            }
            coverage.note(&reached);
            open.retain(|&index| !coverage.is_done(index));
            // Others have done what they can.
            if open.is_empty() || !plan::has_levels(self.search) || Instant::now() >= deadline {
                break;
            }
        }
        coverage.finish(scenarios.len());
        if self.scenario.is_none() && !coverage.is_kept() {
            coverage.kept = promise::largest_kept(&self.size, &scenarios, &coverage, &missing);
        }
        Report { coverage, elapsed: start.elapsed(), counterexample: None }
    }

    /// Explores the execution graphs of the scenarios.
    fn graphs(self, scenarios: &[Scenario<O::Spec>], start: Instant, mut coverage: Coverage) -> Report {
        let deadline = start + self.time_limit;
        if self.criterion != Criterion::Linearizability {
            let why = format!("{:?} is not decided under a weak memory model", self.criterion);
            let counterexample = Some(weak::refusal(why, self.memory));
            return Report { coverage, elapsed: start.elapsed(), counterexample };
        }
        let all = self.all_graphs(scenarios, deadline, None);
        coverage.note(&all.reached);
        coverage.finish(scenarios.len());
        let counterexample = all.found.map(|(index, mut found)| {
            found.scenario = scenarios[index].to_string();
            found
        });
        Report { coverage, elapsed: start.elapsed(), counterexample }
    }

    /// The graphs of all scenarios, perhaps with orderings other than those in the source.
    fn all_graphs(
        &self,
        scenarios: &[Scenario<O::Spec>],
        deadline: Instant,
        instead: Option<&Arc<Instead>>,
    ) -> weak::All {
        let setting = |index: usize| {
            let time = deadline.saturating_duration_since(Instant::now());
            (self.plan(time), self.token(&scenarios[index]))
        };
        let workers = match self.workers {
            _ if scenarios.len() == 1 => 1,
            Some(workers) => workers,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        };
        weak::check_all::<O>(scenarios, &setting, (self.memory, workers, deadline), instead)
    }

    /// Which orderings of the object are as weak as these scenarios allow, under RC11? Each ordering that an execution comes to is weakened
    /// alone, and then one after another, as long as all scenarios still pass.
    ///
    /// # Errors
    /// With the report, if the object is not found right with the orderings that it has.
    pub fn orderings(mut self) -> Result<Orderings, Box<Report>> {
        self.memory = Memory::Rc11;
        let deadline = Instant::now() + self.time_limit;
        let mut coverage = Coverage::new(self.size_in_words(), self.criterion);
        let (scenarios, _) = self.scenarios(deadline, &mut coverage);
        let written = self.all_graphs(&scenarios, deadline, Some(&Arc::default())).orderings;
        let right = self.with_same_settings().explored();
        if !right.holds() {
            return Err(Box::new(right));
        }
        let scope = right.to_string();
        Ok(Orderings::audit(scope, &written, &mut |instead| {
            let instead = Arc::new(instead.clone());
            let all = self.all_graphs(&scenarios, deadline, Some(&instead));
            let whole = all.reached.len() == scenarios.len()
                && all.reached.iter().all(|(_, reached)| reached.complete);
            match all.found {
                Some((_, found)) if found.refused => Tried::Unknown(found.headline),
                Some((index, found)) => Tried::Breaks(format!("{}, in {}", found.headline, scenarios[index])),
                None if whole => Tried::Passes,
                None => Tried::Unknown("not done in the time given".to_owned()),
            }
        }))
    }

    /// The same check again.
    fn with_same_settings(&self) -> Check<O> {
        Check {
            size: self.size,
            domain: self.domain.clone(),
            arguments: self.arguments.clone(),
            scenario: self.scenario.clone(),
            limits: self.limits.clone(),
            page: None,
            object: PhantomData,
            ..*self
        }
    }

    /// What is to be explored of a scenario, in so much time.
    fn plan(&self, time: Duration) -> Plan {
        Plan { search: self.search, time: Some(time), limits: self.limits.clone(), ..Plan::default() }
    }

    fn token(&self, scenario: &Scenario<O::Spec>) -> Token {
        Token { program: self.fingerprint(), scenario: self.encode(scenario), turns: Vec::new() }
    }

    /// The failing schedule of `token` again, on one thread: for a debugger.
    ///
    /// # Errors
    /// If the token cannot be used here.
    ///
    /// # Panics
    /// If the schedule still fails, with the counterexample.
    #[track_caller]
    pub fn replay(self, token: &str) -> Result<Report, TokenError> {
        let report = self.replay_report(token)?;
        if let Some(counterexample) = &report.counterexample {
            panic!("{counterexample}");
        }
        Ok(report)
    }

    /// As [`Check::replay`], without the panic.
    ///
    /// # Errors
    /// If the token cannot be used here.
    pub fn replay_report(self, token: &str) -> Result<Report, TokenError> {
        let start = Instant::now();
        if let Some(token) = GraphToken::read(token) {
            return self.replay_graph(&token?, start);
        }
        let token: Token = token.parse()?;
        let scenario = self.decode(&token)?;
        let mut coverage = Coverage::new(self.size_in_words(), self.criterion);
        coverage.spurious = self.limits.spurious;
        let counterexample = FailingRun::replay(&self, &scenario, &token, &mut coverage);
        Ok(Report { coverage, elapsed: start.elapsed(), counterexample })
    }

    /// The graph of `token` again.
    fn replay_graph(self, token: &GraphToken, start: Instant) -> Result<Report, TokenError> {
        let scenario = self.decode(&token.program)?;
        let memory = if self.memory == Memory::Sc { Memory::Rc11 } else { self.memory };
        let mut coverage = Coverage::new(self.size_in_words(), self.criterion);
        coverage.memory = memory;
        let plan = self.plan(self.time_limit);
        let words = || token.program.clone();
        let only = Some(token.graph);
        let setting = Setting { plan: &plan, memory, token: &words, only, instead: None };
        let checked = weak::check::<O>(&scenario, &setting);
        let mut counterexample = checked.found;
        coverage.note(&[(0, Reached { complete: false, ..checked.reached })]);
        if let Some(found) = &mut counterexample {
            found.scenario = scenario.to_string();
        }
        Ok(Report { coverage, elapsed: start.elapsed(), counterexample })
    }

    /// Which scenarios are meant.
    fn size_in_words(&self) -> Arc<dyn Display + Send + Sync> {
        match &self.scenario {
            Some(scenario) => Arc::<Scenario<O::Spec>>::clone(scenario),
            None => Arc::new(format!(
                "up to {} threads × {} operations, {} before and {} after",
                self.size.threads, self.size.ops, self.size.before, self.size.after
            )),
        }
    }

    pub(crate) fn criterion_asked(&self) -> Criterion {
        self.criterion
    }

    pub(crate) fn search_asked(&self) -> Search {
        self.search
    }

    pub(crate) fn spurious_asked(&self) -> u32 {
        self.limits.spurious
    }

    pub(crate) fn execution(&self) -> Box<Execution> {
        Execution::new(self.limits.clone())
    }

    /// All scenarios within the size, small first; as many as the time allows to list, and the sizes of the others.
    fn scenarios(&self, deadline: Instant, coverage: &mut Coverage) -> (Vec<Scenario<O::Spec>>, Vec<Size>) {
        const MOST: usize = 200_000;
        if let Some(scenario) = &self.scenario {
            return (vec![Scenario::clone(scenario)], Vec::new());
        }
        let alphabet = Alphabet::new::<O>(&self.domain, self.arguments.as_deref());
        let mut all = Vec::new();
        let mut missing = Vec::new();
        for shape in shapes(&self.size) {
            if !missing.is_empty() {
                missing.push(shape.size());
                continue;
            }
            let whole = alphabet.scenarios(&shape, &mut |scenario| {
                all.push(scenario);
                all.len() < MOST && (all.len() % 1024 != 0 || Instant::now() < deadline)
            });
            if !whole {
                coverage.listing_was_cut();
                missing.push(shape.size());
            }
        }
        (all, missing)
    }

    /// Explores the scenarios `open`, each as far as `level` allows, on all workers.
    fn pass(
        &self,
        scenarios: &[Scenario<O::Spec>],
        open: &[usize],
        level: u32,
        deadline: Instant,
    ) -> Pass<O::Spec> {
        let next = AtomicUsize::new(0);
        let found = AtomicBool::new(false);
        let findings = Mutex::new(Vec::new());
        let all_reached = Mutex::new(Vec::new());
        let work = || {
            let mut execution = self.execution();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&index) = open.get(at) else { return };
                if found.load(Ordering::Relaxed) || Instant::now() >= deadline {
                    return;
                }
                let mut exploration = Exploration::<O>::new(&scenarios[index], self.criterion);
                match plan::explore(&mut exploration, &mut execution, self.search, level, deadline) {
                    Ok(reached) => lock(&all_reached).push((index, reached)),
                    Err(finding) => {
                        found.store(true, Ordering::Relaxed);
                        let (runs, claims) = (exploration.runs, exploration.claims);
                        lock(&all_reached).push((index, Reached { runs, claims, ..Reached::default() }));
                        lock(&findings).push((index, finding));
                        return;
                    }
                }
            }
        };
        // How many cores there are is asked only where it matters: that takes as long as tens of executions.
        let workers =
            || self.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        if let ([index], Some(dfs)) = (open, self.shareable()) {
            let workers = workers();
            if workers > 1 {
                return self.share(scenarios, *index, dfs, deadline, workers);
            }
        }
        let workers = if open.len() == 1 { 1 } else { workers().min(open.len()) };
        if workers == 1 {
            work();
        } else {
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(work);
                }
            });
        }
        // Every scenario before the first that failed was begun before it, and by then finished: the smallest wins.
        let first =
            lock(&findings).drain(..).min_by_key(|finding: &(usize, Box<Finding<O::Spec>>)| finding.0);
        (first, std::mem::take(&mut *lock(&all_reached)))
    }

    /// A search that several workers can share.
    fn shareable(&self) -> Option<Dfs> {
        match self.search {
            Search::Dfs => Some(Dfs::new()),
            Search::BoundedDfs(bound) | Search::Preemptions(bound) => Some(Dfs::bounded(bound)),
            _ => None,
        }
    }

    /// Explores one scenario on so many workers.
    fn share(
        &self,
        scenarios: &[Scenario<O::Spec>],
        index: usize,
        dfs: Dfs,
        deadline: Instant,
        workers: usize,
    ) -> Pass<O::Spec> {
        let pool = Pool::new(dfs, workers);
        let work = || {
            let mut execution = self.execution();
            let mut exploration = Exploration::<O>::new(&scenarios[index], self.criterion);
            let mut cut = false;
            let mut finding = None;
            if let Some(mut share) = SharedDfs::new(&pool) {
                let walked = exploration.walk(&mut execution, &mut share, u64::MAX, Some(deadline));
                cut = share.was_cut();
                if !matches!(walked, Ok(Stop::Exhausted)) {
                    pool.end();
                }
                finding = walked.err();
            }
            let (runs, questions) = (exploration.runs, exploration.questions());
            let claims = std::mem::take(&mut exploration.claims);
            let unwatched = execution.unwatched();
            (finding, cut, Reached { runs, claims, questions, unwatched, ..Reached::default() })
        };
        let parts: Vec<_> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            handles.into_iter().filter_map(|worker| worker.join().ok()).collect()
        });
        let mut whole = Reached::default();
        let (mut found, mut cut) = (None, false);
        let all_there = parts.len() == workers;
        for (finding, part_cut, part) in parts {
            found = found.or(finding);
            cut |= part_cut;
            whole.runs += part.runs;
            whole.questions += part.questions;
            whole.unwatched += part.unwatched;
            whole.claims.merge(&part.claims);
        }
        whole.exhausted = all_there && !pool.is_over();
        whole.complete = whole.exhausted && !cut;
        if let (Search::BoundedDfs(bound) | Search::Preemptions(bound), true) = (self.search, whole.exhausted)
        {
            whole.bound = Some(bound);
        }
        (found.map(|finding| (index, finding)), vec![(index, whole)])
    }

    /// The scenario as a list of numbers for a token.
    pub(crate) fn encode(&self, scenario: &Scenario<O::Spec>) -> Vec<u16> {
        let letters = self.letters();
        let code = |op: &<O::Spec as Specification>::Op| {
            letters.iter().position(|letter| letter == op).map_or(u16::MAX - 1, |index| index as u16)
        };
        let mut parts = vec![&scenario.before];
        parts.extend(&scenario.threads);
        parts.push(&scenario.after);
        let mut numbers = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 {
                numbers.push(u16::MAX);
            }
            numbers.extend(part.iter().map(code));
        }
        numbers
    }

    fn decode(&self, token: &Token) -> Result<Scenario<O::Spec>, TokenError> {
        if token.program != self.fingerprint() {
            return Err(TokenError::OtherProgram);
        }
        let letters = self.letters();
        let mut parts: Vec<Vec<<O::Spec as Specification>::Op>> = vec![Vec::new()];
        for &number in &token.scenario {
            if number == u16::MAX {
                parts.push(Vec::new());
            } else if let (Some(part), Some(op)) = (parts.last_mut(), letters.get(usize::from(number))) {
                part.push(op.clone());
            } else {
                return Err(TokenError::OtherOperations);
            }
        }
        if parts.len() < 2 {
            return Err(TokenError::Malformed);
        }
        let before = parts.remove(0);
        let after = parts.pop().unwrap_or_default();
        Ok(Scenario { before, threads: parts, after })
    }

    /// The operations tokens refer to by number.
    fn letters(&self) -> Vec<<O::Spec as Specification>::Op> {
        if let Some(scenario) = &self.scenario {
            return scenario.operations();
        }
        match &self.arguments {
            Some(ops) => ops.clone(),
            None => (0..<O::Spec as Specification>::names().len())
                .flat_map(|index| <O::Spec as Specification>::candidates(index, &self.domain))
                .collect(),
        }
    }

    /// What tells this program from others: the name of the object's type.
    pub(crate) fn fingerprint(&self) -> u32 {
        fingerprint(std::any::type_name::<O>())
    }
}

/// The first scenario in which something is wrong, and how far each came.
type Pass<S> = (Option<(usize, Box<Finding<S>>)>, Vec<(usize, Reached)>);

/// A number for a name.
pub(crate) fn fingerprint(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
