//! Reading a rule file: every error of it at once, with its place.

mod checks;
mod fitted;
mod lists;
mod types;

use std::ops::Range;

use promote_infer::foreign::Broadcasts;
use promote_lattice::document::{self, At, Entry, FileErrors, Problem, Problems, choice, dtype, op, shown};
use promote_lattice::op::Class;
use promote_lattice::{DType, Op};
use rustc_hash::FxHashMap;

use super::recipe::Placeholder;
use super::{Conversion, Family, Group, Held, OpRule, OpRules, Pair, Pattern, Recipe};
use checks::{
    check_attributes, check_dtype, check_joins, check_operands, check_ranks, is_of_another_dialect,
};

/// The version of the format.
const FORMAT: &str = "1";

const KEYS: &[&str] = &[
    "format",
    "description",
    "broadcasts",
    "ops",
    "by-kind",
    "convert",
    "broadcast",
    "constant",
    "types",
    "scalars",
    "codes",
    "constants",
    "lists",
    "attributes-by-kind",
];
const OP_KEYS: &[&str] =
    &["op", "operands", "joins", "attributes", "broadcasts", "shape", "ranks", "dtype", "dtypes", "result"];
const CONSTANT_KEYS: &[&str] = &["integer", "none"];

/// Who broadcasts, and whether that is refused.
const BROADCASTS: &[(&str, (Broadcasts, bool))] = &[
    ("explicit", (Broadcasts::Explicit, false)),
    ("rank", (Broadcasts::Ranked, false)),
    ("native", (Broadcasts::Itself, false)),
    ("refuse", (Broadcasts::Explicit, true)),
];
const CODES: &str = "write the dialect's number of each dtype below a line [codes]";
const SHAPES: &[(&str, bool)] = &[("inferred", false), ("stated", true)];
/// Whether a result may be stated to be wider.
const RESULTS: &[(&str, bool)] = &[("inferred", false), ("wider", true)];

impl OpRules {
    /// The rules that a TOML file says: `docs/op_rules.md` describes the format. `name` is that of the file without its
    /// ending.
    ///
    /// ```
    /// use promote_host::rules::OpRules;
    ///
    /// let rules = OpRules::from_toml("format = 1\n[ops]\n'my.add' = 'add'", "my").unwrap();
    /// assert_eq!(rules.ops[0].pattern.name, "my.add");
    ///
    /// let errors = OpRules::from_toml("format = 1\n[ops]\n'my.add' = 'ad'", "my").unwrap_err();
    /// assert_eq!(errors.to_string(), "3:12: there is no op `ad`");
    /// ```
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, FileErrors> {
        let mut problems = Problems::default();
        let mut reader =
            Reader { rules: Self { name: name.to_owned(), ..Self::default() }, ..Reader::default() };
        if document::read(text, &mut problems, |entry, problems| reader.entry(entry, problems)) {
            reader.finish(&mut problems);
        }
        let problems = problems.in_order();
        if problems.is_empty() { Ok(reader.rules) } else { Err(FileErrors::new(text, problems)) }
    }
}

/// What is read so far.
#[derive(Default)]
struct Reader {
    rules: OpRules,
    has_format: bool,
    /// Who broadcasts where an op does not say it.
    broadcasts: (Broadcasts, bool),
    /// The ops that say it.
    say: Vec<usize>,
    /// Where each op is named.
    named: Vec<At<Pattern>>,
    /// The first recipe that asks for the number of a dtype.
    asks_code: Option<At<()>>,
    /// The first op that an operand tells its dtype.
    is_told: Option<At<()>>,
    /// The first op that has an attribute of ours in an operand.
    has_constant: Option<At<()>>,
    /// The ops that [join](OpRule::joins), by their places.
    joining: Vec<(usize, At<()>)>,
    /// Where each of [`OpRules::codes`] is stated.
    codes: Vec<At<()>>,
    /// Where each op of [`OpRules::fitted`] is named.
    fitted: Vec<At<()>>,
}

