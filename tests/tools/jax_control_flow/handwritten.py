"""Programs that show one thing each, in every form of a loop or a branch."""
import functools
import re

from .programs import BRANCHES, LOOPS, Branch, Loop, Op, Program


def arguments(text):
    """{"x": ("bf16", (4,)), …} from "x: bf16[4], y: f*"."""
    found = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, node, extents = re.fullmatch(r"(\w+): ([\w*]+)(?:\[([\d,]*)\])?", part).groups()
        found[name] = node, tuple(int(e) for e in (extents or "").split(",") if e)
    return found


def named(name, args, *body, returns):
    return Program(name, arguments(args), list(body), returns.split())


def loop(outs, inits, carries, body, yields, form="fori", trips=3):
    return Loop(outs.split(), form, inits, carries.split(), body, yields, trips)


def cond(outs, *branches, form="cond"):
    return Branch(outs.split(), form, list(branches))


def op(out, name, *operands):
    return Op(out, name, list(operands))


def chain(form, length, init):
    """What google/jax#9046 does: c0' = c0 + x, ci' = ci + c(i-1), all weak before the loop."""
    carries = [f"c{i}" for i in range(length)]
    body = [op("d0", "add", "c0", "x")] + [op(f"d{i}", "add", f"c{i}", f"c{i - 1}") for i in range(1, length)]
    return Loop([f"r{i}" for i in range(length)], form, [init] * length, carries, body,
                [f"d{i}" for i in range(length)])


