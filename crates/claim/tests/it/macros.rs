//! `tressa!` in code that runs under a host.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use linpoint_claim::{
    Bottom, Failure, Host, Kind, PlainHost, ThreadId, ThreadSet, Value, Var, VarId, Variable, install,
    procedure, report, tressa,
};

/// A shared variable as a shim makes it.
struct Shared<T>(Cell<T>);

impl<T: Value> Shared<T> {
    fn new(value: T) -> Shared<T> {
        Shared(Cell::new(value))
    }

    fn load(&self) -> T {
        report(self.id(), Kind::Rd, self.0.get().to_bits());
        self.0.get()
    }

    fn store(&self, value: T) {
        self.0.set(value);
        report(self.id(), Kind::Wr, value.to_bits());
    }
}

impl<T: Value> Variable for Shared<T> {
    type Value = T;
    fn id(&self) -> VarId {
        VarId::of(self)
    }
    fn peek(&self) -> T {
        self.0.get()
    }
}

/// Runs a program that plays several threads; returns the host with what its monitor found.
fn run(program: impl FnOnce(&PlainHost)) -> Rc<PlainHost> {
    let host = Rc::new(PlainHost::default());
    let installed = install(host.clone());
    program(&host);
    drop(installed);
    host.monitor().borrow_mut().end();
    host
}

/// What became of the claims: made, held, violated, undecided.
fn counts(host: &PlainHost) -> [u64; 4] {
    let counts = host.monitor().borrow().counts();
    [counts.made, counts.held, counts.violated, counts.undecided]
}

fn failure(host: &PlainHost) -> Failure {
    host.monitor().borrow().failures()[0].clone()
}

/// The terms of a failure, as text.
fn terms(failure: &Failure) -> Vec<String> {
    failure.terms.iter().map(|term| format!("{} = {}", term.text, term.value)).collect()
}

struct Entry {
    v: Shared<u32>,
    d: Shared<u32>,
}

/// Figures 1 and 2: `others` runs between the reads and the validation.
fn snapshot(m: &[Entry; 2], after_reads: impl FnOnce()) -> Option<(u32, u32)> {
    let _procedure = procedure();
    let s = Var::new(true);
    let (va, da) = (m[0].v.load(), m[0].d.load());
    let (vb, db) = (m[1].v.load(), m[1].d.load());
    after_reads();
    tressa!(Exit(s) ==> (da == m[0].d.load() && db == m[1].d.load()));
    if va < m[0].v.load() {
        s.set(false);
    }
    if vb < m[1].v.load() {
        s.set(false);
    }
    s.get().then_some((da, db))
}

fn entries() -> [Entry; 2] {
    [1, 2].map(|d| Entry { v: Shared::new(0), d: Shared::new(d) })
}

#[test]
fn snapshot_that_nobody_disturbs() {
    let m = entries();
    let host = run(|_| assert_eq!(snapshot(&m, || {}), Some((1, 2))));
    assert_eq!(counts(&host), [1, 1, 0, 0]);
}

#[test]
fn snapshot_that_notices() {
    let m = entries();
    let host = run(|_| {
        let write = || {
            m[0].d.store(9);
            m[0].v.store(1);
        };
        assert_eq!(snapshot(&m, write), None);
    });
    assert_eq!(counts(&host), [1, 1, 0, 0]);
}

/// The write that bumps the version separately: figure 3.
#[test]
fn snapshot_that_is_fooled() {
    let m = entries();
    let host = run(|host| {
        let write = || {
            host.switch_to(ThreadId(2));
            m[0].d.store(9);
            host.switch_to(ThreadId(1));
        };
        host.switch_to(ThreadId(1));
        assert_eq!(snapshot(&m, write), Some((1, 2)));
    });
    assert_eq!(counts(&host), [1, 0, 1, 0]);
    let failure = failure(&host);
    assert_eq!(failure.site.source, "Exit(s) ==> (da == m[0].d.load() && db == m[1].d.load())");
    assert_eq!(terms(&failure), ["Exit(s) = true", "da = 1", "m[0].d.load() = 9"]);
    assert_eq!((failure.thread, failure.site.file.ends_with("macros.rs")), (ThreadId(1), true));
    let text = failure.to_string();
    let body = text.split_once('\n').unwrap().1;
    assert_eq!(
        body,
        "    Exit(s) ==> (da == m[0].d.load() && db == m[1].d.load())\n  \
           Exit(s)       = true   of step 8, final at step 12\n  \
           da            = 1      now, step 8\n  \
           m[0].d.load() = 9      now, step 8\n  \
           so it is false"
    );
}

