//! Tables: columns without lines, numbers to the right, foreign text made harmless.

use comfy_table::{Attribute, CellAlignment, ContentArrangement, Table as Grid, presets};

use crate::text;
use crate::ui::Tone;

/// Columns between two columns.
const GAP: usize = 2;

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    /// Words.
    Left(&'static str),
    /// Words that a narrow terminal does without.
    LeftExtra(&'static str),
    /// Numbers.
    Right(&'static str),
    /// Numbers that a narrow terminal does without.
    RightExtra(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Left(name)
            | Self::LeftExtra(name)
            | Self::Right(name)
            | Self::RightExtra(name) => name,
        }
    }

    fn is_right(self) -> bool {
        matches!(self, Self::Right(_) | Self::RightExtra(_))
    }

    fn is_extra(self) -> bool {
        matches!(self, Self::LeftExtra(_) | Self::RightExtra(_))
    }
}

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    tone: Option<Tone>,
}

impl Cell {
    pub(crate) fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: text::one_line(text.as_ref()).into_owned(), tone: Some(tone) }
    }

    fn columns(&self) -> usize {
        self.text.chars().count()
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self { text: text::one_line(text).into_owned(), tone: None }
    }
}

/// A table that is built row by row.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        assert_eq!(N, self.columns.len(), "a row has a cell for each column");
        self.rows.push(cells.into());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table. On a terminal of `width` columns, extra columns are left out from
    /// the right until the rest fits; the second value is their number.
    pub(crate) fn lines(&self, width: Option<usize>, color: bool) -> (Vec<String>, usize) {
        let left_out = self.left_out(width);
        let shown: Vec<usize> =
            (0..self.columns.len()).filter(|index| !left_out.contains(index)).collect();
        let mut grid = Grid::new();
        grid.load_preset(presets::NOTHING);
        grid.set_content_arrangement(ContentArrangement::Disabled);
        if color {
            grid.enforce_styling();
        } else {
            grid.force_no_tty();
        }
        let heads = shown.iter().filter_map(|index| self.columns.get(*index));
        grid.set_header(
            heads
                .clone()
                .map(|column| comfy_table::Cell::new(column.name()).add_attribute(Attribute::Bold)),
        );
        for row in &self.rows {
            grid.add_row(shown.iter().filter_map(|index| row.get(*index)).map(styled));
        }
        for (column, settings) in heads.zip(grid.column_iter_mut()) {
            settings.set_padding((0, u16::try_from(GAP).unwrap_or(0)));
            if column.is_right() {
                settings.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines = grid.lines().map(|line| line.trim_end().to_owned()).collect();
        (lines, left_out.len())
    }

    /// Indexes of the extra columns that a terminal has no room for.
    fn left_out(&self, width: Option<usize>) -> Vec<usize> {
        let mut left_out = Vec::new();
        let Some(width) = width else { return left_out };
        let widths: Vec<usize> =
            (0..self.columns.len()).map(|index| self.columns_of(index)).collect();
        let mut needed: usize = widths.iter().map(|width| width + GAP).sum();
        for (index, column) in self.columns.iter().enumerate().rev() {
            if needed <= width + GAP {
                break;
            }
            if column.is_extra() {
                needed -= widths.get(index).map_or(0, |width| width + GAP);
                left_out.push(index);
            }
        }
        left_out
    }

    fn columns_of(&self, index: usize) -> usize {
        let head = self.columns.get(index).map_or(0, |column| column.name().len());
        let cells = self.rows.iter().filter_map(|row| row.get(index)).map(Cell::columns);
        cells.max().unwrap_or(0).max(head)
    }
}

fn styled(cell: &Cell) -> comfy_table::Cell {
    let shown = comfy_table::Cell::new(&cell.text);
    match cell.tone {
        None => shown,
        Some(Tone::Bad) => shown.fg(comfy_table::Color::Red).add_attribute(Attribute::Bold),
        Some(Tone::Warn) => shown.fg(comfy_table::Color::Yellow),
        Some(Tone::Good) => shown.fg(comfy_table::Color::Green),
        Some(Tone::Faint) => shown.add_attribute(Attribute::Dim),
        Some(Tone::Strong) => shown.add_attribute(Attribute::Bold),
    }
}

/// Columns of the terminal on standard output.
pub(crate) fn terminal_columns() -> Option<usize> {
    Grid::new().width().map(usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[
            Column::Left("name"),
            Column::RightExtra("events"),
            Column::Right("size"),
            Column::LeftExtra("client"),
        ]);
        table.row(["a\u{1b}[31m".into(), "12".into(), "1.0 kB".into(), "x".into()]);
        table.row(["b".into(), "3".into(), "812 B".into(), "y".into()]);
        table
    }

    #[test]
    fn numbers_stand_to_the_right_and_escapes_are_harmless() {
        let (lines, left_out) = table().lines(None, false);
        assert_eq!(
            lines,
            [
                "name     events    size  client",
                "a^[[31m      12  1.0 kB  x",
                "b             3   812 B  y"
            ]
        );
        assert_eq!(left_out, 0);
    }

    #[test]
    fn a_narrow_terminal_loses_extra_columns_from_the_right() {
        assert_eq!(table().lines(Some(31), false).1, 0);
        let (lines, left_out) = table().lines(Some(30), false);
        assert_eq!((lines[0].as_str(), left_out), ("name     events    size", 1));
        let (lines, left_out) = table().lines(Some(5), false);
        assert_eq!((lines[0].as_str(), left_out), ("name       size", 2));
    }
}
