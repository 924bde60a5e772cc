//! Lists that ops of other dialects join: the elements take part, not the list.

use promote_dialect::attrs::{List, Problem};
use promote_infer::graph::OpId;
use promote_lattice::op::Class;

use super::Viewer;
use crate::ir::{Ir, Kind};
use crate::rules::OpRules;

impl<I: Ir> Viewer<'_, I> {
    /// The op that makes a list which is an operand of an op; nothing, which is reported, if its elements cannot be converted
    /// for that op.
    pub(super) fn list(
        &mut self,
        (id, name, operand): (OpId, &str, usize),
        file: &OpRules,
        list: I::Value,
    ) -> Option<I::Op> {
        match self.made_list(file, list) {
            Ok(made) => {
                self.view.lists.insert((id, operand), made);
                Some(made)
            }
            Err(why) => {
                let made = file.lists.as_ref().map_or(String::new(), |lists| lists.op.clone());
                let problem = Problem::List { name: name.to_owned(), operand, made, why };
                self.view.unit.attr_problems.push((id, problem));
                None
            }
        }
    }

    /// The op that makes a list for one other op.
    fn made_list(&self, file: &OpRules, list: I::Value) -> Result<I::Op, List> {
        let ir = self.ir;
        let is_known =
            |made: &I::Op| file.lists.as_ref().is_some_and(|lists| ir.name_text(ir.name(*made)) == lists.op);
        let made = ir.defining_op(list).filter(is_known).ok_or(List::Elsewhere)?;
        if ir.use_count(list) > 1 {
            return Err(List::Shared);
        }
        if ir.operands(made).len() == 0 { Err(List::Empty) } else { Ok(made) }
    }

    /// Whether an op makes a list of which the graph has the elements.
    pub(super) fn makes_seen_list(&self, operation: I::Op) -> bool {
        let ir = self.ir;
        let Some(list) = ir.results(operation).next().filter(|list| ir.is_list(ir.value_type(*list))) else {
            return false;
        };
        let rules = ir.rules();
        ir.users(list).all(|user| {
            if let (Kind::Foreign { op, rule }, Some(rules)) = (ir.kind(user), rules) {
                op.class() == Class::Joining
                    && self.takes_part(rule, user, list)
                    && self.made_list(rules.file(rule), list).is_ok()
            } else {
                false
            }
        })
    }
}
