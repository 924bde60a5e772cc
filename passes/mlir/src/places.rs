//! Places in the source.

use mlir_sys::*;
use promote_diagnostics::Location;

use super::raw;

/// The place in a file that an MLIR location leads to, through names, calls and fusions: the first that is in a file.
pub fn location(location: MlirLocation) -> Option<Location> {
    let mut rest = vec![location];
    while let Some(location) = rest.pop() {
        // SAFETY: locations live as long as the context; each accessor is called on a location of its kind.
        unsafe {
            if mlirLocationIsAFileLineColRange(location) {
                let number = |n: i32| u32::try_from(n).unwrap_or(0);
                return Some(Location {
                    file: raw::text(mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location))),
                    line: number(mlirLocationFileLineColRangeGetStartLine(location)),
                    column: number(mlirLocationFileLineColRangeGetStartColumn(location)),
                });
            }
            if mlirLocationIsAName(location) {
                rest.push(mlirLocationNameGetChildLoc(location));
            } else if mlirLocationIsACallSite(location) {
                rest.push(mlirLocationCallSiteGetCallee(location));
            } else if mlirLocationIsAFused(location) {
                let mut parts = vec![location; mlirLocationFusedGetNumLocations(location) as usize];
                mlirLocationFusedGetLocations(location, parts.as_mut_ptr());
                rest.extend(parts.into_iter().rev());
            }
        }
    }
    None
}

/// The place of an op, or, if it has none, of its parents.
pub fn place_of(operation: MlirOperation) -> Option<Location> {
    let parent = std::iter::successors(Some(operation), |operation| raw::parent(*operation));
    // SAFETY: the operations are alive.
    parent.into_iter().find_map(|operation| location(unsafe { mlirOperationGetLocation(operation) }))
}
