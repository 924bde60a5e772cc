"""Random programs."""
import random

from .joined import Refused, join_body
from .programs import BRANCHES, DEFAULT, LOOPS, Branch, Call, Function, Loop, Op, Program, literal_type

DTYPES = ["i8", "i16", "i32", "i32", "u8", "u16", "bf16", "bf16", "f16", "f16", "f32", "f32", "f32", "i*", "f*", "f*"]
SHAPES = [(), (), (4,), (2, 4)]
LITERALS = [0, 1, 2, 3, 0.0, 0.5, 1.0, 2.5]


class Generator:
    """One random program; Refused if an op on the way has no type."""

    kind, pool, op_after, shows_weakness, defaults = "random", DTYPES, 0.4, False, DEFAULT[False]

    def __init__(self, rng, name):
        self.rng, self.fresh, self.functions = rng, 0, []
        self.dtypes = rng.sample(self.pool, rng.choice([1, 2, 2, 3]))
        self.shapes = rng.sample(SHAPES, rng.choice([1, 1, 2, 3]))
        self.flags = rng.random() < 0.3                            # also bool
        args = {}
        for position in range(rng.randint(1, 3)):
            args[f"x{position}"] = rng.choice(self.dtypes), rng.choice(self.shapes)
        if self.flags:
            args["q"] = "b1", rng.choice(self.shapes)
        if self.shows_weakness:
            args["h"] = "bf16", ()
        body, returns, types = [], [], dict(args)
        for _ in range(rng.choice([1, 1, 1, 2])):
            statement = self.control(types, rng.choice([1, 1, 2, 2, 3]))
            body.append(statement)
            types = self.after(types, statement)
            returns += statement.outs
            for out in statement.outs if self.shows_weakness else []:
                product = Op(self.name("z"), "multiply", [out, "h"])
                types = self.after(types, product)
                body.append(product)
                returns.append(product.out)
            if rng.random() < self.op_after:
                ops, types = self.ops(types, 1, prefer=statement.outs)
                body += ops
                returns += [out for o in ops for out in ([o.out] if isinstance(o, Op) else o.outs)]
        self.program = Program(name, args, body, returns)

    def name(self, stem):
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def after(self, types, statement):
        types, refused = join_body([statement], types)
        if refused:
            raise Refused
        return types

    def operand(self, types, prefer=(), kind="number"):
        """A name, or a Python scalar."""
        rng = self.rng
        if kind == "bool":
            names = [n for n, (node, _) in types.items() if node == "b1"]
            return rng.choice(names) if names and rng.random() < 0.9 else rng.choice([True, False])
        names = [n for n, (node, _) in types.items() if node != "b1"]
        liked = [n for n in prefer if n in names]
        if liked and rng.random() < 0.6:
            return rng.choice(liked)
        return rng.choice(names) if names and rng.random() < 0.75 else rng.choice(LITERALS)

    def ops(self, types, count, prefer=()):
        """COUNT ops, and the types with theirs."""
        found, types, prefer = [], dict(types), list(prefer)
        for _ in range(count):
            names = ["add", "subtract", "multiply", "maximum", "minimum", "divide", "sqrt", "negative"]
            weights = [4, 2, 4, 2, 2, 1.2, 0.7, 1]
            if self.flags:
                names, weights = names + ["where"], weights + [4]
            what = self.rng.choices(names, weights)[0]
            operands = [self.operand(types, prefer) for _ in range(1 if what in ("sqrt", "negative") else 2)]
            if what == "where":
                operands.insert(0, self.operand(types, kind="bool"))
            statement = Op(self.name("v"), what, operands)
            types = self.after(types, statement)
            found.append(statement)
            prefer.append(statement.out)
        return found, types

    def block(self, types, depth, prefer):
        """Ops and, while DEPTH is left, control flow."""
        body, types = self.ops(types, self.rng.randint(0 if depth > 1 else 1, 3), prefer)
        if depth > 1:
            inner = self.control(types, depth - 1, prefer)
            body.append(inner)
            types = self.after(types, inner)
            more, types = self.ops(types, self.rng.randint(0, 1), inner.outs)
            body += more
        return body, types

    def pick(self, types, wanted, recent):
        """What a slot is fed with, most often something that JAX accepts there."""
        rng, node, shape = self.rng, *wanted
        if rng.random() < 0.15:
            return self.operand(types, recent, "bool" if node == "b1" and rng.random() < 0.8 else "number")
        strong = [self.defaults[node]] if node.endswith("*") else [w for w, d in self.defaults.items() if d == node]
        same = [n for n, t in types.items() if t == wanted]
        fits = lambda other: other in strong or node.endswith("*") and other != "b1"
        near = [n for n, t in types.items() if t[1] == shape and fits(t[0])]
        late = [n for n in same + near if n in recent]
        for names, chance in ((late, 0.85), (same, 0.7), (near, 0.7)):
            if names and rng.random() < chance:
                return rng.choice(names)
        return self.operand(types, recent, "bool" if node == "b1" else "number")

    def control(self, types, depth, prefer=()):
        rng = self.rng
        if rng.random() < 0.62:
            count = rng.choice([1, 1, 2, 2, 3])
            inits = [self.operand(types, prefer, "bool" if self.flags and rng.random() < 0.12 else "number")
                     for _ in range(count)]
            carries = [self.name("c") for _ in inits]
            carried = [types[i] if isinstance(i, str) else literal_type(i) for i in inits]
            body, inside = self.block({**types, **dict(zip(carries, carried))}, depth, carries)
            recent = [n for n in inside if n not in types]
            yields = [self.pick(inside, t, recent) for t in carried]
            return Loop([self.name("r") for _ in inits], rng.choice(LOOPS), inits, carries, body, yields)
        form = rng.choice(BRANCHES)
        count = rng.choice([1, 1, 2])
        branches, wanted = [], None
        for position in range(2 if form == "cond" else rng.choice([2, 3])):
            # control flow in one branch only, so that programs stay small
            body, inside = self.block(types, depth if position == 0 else 1, prefer)
            recent = [n for n in inside if n not in types]
            if wanted is None:
                outer = rng.random() < 0.45                        # a type that the other branches can have, too
                yields = [self.operand(types if outer else inside, prefer if outer else recent) for _ in range(count)]
                wanted = [inside[y] if isinstance(y, str) else literal_type(y) for y in yields]
            else:
                yields = [self.pick(inside, t, recent) for t in wanted]
            branches.append((body, yields))
        rng.shuffle(branches)
        return Branch([self.name("r") for _ in range(count)], form, branches)


