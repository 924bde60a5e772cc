//! The defaults of a lattice: what the file states, what its base says, and what must hold of them.

use super::draft::Draft;
use crate::document::{At, Problem, Problems};
use crate::dtype::{DType, Kind};
use crate::lattice::Lattice;
use crate::semantics::Defaults;
use crate::semantics::rows::OnLattice;

/// What defaults are made from.
pub(super) struct Sources<'a> {
    pub draft: &'a Draft,
    pub base: Option<&'a OnLattice>,
    pub lattice: &'a Lattice,
}

impl Sources<'_> {
    /// The defaults. What is not stated comes from the base, or follows from what is.
    pub(super) fn build(&self, problems: &mut Problems) -> Defaults {
        let stated = &self.draft.defaults;
        let integer = self.of_weak(DType::WeakInt, "int", &stated.integer, problems);
        let before = problems.count();
        let float = self.of_weak(DType::WeakFloat, "float", &stated.float, problems);
        let complex = self.of_weak(DType::WeakComplex, "complex", &stated.complex, problems);
        self.check_parts(float, complex, problems.count() == before, problems);
        self.check_wide_weak(problems);
        // What the base says of these goes with what it says of the default integer and float.
        let of_base = |replaced: &Option<At<DType>>, field: fn(&Defaults) -> DType| {
            let base = self.base.filter(|_| replaced.is_none())?;
            Some(field(&base.defaults)).filter(|dtype| self.lattice.contains(*dtype))
        };
        let unsigned = self.stated("unsigned", &stated.unsigned, problems);
        self.check_unsigned(integer, problems);
        let bool_integer = self.stated("bool", &stated.bool_integer, problems);
        let small_float = self.stated("small-float", &stated.small_float, problems);
        let small_float =
            small_float.or_else(|| of_base(&stated.float, |base| base.small_float)).unwrap_or(float);
        self.check_small_float(small_float, float, problems);
        Defaults {
            integer,
            float,
            complex,
            unsigned: unsigned
                .or_else(|| of_base(&stated.integer, |base| base.unsigned))
                .or_else(|| self.unsigned_like(integer))
                .unwrap_or(integer),
            bool_integer: bool_integer
                .or_else(|| of_base(&stated.integer, |base| base.bool_integer))
                .unwrap_or(integer),
            small_float,
        }
    }

    /// What the file states, which must be a dtype of the lattice.
    fn stated(&self, key: &str, stated: &Option<At<DType>>, problems: &mut Problems) -> Option<DType> {
        let stated = stated.as_ref()?;
        if !self.lattice.contains(stated.value) {
            let message =
                format!("the default `{key}` is {}, which is not a dtype of this lattice", stated.value);
            problems.add(Problem::new(&stated.span, message));
        }
        Some(stated.value)
    }

    /// What a weak dtype becomes. If the lattice has it, it must be promoted to that.
    fn of_weak(&self, weak: DType, key: &str, stated: &Option<At<DType>>, problems: &mut Problems) -> DType {
        let has = |dtype| self.lattice.contains(dtype);
        let of_base = self.base.map(|base| base.defaults.strengthen(weak));
        let default = self.stated(key, stated, problems).or(of_base.filter(|dtype| has(*dtype)));
        let widest = self.widest(weak.kind()).unwrap_or(NOWHERE.strengthen(weak));
        match default {
            Some(default) if has(weak) && has(default) && !self.lattice.le(weak, default) => {
                let span = stated.as_ref().map_or_else(|| self.draft.origin(weak), |at| at.span.clone());
                let problem = Problem::new(&span, format!("{weak} is not promoted to its default {default}"));
                problems.add(
                    problem
                        .remedy(format!("add edges that lead from {weak} to {default}, or choose another")),
                );
            }
            None if has(weak) => {
                let message = match (of_base, self.base) {
                    (Some(dtype), Some(base)) => {
                        format!(
                            "the default of {weak} in {} is {dtype}, which is not a dtype of this lattice",
                            base.name
                        )
                    }
                    _ => format!("{weak} has no default dtype"),
                };
                let taken = self.draft.without.iter().find(|taken| Some(taken.value) == of_base);
                let span = taken.map_or_else(|| self.draft.origin(weak), |taken| taken.span.clone());
                let problem = Problem::new(&span, message);
                problems.add(problem.remedy(format!("write {key} = \"{widest}\" below [defaults]")));
            }
            Some(_) | None => {}
        }
        default.unwrap_or(widest)
    }

    /// A part of a weak complex number is a weak float. As strong dtypes they must agree too, or an op would give another
    /// dtype of the default `complex` than of `c*`. `settled` is whether both are what the file or its base says.
    fn check_parts(&self, float: DType, complex: DType, settled: bool, problems: &mut Problems) {
        let has = |dtype| self.lattice.contains(dtype);
        let part = complex.real_part();
        if !has(DType::WeakComplex) || !has(complex) || !has(float) || part == float {
            return;
        }
        let message = match (has(part), settled) {
            (false, _) => format!(
                "the default `complex` is {complex}, whose real part is {part}, which is not a dtype of this lattice"
            ),
            (true, true) => format!(
                "the default `complex` is {complex}, whose real part is {part} and not the default `float`, {float}"
            ),
            (true, false) => return,
        };
        let stated = &self.draft.defaults;
        let taken = self.draft.without.iter().find(|taken| taken.value == part);
        let stated = stated.complex.as_ref().or(taken).or(stated.float.as_ref());
        let span = stated.map_or_else(|| self.draft.origin(DType::WeakComplex), |at| at.span.clone());
        let nodes = || self.lattice.nodes().iter().copied();
        let of_float =
            nodes().find(|dtype| !dtype.is_weak() && *dtype != float && dtype.real_part() == float);
        let of_float = of_float.map(|dtype| format!("complex = \"{dtype}\""));
        let of_complex = has(part).then(|| format!("float = \"{part}\""));
        let ways: Vec<_> = [of_float, of_complex].into_iter().flatten().collect();
        problems.add(Problem::new(&span, message).remedy(match ways.is_empty() {
            true => format!("add {part} to the lattice as its `float`, or do without c*"),
            false => format!("write {} below [defaults]", ways.join(" or ")),
        }));
    }

    /// Sums of unsigned integers stay unsigned, or are what other sums are.
    fn check_unsigned(&self, integer: DType, problems: &mut Problems) {
        let Some(stated) = &self.draft.defaults.unsigned else { return };
        if stated.value.kind() == Kind::Signed && stated.value != integer {
            let message = format!(
                "the default `unsigned` is {}, which is neither unsigned nor the default `int`, {integer}",
                stated.value
            );
            let problem = Problem::new(&stated.span, message);
            problems.add(problem.remedy(format!("write an unsigned dtype, or \"{integer}\"")));
        }
    }

    /// TensorFlow's wide weak dtypes have no default but one.
    fn check_wide_weak(&self, problems: &mut Problems) {
        for weak in [DType::WeakI64, DType::WeakF64] {
            let strong = NOWHERE.strengthen(weak);
            if self.lattice.contains(weak) && !self.lattice.le(weak, strong) {
                let message = format!("{weak} is not promoted to its default {strong}");
                problems.add(Problem::new(&self.draft.origin(weak), message));
            }
        }
    }

    /// Wider integers become no lesser float than narrow ones.
    fn check_small_float(&self, small: DType, float: DType, problems: &mut Problems) {
        let Some(stated) = &self.draft.defaults.small_float else { return };
        let both_known = self.lattice.contains(small) && self.lattice.contains(float);
        if both_known && !self.lattice.le(small, float) {
            let message =
                format!("the default `small-float` is {small}, which is not promoted to `float`, {float}");
            problems.add(Problem::new(&stated.span, message));
        }
    }

    /// The widest strong dtype of a kind.
    fn widest(&self, kind: Kind) -> Option<DType> {
        let nodes = self.lattice.nodes().iter().copied();
        let of_kind = nodes.filter(|dtype| !dtype.is_weak() && dtype.kind() == kind);
        of_kind.max_by_key(|dtype| (dtype.bits(), *dtype))
    }

    /// The unsigned integer as wide as another integer.
    fn unsigned_like(&self, integer: DType) -> Option<DType> {
        let is_like = |dtype: &DType| dtype.kind() == Kind::Unsigned && dtype.bits() == integer.bits();
        self.lattice.nodes().iter().copied().find(is_like)
    }
}

/// Where weak dtypes go in a lattice that has nothing of their kind: no rule can lead there.
const NOWHERE: Defaults = Defaults::new(DType::I64, DType::F64, DType::C128);
