//! Pass pipelines: MLIR's textual form, with our passes beside upstream's.
//!
//! MLIR's own parser knows only passes that are registered from C++. So [`Pipeline::parse`] reads the form
//! `anchor(pass{options},anchor(pass),…)`, and [`Pipeline::add_to`] adds our passes itself and hands every other
//! element to MLIR.

use std::fmt;

use melior::pass::{OperationPassManager, Pass};
use mlir_sys::*;
use promote_host::rules::Rules;

use super::pass::{self, Config, Handoff, Kind, Promotion};
use super::raw;
use super::targets::{TargetPass, linalg, stablehlo};

/// One element of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A pass, with its options as written, braces included.
    Pass {
        /// Its name.
        name: String,
        /// Its options.
        options: String,
    },
    /// Passes that run on each op of one name nested in the current one.
    Nest {
        /// The op's name, or `any`.
        anchor: String,
        /// The passes.
        elements: Vec<Element>,
    },
}

/// A pipeline over a `builtin.module`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline(pub Vec<Element>);

/// Why a pipeline cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    /// The text is not well formed.
    #[error("{message} at column {column} of the pipeline `{text}`")]
    Syntax {
        /// What is wrong.
        message: &'static str,
        /// Where, from 1.
        column: usize,
        /// The pipeline.
        text: String,
    },
    /// The outermost anchor is not the module.
    #[error("a pipeline runs on builtin.module, and this one is anchored on {0}")]
    Anchor(String),
    /// One of our passes was given options.
    #[error("{0} takes no options: choose the semantics with --semantics and --x64")]
    Options(String),
    /// MLIR does not know a pass, or not its options.
    #[error("{0}")]
    Upstream(String),
}

impl Default for Pipeline {
    /// infer-types, insert-converts, fold-converts, verify-strong.
    fn default() -> Self {
        Self(Kind::default_passes().map(|kind| Element::pass(kind.name())).collect())
    }
}

impl Element {
    /// A pass without options.
    fn pass(name: &str) -> Self {
        Self::Pass { name: name.to_owned(), options: String::new() }
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list(f: &mut fmt::Formatter<'_>, elements: &[Element]) -> fmt::Result {
            for (i, element) in elements.iter().enumerate() {
                f.write_str(if i == 0 { "" } else { "," })?;
                match element {
                    Element::Pass { name, options } => write!(f, "{name}{options}")?,
                    Element::Nest { anchor, elements } => {
                        write!(f, "{anchor}(")?;
                        list(f, elements)?;
                        f.write_str(")")?;
                    }
                }
            }
            Ok(())
        }
        f.write_str("builtin.module(")?;
        list(f, &self.0)?;
        f.write_str(")")
    }
}

/// How deeply anchors may nest.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, message: &'static str) -> Result<T, PipelineError> {
        Err(PipelineError::Syntax { message, column: self.at + 1, text: self.text.to_owned() })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Element>, PipelineError> {
        if depth > MAX_DEPTH {
            return self.fail("the anchors nest too deeply");
        }
        let mut elements = Vec::new();
        self.skip_spaces();
        if matches!(self.peek(), None | Some(b')')) {
            return Ok(elements);
        }
        loop {
            elements.push(self.element(depth)?);
            self.skip_spaces();
            if self.peek() != Some(b',') {
                return Ok(elements);
            }
            self.at += 1;
        }
    }

    fn element(&mut self, depth: usize) -> Result<Element, PipelineError> {
        self.skip_spaces();
        let start = self.at;
        while self
            .peek()
            .is_some_and(|c| !matches!(c, b',' | b'(' | b')' | b'{' | b'}') && !c.is_ascii_whitespace())
        {
            self.at += 1;
        }
        let name = self.text[start..self.at].to_owned();
        if name.is_empty() {
            return self.fail("the name of a pass or op is missing");
        }
        match self.peek() {
            Some(b'(') => {
                self.at += 1;
                let elements = self.list(depth + 1)?;
                if self.peek() != Some(b')') {
                    return self.fail("a closing parenthesis is missing");
                }
                self.at += 1;
                Ok(Element::Nest { anchor: name, elements })
            }
            Some(b'{') => Ok(Element::Pass { name, options: self.options()? }),
            _ => Ok(Element::Pass { name, options: String::new() }),
        }
    }

    /// Options as written: braces nest.
    fn options(&mut self) -> Result<String, PipelineError> {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                b'{' => depth += 1,
                b'}' if depth == 1 => return Ok(self.text[start..self.at].to_owned()),
                b'}' => depth -= 1,
                _ => {}
            }
        }
        self.fail("a closing brace is missing")
    }
}

impl Pipeline {
    /// The default passes, and those that lower their result to a target.
    pub fn to_target(target: &TargetPass) -> Self {
        let Self(mut elements) = Self::default();
        let prepared_by = target.emitted.map_or(&[][..], |emitted| emitted.prepared_by);
        elements.extend(prepared_by.iter().chain([&target.name]).map(|name| Element::pass(name)));
        Self(elements)
    }

    /// The default passes, and those that lower their result to StableHLO.
    pub fn to_stablehlo() -> Self {
        Self::to_target(&stablehlo::PASS)
    }

    /// These passes, and then the one that writes what op rules say, if there are any.
    #[must_use]
    pub fn and_op_rules(mut self, rules: &Rules) -> Self {
        if !rules.is_empty() {
            self.0.push(Element::pass(Promotion::ApplyOpRules.name()));
        }
        self
    }

