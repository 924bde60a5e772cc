//! Figures and how they are printed.

/// The middle of some figures, which must be more than none.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

/// Microseconds per op.
pub fn per_op(seconds: f64, ops: usize) -> f64 {
    seconds * 1e6 / ops as f64
}

/// A table in Markdown.
pub struct Table {
    title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table for comparisons.
    pub fn new(title: &str) -> Self {
        let header = ["", "ours", "peer's", "ratio", "target", "spread of ours", "of peer's"];
        Self { title: title.to_owned(), header: header.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    /// Other columns: sizes.
    pub fn header(&mut self, sizes: &[String]) {
        self.header = [&[String::new()], sizes, &["growth".to_owned()]].concat();
    }

    /// Compares the medians of two peers' figures; the target is the largest ratio wanted.
    pub fn compare(&mut self, name: &str, ours: &[f64], theirs: &[f64], target: &str) {
        let spread = |figures: &[f64]| {
            let (least, most) = figures.iter().fold((f64::MAX, 0f64), |(a, b), x| (a.min(*x), b.max(*x)));
            format!("{}–{}", figure(least), figure(most))
        };
        let (our_median, their_median) = (median(ours), median(theirs));
        self.rows.push(vec![
            name.to_owned(),
            figure(our_median),
            figure(their_median),
            format!("{:.2}", our_median / their_median),
            target.to_owned(),
            spread(ours),
            spread(theirs),
        ]);
    }

    /// A row of figures at growing sizes.
    pub fn row(&mut self, name: &str, figures: &[f64]) {
        let growth = match figures {
            [.., before, last] => format!("{:.2}", last / before),
            _ => String::new(),
        };
        let cells = figures.iter().map(|x| figure(*x));
        self.rows.push(std::iter::once(name.to_owned()).chain(cells).chain([growth]).collect());
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n### {}\n", self.title);
        let lines: Vec<&Vec<String>> = std::iter::once(&self.header).chain(&self.rows).collect();
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
            .collect();
        for (index, line) in lines.iter().enumerate() {
            let cells: Vec<String> =
                line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            println!("| {} |", cells.join(" | "));
            if index == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                println!("|-{}-|", rules.join("-|-"));
            }
        }
    }
}

/// Three digits.
fn figure(x: f64) -> String {
    match x {
        x if x >= 100.0 => format!("{x:.0}"),
        x if x >= 10.0 => format!("{x:.1}"),
        x if x >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}
