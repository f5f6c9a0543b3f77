//! Loops over pieces of fixed size: on all cores natively, in order in the browser.

/// Rows that one piece of work covers.
pub const ROWS: usize = 128;

/// Calls `work(index, piece)` for every piece of `size` values (the last may be shorter).
pub fn pieces<T: Send>(data: &mut [T], size: usize, work: impl Fn(usize, &mut [T]) + Sync + Send) {
    #[cfg(not(target_arch = "wasm32"))]
    {
        use rayon::prelude::*;
        data.par_chunks_mut(size.max(1))
            .enumerate()
            .for_each(|(index, piece)| work(index, piece));
    }
    #[cfg(target_arch = "wasm32")]
    for (index, piece) in data.chunks_mut(size.max(1)).enumerate() {
        work(index, piece);
    }
}

/// Like [`pieces`] over two slices that are cut into the same number of pieces.
pub fn pieces2<T: Send, U: Send>(
    first: (&mut [T], usize),
    second: (&mut [U], usize),
    work: impl Fn(usize, &mut [T], &mut [U]) + Sync + Send,
) {
    #[cfg(not(target_arch = "wasm32"))]
    {
        use rayon::prelude::*;
        first
            .0
            .par_chunks_mut(first.1.max(1))
            .zip(second.0.par_chunks_mut(second.1.max(1)))
            .enumerate()
            .for_each(|(index, (a, b))| work(index, a, b));
    }
    #[cfg(target_arch = "wasm32")]
    for (index, (a, b)) in first
        .0
        .chunks_mut(first.1.max(1))
        .zip(second.0.chunks_mut(second.1.max(1)))
        .enumerate()
    {
        work(index, a, b);
    }
}

/// Collects `work(index)` for `0..count`, in order.
pub fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        use rayon::prelude::*;
        (0..count).into_par_iter().map(work).collect()
    }
    #[cfg(target_arch = "wasm32")]
    (0..count).map(work).collect()
}

/// Sums rows of partial results in order, so that the result is the same on any number of threads:
/// `out[c] += Σ partials[p][c]`.
pub fn add_partials(out: &mut [f32], partials: &[Vec<f32>]) {
    for partial in partials {
        for (sum, value) in out.iter_mut().zip(partial) {
            *sum += value;
        }
    }
}
