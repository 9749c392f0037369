//! Gives back memory that takes long to give back: millions of small things, one by one.

/// Drops something on a thread of its own: an answer need not wait for it, nor does a program that ends.
pub(crate) fn discard(something: impl Send + 'static) {
    // Where no thread can be started, it is dropped here.
    _ = std::thread::Builder::new().name("discard".to_string()).spawn(move || drop(something));
}
