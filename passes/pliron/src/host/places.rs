//! Places: from pliron's locations to those of diagnostics.

use pliron::basic_block::BasicBlock;
use pliron::context::{Context, Ptr};
use pliron::location::{Location as Place, Source};
use pliron::uniqued_any;
use promote_diagnostics::Location;

use crate::attributes::{ARGUMENT_LOCATIONS, LocationsAttr};

/// The place in a file that a location leads to, through names, calls and fusions: the first that is in a file.
pub fn location(context: &Context, of: &Place) -> Option<Location> {
    let mut rest = vec![of];
    while let Some(of) = rest.pop() {
        match of {
            Place::SrcPos { src, pos } => {
                let file = match src {
                    Source::File(path) => uniqued_any::get(context, *path).display().to_string(),
                    Source::InMemory => "<in-memory>".to_owned(),
                };
                let number = |number: i32| u32::try_from(number).unwrap_or(0);
                return Some(Location { file, line: number(pos.line), column: number(pos.column) });
            }
            Place::Named { child_loc, .. } => rest.push(child_loc),
            Place::CallSite { callee, .. } => rest.push(callee),
            Place::Fused { locations, .. } => rest.extend(locations.iter().rev()),
            Place::Unknown => {}
        }
    }
    None
}

/// The place of an argument: that which its block says, or else the block's own.
pub fn of_argument(context: &Context, block: Ptr<BasicBlock>, argument: usize) -> Option<Location> {
    let block = block.deref(context);
    let stated = block.attributes.get::<LocationsAttr>(&ARGUMENT_LOCATIONS);
    let own = stated.and_then(|stated| location(context, stated.0.get(argument)?));
    own.or_else(|| location(context, block.loc()))
}
