use super::colour::Rgb;

/// A heat map's cells, one pixel each; it is drawn enlarged without smoothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    pub columns: usize,
    pub rows: usize,
    /// `[rows][columns][red, green, blue, alpha]`; empty where the colours are elsewhere.
    pub rgba: Vec<u8>,
}

impl Bitmap {
    /// Calls `colour(row, column)` for every cell.
    pub(crate) fn from_fn(rows: usize, columns: usize, mut colour: impl FnMut(usize, usize) -> Rgb) -> Self {
        let mut rgba = Vec::with_capacity(rows * columns * 4);
        for row in 0..rows {
            for column in 0..columns {
                rgba.extend_from_slice(&pixel(colour(row, column)));
            }
        }
        Self { columns, rows, rgba }
    }

    /// A square whose colour depends on row − column only: every row is a slice of one list, so a
    /// matrix costs as much as copying it. `colour` takes row − column, from −(side − 1) to side − 1.
    pub(crate) fn by_difference(side: usize, mut colour: impl FnMut(isize) -> Rgb) -> Self {
        let last = side as isize - 1;
        let line: Vec<u8> = (-last..=last).flat_map(|at| pixel(colour(-at))).collect();
        let mut rgba = Vec::with_capacity(side * side * 4);
        for row in 0..side {
            let start = (side - 1 - row) * 4;
            rgba.extend_from_slice(&line[start..start + side * 4]);
        }
        Self {
            columns: side,
            rows: side,
            rgba,
        }
    }

    /// Cells whose colours are not here: who draws has them as a picture.
    pub(crate) fn elsewhere(side: usize) -> Self {
        Self {
            columns: side,
            rows: side,
            rgba: Vec::new(),
        }
    }

    /// The colour of a cell.
    pub fn at(&self, row: usize, column: usize) -> Rgb {
        let at = (row * self.columns + column) * 4;
        Rgb(self.rgba[at], self.rgba[at + 1], self.rgba[at + 2])
    }
}

fn pixel(Rgb(red, green, blue): Rgb) -> [u8; 4] {
    [red, green, blue, 255]
}

/// How many cells to draw for `cells` cells of data on `px` device pixels: never more than pixels.
pub(crate) fn cells_for(cells: usize, px: f64) -> usize {
    cells.min(px.round().max(1.0) as usize).max(1)
}

/// The data cells that fall into drawn cell `index` of `drawn`: from … to (exclusive), at least one.
pub(crate) fn span(index: usize, drawn: usize, cells: usize) -> (usize, usize) {
    let from = index * cells / drawn;
    (from, ((index + 1) * cells / drawn).max(from + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_bitmap_is_the_matrix_of_its_differences() {
        let by_value = |d: isize| Rgb((100 + d) as u8, 0, 0);
        let fast = Bitmap::by_difference(5, by_value);
        let slow = Bitmap::from_fn(5, 5, |row, column| by_value(row as isize - column as isize));
        assert_eq!(fast, slow);
        assert_eq!(fast.at(3, 1), Rgb(102, 0, 0));
    }

    #[test]
    fn spans_cover_all_cells_once() {
        for (cells, drawn) in [(10, 10), (4096, 700), (7, 3), (1, 1)] {
            let mut next = 0;
            for index in 0..drawn {
                let (from, to) = span(index, drawn, cells);
                assert_eq!(from, next);
                next = to;
            }
            assert_eq!(next, cells);
        }
        assert_eq!(cells_for(4096, 612.4), 612);
        assert_eq!(cells_for(3, 0.0), 1);
    }
}