struct Stack {
    top: Shared<*mut u32>,
}

#[test]
fn first_write_of_a_stack() {
    let stack = Stack { top: Shared::new(std::ptr::null_mut()) };
    let (mut a, mut b) = (1, 2);
    let (a, b): (*mut u32, *mut u32) = (&mut a, &mut b);
    let push = |node: *mut u32| {
        tressa!(First(stack.top, Wr, { me }) == node);
        stack.top.store(node);
    };
    let host = run(|_| push(a));
    assert_eq!(counts(&host), [1, 1, 0, 0]);
    // Elimination: the push returns without a write, and the next one by this thread is another's.
    let host = run(|_| {
        tressa!(First(stack.top, Wr, { me }) == a);
        push(b);
    });
    assert_eq!(counts(&host), [2, 1, 1, 0]);
    assert_eq!(failure(&host).site.terms, ["First(stack.top, Wr, {me})"]);
    let host = run(|host| {
        tressa!(First(stack.top, Wr, { others }) == a);
        push(b);
        host.switch_to(ThreadId(5));
        stack.top.store(a);
    });
    assert_eq!(counts(&host), [2, 2, 0, 0]);
}

/// In generic code, through a reference-counted pointer, over several lines.
#[test]
fn generic_code() {
    struct Slot<T> {
        value: Rc<Shared<T>>,
    }
    impl<T: Value + PartialEq + 'static> Slot<T> {
        fn put(&self, value: T) {
            tressa!(
                First(self.value, Wr, { me }) == value
                    && (First(self.value, Wr, { me }), true) == (value, true)
            );
            self.value.store(value);
        }
    }
    let host = run(|_| {
        Slot { value: Rc::new(Shared::new(0)) }.put(3);
        Slot { value: Rc::new(Shared::new(None)) }.put(Some('x'));
    });
    assert_eq!(counts(&host), [2, 2, 0, 0]);
}

/// A variable may be gone, and another in its place, before the procedure returns.
#[test]
fn exit_of_a_variable_that_is_gone() {
    let host = run(|_| {
        let _procedure = procedure();
        for expected in 0..10 {
            let s = Var::new(0);
            tressa!(Exit(s) == expected);
            s.set(expected);
        }
        let shared = Box::new(Var::new(Some(1)));
        tressa!(Exit(shared).is_none());
        shared.replace(None);
    });
    assert_eq!(counts(&host), [11, 11, 0, 0]);
}

/// Figure 4: the roll-back restores what was there before.
#[test]
fn last_write_of_an_undo() {
    let o2 = Entry { v: Shared::new(0), d: Shared::new(5) };
    let undo = |values: [u32; 2]| {
        let done = Var::new(false);
        let pre_start = o2.d.load();
        o2.d.store(100);
        tressa!(Last(o2.d, Wr, { me }, done) == pre_start);
        values.into_iter().for_each(|value| o2.d.store(value));
        done.set(true);
        o2.d.store(5);
    };
    assert_eq!(counts(&run(|_| undo([70, 5]))), [1, 1, 0, 0]);
    let host = run(|_| undo([5, 70]));
    assert_eq!(terms(&failure(&host)), ["Last(o2.d, Wr, {me}, done) = 70", "pre_start = 5"]);
    assert_eq!(failure(&host).terms[0].fixed_at, failure(&host).decided_at);
}

/// The example of section 3, `First(v, Rd, Tid) = Last(x, Wr, {t}, done)`, and the same with the sets written
/// otherwise.
#[test]
fn both_sides_in_the_future() {
    let (v, x, done) = (Shared::new(5), Shared::new(0), Shared::new(false));
    let host = run(|host| {
        let t = linpoint_claim::me();
        let everyone = ThreadSet::all();
        tressa!(First(v, Rd, { all }) == Last(x, Wr, { t }, done));
        tressa!(First(v, Rd, everyone) == Last(x, Wr, {me, ThreadId(7)}, done.load()));
        tressa!(First(&v, Rd, all) == Last(x, Wr, vec![t], !!done && true));
        x.store(8);
        host.switch_to(ThreadId(2));
        v.load();
        x.store(9);
        host.switch_to(t);
        x.store(3);
        done.store(true);
    });
    assert_eq!(counts(&host), [3, 0, 3, 0]);
    for failure in host.monitor().borrow().failures() {
        let values: Vec<_> = failure.terms.iter().map(|term| &*term.value).collect();
        assert_eq!(values, ["5", "3"]);
    }
}