impl Reader {
    fn entry(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        match entry.key.value {
            "format" => self.format(entry, problems),
            "description" => {
                self.rules.description = entry.string(problems).map(|text| text.value.trim().to_owned());
            }
            "broadcasts" => {
                let word = entry.string(problems);
                let found = word.and_then(|word| choice(&word, "way to broadcast", BROADCASTS, problems));
                self.broadcasts = found.unwrap_or_default();
            }
            "ops" => entry.table("", problems).iter().for_each(|entry| self.op(entry, problems)),
            "by-kind" => entry.table("", problems).iter().for_each(|entry| self.family(entry, problems)),
            "convert" => self.conversions(entry, problems),
            "broadcast" => self.rules.broadcast = self.recipe(entry, Recipe::parse, problems),
            "constant" => self.rules.constant = self.recipe(entry, Recipe::of_constant, problems),
            "types" => entry.table("", problems).iter().for_each(|entry| self.form(entry, problems)),
            "scalars" => entry.table("", problems).iter().for_each(|entry| self.scalar(entry, problems)),
            "codes" => entry.table("", problems).iter().for_each(|entry| self.code(entry, problems)),
            "constants" => {
                entry.table("", problems).iter().for_each(|entry| self.constants(entry, problems));
            }
            "lists" => self.lists(entry, problems),
            "attributes-by-kind" => {
                entry.table("", problems).iter().for_each(|entry| self.fitted(entry, problems));
            }
            _ => entry.unknown("in a rule file", KEYS, problems),
        }
    }

    fn format(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        self.has_format = true;
        let Some(number) = entry.integer(problems) else { return };
        if number.value != FORMAT {
            let message = format!("format {} is not known: this version reads format {FORMAT}", number.value);
            problems.add(Problem::new(&number.span, message).remedy(format!("write format = {FORMAT}")));
        }
    }

    /// What only the whole file shows.
    fn finish(&mut self, problems: &mut Problems) {
        if !self.has_format {
            let problem = Problem::new(&(0..0), "the file does not say in which format it is");
            problems.add(problem.remedy(format!("write format = {FORMAT} in its first line")));
        }
        for (index, rule) in self.rules.ops.iter_mut().enumerate() {
            if !self.say.contains(&index) {
                (rule.broadcasts, rule.refuses_broadcasts) = self.broadcasts;
            }
        }
        if let Some(At { span, .. }) = self.asks_code.as_ref().filter(|_| self.rules.codes.is_empty()) {
            let problem = Problem::new(span, "this asks for {code}, and the file has no table `codes`");
            problems.add(problem.remedy(CODES));
        }
        if let Some(At { span, .. }) = &self.is_told {
            if self.rules.codes.is_empty() {
                let problem =
                    Problem::new(span, "this op is told a dtype, and the file has no table `codes`");
                problems.add(problem.remedy(CODES));
            }
            self.check_integer(span, "this op is told a dtype", problems);
            self.check_codes(problems);
        }
        if let Some(At { span, .. }) = &self.has_constant {
            self.check_integer(span, "an operand of this op is a constant", problems);
        }
        self.check_joining(problems);
        self.check_fitted(problems);
    }

    fn op(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        let pattern = pattern(&entry.key, problems);
        let (mut taken, mut joins, mut ranks) = (None, None, None);
        let mut rule = OpRule::plain(Pattern { name: String::new(), attributes: Vec::new() }, Op::Add);
        let mut says = false;
        let mut follows = None;
        if entry.is_string() {
            follows = entry.string(problems).and_then(|word| followed(&word, problems));
        } else {
            let before = problems.count();
            let entries = entry.table("ops.", problems);
            let has_op = entries.iter().any(|entry| entry.key.value == "op");
            for entry in &entries {
                match entry.key.value {
                    "op" => follows = entry.string(problems).and_then(|word| followed(&word, problems)),
                    "operands" => taken = Some(entry.counts(problems)),
                    "joins" => joins = Some((entry.key.map(()), entry.counts(problems))),
                    "ranks" => ranks = Some(entry.counts(problems)),
                    "dtype" => {
                        rule.dtype = entry.count(problems).map(|index| index.value);
                        self.is_told.get_or_insert(entry.value.map(()));
                    }
                    "attributes" => rule.attributes = self.attributes(entry, problems),
                    "broadcasts" => {
                        let word = entry.string(problems);
                        let found =
                            word.and_then(|word| choice(&word, "way to broadcast", BROADCASTS, problems));
                        (rule.broadcasts, rule.refuses_broadcasts) = found.unwrap_or_default();
                        says = true;
                    }
                    "shape" => {
                        let word = entry.string(problems);
                        let found = word.and_then(|word| choice(&word, "value of `shape`", SHAPES, problems));
                        rule.states_shape = found.unwrap_or_default();
                    }
                    "result" => {
                        let word = entry.string(problems);
                        let found =
                            word.and_then(|word| choice(&word, "value of `result`", RESULTS, problems));
                        rule.accumulates = found.unwrap_or_default();
                    }
                    "dtypes" => {
                        let words = entry.strings(problems);
                        rule.dtypes = words.iter().filter_map(|word| group(word, problems)).collect();
                    }
                    _ => entry.unknown("of an op", OP_KEYS, problems),
                }
            }
            if !has_op && problems.count() == before {
                let message = format!("`{}` does not say whose rule it follows", shown(entry.key.value));
                problems
                    .add(Problem::new(&entry.key.span, message).remedy("write op = \"add\", or another op"));
            }
        }
        let (Some(pattern), Some(op)) = (pattern, follows) else { return };
        if let Some(taken) = taken {
            check_operands(entry, op, &taken, problems);
            rule.operands = Some(taken.into_iter().map(|index| index.value).collect());
        }
        if let Some((at, joins)) = joins {
            check_joins(entry, &rule, &joins, problems);
            rule.joins = Some(joins.into_iter().map(|index| index.value).collect());
            self.joining.push((self.rules.ops.len(), at));
        }
        if let Some(ranks) = ranks {
            rule.ranks = Some(check_ranks(entry, op, &ranks, problems));
        }
        check_dtype(entry, op, &rule, problems);
        check_attributes(entry, op, &rule, problems);
        self.add(OpRule { pattern: pattern.value.clone(), op, ..rule }, pattern, says, problems);
    }

