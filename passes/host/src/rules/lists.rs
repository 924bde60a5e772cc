//! Lists of tensors: how a dialect makes them, and writes their types.

use promote_lattice::DType;

use super::{Forms, Read};
use crate::ir::Element;

/// How a dialect makes lists of tensors, and writes their types. An op that joins takes their elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lists {
    /// The op whose operands are the elements of its result.
    pub op: String,
    /// What stands in their type before and after that of the elements, `{tensor}`; nothing after what says no elements.
    pub r#type: (String, Option<String>),
}

impl Lists {
    /// Whether a type is that of a list of tensors.
    pub(super) fn is(&self, text: &str, forms: &Forms) -> bool {
        let (whole, after) = &self.r#type;
        match after {
            Some(_) => self.element(text, forms).is_some(),
            None => whole == text,
        }
    }

    /// The type with elements of another dtype, if it says of which dtype they are.
    pub(super) fn retype(&self, text: &str, dtype: DType, forms: &Forms) -> Option<String> {
        let (prefix, (form, Read::Tensor(tensor))) = self.element(text, forms)? else { return None };
        if !matches!(tensor.element, Element::DType(own) if own != dtype) {
            return None;
        }
        let element = forms.tensors.get(form as usize)?.write(dtype, &tensor.shape);
        let (before, after) = (&self.r#type.0, self.r#type.1.as_deref().unwrap_or_default());
        Some(format!("{before}{}{after}", element.strip_prefix(prefix).unwrap_or(&element)))
    }

    /// What the type of the elements says, and what of it is left out: a dialect may write its own types without its name.
    fn element(&self, text: &str, forms: &Forms) -> Option<(&str, (u32, Read))> {
        let (before, after) = (&self.r#type.0, self.r#type.1.as_deref()?);
        let inner = text.strip_prefix(&**before)?.strip_suffix(after)?;
        let dialect = before.find('.').map_or("", |dot| &before[..=dot]);
        let found = ["", dialect].into_iter().find_map(|prefix| {
            let read = forms.read(&format!("{prefix}{inner}"))?;
            Some((prefix, read))
        });
        found.filter(|(_, (_, read))| matches!(read, Read::Tensor(_)))
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::{OpRules, Rules};
    use promote_lattice::DType;

    #[test]
    fn a_list_that_says_of_which_dtype_its_elements_are_says_another_one() {
        let rules = Rules::new(vec![OpRules::shipped("torch").unwrap()]);
        let retyped = |text| rules.retype_list(text, DType::I64);
        let made = retyped("!torch.list<vtensor<[4,?],f32>>");
        assert_eq!(made.as_deref(), Some("!torch.list<vtensor<[4,?],si64>>"));
        let made = retyped("!torch.list<!torch.vtensor<*,f32>>");
        assert_eq!(made.as_deref(), Some("!torch.list<!torch.vtensor<*,si64>>"));
        for stays in [
            "!torch.list<vtensor>",
            "!torch.list<vtensor<[4],unk>>",
            "!torch.list<vtensor<[4],si64>>",
            "!torch.list<int>",
            "!torch.list<str>",
            "!torch.vtensor<[4],f32>",
        ] {
            assert_eq!(retyped(stays), None, "{stays}");
        }
    }

    #[test]
    fn lists_of_tensors_are_told_from_others() {
        let rules = Rules::new(vec![OpRules::shipped("torch").unwrap()]);
        let is_list = |text| matches!(rules.read_type(text), Some((_, crate::rules::Read::List)));
        assert!(is_list("!torch.list<vtensor>") && is_list("!torch.list<vtensor<[2],unk>>"));
        assert!(!is_list("!torch.list<int>") && !is_list("!torch.list<list<vtensor>>"));
        assert!(!is_list("!torch.vtensor") && !is_list("!torch.int"));
    }
}