#[test]
fn functions_relations_and_connectives() {
    let (x, y) = (Shared::new(0i64), Shared::new(Some(0u32)));
    let limit = 10;
    let table = [10, 20, 30];
    fn between(low: i64, value: i64, high: i64) -> bool {
        low <= value && value <= high
    }
    let host = run(|_| {
        tressa!(First(x, Wr, { all }) + 1 == limit - 7);
        tressa!(First(x, Wr, { all }).pow(2) == 4 && First(x, Wr, { all }) as u8 == 2u8);
        tressa!(between(1, First(x, Wr, { all }), limit));
        tressa!(!between(3, First(x, Wr, { all }), limit) || limit == 3);
        tressa!(table[First(x, Wr, { all }) as usize] == 30);
        tressa!([1, 2].contains(&First(x, Wr, { all })));
        tressa!(table.contains(&(First(x, Wr, { all }) * 10)));
        tressa!(matches!(First(y, Wr, {all}), Some(n) if n > 3));
        tressa!(First(y, Wr, {all}).is_some_and(|n| n == 4) ==> First(x, Wr, {all}) > 0 ==> true);
        tressa!(First(y, Wr, { all }) != None);
        tressa!((First(x, Wr, { all }), First(y, Wr, { all })) == (2, Some(4)));
        tressa!(-First(x, Wr, { all }) == -2 && !(First(x, Wr, { all }) == 3));
        tressa!(First(x, Wr, {all}) == 3 ==> false);
        tressa!((First(x, Wr, {all}) == 3 ==> false) && (limit == 10 ==> First(x, Wr, {all}) == 2));
        x.store(2);
        y.store(Some(4));
    });
    assert_eq!(counts(&host), [14, 14, 0, 0], "{:#?}", host.monitor().borrow().failures());
}

/// An implication binds weaker than all of Rust's operators, and to the right.
#[test]
fn implication_binds_weakest_and_to_the_right() {
    let x = Shared::new(0);
    for (a, b, c) in (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0)) {
        let host = run(|_| {
            tressa!(First(x, Wr, {all}) == 1 && a ==> b ==> c);
            tressa!(First(x, Wr, {all}) == 1 && a || b ==> c);
            x.store(1);
        });
        let expected = [!a || !b || c, !(a || b) || c];
        let held = expected.iter().filter(|&&held| held).count() as u64;
        assert_eq!(counts(&host), [2, held, 2 - held, 0], "{a} {b} {c}");
    }
}

/// A term that occurs twice is one term, and is watched once.
#[test]
fn equal_terms_are_one() {
    let x = Shared::new(0);
    let host = run(|_| {
        tressa!(First(x, Wr, { all }) == 1 || First(x, Wr, { all }) == 2);
        x.store(2);
    });
    assert_eq!(counts(&host), [1, 1, 0, 0]);
    assert_eq!(host.monitor().borrow().visits(), 1);
}

/// Plain parts are evaluated when the claim is made, and only those behind a plain guard are spared.
#[test]
fn plain_parts_are_evaluated_now() {
    let (x, y) = (Shared::new(0), Shared::new(1));
    let calls = Cell::new(0);
    let count = || {
        calls.set(calls.get() + 1);
        calls.get()
    };
    let list: Vec<u32> = vec![];
    let host = run(|_| {
        tressa!(First(x, Wr, { all }) == y.load() && First(x, Wr, { all }) == count());
        assert_eq!(calls.get(), 1);
        y.store(50);
        // Guarded: `list[0]` would panic, and is not reached.
        tressa!(!list.is_empty() ==> First(x, Wr, {all}) == list[0]);
        tressa!(list.is_empty() || First(x, Wr, { all }) == list[0]);
        x.store(1);
    });
    assert_eq!(calls.get(), 1);
    assert_eq!(counts(&host), [3, 3, 0, 0]);
}

/// What no continuation can make false held; what none can make true has to wait for its terms.
#[test]
fn known_early() {
    let x = Shared::new(0);
    let (yes, no) = (true, false);
    let host = run(|host| {
        tressa!(First(x, Wr, {all}) == 1 ==> yes);
        tressa!(First(x, Wr, { all }) == 1 || (yes && First(x, Wr, { me }) == 2) || yes);
        tressa!(yes);
        assert!(!host.monitor().borrow().is_watching());
        tressa!(no && First(x, Wr, { all }) == 1);
    });
    assert_eq!(counts(&host), [4, 3, 0, 1]);
}