    /// A table from our attributes to what the dialect has for them.
    fn attributes(&mut self, entry: &Entry<'_>, problems: &mut Problems) -> Vec<(String, Held)> {
        let entries = entry.table("ops.", problems);
        let pairs = entries.iter().filter_map(|entry| {
            let held = if entry.is_integer() {
                self.has_constant.get_or_insert(entry.value.map(()));
                Held::Operand(entry.count(problems)?.value)
            } else {
                Held::Attribute(entry.string(problems)?.value.to_owned())
            };
            Some((entry.key.value.to_owned(), held))
        });
        pairs.collect()
    }

    /// Adds a rule, unless there is one for that op.
    fn add(&mut self, rule: OpRule, at: At<Pattern>, says: bool, problems: &mut Problems) {
        if let Some(first) = self.named.iter().find(|named| named.value == at.value) {
            let message = format!("`{}` has two rules", at.value);
            let problem = Problem::new(&at.span, message).note(Some(&first.span), "here it is first");
            return problems.add(problem.remedy("remove one of them"));
        }
        if says {
            self.say.push(self.rules.ops.len());
        }
        self.named.push(at);
        self.rules.ops.push(rule);
    }

    fn family(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        let entries = entry.table("by-kind.", problems);
        let stated = entries.iter().find(|entry| entry.key.value == "op");
        let op = match stated {
            Some(stated) => stated.string(problems).and_then(|word| followed(&word, problems)),
            None => followed(&entry.key, problems),
        };
        let mut members: Vec<(Group, At<Pattern>)> = Vec::new();
        for entry in entries.iter().filter(|entry| entry.key.value != "op") {
            let Some(group) = group(&entry.key.map(entry.key.value), problems) else { continue };
            let Some(text) = entry.string(problems) else { continue };
            if let Some(pattern) = pattern(&text, problems) {
                members.push((group, pattern));
            }
        }
        let Some(op) = op else { return };
        let family = self.rules.families.len();
        for (_, at) in &members {
            // One op may be that of several kinds.
            let is_again =
                self.rules.ops.iter().any(|rule| rule.family == Some(family) && rule.pattern == at.value);
            if !is_again {
                let rule = OpRule { family: Some(family), ..OpRule::plain(at.value.clone(), op) };
                self.add(rule, at.clone(), false, problems);
            }
        }
        let members = members.into_iter().map(|(group, at)| (group, at.value)).collect();
        self.rules.families.push(Family { name: entry.key.value.to_owned(), members });
    }

    fn conversions(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        for entry in entry.table("", problems) {
            let pair = match Pair::parse(entry.key.value) {
                Ok(pair) => Some(pair),
                Err(message) => {
                    let problem = Problem::new(&entry.key.span, message);
                    problems.add(problem.remedy(
                        "write a pair as \"signed -> float\", \"bf16 -> f32\" or \"any -> wider float\"",
                    ));
                    None
                }
            };
            let is_ours = entry.is_string()
                && entry.string(problems).is_some_and(|text| text.value.trim() == "promote.convert");
            let recipe = if is_ours { None } else { self.recipe(&entry, Recipe::parse, problems) };
            if let Some(pair) = pair.filter(|_| is_ours || recipe.is_some()) {
                self.rules.conversions.push(Conversion { pair, recipe });
            }
        }
    }

