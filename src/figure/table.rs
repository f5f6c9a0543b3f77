use super::text;
use serde_json::{Value, json};

/// The numbers of a figure, for readers who want them as such and for files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What each column holds, with its unit.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

/// One cell of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not finite: it has no value.
    Number(f64),
    /// A number that a model gave. In files it is the shortest decimal number that is this f32; as an f64 it
    /// would have digits that nobody computed.
    Single(f32),
    Text(String),
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<f32> for Cell {
    fn from(value: f32) -> Self {
        Self::Single(value)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Self::Number(value as f64)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl Table {
    /// An empty table with these columns.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// RFC 4180 with a line of its own for the parameters, which begins with `#`; what has no value is empty.
    pub fn csv(&self, parameters: &str) -> String {
        let mut file = format!("# {}\r\n", parameters.replace(['\r', '\n'], " "));
        let mut line = |cells: &mut dyn Iterator<Item = String>| {
            file.push_str(&cells.map(|cell| quoted(&cell)).collect::<Vec<_>>().join(","));
            file.push_str("\r\n");
        };
        line(&mut self.columns.iter().cloned());
        for row in &self.rows {
            line(&mut row.iter().map(|cell| match cell {
                Cell::Number(value) if value.is_finite() => value.to_string(),
                Cell::Single(value) if value.is_finite() => value.to_string(),
                Cell::Number(_) | Cell::Single(_) => String::new(),
                Cell::Text(text) => text.clone(),
            }));
        }
        file
    }

    /// For a page: `{columns, rows, total}` with at most `most` rows, spread over all, numbers written to
    /// four digits.
    pub fn page(&self, most: usize) -> Value {
        let total = self.rows.len();
        let step = total.div_ceil(most.max(1)).max(1);
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .step_by(step)
            .map(|row| {
                let number = |value: f64| match value {
                    _ if value.is_nan() => "–".to_string(),
                    _ if value.fract() == 0.0 => text::number(value, 9),
                    _ => text::number(value, 4),
                };
                let words = |cell: &Cell| match cell {
                    Cell::Number(value) => number(*value),
                    Cell::Single(value) => number(f64::from(*value)),
                    Cell::Text(text) => text.clone(),
                };
                row.iter().map(words).collect()
            })
            .collect();
        json!({"columns": self.columns, "rows": rows, "total": total})
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\r', '\n']) || cell.starts_with('#') {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_numbers_exact() {
        let mut table = Table::new(["head", "slope, m"]);
        table.row([0usize.into(), 0.1f32.into()]);
        table.row(["a\"b".into(), f64::NAN.into()]);
        assert_eq!(
            table.csv("longview\nalibi"),
            "# longview alibi\r\nhead,\"slope, m\"\r\n0,0.1\r\n\"a\"\"b\",\r\n"
        );
    }

    #[test]
    fn a_page_gets_rows_from_all_over() {
        let mut table = Table::new(["n"]);
        (0..1000usize).for_each(|n| table.row([n.into()]));
        let page = table.page(10);
        assert_eq!(page["rows"].as_array().map(Vec::len), Some(10));
        assert_eq!(
            (&page["rows"][1][0], &page["total"]),
            (&json!("100"), &json!(1000))
        );
    }
}
