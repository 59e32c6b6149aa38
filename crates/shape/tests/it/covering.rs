//! Covering, which looks at two structures side by side, against joining, which makes a third.

use linpoint_shape::concrete::{Dice, World};
use linpoint_shape::exec::Points;
use linpoint_shape::layout::Layout;
use linpoint_shape::structure::Structure;

use crate::corpus::program;

fn names_alike(a: &Structure, b: &Structure) -> bool {
    let names = |s: &Structure| -> Vec<_> {
        s.nodes.iter().enumerate().filter(|(at, n)| *at == 0 || !n.many).map(|(_, n)| n.mask).collect()
    };
    a.threads == b.threads && a.globals == b.globals && names(a) == names(b)
}

/// The slow way: names are the same, and joining adds nothing.
fn covers_slowly(s: &Structure, less: &Structure) -> bool {
    names_alike(s, less) && s.clone().join(less) == Some(false)
}

#[test]
fn covering_is_joining_without_growth() {
    for name in ["lazy-set", "michael-scott", "treiber"] {
        let program = program(name);
        let layout = Layout::new(&program).expect("modelled");
        let world = World::new(&layout, &Points::Given, 2, u8::MAX);
        let key = world.keys().next().expect("a key");
        let mut dice = Dice::new(5);
        let mut all: Vec<Structure> = Vec::new();
        while all.len() < 300 {
            let state = world.random(&mut dice);
            all.push(world.seen_by(&state, &[0], key));
        }
        // Few threads, so that names often lie alike; and joins of what can be joined, which say more.
        all.iter_mut().for_each(|s| s.threads[0] = linpoint_shape::structure::Thread::AT_REST);
        all.iter_mut().for_each(|s| {
            s.clear(layout.thread_bits(0));
            s.canon(&layout).expect("it stands for a state");
        });
        let mut joined = all.clone();
        for s in &mut joined {
            for more in all.iter().step_by(7) {
                let mut grown = s.clone();
                if names_alike(s, more) && grown.join(more).is_some() {
                    *s = grown;
                }
            }
        }
        let (mut yes, mut no) = (0, 0);
        for a in joined.iter().chain(&all) {
            for b in all.iter().chain(&joined) {
                let slow = covers_slowly(a, b);
                assert_eq!(a.covers(b), slow, "{name}: {a:?} {b:?}");
                if slow { yes += 1 } else { no += 1 }
            }
        }
        assert!(yes > 100 && no > 100, "{name}: {yes} {no}");
    }
}