#[test]
fn plain_claims_are_decided_at_once() {
    let x = Shared::new(3);
    let host = run(|_| {
        tressa!(x.load() == 3);
        tressa!(x.load() < 3 || x.load() % 2 == 0);
    });
    assert_eq!(counts(&host), [2, 1, 1, 0]);
    assert_eq!(terms(&failure(&host)), ["x.load() = 3", "x.load() % 2 = 1"]);
}

/// What a claim reads is not an access of the program.
#[test]
fn reads_of_claims_do_not_match() {
    let x = Shared::new(3);
    let host = run(|_| {
        tressa!(First(x, Rd, { all }) == 4);
        tressa!(x.load() == 3);
        x.store(4);
        x.load();
    });
    assert_eq!(counts(&host), [2, 2, 0, 0]);
}

/// Values that are not small are compared all the same; the comparison is shown instead.
#[test]
fn any_plain_value_may_be_compared() {
    let names = [String::from("a")];
    let found: Option<&String> = names.first();
    let x = Shared::new(false);
    let host = run(|_| {
        tressa!(First(x, Wr, {all}) ==> found == None && names[0] == "a");
        x.store(true);
    });
    assert_eq!(terms(&failure(&host)), ["First(x, Wr, {all}) = true", "found == None = false"]);
}

#[test]
fn recursion() {
    let host = run(|_| {
        fn down(depth: u32) {
            let _procedure = procedure();
            let s = Var::new(0);
            tressa!(Exit(s) == depth);
            if depth > 0 {
                down(depth - 1);
            }
            s.set(depth);
        }
        down(50);
    });
    assert_eq!(counts(&host), [51, 51, 0, 0]);
}

#[test]
fn a_procedure_left_by_a_panic_did_not_return() {
    let host = run(|_| {
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _procedure = procedure();
            let s = Var::new(true);
            tressa!(!Exit(s));
            std::panic::resume_unwind(Box::new("stop"));
        }));
        assert!(result.is_err());
    });
    assert_eq!(counts(&host), [1, 0, 0, 1]);
    assert_eq!(host.monitor().borrow().undecided()[0].bottom, Bottom::ProcedureUnwound);
}

/// Code of the claim that panics later is a failure of the claim, not of the thread that happens to run.
#[test]
fn deciding_that_panics() {
    let x = Shared::new(1u32);
    let zero = 0;
    let host = run(|_| {
        tressa!(First(x, Wr, { all }).checked_div(zero).unwrap() == 1);
        x.store(3);
    });
    let failure = failure(&host);
    assert_eq!(failure.panic.as_deref(), Some("called `Option::unwrap()` on a `None` value"));
    assert_eq!(terms(&failure), ["First(x, Wr, {all}) = 3", "zero = 0"]);
    assert!(
        failure.to_string().ends_with("deciding it panicked: called `Option::unwrap()` on a `None` value")
    );
}

#[test]
fn without_a_host_nothing_is_evaluated() {
    tressa!(unreachable!("it must not run"));
    let _procedure = procedure();
    let s = Var::new(1);
    s.update(|value| value + 1);
    assert_eq!((s.get(), s.replace(9)), (2, 2));
}

#[test]
fn hosts_nest() {
    let x = Shared::new(0);
    let inner = Rc::new(PlainHost::default());
    let outer = run(|_| {
        tressa!(First(x, Wr, { all }) == 1);
        {
            let _installed = install(inner.clone());
            x.store(2);
        }
        x.store(1);
    });
    assert_eq!(counts(&outer), [1, 1, 0, 0]);
    assert_eq!(counts(&inner), [0, 0, 0, 0]);
}

/// All plain terms are read in the step that the host makes of them.
#[test]
fn plain_terms_are_read_in_one_step() {
    struct Stepping(PlainHost, Cell<bool>, Cell<u32>);
    impl Host for Stepping {
        fn thread(&self) -> ThreadId {
            self.0.thread()
        }
        fn monitor(&self) -> &std::cell::RefCell<linpoint_claim::Monitor> {
            self.0.monitor()
        }
        fn atomically(&self, _: &'static std::panic::Location<'static>, step: &mut dyn FnMut()) {
            self.1.set(true);
            step();
            self.1.set(false);
            self.2.set(self.2.get() + 1);
        }
    }
    let host = Rc::new(Stepping(PlainHost::default(), Cell::new(false), Cell::new(0)));
    let _installed = install(host.clone());
    let x = Shared::new(false);
    let read = || host.1.get();
    tressa!(read() ==> (First(x, Wr, {all}) ==> !read() || x.load()));
    assert_eq!(host.2.get(), 1);
    x.store(true);
    assert_eq!(host.monitor().borrow().failures().len(), 1);
}
