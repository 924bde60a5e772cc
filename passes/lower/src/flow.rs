//! Control flow: the order of blocks.

/// The blocks that paths from the first one lead to, in reverse postorder: each after those that dominate it, and what
/// follows a first successor before what follows a second one.
pub fn reverse_postorder<S: DoubleEndedIterator<Item = usize>>(
    count: usize,
    successors: impl Fn(usize) -> S,
) -> Vec<usize> {
    let Some(first) = (0..count).next() else { return Vec::new() };
    let mut is_seen = vec![false; count];
    is_seen[first] = true;
    let (mut stack, mut order) = (vec![(first, successors(first).rev())], Vec::new());
    while let Some((block, rest)) = stack.last_mut() {
        match rest.next() {
            None => {
                order.push(*block);
                stack.pop();
            }
            Some(next) if is_seen[next] => {}
            Some(next) => {
                is_seen[next] = true;
                stack.push((next, successors(next).rev()));
            }
        }
    }
    order.reverse();
    order
}
