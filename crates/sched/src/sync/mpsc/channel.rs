//! A channel of an exploration.
//!
//! To send, to receive and to let go of an end are steps; to make another sender is none, for as long as there is one
//! nobody can tell how many there are.
//!
//! In a channel that holds no message a sender *offers* one, as a first step, and goes on, as a second, when it was
//! taken; offers are taken in the order made. If a receiver already waits, the first step is enough. To receive is two
//! steps as well if there is no offer yet: to come, and to take. In between `try_send` succeeds.
//!
//! A message carries what its sender did so far to its receiver; and room made by the receiver carries what that one
//! did to the sender that fills it. In a channel that holds no message that is what the receiver did before it came.

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::{Action, Effect, Intent, Wait, anybody};
use crate::execution::{Handle, current};
use crate::{heap, stranger};

pub(super) struct Channel<T> {
    state: Mutex<State<T>>,
    /// Stands for the ends that are gone, as a location.
    gone: u16,
    /// Where it was made.
    site: &'static Location<'static>,
}

struct State<T> {
    bound: Option<usize>,
    messages: VecDeque<Message<T>>,
    /// How many were ever sent, and how many of them taken.
    sent: u64,
    taken: u64,
    senders: usize,
    receiver: bool,
    /// Does a receiver wait for somebody to come? Without room for messages only.
    expecting: bool,
    /// What the receiver did up to the last message it took.
    room: Option<u32>,
    /// What the receiver that is expecting did before it came.
    came: Option<u32>,
}

struct Message<T> {
    number: u64,
    value: T,
    /// What the sender did so far.
    post: u32,
}

/// How long a receiver waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// As long as it takes.
    Forever,
    /// Until its time is up, which may be at any moment.
    Some,
}

/// A sender that waits for its offer to be taken, in its own frame.
struct Offer<'a, T> {
    channel: &'a Channel<T>,
    number: u64,
}

impl<T> Drop for Offer<'_, T> {
    /// An offer does not outlive its sender.
    fn drop(&mut self) {
        drop(self.channel.withdraw(self.number));
    }
}

impl<T> State<T> {
    fn may_send(&self) -> bool {
        !self.receiver || self.bound.is_none_or(|bound| self.messages.len() < bound)
    }

    fn may_receive(&self) -> bool {
        !self.messages.is_empty() || self.senders == 0
    }

    /// The running thread sends to a receiver that waits, and knows what that one did before it came.
    fn meet(&mut self, handle: Option<Handle>) {
        if let (Some(handle), Some(came)) = (handle, self.came.take()) {
            handle.take(came);
        }
    }

    fn push(&mut self, handle: Option<Handle>, value: T) -> u64 {
        // Against a graph the room for messages is the channel's own: to use it is ordered by the channel, and by nothing else.
        let _outside = handle.filter(|handle| handle.is_weak()).map(|_| heap::Outside::enter());
        let number = self.sent;
        self.sent += 1;
        if let (Some(handle), Some(room)) = (handle, self.room) {
            handle.take(room);
        }
        let post = handle.map_or(0, Handle::post);
        self.messages.push_back(Message { number, value, post });
        number
    }
}

impl<T> Channel<T> {
    #[track_caller]
    pub(super) fn new(handle: Handle, bound: Option<usize>) -> Channel<T> {
        handle.hides_state();
        let state = State {
            bound,
            messages: VecDeque::new(),
            sent: 0,
            taken: 0,
            senders: 1,
            receiver: true,
            expecting: false,
            room: None,
            came: None,
        };
        Channel { state: Mutex::new(state), gone: 0, site: Location::caller() }
    }

    #[track_caller]
    pub(super) fn send(&self, value: T) -> Result<(), SendError<T>> {
        let bound = self.state().bound;
        match bound {
            None => self.announce(Action::Send),
            Some(0) => return self.hand_over(value),
            Some(_) => {
                self.wait(Action::Send, const { &Channel::<T>::ROOM });
            }
        }
        let handle = current();
        let mut state = self.state();
        if !state.receiver || !state.may_send() {
            drop(state);
            self.note_gone(handle, Action::Send);
            return Err(SendError(value));
        }
        state.push(handle, value);
        drop(state);
        self.note(handle, Action::Send, Effect::ReadWrite);
        Ok(())
    }