    fn recipe(
        &mut self,
        entry: &Entry<'_>,
        parse: fn(&str) -> Result<Recipe, String>,
        problems: &mut Problems,
    ) -> Option<Recipe> {
        let text = entry.string(problems)?;
        match parse(text.value) {
            Ok(recipe) => {
                if self.asks_code.is_none() && recipe.holes().any(|hole| hole == Placeholder::Code) {
                    self.asks_code = Some(text.map(()));
                }
                Some(recipe)
            }
            Err(message) => {
                let problem = Problem::new(&text.span, message);
                problems.add(problem.remedy(
                    "write the name of an op, or ops in MLIR's generic form that take %x and make %result",
                ));
                None
            }
        }
    }

    fn code(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        let dtype = dtype(&entry.key, problems);
        let Some(number) = entry.integer(problems) else { return };
        match (dtype, number.value.parse()) {
            (Some(dtype), Ok(code)) => {
                self.rules.codes.push((dtype.value, code));
                self.codes.push(number.map(()));
            }
            (_, Err(_)) => {
                problems.add(Problem::new(&number.span, "the number of a dtype must be one of 64 bits"));
            }
            (None, Ok(_)) => {}
        }
    }

    /// The file says how integers are written, which an op needs.
    fn check_integer(&self, span: &Range<usize>, why: &str, problems: &mut Problems) {
        if self.rules.constants.integer.is_none() {
            let message = format!("{why}, and the file does not say how integers are written");
            let remedy = "write integer = \"my.constant\" below a line [constants]";
            problems.add(Problem::new(span, message).remedy(remedy));
        }
    }

    /// What an op joins is converted, and nothing else.
    fn check_joining(&self, problems: &mut Problems) {
        for (index, At { span, .. }) in &self.joining {
            let rule = self.rules.ops.get(*index);
            if rule.is_some_and(|rule| !rule.states_shape && rule.broadcasts != Broadcasts::Itself) {
                let message = "an op that joins operands must broadcast them itself";
                problems.add(
                    Problem::new(span, message)
                        .remedy("write broadcasts = \"native\" if it does, or shape = \"stated\""),
                );
            }
        }
    }

    /// By its number an op is told one dtype.
    fn check_codes(&self, problems: &mut Problems) {
        let mut first: FxHashMap<i64, DType> = FxHashMap::default();
        for ((dtype, code), At { span, .. }) in self.rules.codes.iter().zip(&self.codes) {
            let known = *first.entry(*code).or_insert(*dtype);
            if known != *dtype {
                let message = format!(
                    "{code} is the number of {known}, too: the dtype that an op asks for would be either"
                );
                problems.add(Problem::new(span, message).remedy("give each dtype a number of its own"));
            }
        }
    }

    fn constants(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        let of = &mut self.rules.constants;
        match entry.key.value {
            "integer" => {
                let text = entry.string(problems).and_then(|text| pattern(&text, problems));
                of.integer = text.map(|pattern| pattern.value.name);
            }
            "none" => of.none = entry.string(problems).map(|text| text.value.to_owned()),
            _ => entry.unknown("of constants", CONSTANT_KEYS, problems),
        }
    }
}

/// A dtype, or a kind of dtypes.
fn group(word: &At<&str>, problems: &mut Problems) -> Option<Group> {
    let found = Group::parse(word.value);
    found.or_else(|| choice(word, "dtype or kind of dtypes", Group::WORDS, problems))
}

fn pattern(text: &At<&str>, problems: &mut Problems) -> Option<At<Pattern>> {
    match Pattern::parse(text.value) {
        Ok(pattern) => is_of_another_dialect(text, &pattern, problems).then(|| text.map(pattern)),
        Err(message) => {
            let message = format!("`{}` is no op: {message}", shown(text.value));
            problems.add(Problem::new(&text.span, message));
            None
        }
    }
}

/// The op whose rule is followed: one that has a rule.
fn followed(word: &At<&str>, problems: &mut Problems) -> Option<Op> {
    let found = op(word, problems)?;
    if found.class() == Class::Stated || found == Op::Relax {
        let message = format!("{found} has no rule that others could follow: its type says its dtype");
        let problem = Problem::new(&word.span, message);
        problems.add(problem.remedy("leave the op out: ops that no rule names are left alone"));
        return None;
    }
    Some(found)
}

#[cfg(test)]
mod tests;
