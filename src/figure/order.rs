//! Putting in order what a figure holds.

/// Sorts a few items by a key, in place; equal ones keep their order. The standard library's sort is
/// compiled anew for every type, several kB each, which a reader would download.
pub(super) fn sort_few<T, K: PartialOrd>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && key(&items[at]) < key(&items[at - 1]) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// The value below which a share (0 … 1) of the values lie, after sorting them; `None` where there is none.
pub(super) fn quantiles<const N: usize>(mut values: Vec<f64>, shares: [f64; N]) -> Option<[f64; N]> {
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(shares.map(|share| values[(last as f64 * share) as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_items_are_sorted_and_equal_ones_keep_their_order() {
        let mut items = [(3.0, 'a'), (1.0, 'b'), (3.0, 'c'), (2.0, 'd'), (1.0, 'e')];
        sort_few(&mut items, |item| item.0);
        assert_eq!(items.map(|item| item.1), ['b', 'e', 'd', 'a', 'c']);
    }

    #[test]
    fn quantiles_leave_out_what_is_no_number() {
        let values = (0..=100)
            .rev()
            .map(f64::from)
            .chain([f64::NAN, f64::INFINITY])
            .collect();
        assert_eq!(
            quantiles(values, [0.01, 0.5, 0.99, 1.0]),
            Some([1.0, 50.0, 99.0, 100.0])
        );
        assert_eq!(quantiles(vec![f64::NAN], [0.5]), None);
    }
}