def handwritten():
    each = []
    for form in LOOPS:                     # the same cases in every form of a loop
        f = form.replace("-", "_")
        one = functools.partial(loop, form=form)
        each += [
            named(f"weak_zero_takes_the_dtype_of_a_strong_scalar_{f}", "x: bf16",
                  one("r", [0], "c", [op("d", "add", "c", "x")], ["d"]), returns="r"),
            named(f"weak_float_raised_to_its_default_dtype_jax_4274_{f}", "x: f32",
                  one("r", [0.0], "c", [op("d", "add", "c", "x")], ["d"]), returns="r"),
            named(f"weak_carry_stays_weak_{f}", "x: bf16",
                  one("r", [1.0], "c", [op("d", "multiply", "c", 2)], ["d"]), op("z", "multiply", "r", "x"),
                  returns="r z"),
            named(f"weak_integer_becomes_a_float_{f}", "x: bf16",
                  one("r", [1], "c", [op("d", "multiply", "c", 0.5)], ["d"]), op("z", "multiply", "r", "x"),
                  returns="r z"),
            named(f"weak_array_takes_a_strong_dtype_{f}", "w: f*[4]; x: f16",
                  one("r", ["w"], "c", [op("d", "add", "c", "x")], ["d"]), returns="r"),
            named(f"shape_grows_by_broadcasting_{f}", "x: bf16[4]",
                  one("r", [0], "c", [op("d", "add", "c", "x")], ["d"]), returns="r"),
            named(f"strong_shape_grows_by_broadcasting_{f}", "x: f32; y: f32[4]",
                  one("r", ["x"], "c", [op("d", "add", "c", "y")], ["d"]), returns="r"),
            named(f"shape_and_dtype_grow_{f}", "x: f16; y: f32[4]",
                  one("r", ["x"], "c", [op("d", "add", "c", "y")], ["d"]), returns="r"),
            named(f"strong_integer_carry_float_body_{f}", "x: i32; y: f32",
                  one("r", ["x"], "c", [op("d", "add", "c", "y")], ["d"]), returns="r"),
            named(f"strong_carry_weak_body_of_its_dtype_{f}", "x: f32; y: bf16",
                  one("r", ["x"], "c", [], [1.0]), op("z", "multiply", "r", "y"), returns="r z"),
            named(f"strong_carry_weak_body_of_another_dtype_{f}", "x: bf16",
                  one("r", ["x"], "c", [], [1.0]), returns="r"),
            named(f"strong_carry_lower_body_{f}", "x: f32; y: bf16",
                  one("r", ["x"], "c", [], ["y"]), returns="r"),
            named(f"weak_float_carry_integer_body_{f}", "x: i32", one("r", [1.0], "c", [], ["x"]), returns="r"),
            named(f"weak_float_carry_weak_integer_body_{f}", "", one("r", [1.0], "c", [], [1]), returns="r"),
            named(f"bool_carry_integer_body_{f}", "x: i8", one("r", [True], "c", [], ["x"]), returns="r"),
            named(f"weak_integer_carry_bool_body_{f}", "x: b1", one("r", [1], "c", [], ["x"]), returns="r"),
            named(f"two_rounds_needed_{f}", "x: f16", chain(form, 2, 0), returns="r0 r1"),
            named(f"three_rounds_needed_jax_9046_{f}", "x: f16", chain(form, 3, 0.0), returns="r0 r1 r2"),
            named(f"no_rounds_needed_at_the_default_dtype_{f}", "x: f32", chain(form, 3, 0.0), returns="r0 r1 r2"),
            named(f"shift_register_{f}", "x: f16",
                  one("r0 r1", [0, 0], "a b", [op("d", "add", "b", "x")], ["b", "d"]), returns="r0 r1"),
            named(f"swap_of_weak_and_strong_{f}", "x: f16",
                  one("r0 r1", [0, "x"], "a b", [], ["b", "a"]), returns="r0 r1"),
            named(f"swap_of_weak_and_strong_of_one_dtype_{f}", "x: f32; y: bf16",
                  one("r0 r1", [0.0, "x"], "a b", [], ["b", "a"]), op("z", "multiply", "r1", "y"), returns="r0 r1 z"),
            named(f"body_saw_the_carry_weak_{f}", "x: f32; y: bf16",
                  one("r0 r1", [0.0, "y"], "a b", [op("d", "add", "b", "a")], ["x", "d"]), returns="r0 r1"),
            named(f"first_round_refuses_what_the_last_allows_{f}", "x: i8",
                  one("r0 r1", [True, 0], "a b", [op("d", "negative", "a")], ["x", "d"]), returns="r0 r1"),
            named(f"nested_weak_inits_{f}", "x: f16",
                  one("r", [0], "c", [one("q", [0], "d", [op("e", "add", "d", "x")], ["e"]),
                                      op("g", "add", "c", "q")], ["g"]), returns="r"),
            named(f"nested_weak_init_passed_on_{f}", "x: bf16",
                  one("r", [0], "c", [one("q", ["c"], "d", [op("e", "add", "d", "x")], ["e"])], ["q"]), returns="r"),
            named(f"nested_three_deep_{f}", "x: u8[4]; w: i*[4]",
                  one("r", ["w"], "a", [one("q", ["a"], "b", [one("o", ["b"], "c", [op("e", "maximum", "c", "x")],
                                                                  ["e"])], ["o"])], ["q"]), returns="r"),
            named(f"outer_carry_raised_by_another_loop_{f}", "x: bf16; y: f32",
                  one("r", [0], "c", [one("q", ["c"], "d", [op("e", "add", "d", "x")], ["e"]),
                                      op("g", "add", "q", "y")], ["g"]), returns="r"),
            named(f"carry_is_kept_weak_{f}", "x: f16",
                  one("r0 r1", [0, "x"], "a b", [op("d", "add", "b", "a")], ["a", "d"]), returns="r0 r1"),
            named(f"dead_carry_{f}", "x: i16", one("r0 r1", [0, 0], "a b", [], ["x", "b"]), returns="r0 r1"),
            named(f"shapes_never_broadcast_{f}", "x: f32[4]; y: f32[3]", one("r", ["x"], "c", [], ["y"]), returns="r"),
            named(f"last_round_refuses_what_the_first_allows_{f}", "y: i8[4]; z: i8[3]",
                  one("r0 r1", [0, "y"], "a b", [op("d", "add", "a", "z")], ["y", "b"]), returns="r0 r1"),
            named(f"float_of_an_integer_that_becomes_a_half_{f}", "x: f16; k: i32",       # f32 of i32, f16 of f16
                  one("r0 r1", ["k", 0], "a b", [op("d", "add", "a", "x"), op("e", "sqrt", "a")], ["d", "e"]),
                  returns="r0 r1"),
            named(f"unsigned_and_weak_{f}", "x: u8",
                  one("r", ["x"], "c", [op("d", "add", "c", 1)], ["d"]), returns="r"),
            named(f"unsigned_carry_signed_body_{f}", "x: u8; y: i8",
                  one("r", ["x"], "c", [op("d", "add", "c", "y")], ["d"]), returns="r"),
            named(f"raised_twice_{f}", "x: bf16; y: f32",
                  one("r0 r1", [0, 0], "a b", [op("d", "add", "a", "x"), op("e", "add", "a", "b")], ["d", "e"]),
                  op("z", "add", "r1", "y"), returns="r0 r1 z"),
            named(f"weak_result_promotes_nothing_{f}", "x: bf16[4]",
                  one("r", [1.0], "c", [op("d", "add", "c", 1.0)], ["d"]), op("z", "multiply", "x", "r"),
                  returns="r z"),
            named(f"weak_sums_of_weak_counts_jax_3163_{f}", "x: i8",
                  one("r0 r1", [0, 0], "a i", [op("d", "add", "a", "i"), op("j", "add", "i", 1)], ["d", "j"]),
                  op("z", "add", "r0", "x"), returns="r0 r1 z"),
            named(f"weak_argument_as_carry_{f}", "w: f*; x: f16[2,4]",
                  one("r", ["w"], "c", [op("d", "multiply", "c", 0.5)], ["d"]), op("z", "multiply", "x", "r"),
                  returns="r z"),
        ]
    for form, trips in (("scan", 0), ("fori", 0)):
        each += [
            named(f"no_trips_raises_{form}", "x: bf16",
                  loop("r", [0], "c", [op("d", "add", "c", "x")], ["d"], form, trips), returns="r"),
            named(f"no_trips_refused_{form}", "x: f32[4]",
                  loop("r", [0], "c", [op("d", "add", "c", "x")], ["d"], form, trips), returns="r"),
        ]
    x, w = "x", "w"
    for form in BRANCHES:
        c = functools.partial(cond, form=form)
        each += [
            named(f"weak_literals_{form}", "y: bf16", c("r", ([], [1.0]), ([], [2.0])), op("z", "multiply", "r", "y"),
                  returns="r z"),
            named(f"weak_integer_and_weak_float_{form}", "", c("r", ([], [1]), ([], [2.0])), returns="r"),
            named(f"first_strong_second_weak_{form}", "x: f32; y: bf16", c("r", ([], [x]), ([], [1.0])),
                  op("z", "multiply", "r", "y"), returns="r z"),
            named(f"first_weak_second_strong_{form}", "x: f32; y: bf16", c("r", ([], [1.0]), ([], [x])),
                  op("z", "multiply", "r", "y"), returns="r z"),
            named(f"weak_and_another_dtype_{form}", "x: bf16", c("r", ([], [1.0]), ([], [x])), returns="r"),
            named(f"integer_and_float_{form}", "x: i32; y: f32", c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"i8_and_u8_{form}", "x: i8; y: u8", c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"scalar_and_array_{form}", "x: f32; y: f32[4]", c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"shapes_never_broadcast_{form}", "x: f32[4]; y: f32[3]",
                  c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"shape_and_dtype_{form}", "x: f16; y: f32[4]", c("r", ([], [x]), ([], ["y"])), returns="r"),
            named(f"bool_and_python_bool_{form}", "x: b1", c("r", ([], [x]), ([], [True])), returns="r"),
            named(f"bool_and_weak_integer_{form}", "x: b1", c("r", ([], [x]), ([], [1])), returns="r"),
            named(f"both_pass_a_weak_array_{form}", "w: f*[4]; x: f16", c("r", ([], [w]), ([], [w])),
                  op("z", "add", "r", "x"), returns="r z"),
            named(f"inside_a_loop_{form}", "x: bf16",
                  loop("r", [0], "c", [op("d", "add", "c", "x"), c("e", ([], ["d"]), ([], ["c"]))], ["e"]),
                  returns="r"),
            named(f"inside_a_strong_loop_{form}", "x: bf16; y: bf16",
                  loop("r", ["y"], "c", [op("d", "add", "c", "x"), c("e", ([], ["d"]), ([], ["c"]))], ["e"]),
                  returns="r"),
            named(f"around_loops_{form}", "x: f16",
                  c("r", ([loop("q", [0], "c", [op("d", "add", "c", "x")], ["d"])], ["q"]),
                    ([op("e", "negative", "x")], ["e"])), returns="r"),
        ]
    each.append(named("three_branches_first_weak_switch", "x: f32; y: bf16",
                      cond("r", ([], [1.0]), ([], [x]), ([], [2.0]), form="switch"), op("z", "multiply", "r", "y"),
                      returns="r z"))
    return each
