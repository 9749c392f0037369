//! Ways to choose: one out of each of several lists, and sets that contain what their elements need. There may be very
//! many, so whoever goes through them heeds a sign to stop.

use super::heed;

/// Calls something for every set of elements that contains all that its elements need, once for each. What an element
/// needs has smaller numbers. An error ends it.
pub(crate) fn for_each_closed_set<H>(
    needs: &[Vec<usize>],
    each: &mut dyn FnMut(&[usize]) -> Result<(), H>,
) -> Result<(), H> {
    fn extend<H>(
        needs: &[Vec<usize>],
        from: usize,
        chosen: &mut Vec<usize>,
        each: &mut dyn FnMut(&[usize]) -> Result<(), H>,
    ) -> Result<(), H> {
        heed();
        each(chosen)?;
        for next in from..needs.len() {
            if needs[next].iter().all(|needed| chosen.binary_search(needed).is_ok()) {
                chosen.push(next);
                extend(needs, next + 1, chosen, each)?;
                chosen.pop();
            }
        }
        Ok(())
    }
    extend(needs, 0, &mut Vec::new(), each)
}

/// Calls something for every choice of one out of each of several lists of these sizes, once for each. An error ends
/// it.
pub(crate) fn for_each_choice<H>(
    sizes: &[usize],
    each: &mut dyn FnMut(&[usize]) -> Result<(), H>,
) -> Result<(), H> {
    if sizes.contains(&0) {
        return Ok(());
    }
    let mut chosen = vec![0; sizes.len()];
    loop {
        heed();
        each(&chosen)?;
        let Some(next) = (0..sizes.len()).find(|at| chosen[*at] + 1 < sizes[*at]) else { return Ok(()) };
        chosen[next] += 1;
        chosen[..next].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_sets_are_each_found_once() {
        // Two chains of two, of which the second's last needs the first's first.
        let needs = vec![vec![], vec![], vec![0], vec![0, 1]];
        let mut found: Vec<Vec<usize>> = Vec::new();
        let mut note = |set: &[usize]| {
            found.push(set.to_vec());
            Ok::<(), ()>(())
        };
        for_each_closed_set(&needs, &mut note).unwrap();
        found.sort();
        let count = found.len();
        found.dedup();
        // {}, 0, 1, 01, 02, 012, 013, 0123.
        assert_eq!((count, found.len()), (8, 8));
    }

    #[test]
    fn choices_are_each_found_once() {
        let choices = |sizes: &[usize]| {
            let mut found: Vec<Vec<usize>> = Vec::new();
            let mut note = |chosen: &[usize]| {
                found.push(chosen.to_vec());
                Ok::<(), ()>(())
            };
            for_each_choice(sizes, &mut note).unwrap();
            found
        };
        assert_eq!(choices(&[2, 1, 2]), [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]]);
        assert_eq!(choices(&[]), [[0; 0]]);
        assert!(choices(&[2, 0]).is_empty());
    }
}
