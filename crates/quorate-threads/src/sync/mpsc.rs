//! Channels without bounds between threads, as in [`std::sync::mpsc`].

use super::Named;
use crate::conductor::add_sender;
use crate::shared::Request;
use crate::step::{Act, Need};

pub use std::sync::mpsc::{RecvError, SendError, TryRecvError};

/// Where things are put in, as [`std::sync::mpsc::Sender`].
#[derive(Debug)]
pub struct Sender<T> {
    given_up: GivenUp,
    inner: shuttle::sync::mpsc::Sender<T>,
}

/// Where they come out, as [`std::sync::mpsc::Receiver`].
#[derive(Debug)]
pub struct Receiver<T> {
    given_up: GivenUp,
    inner: shuttle::sync::mpsc::Receiver<T>,
}

/// Announces that one end is given up, just before it is: fields are dropped in their order.
#[derive(Debug)]
struct GivenUp {
    name: Named,
    request: fn(crate::step::Object) -> Request,
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.name.reach(self.request);
    }
}

/// A channel, as [`std::sync::mpsc::channel`].
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let name = Named::new();
    let (sender, receiver) = shuttle::sync::mpsc::channel();
    let receiver = Receiver { given_up: GivenUp { name, request: Request::Deafen }, inner: receiver };
    (Sender::new(name, sender), receiver)
}

impl<T> Sender<T> {
    fn new(name: Named, inner: shuttle::sync::mpsc::Sender<T>) -> Self {
        if let Some(channel) = name.0 {
            add_sender(channel);
        }
        Sender { given_up: GivenUp { name, request: Request::HangUp }, inner }
    }

    /// Puts something into the channel, as [`std::sync::mpsc::Sender::send`].
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        self.given_up.name.reach(Request::Put);
        self.inner.send(item)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender::new(self.given_up.name, self.inner.clone())
    }
}

impl<T> Receiver<T> {
    /// Waits until something comes out, as [`std::sync::mpsc::Receiver::recv`].
    pub fn recv(&self) -> Result<T, RecvError> {
        match self.given_up.name.reach(|channel| Request::Take(channel, Need::Must)) {
            Some(Act::HungUp(..)) => Err(RecvError),
            _ => self.inner.recv(),
        }
    }

    /// What comes out now, as [`std::sync::mpsc::Receiver::try_recv`].
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.given_up.name.reach(|channel| Request::Take(channel, Need::Tries)) {
            Some(Act::HungUp(..)) => Err(TryRecvError::Disconnected),
            Some(Act::Empty(..)) => Err(TryRecvError::Empty),
            _ => self.inner.try_recv(),
        }
    }

    /// Everything that comes out until all senders are given up, as [`std::sync::mpsc::Receiver::iter`].
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }
}
