//! Threads, as in [`std::thread`].
//!
//! Known: a component's threads go on when its main function has returned; in a run all of them are expected to end. A
//! panic of a thread is a violation and never comes out of [`JoinHandle::join`].

use crate::conductor::{begin, new_child, reach};
use crate::shared::Request;
use crate::step::Agent;

pub use std::thread::{Result, panicking};

/// A thread that can be waited for, as [`std::thread::JoinHandle`].
#[derive(Debug)]
pub struct JoinHandle<T> {
    inner: shuttle::thread::JoinHandle<T>,
    agent: Option<Agent>,
}

/// Starts a thread, as [`std::thread::spawn`].
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let agent = new_child();
    if let Some(child) = agent {
        reach(Request::Spawn(child));
    }
    let inner = shuttle::thread::spawn(move || {
        if let Some(me) = agent {
            begin(me);
        }
        let result = body();
        if agent.is_some() {
            reach(Request::Exit);
        }
        result
    });
    JoinHandle { inner, agent }
}

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended, as [`std::thread::JoinHandle::join`].
    pub fn join(self) -> Result<T> {
        if let Some(agent) = self.agent {
            reach(Request::Join(agent));
        }
        self.inner.join()
    }
}

/// Lets others go on. In a run of a component this does nothing: others may go on at every operation anyway.
pub fn yield_now() {
    if !crate::conductor::is_conducted() {
        shuttle::thread::yield_now();
    }
}
