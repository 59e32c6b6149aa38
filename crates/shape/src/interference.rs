//! What others' steps do to a view, worked out for all threads that see the same heap.
//!
//! A step of another thread does not ask where the thread is whose view it changes: only what it sees, and
//! which answers without effect are right afterwards. So it is worked out with a *probe* in place of the
//! thread, which notes what is right afterwards for whatever operation
//! ([`Exec::note_moment`](crate::exec::Exec)); [`shaken`] then says what that means to a thread. Views of the
//! same heap, at whatever control points, share the work.

use crate::exec::Alarm;
use crate::layout::{Layout, Mask, Role, STRANGER, Scalar};
use crate::memory::outdate;
use crate::merge::{merge, project};
use crate::run::{Halt, Steps, Trouble, Ways};
use crate::structure::{Effect, IDLE, PROBE, SEEN_FIRST, SEEN_SECOND, Structure, TAKEN, TRACKED, Thread};

/// A thread that stands for any.
pub(crate) const ANYONE: Thread = Thread { pc: PROBE, effect: Effect::Open, seen: 0, scalars: 0 };

/// What a view and a record must share to be merged.
pub(crate) type Shared = (u64, Vec<Mask>);

/// What a heap may be after the record's step, besides what it is. The heap's thread is [`ANYONE`].
pub(crate) fn interference(
    steps: &Steps<'_, '_>,
    heap: &Structure,
    record: &Structure,
    at: (u16, u16),
) -> Result<Vec<Structure>, Halt> {
    let layout = steps.layout;
    let mut out = Vec::new();
    let mut halt = None;
    let fits = merge(layout, heap, record, &mut |s| {
        if halt.is_some() {
            return;
        }
        match steps.edge(s, 1, usize::from(at.1), false, true) {
            Err(found) => halt = Some(found),
            Ok(Ways::Visible) => {}
            Ok(Ways::After(after)) => {
                for (mut next, _) in after {
                    project(layout, &mut next);
                    // What the heap stands for anyway is no news to whoever sees it, unless there is
                    // something to note.
                    if next.canon(layout).is_ok() && !heap.covers(&next) && !out.contains(&next) {
                        out.push(next);
                    }
                }
            }
        }
    });
    if let Some(halt) = halt {
        return Err(halt);
    }
    if !fits {
        let trouble = Trouble::Unsupported("more nodes than a structure holds".into());
        return Err(Halt { trouble, at, before: heap.clone() });
    }
    Ok(out)
}

/// What a thread is after a step of another one, of which a probe noted this.
pub(crate) fn shaken(layout: &Layout<'_>, thread: Thread, noted: u8) -> Result<Thread, Alarm> {
    let thread = outdate(layout, thread, noted);
    if noted & TAKEN != 0 {
        return match thread.effect {
            Effect::Open => Ok(Thread { effect: Effect::Done, seen: thread.seen & TRACKED, ..thread }),
            _ => Err(Alarm::Twice),
        };
    }
    if thread.pc == IDLE || thread.effect != Effect::Open {
        return Ok(thread);
    }
    let tracked = thread.seen & TRACKED != 0;
    let matters = match layout.roles[layout.op_at(thread.pc)] {
        Role::Insert => 0,
        Role::Take => SEEN_FIRST,
        Role::Add if tracked => SEEN_FIRST,
        Role::Remove if tracked => SEEN_SECOND,
        Role::Contains if tracked => SEEN_FIRST | SEEN_SECOND,
        _ => 0,
    };
    Ok(Thread { seen: thread.seen | noted & matters, ..thread })
}

/// Shared scalars and names, with which locks are free.
pub(crate) fn shared_part(layout: &Layout<'_>, s: &Structure) -> Shared {
    let mut globals = s.globals;
    for (shift, scalar) in layout.global_scalar.iter().flatten() {
        if *scalar == Scalar::Lock && globals >> shift & 15 != 0 {
            globals |= STRANGER << shift;
        }
    }
    let both = layout.shared | layout.kinds;
    let mut masks: Vec<Mask> = s.nodes[1..]
        .iter()
        .filter(|node| node.mask & layout.shared != 0)
        .map(|node| node.mask & both)
        .collect();
    masks.sort_unstable();
    masks.push(s.nodes[0].mask & layout.shared);
    (globals, masks)
}