class WeakGenerator(Generator):
    """Programs in which weak dtypes meet their defaults, and what comes of that meets a bf16."""

    kind, op_after, shows_weakness = "weak", 0.6, True
    pool = ["i32", "i*", "i*", "f32", "f32", "f*", "f*", "bf16", "f16", "i8"]


class WideGenerator(WeakGenerator):
    """The same with the defaults of x64."""

    kind, defaults = "wide", DEFAULT[True]
    pool = ["i64", "i*", "i*", "f64", "f64", "f*", "f*", "f32", "f16", "i8"]


class CallGenerator(WeakGenerator):
    """Programs that call functions, some of them with several types."""

    kind, op_after = "calls", 0.7

    def ops(self, types, count, prefer=()):
        found, types = super().ops(types, count, prefer)
        if self.rng.random() < 0.45:
            call = self.call(types, prefer)
            types = self.after(types, call)
            found.append(call)
        return found, types

    def call(self, types, prefer):
        rng, known = self.rng, self.functions
        if known and rng.random() < 0.5:
            function = rng.choice(known)
            operands = [self.operand(types, prefer) for _ in function.params]
            return Call([self.name("k") for _ in function.returns], function, operands)
        operands = [self.operand(types, prefer) for _ in range(rng.choice([1, 2, 2]))]
        params = [self.name("a") for _ in operands]
        inside = {p: types[o] if isinstance(o, str) else literal_type(o) for p, o in zip(params, operands)}
        before = len(known)
        if rng.random() < 0.6:
            statement = self.control(inside, 1, params)
            body, returns = [statement], statement.outs
            if rng.random() < 0.5:
                more, _ = Generator.ops(self, self.after(inside, statement), 1, statement.outs)
                body, returns = body + more, [*returns, more[0].out]
        else:
            body, _ = Generator.ops(self, inside, rng.choice([1, 2]), params)
            returns = [body[-1].out]
        function = Function(f"g{before}_{self.fresh}", params, body, list(returns))
        known.append(function)
        return Call([self.name("k") for _ in returns], function, operands)


def random_programs(count, seed, generator=Generator):
    rng, found = random.Random(seed), []
    while len(found) < count:
        try:
            found.append(generator(rng, f"{generator.kind}-{len(found):04}").program)
        except Refused:
            pass
    return found
