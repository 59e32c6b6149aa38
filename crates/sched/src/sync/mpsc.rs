//! `std::sync::mpsc`: channels, with and without a bound.
//!
//! A channel made inside an exploration belongs to it (see `channel`); one made outside is std's own. A channel from
//! outside can be used inside as long as nobody has to wait for it; waiting would stop the explorer, so that is a
//! misuse.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::execution::{Handle, current};

mod channel;
mod iter;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use channel::{Channel, Patience};
pub use iter::{IntoIter, Iter, TryIter};

/// A channel without a bound.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    match current() {
        None => {
            let (sender, receiver) = std::sync::mpsc::channel();
            (Sender(Sending::Std(sender)), Receiver::of_std(receiver))
        }
        Some(handle) => {
            let channel = Arc::new(Channel::new(handle, None));
            (Sender(Sending::Model(Arc::clone(&channel))), Receiver::of_model(channel))
        }
    }
}

/// A channel that holds at most `bound` messages; with none, a message is handed from one thread to the other.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    match current() {
        None => {
            let (sender, receiver) = std::sync::mpsc::sync_channel(bound);
            (SyncSender(Sending::Std(sender)), Receiver::of_std(receiver))
        }
        Some(handle) => {
            let channel = Arc::new(Channel::new(handle, Some(bound)));
            (SyncSender(Sending::Model(Arc::clone(&channel))), Receiver::of_model(channel))
        }
    }
}

/// The end of a channel without a bound where messages go in.
pub struct Sender<T>(Sending<T, std::sync::mpsc::Sender<T>>);

/// The end of a channel with a bound where messages go in.
pub struct SyncSender<T>(Sending<T, std::sync::mpsc::SyncSender<T>>);

/// The end of a channel where messages come out.
pub struct Receiver<T> {
    kind: Receiving<T>,
    /// It can be given to another thread, and not shared with one.
    unshared: PhantomData<std::cell::Cell<()>>,
}

enum Sending<T, S> {
    Std(S),
    Model(Arc<Channel<T>>),
}

enum Receiving<T> {
    Std(std::sync::mpsc::Receiver<T>),
    Model(Arc<Channel<T>>),
}

impl<T> Sender<T> {
    /// Sends a message.
    ///
    /// # Errors
    /// With the message, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Sending::Std(sender) => sender.send(message),
            Sending::Model(channel) => channel.send(message),
        }
    }
}

impl<T> SyncSender<T> {
    /// Sends a message, waiting for room.
    ///
    /// # Errors
    /// With the message, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Sending::Std(sender) => match current() {
                None => sender.send(message),
                Some(handle) => sender.try_send(message).map_err(|error| match error {
                    TrySendError::Disconnected(message) => SendError(message),
                    TrySendError::Full(message) => {
                        made_outside(handle, "is full");
                        SendError(message)
                    }
                }),
            },
            Sending::Model(channel) => channel.send(message),
        }
    }

    /// Sends a message if there is room.
    ///
    /// # Errors
    /// With the message, if there is none, or if the receiver is gone.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            Sending::Std(sender) => sender.try_send(message),
            Sending::Model(channel) => channel.try_send(message),
        }
    }
}

impl<T> Receiver<T> {
    fn of_std(receiver: std::sync::mpsc::Receiver<T>) -> Receiver<T> {
        Receiver { kind: Receiving::Std(receiver), unshared: PhantomData }
    }

    fn of_model(channel: Arc<Channel<T>>) -> Receiver<T> {
        Receiver { kind: Receiving::Model(channel), unshared: PhantomData }
    }

    /// The next message, waiting for it.
    ///
    /// # Errors
    /// If there is none and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.kind {
            Receiving::Std(receiver) => match current() {
                None => receiver.recv(),
                Some(handle) => receiver.try_recv().map_err(|error| {
                    if error == TryRecvError::Empty {
                        made_outside(handle, "is empty");
                    }
                    RecvError
                }),
            },
            Receiving::Model(channel) => channel.receive(Patience::Forever).map_err(|_| RecvError),
        }
    }

    /// The next message, if it is there.
    ///
    /// # Errors
    /// If there is none.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.kind {
            Receiving::Std(receiver) => receiver.try_recv(),
            Receiving::Model(channel) => channel.try_receive(),
        }
    }

    /// The next message, waiting for some time. Inside an exploration the time may be up at any moment.
    ///
    /// # Errors
    /// If there is none by then.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match &self.kind {
            Receiving::Std(receiver) if current().is_none() => receiver.recv_timeout(timeout),
            Receiving::Std(receiver) => receiver.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            }),
            Receiving::Model(channel) => {
                let received = channel.receive(Patience::Some);
                if let (Err(RecvTimeoutError::Timeout), Some(handle)) = (&received, current()) {
                    handle.yields();
                }
                received
            }
        }
    }

    /// The messages to come, until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// The messages that are there.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

/// The program waits for a channel that was made outside the exploration.
fn made_outside(handle: Handle, how: &str) {
    handle.misuse(&format!(
        "a channel that was made outside the exploration {how}, and nobody inside can wait for that; make the channel \
         in the program"
    ));
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender(match &self.0 {
            Sending::Std(sender) => Sending::Std(sender.clone()),
            Sending::Model(channel) => Sending::Model(channel.another_sender()),
        })
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        SyncSender(match &self.0 {
            Sending::Std(sender) => Sending::Std(sender.clone()),
            Sending::Model(channel) => Sending::Model(channel.another_sender()),
        })
    }
}

impl<T, S> Drop for Sending<T, S> {
    fn drop(&mut self) {
        if let Sending::Model(channel) = self {
            channel.drop_sender();
        }
    }
}

impl<T> Drop for Receiving<T> {
    fn drop(&mut self) {
        if let Receiving::Model(channel) = self {
            channel.drop_receiver();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
