//! The same work for each of a list, on several threads, in order.

use super::Heeded;

/// What becomes of each, in their order, on some threads.
pub(crate) fn in_parallel<T: Sync, U: Send>(
    of: &[T],
    threads: usize,
    what: impl Fn(&T) -> U + Sync,
) -> Vec<U> {
    let mut of: Vec<&T> = of.iter().collect();
    in_parallel_mut(&mut of, threads, |one| what(one))
}

/// What becomes of each, in their order, on some threads, each of which may change its share.
pub(crate) fn in_parallel_mut<T: Send, U: Send>(
    of: &mut [T],
    threads: usize,
    what: impl Fn(&mut T) -> U + Sync,
) -> Vec<U> {
    if threads <= 1 || of.len() <= 1 {
        return of.iter_mut().map(what).collect();
    }
    let (what, heeded) = (&what, &Heeded::here());
    let share = of.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let work = move |share| heeded.within(|| <[T]>::iter_mut(share).map(what).collect::<Vec<U>>());
        let spawn = |share| scope.spawn(move || work(share));
        let workers: Vec<_> = of.chunks_mut(share).map(spawn).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<U>>| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().flat_map(join).collect()
    })
}
