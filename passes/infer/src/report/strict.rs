//! Diagnostics for the loops and conditionals that JAX rejects.

use super::Reporter;
use super::explain::explain;
use crate::strict::{Mismatch, Refused};
use promote_diagnostics::{Code, Diagnostic};

impl Reporter<'_> {
    /// The diagnostic for something that JAX rejects.
    pub fn strict_diagnostic(&self, refused: &Refused) -> Diagnostic {
        match refused {
            Refused::Mismatch(mismatch) => self.mismatch_diagnostic(*mismatch),
            Refused::Op { op, kind, operands } => {
                let (_, message, remedy) = explain(kind, &self.graph.name(*op));
                let message = format!("{message}, in an iteration that is not the last");
                let diagnostic = Diagnostic::error(Code::StrictCarry, self.map().op(*op), message);
                let operands = self.graph.operands(*op).iter().zip(operands).enumerate();
                let diagnostic = operands.fold(diagnostic, |diagnostic, (index, (operand, found))| {
                    let message = format!("operand {index} is {}", self.found_type(*found, *operand));
                    diagnostic.with_note(self.map().definition(*operand), message)
                });
                diagnostic.with_remedy(remedy)
            }
        }
    }

    fn mismatch_diagnostic(&self, mismatch: Mismatch) -> Diagnostic {
        let Mismatch { slot, first, raised, other, found } = mismatch;
        let (first, found) = (self.type_name(first), self.type_name(found));
        let raised =
            raised.map_or(String::new(), |raised| format!(", is made strong as {}", self.type_name(raised)));
        let place = |index: usize| self.map().feed(slot, index).place.clone();
        let subject = self.slot_name(slot);
        let (message, begins) = if self.graph.slot(slot).is_carry {
            let init = self.graph.slot(slot).sources[0].value;
            let message =
                format!("{subject} enters the loop as {first}{raised} and leaves the body as {found}");
            (message, self.map().definition(init))
        } else {
            (format!("{subject} is {first} in one branch and {found} in another"), place(0))
        };
        Diagnostic::error(Code::StrictCarry, place(0), message)
            .with_note(begins, format!("this value is {first}"))
            .with_note(place(other), format!("this value is {found}"))
            .with_remedy(
                "convert one of them, with promote.convert or promote.broadcast_to; without --strict-carries both are \
                 promoted",
            )
    }
}
