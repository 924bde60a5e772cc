//! The types of what crosses the interface: as machines see them, and as C spells them.

use std::ffi::c_void;

/// What a machine sees of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An address.
    Pointer,
    /// C's `bool`.
    Bool,
    /// 8 bits.
    I8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Kind {
    /// Bytes in memory, and what the address of such a value is a multiple of.
    pub const fn size(self) -> usize {
        match self {
            Kind::Bool | Kind::I8 => 1,
            Kind::I16 => 2,
            Kind::I32 | Kind::F32 => 4,
            Kind::Pointer | Kind::I64 | Kind::F64 => 8,
        }
    }
}

/// A type that crosses the interface, as data.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// What a machine sees; none for a structure.
    pub kind: Option<Kind>,
    /// The declaration in C of something called so: `const int64_t *dims` of `dims`.
    pub declare: fn(&str) -> String,
}

/// A type whose kind is known.
pub trait Kinded {
    /// What a machine sees; none for a structure.
    const KIND: Option<Kind>;
}

/// A type that has a spelling in C.
pub trait Declared {
    /// The declaration of something called so, constant if `qualifier` says that.
    fn declare(qualifier: &str, declarator: &str) -> String;
}

impl<T> Kinded for *const T {
    const KIND: Option<Kind> = Some(Kind::Pointer);
}

impl<T> Kinded for *mut T {
    const KIND: Option<Kind> = Some(Kind::Pointer);
}

impl<T: Declared> Declared for *const T {
    fn declare(qualifier: &str, declarator: &str) -> String {
        T::declare("const ", &format!("*{qualifier}{declarator}"))
    }
}

impl<T: Declared> Declared for *mut T {
    fn declare(qualifier: &str, declarator: &str) -> String {
        T::declare("", &format!("*{qualifier}{declarator}"))
    }
}

impl Declared for c_void {
    fn declare(qualifier: &str, declarator: &str) -> String {
        format!("{qualifier}void {declarator}")
    }
}

macro_rules! scalars {
    ($($ty:ty: $kind:ident, $c:literal;)*) => {
        $(
            impl Kinded for $ty {
                const KIND: Option<Kind> = Some(Kind::$kind);
            }

            impl Declared for $ty {
                fn declare(qualifier: &str, declarator: &str) -> String {
                    format!("{qualifier}{} {declarator}", $c)
                }
            }

            const _: () = assert!(size_of::<$ty>() == Kind::$kind.size());
        )*
    };
}

scalars! {
    bool: Bool, "bool";
    u8: I8, "uint8_t";
    u16: I16, "uint16_t";
    i32: I32, "int32_t";
    i64: I64, "int64_t";
    u64: I64, "uint64_t";
    f32: F32, "float";
    f64: F64, "double";
}

/// The type as data; with its spelling in C before a name, where Rust's type does not determine it: a `char` is one of
/// two types in Rust, which depends on the machine.
macro_rules! type_of {
    ($ty:ty) => {
        $crate::Type {
            kind: <$ty as $crate::Kinded>::KIND,
            declare: |name| <$ty as $crate::Declared>::declare("", name),
        }
    };
    ($ty:ty, $c:literal) => {
        $crate::Type { kind: <$ty as $crate::Kinded>::KIND, declare: |name| format!("{}{name}", $c) }
    };
}

pub(crate) use type_of;
