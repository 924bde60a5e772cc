//! Diagnostics as data that C reads.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use promote::diagnostic::{self, Code, Diagnostic, Severity};

use crate::argument;
use crate::failure::{Failure, Refused, c_text};

/// A place in a source; a null file if it is not known.
#[repr(C)]
pub struct Location {
    file: *const c_char,
    line: u32,
    column: u32,
}

/// More about a diagnostic.
#[repr(C)]
pub struct Note {
    location: Location,
    message: *const c_char,
}

/// A diagnostic.
#[repr(C)]
pub struct Item {
    severity: i32,
    code: *const c_char,
    location: Location,
    message: *const c_char,
    remedy: *const c_char,
    notes: *const Note,
    note_count: usize,
}

/// What C sees of a list.
#[repr(C)]
pub struct List {
    items: *const Item,
    count: usize,
}

/// A list, and what it points to.
#[repr(C)]
pub struct Diagnostics {
    list: List,
    _items: Vec<Item>,
    _notes: Vec<Vec<Note>>,
    _texts: Vec<CString>,
}

impl Diagnostics {
    /// A list as C holds it; null if there are none.
    pub fn handle(diagnostics: &[Diagnostic]) -> *mut List {
        if diagnostics.is_empty() {
            return std::ptr::null_mut();
        }
        let mut texts = Texts(Vec::new());
        let notes: Vec<Vec<Note>> = diagnostics.iter().map(|diagnostic| texts.notes(diagnostic)).collect();
        let items: Vec<Item> =
            diagnostics.iter().zip(&notes).map(|(diagnostic, notes)| texts.item(diagnostic, notes)).collect();
        let list = List { items: items.as_ptr(), count: items.len() };
        argument::handle(Self { list, _items: items, _notes: notes, _texts: texts.0 }).cast()
    }
}

/// Texts that live as long as the list.
struct Texts(Vec<CString>);

impl Texts {
    /// The address stays when the list of texts grows, for a text is elsewhere.
    fn keep(&mut self, text: &str) -> *const c_char {
        let text = c_text(text);
        let address = text.as_ptr();
        self.0.push(text);
        address
    }

    fn location(&mut self, location: Option<&diagnostic::Location>) -> Location {
        match location {
            Some(place) => Location { file: self.keep(&place.file), line: place.line, column: place.column },
            None => Location { file: std::ptr::null(), line: 0, column: 0 },
        }
    }

    fn notes(&mut self, diagnostic: &Diagnostic) -> Vec<Note> {
        let note = |note: &diagnostic::Note| Note {
            location: self.location(note.location.as_ref()),
            message: self.keep(&note.message),
        };
        diagnostic.notes.iter().map(note).collect()
    }

    fn item(&mut self, diagnostic: &Diagnostic, notes: &[Note]) -> Item {
        Item {
            severity: match diagnostic.severity {
                Severity::Remark => 0,
                Severity::Warning => 1,
                Severity::Error => 2,
            },
            code: self.keep(diagnostic.code.as_str()),
            location: self.location(diagnostic.location.as_ref()),
            message: self.keep(&diagnostic.message),
            remedy: diagnostic.remedy.as_ref().map_or(std::ptr::null(), |remedy| self.keep(remedy)),
            notes: notes.as_ptr(),
            note_count: notes.len(),
        }
    }
}

/// What MLIR calls a text of which it does not know the name.
const UNNAMED: &str = "-";

/// Gives a text the name that the caller knows it by.
pub fn rename(diagnostics: &mut [Diagnostic], name: &str) {
    for diagnostic in diagnostics {
        let notes = diagnostic.notes.iter_mut().filter_map(|note| note.location.as_mut());
        for location in diagnostic.location.iter_mut().chain(notes) {
            if location.file == UNNAMED {
                name.clone_into(&mut location.file);
            }
        }
    }
}

/// That a program was refused, in the words of the first error.
pub fn refused(diagnostics: &[Diagnostic]) -> Failure {
    let error = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
    let message = match error {
        Some(Diagnostic { code, message, location: Some(place), .. }) => {
            format!("{place}: error[{code}]: {message}")
        }
        Some(Diagnostic { code, message, location: None, .. }) => format!("error[{code}]: {message}"),
        None => "the program was refused".to_owned(),
    };
    Failure::new(Refused::Program, message)
}

/// Frees diagnostics. Null does nothing.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_diagnostics_free(diagnostics: *mut List) {
    // SAFETY: by contract the list is one that `handle` made, which stands first in the whole.
    unsafe { argument::free(diagnostics.cast::<Diagnostics>()) }
}

/// What a code means; null if there is no such code.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_explain(code: *const c_char) -> *const c_char {
    static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
    // SAFETY: by contract.
    let code = unsafe { argument::text("code", code) }.ok().and_then(|code| code.parse::<Code>().ok());
    let texts = TEXTS.get_or_init(|| Code::ALL.iter().map(|code| c_text(code.explanation())).collect());
    let index = code.and_then(|code| Code::ALL.iter().position(|&known| known == code));
    index.map_or(std::ptr::null(), |index| texts[index].as_ptr())
}
