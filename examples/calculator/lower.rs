//! From the syntax to a program of the dialect: what a front end of one's own looks like.

use std::collections::BTreeMap;

use promote::builder::program::Type;
use promote::builder::{Builder, Func, Literal, Program, Value};
use promote::op::{Class, Op};

use super::syntax::{Expression, Input, Kind, Source, Statement, Wrong};

/// The values that variables have by now.
type Variables = BTreeMap<String, Value>;

/// A program with one function, `main`, that takes the inputs.
pub fn lower(source: &Source) -> Result<Program, Wrong> {
    let mut builder = Builder::new();
    let mut wrong = None;
    builder.function("main", |f| match body(f, source) {
        Ok(result) => vec![result],
        Err(found) => {
            wrong = Some(found);
            Vec::new()
        }
    });
    match wrong {
        Some(wrong) => Err(wrong),
        // What the builder refuses, it says at the places that it was told.
        None => builder.finish().map_err(|errors| {
            let first = errors.0.into_iter().next().expect("there is one if it refuses");
            (first.place, first.problem.to_string())
        }),
    }
}

fn body(f: &Func, source: &Source) -> Result<Value, Wrong> {
    let mut variables = Variables::new();
    for Input { place, name, dtype, shape, .. } in &source.inputs {
        f.set_place(Some(place.clone()));
        let extents: Vec<_> = shape.iter().copied().map(Some).collect();
        variables.insert(name.clone(), f.argument(*dtype, &extents));
    }
    statements(f, &source.statements, &mut variables)?;
    expression(f, &source.result, &variables)
}

fn statements(f: &Func, all: &[Statement], variables: &mut Variables) -> Result<(), Wrong> {
    for statement in all {
        match statement {
            Statement::Assign { place, is_new, name, value } => {
                if !is_new && !variables.contains_key(name) {
                    return Err((place.clone(), format!("there is no variable `{name}`: write `let`")));
                }
                if *is_new && variables.contains_key(name) {
                    return Err((place.clone(), format!("there is a variable `{name}`: leave out `let`")));
                }
                let value = expression(f, value, variables)?;
                variables.insert(name.clone(), value);
            }
            Statement::For { place, index, from, to, body } => {
                // The variables that the body assigns are what the loop carries.
                let mut names = Vec::new();
                assigned(body, variables, &mut names);
                let carries: Vec<_> = names.iter().map(|name| variables[*name].clone()).collect();
                f.set_place(Some(place.clone()));
                let mut done = Ok(());
                let results = f.for_range(*from..*to, carries, |i, carries| {
                    let mut inner = variables.clone();
                    inner.extend(names.iter().map(|name| (*name).to_owned()).zip(carries.clone()));
                    inner.insert(index.clone(), i.clone());
                    done = statements(f, body, &mut inner);
                    f.set_place(Some(place.clone()));
                    names.iter().map(|name| inner[*name].clone()).collect()
                });
                done?;
                variables.extend(names.into_iter().map(str::to_owned).zip(results));
            }
        }
    }
    Ok(())
}

/// The variables from outside that statements assign.
fn assigned<'a>(all: &'a [Statement], outside: &Variables, names: &mut Vec<&'a str>) {
    for statement in all {
        match statement {
            Statement::Assign { name, is_new: false, .. } => {
                if outside.contains_key(name) && !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            Statement::Assign { is_new: true, .. } => {}
            Statement::For { body, .. } => assigned(body, outside, names),
        }
    }
}

fn expression(f: &Func, expression: &Expression, variables: &Variables) -> Result<Value, Wrong> {
    let Expression { place, kind } = expression;
    let wrong = |message: String| Err((place.clone(), message));
    f.set_place(Some(place.clone()));
    match kind {
        Kind::Int(value) => Ok(f.literal(Literal::Int(*value))),
        Kind::Float(value) => Ok(f.literal(Literal::Float(*value))),
        Kind::Name(name) => match variables.get(name) {
            Some(value) => Ok(value.clone()),
            None => wrong(format!("there is no variable `{name}`")),
        },
        Kind::Apply(name, operands) => {
            let Some(op) = Op::by_name_or_alias(name).filter(|op| op.class() != Class::Stated) else {
                return wrong(format!("there is no function `{name}`"));
            };
            let operands: Result<Vec<_>, Wrong> =
                operands.iter().map(|operand| self::expression(f, operand, variables)).collect();
            f.set_place(Some(place.clone()));
            Ok(f.op(op, &operands?.iter().collect::<Vec<_>>(), &[], Type::UNKNOWN))
        }
    }
}