    /// The check that a module is strong, alone.
    pub fn verify_strong() -> Self {
        Self(vec![Element::pass(Promotion::VerifyStrong.name())])
    }

    /// The default passes, and the one that lowers their result to linalg.
    pub fn to_linalg() -> Self {
        Self::to_target(&linalg::PASS)
    }

    /// Reads `builtin.module(pass,…)`, or a bare list of passes that run on the module.
    ///
    /// # Errors
    /// [`PipelineError`], for what is not well formed or anchored elsewhere.
    pub fn parse(text: &str) -> Result<Self, PipelineError> {
        let mut parser = Parser { text, at: 0 };
        let elements = parser.list(0)?;
        if parser.at < text.len() {
            return parser.fail("something unexpected stands");
        }
        match <[Element; 1]>::try_from(elements) {
            Ok([Element::Nest { anchor, elements }]) => match anchor.as_str() {
                "builtin.module" | "any" => Ok(Self(elements)),
                "func.func" => Ok(Self(vec![Element::Nest { anchor, elements }])),
                _ => Err(PipelineError::Anchor(anchor)),
            },
            Ok([pass]) => Ok(Self(vec![pass])),
            Err(elements) => Ok(Self(elements)),
        }
    }

    /// Adds the pipeline's passes to a pass manager, after those that it has. One of ours hands on to the next what it has seen
    /// of the program.
    ///
    /// # Errors
    /// [`PipelineError`], for passes and options that do not exist; the passes before them have been added.
    pub fn add_to(
        &self,
        manager: OperationPassManager<'_, '_>,
        config: &Config,
    ) -> Result<(), PipelineError> {
        self.add_around(manager, config, &|_, _| None)
    }

    /// The same, where `around` may make passes to run before and after each one named.
    pub(crate) fn add_around(
        &self,
        manager: OperationPassManager<'_, '_>,
        config: &Config,
        around: &dyn Fn(&str, Moment) -> Option<Pass>,
    ) -> Result<(), PipelineError> {
        add(manager, &self.0, config, around)
    }
}

/// Before or after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before it.
    Before,
    /// After it.
    After,
}

fn add(
    manager: OperationPassManager<'_, '_>,
    elements: &[Element],
    config: &Config,
    around: &dyn Fn(&str, Moment) -> Option<Pass>,
) -> Result<(), PipelineError> {
    let add_pass = |pass| manager.add_pass(pass);
    let mut handoff = Handoff::default();
    for element in elements {
        match element {
            Element::Nest { anchor, elements } => {
                handoff = Handoff::default();
                add(manager.nested_under(anchor), elements, config, around)?;
            }
            Element::Pass { name, options } => {
                around(name, Moment::Before).into_iter().for_each(add_pass);
                match Kind::by_name(name) {
                    Some(_) if !options.is_empty() => return Err(PipelineError::Options(name.clone())),
                    Some(kind) => {
                        // What inference found serves the inserts right after it, what folding saw verification.
                        if !kind.takes_over() {
                            handoff = Handoff::new();
                        }
                        add_pass(pass::create_with(kind, config, &handoff));
                    }
                    None => {
                        handoff = Handoff::default();
                        add_upstream(manager, name, options)?;
                    }
                }
                around(name, Moment::After).into_iter().for_each(add_pass);
            }
        }
    }
    Ok(())
}

fn add_upstream(
    manager: OperationPassManager<'_, '_>,
    name: &str,
    options: &str,
) -> Result<(), PipelineError> {
    melior::utility::register_all_passes();
    let mut ok = false;
    let message = raw::printed(|callback, data| {
        // SAFETY: the manager is alive, and the callback's data outlive the call.
        let result = unsafe {
            mlirOpPassManagerAddPipeline(
                manager.to_raw(),
                raw::string(&format!("{name}{options}")),
                callback,
                data,
            )
        };
        ok = result.value != 0;
    });
    if ok {
        return Ok(());
    }
    let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("MLIR refuses it");
    let first = first.trim_start_matches("MLIR Textual PassPipeline Parser:1:1: error: ");
    Err(PipelineError::Upstream(format!("pass `{name}{options}`: {first}")))
}

#[cfg(test)]
mod tests {
    use super::{Pipeline, PipelineError};

    #[test]
    fn pipelines_read_back_as_they_are_written() {
        for text in [
            "builtin.module(canonicalize,func.func(promote-infer-types,cse),inline{default-pipeline=cse max=1})",
            "builtin.module()",
            "builtin.module(any(cse))",
        ] {
            assert_eq!(Pipeline::parse(text).expect("it is well formed").to_string(), text);
        }
        assert_eq!(
            Pipeline::parse(" cse , canonicalize ").expect("a list").to_string(),
            "builtin.module(cse,canonicalize)"
        );
    }

    #[test]
    fn malformed_pipelines_say_where() {
        for (text, column) in
            [("builtin.module(", 16), ("builtin.module(,cse)", 16), ("cse)", 4), ("cse{a", 6)]
        {
            match Pipeline::parse(text) {
                Err(PipelineError::Syntax { column: at, .. }) => assert_eq!(at, column, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(Pipeline::parse(&"func.func(".repeat(10_000)).is_err());
        assert_eq!(Pipeline::parse(""), Ok(Pipeline(Vec::new())));
    }
}