    #[track_caller]
    pub(super) fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.announce(Action::TrySend);
        let handle = current();
        let mut state = self.state();
        if !state.receiver {
            drop(state);
            self.note_gone(handle, Action::TrySend);
            return Err(TrySendError::Disconnected(value));
        }
        let hands_over = state.bound == Some(0);
        let room = if hands_over { state.expecting } else { state.may_send() };
        if !room {
            drop(state);
            match handle {
                Some(handle) if hands_over => {
                    // It saw that nobody waits, and not only what was sent.
                    handle.lock_refused(Action::TrySend, self.address());
                    handle.scrub_deep();
                }
                _ => self.note(handle, Action::TrySend, Effect::Read),
            }
            return Err(TrySendError::Full(value));
        }
        if std::mem::take(&mut state.expecting) {
            state.meet(handle);
        }
        state.push(handle, value);
        drop(state);
        self.note(handle, Action::TrySend, Effect::ReadWrite);
        Ok(())
    }

    /// Sends through a channel that holds nothing.
    #[track_caller]
    fn hand_over(&self, value: T) -> Result<(), SendError<T>> {
        self.announce(Action::Send);
        let handle = current();
        let mut state = self.state();
        if !state.receiver {
            drop(state);
            self.note_gone(handle, Action::Send);
            return Err(SendError(value));
        }
        let expected = std::mem::take(&mut state.expecting);
        if expected {
            state.meet(handle);
        }
        let number = state.push(handle, value);
        drop(state);
        self.note(handle, Action::Send, Effect::ReadWrite);
        if expected {
            return Ok(());
        }
        let offer = Offer { channel: self, number };
        self.wait_for(Action::Send, const { &Channel::<T>::TAKEN }, std::ptr::from_ref(&offer).cast());
        let back = self.withdraw(number);
        std::mem::forget(offer);
        if let (Some(handle), Some(room)) = (current(), self.state().room) {
            handle.take(room);
        }
        match back {
            None => {
                self.note(handle, Action::Send, Effect::Read);
                Ok(())
            }
            Some(value) => {
                self.note_gone(handle, Action::Send);
                Err(SendError(value))
            }
        }
    }

    /// Takes an offer back, if it was not taken.
    fn withdraw(&self, number: u64) -> Option<T> {
        let mut state = self.state();
        let at = state.messages.iter().position(|message| message.number == number)?;
        state.messages.remove(at).map(|message| message.value)
    }

    #[track_caller]
    pub(super) fn receive(&self, patience: Patience) -> Result<T, RecvTimeoutError> {
        let hands_over = self.state().bound == Some(0);
        if hands_over {
            self.announce(Action::Receive);
            let mut state = self.state();
            if !state.may_receive() {
                state.expecting = true;
                state.came = current().map(Handle::post);
                drop(state);
                if let Some(handle) = current() {
                    // From here on `try_send` succeeds: whoever tries that in a loop looks again.
                    handle.lock_access(Action::Receive, self.address(), Ordering::Relaxed, None);
                    handle.scrub_deep();
                }
                return self.receive_expected(patience);
            }
        } else {
            self.come(patience);
        }
        self.take().map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// The second step of a receiver that came before any sender.
    #[track_caller]
    fn receive_expected(&self, patience: Patience) -> Result<T, RecvTimeoutError> {
        /// Nobody is expected any more, however this ends.
        struct Leave<'a, T>(&'a Channel<T>);
        impl<T> Drop for Leave<'_, T> {
            fn drop(&mut self) {
                self.0.state().expecting = false;
            }
        }
        let leave = Leave(self);
        self.come(patience);
        drop(leave);
        let empty = self.state().messages.is_empty();
        if let Some(handle) = current() {
            handle.visit(Action::Receive, self.address(), Ordering::Relaxed, Some(!empty));
        }
        self.take().map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    #[track_caller]
    fn come(&self, patience: Patience) {
        match patience {
            Patience::Forever => {
                self.wait(Action::Receive, const { &Channel::<T>::SOMETHING });
            }
            Patience::Some => self.announce(Action::Receive),
        }
    }

    #[track_caller]
    pub(super) fn try_receive(&self) -> Result<T, TryRecvError> {
        self.announce(Action::TryReceive);
        self.take()
    }

    /// Takes a message as part of the running step.
    fn take(&self) -> Result<T, TryRecvError> {
        let handle = current();
        let mut state = self.state();
        if let Some(message) = state.messages.pop_front() {
            state.taken = message.number + 1;
            if let Some(handle) = handle {
                handle.take(message.post);
                state.room = Some(handle.post());
            }
            drop(state);
            self.note(handle, Action::Receive, Effect::ReadWrite);
            return Ok(message.value);
        }
        let gone = state.senders == 0;
        drop(state);
        if gone {
            self.note_gone(handle, Action::Receive);
            return Err(TryRecvError::Disconnected);
        }
        self.note(handle, Action::Receive, Effect::Read);
        Err(TryRecvError::Empty)
    }

    /// The channel as seen by one more sender.
    pub(super) fn another_sender(self: &Arc<Channel<T>>) -> Arc<Channel<T>> {
        self.state().senders += 1;
        Arc::clone(self)
    }

    pub(super) fn drop_sender(&self) {
        self.drop_end(|state| {
            state.senders -= 1;
            VecDeque::new()
        });
    }

    pub(super) fn drop_receiver(&self) {
        self.drop_end(|state| {
            state.receiver = false;
            // Who offers a message takes it back.
            if state.bound == Some(0) { VecDeque::new() } else { std::mem::take(&mut state.messages) }
        });
    }

    /// An end is let go of, even if the run is taken down at this very point.
    fn drop_end(&self, change: fn(&mut State<T>) -> VecDeque<Message<T>>) {
        struct Change<'a, T>(&'a Channel<T>, fn(&mut State<T>) -> VecDeque<Message<T>>);
        impl<T> Drop for Change<'_, T> {
            fn drop(&mut self) {
                let rest = (self.1)(&mut self.0.state());
                if let Some(handle) = current() {
                    self.0.note(Some(handle), Action::Send, Effect::ReadWrite);
                    handle.access(Action::Disconnect, self.0.gone(), Effect::ReadWrite, Ordering::Release, 1);
                    handle.scrub_deep();
                }
                drop(rest);
            }
        }
        let change = Change(self, change);
        if let Some(handle) = current() {
            handle.point(Intent::at(Action::Disconnect, self.address(), self.site));
        }
        drop(change);
    }

    const ROOM: Wait = Wait {
        ready: |object| {
            // SAFETY: the thread that waits borrows the channel.
            unsafe { &*object.cast::<Channel<T>>() }.state().may_send()
        },
        held_by: anybody,
    };

    const SOMETHING: Wait = Wait {
        ready: |object| {
            // SAFETY: the thread that waits borrows the channel.
            unsafe { &*object.cast::<Channel<T>>() }.state().may_receive()
        },
        held_by: anybody,
    };

    const TAKEN: Wait = Wait {
        ready: |object| {
            // SAFETY: the offer is in the frame of the thread that waits.
            let offer = unsafe { &*object.cast::<Offer<'_, T>>() };
            let state = offer.channel.state();
            state.taken > offer.number || !state.receiver
        },
        held_by: anybody,
    };

    #[track_caller]
    fn announce(&self, action: Action) {
        match current() {
            Some(handle) => handle.point(Intent::new(action, self.address())),
            None => stranger::uses(self.address()),
        }
    }

    #[track_caller]
    fn wait(&self, action: Action, wait: &'static Wait) {
        self.wait_for(action, wait, std::ptr::from_ref(self).cast());
    }

    #[track_caller]
    fn wait_for(&self, action: Action, wait: &'static Wait, object: *const ()) {
        match current() {
            Some(handle) => {
                // SAFETY: the object is the channel, or in the caller's frame.
                handle.wait(unsafe { Intent::waiting(action, self.address(), wait, object) });
            }
            None => {
                stranger::uses(self.address());
                // SAFETY: as above.
                let ready = unsafe { (wait.ready)(object) };
                assert!(
                    ready,
                    "a channel that was made inside an exploration cannot be waited for outside it"
                );
            }
        }
    }

    fn note(&self, handle: Option<Handle>, action: Action, effect: Effect) {
        if let Some(handle) = handle {
            let waiting = self.state().messages.len() as u64;
            handle.access(action, self.address(), effect, Ordering::Relaxed, waiting);
            handle.scrub_deep();
        }
    }

    /// The other end is gone, and the thread knows it now.
    fn note_gone(&self, handle: Option<Handle>, action: Action) {
        self.note(handle, action, Effect::Read);
        if let Some(handle) = handle {
            handle.access(Action::Disconnect, self.gone(), Effect::Read, Ordering::Acquire, 1);
            handle.detail(|| "disconnected".to_owned());
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(&self.state).addr()
    }

    fn gone(&self) -> usize {
        std::ptr::from_ref(&self.gone).addr()
    }
}
