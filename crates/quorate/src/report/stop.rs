//! How a watch stops a search that is far from it: a sign with a reason, and a thread that raises it in time.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Stopped;
use crate::base::Sign;

/// A sign to stop, with the reason for it. Any thread may raise it; whatever a search is doing then, it comes to an end
/// with what it has found.
///
/// ```
/// use quorate::report::{Stop, Stopped};
///
/// let stop = Stop::default();
/// assert_eq!(stop.why(), None);
/// stop.raise(Stopped::Interrupted);
/// assert_eq!(stop.why(), Some(&Stopped::Interrupted));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop {
    sign: Sign,
    why: Arc<OnceLock<Stopped>>,
}

impl Stop {
    /// Asks to stop. The first reason stays.
    pub fn raise(&self, why: Stopped) {
        _ = self.why.set(why);
        self.sign.raise();
    }

    /// Asks to stop even what is only left to show a violation that was found before.
    pub fn insist(&self) {
        self.sign.insist();
    }

    /// Why to stop, if the sign is raised.
    pub fn why(&self) -> Option<&Stopped> {
        self.why.get().filter(|_| self.sign.is_raised())
    }

    /// The same sign for what is left to show a violation: it is raised when somebody insists.
    pub(crate) fn with_grace(&self) -> Self {
        Stop { sign: self.sign.with_grace(), why: Arc::clone(&self.why) }
    }
}

/// Does something that ends when a sign is raised, wherever it is then; the error is the reason. Without a sign, it heeds
/// what the caller heeds.
pub fn heeding<T>(stop: Option<Stop>, work: impl FnOnce() -> T) -> Result<T, Stopped> {
    let Some(stop) = stop else { return Ok(work()) };
    stop.sign.until_raised(work).map_err(|_| stop.why().cloned().unwrap_or(Stopped::Interrupted))
}

/// How often a sentinel looks.
const LOOKS_EVERY: Duration = Duration::from_millis(10);
/// How long what is left to show a violation may take once the sign is raised: what a person does not notice.
const GRACE: Duration = Duration::from_millis(500);

/// A thread that looks every few milliseconds whether there is a reason to stop, and raises a sign.
pub(crate) struct Sentinel {
    pub(crate) stop: Stop,
    /// Hanging up sends the thread home.
    goes_home: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sentinel {
    /// Asks for a reason again and again, from now on until it is dropped.
    pub(crate) fn new(mut reason: impl FnMut() -> Option<Stopped> + Send + 'static) -> Self {
        let stop = Stop::default();
        let (goes_home, home) = channel::<()>();
        let stays = move |time| home.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        let raised = stop.clone();
        let watching = move || {
            let mut look = || reason().inspect(|why| raised.raise(why.clone())).is_some();
            while !look() {
                if !stays(LOOKS_EVERY) {
                    return;
                }
            }
            if stays(GRACE) {
                raised.insist();
            }
        };
        // Where no thread can be started, the watch is asked for progress still.
        let thread = std::thread::Builder::new().name("limits".to_string()).spawn(watching).ok();
        Sentinel { stop, goes_home: Some(goes_home), thread }
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        drop(self.goes_home.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say any more.
            _ = thread.join();
        }
    }
}
