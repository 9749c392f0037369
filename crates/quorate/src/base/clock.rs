//! Vector clocks: how many events of each process have happened.

/// Adds to a clock whatever has happened by another. Processes that a clock does not reach have done nothing.
pub(crate) fn join(clock: &mut Vec<usize>, other: &[usize]) {
    clock.resize(clock.len().max(other.len()), 0);
    clock.iter_mut().zip(other).for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
}

/// Has everything that has happened by a clock happened by another?
pub(crate) fn is_before(clock: &[usize], other: &[usize]) -> bool {
    clock.iter().zip(other).all(|(one, other)| one <= other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_is_the_least_clock_after_both() {
        let mut clock = vec![2, 0];
        join(&mut clock, &[1, 3, 4]);
        assert_eq!(clock, [2, 3, 4]);
        join(&mut clock, &[5]);
        assert_eq!(clock, [5, 3, 4]);
        assert!(is_before(&[2, 0], &clock) && !is_before(&clock, &[9, 3, 0]));
    }
}
