//! Names of functions, and their types.

use pliron::context::Ptr;
use pliron::identifier::Identifier;
use pliron::operation::Operation;
use pliron::r#type::{TypeHandle, Typed};

use super::Host;

impl Host<'_> {
    /// The type that a function states.
    pub(super) fn stated_signature(&self, function: Ptr<Operation>) -> Option<TypeHandle> {
        let function = self.function(function)?;
        let stated = function.get_attr_builtin_func_type(self.context)?;
        Some(stated.get_type(self.context))
    }
}

/// An identifier like a name.
pub(super) fn identifier(name: &str) -> Identifier {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let valid: String = name.chars().map(|c| if is_valid(c) { c } else { '_' }).collect();
    let starts = valid.starts_with(|c: char| !c.is_ascii_digit());
    let valid = if starts { valid } else { format!("_{valid}") };
    Identifier::try_new(valid).expect("it begins with a letter or _, and has these and digits only")
}
