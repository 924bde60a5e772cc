"""Programs as modules of the promote dialect."""
from .programs import Branch, Call, Loop, Op, literal_type

ELEMENT = {"b1": "i1", "u8": "ui8", "u16": "ui16", "i*": "!promote.weak_int", "f*": "!promote.weak_float"}


def tensor(node, shape):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{ELEMENT.get(node, node)}>"


class Emitter:
    """The text of one program."""

    CONTROL = ["%p: i1", "%n: index", "%s: index"]

    def __init__(self, program):
        self.functions = {}
        types = {name: tensor(*spec) for name, spec in program.args.items()}
        main = self.function("public @f", types, program.body, program.returns)
        self.text = "\n".join(["!u = tensor<*x!promote.unknown>", *self.functions.values(), main, ""])

    def function(self, name, types, body, returns):
        self.known, self.lines, self.depth, self.fresh = types, [], 1, 0
        arguments = [f"%{name}: {type}" for name, type in types.items()]
        self.body(body)
        results = ", ".join(["!u"] * len(returns))
        many = f"({results})" if len(returns) != 1 else results
        inside, self.lines = self.lines, []
        self.line("%zero = arith.constant 0 : index")
        self.line("%one = arith.constant 1 : index")
        for trips in sorted(static_trips(body)):
            self.line(f"%to{trips} = arith.constant {trips} : index")
        self.lines += inside
        self.line(f"return {', '.join('%' + r for r in returns)} : {results}")
        head = f"func.func {name}({', '.join(arguments + self.CONTROL)}) -> {many} {{"
        return "\n".join([head, *self.lines, "}"])

    def define(self, function):
        """The text of a private function, once."""
        if function.name not in self.functions:
            outside = self.known, self.lines, self.depth, self.fresh
            types = {name: "!u" for name in function.params}
            self.functions[function.name] = None                   # those that it calls stand before it
            text = self.function(f"private @{function.name}", types, function.body, function.returns)
            del self.functions[function.name]
            self.functions[function.name] = text
            self.known, self.lines, self.depth, self.fresh = outside

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def name(self):
        self.fresh += 1
        return f"%t{self.fresh}"

    def operand(self, operand):
        """(SSA name, type) of an operand; a Python scalar becomes a constant."""
        if isinstance(operand, str):
            return f"%{operand}", self.known.get(operand, "!u")
        name, (node, _) = self.name(), literal_type(operand)
        stored = {"b1": "i1", "i*": "i64", "f*": "f64"}[node]
        value = str(operand).lower() if node == "b1" else operand
        attributes = f"{{value = dense<{value}> : tensor<{stored}>}}"
        self.line(f'{name} = "promote.constant"() {attributes} : () -> {tensor(node, ())}')
        return name, tensor(node, ())

    def slot(self, operand):
        """The SSA name of an operand as a value of unknown type."""
        name, type = self.operand(operand)
        if type == "!u":
            return name
        relaxed = self.name()
        self.line(f'{relaxed} = "promote.relax"({name}) : ({type}) -> !u')
        return relaxed

    def slots(self, operands):
        return [self.slot(o) for o in operands]

    def region(self, body, yields):
        self.depth += 1
        self.body(body)
        ends = self.slots(yields)
        self.line(f"scf.yield {', '.join(ends)} : {', '.join(['!u'] * len(ends))}")
        self.depth -= 1

    def body(self, body):
        for statement in body:
            if isinstance(statement, Op):
                operands = [self.operand(o) for o in statement.operands]
                names, types = ", ".join(n for n, _ in operands), ", ".join(t for _, t in operands)
                self.line(f'%{statement.out} = "promote.{statement.op}"({names}) : ({types}) -> !u')
                continue
            count = len(statement.outs)
            bundle = self.name()
            left, types = (f"{bundle}:{count}", f"({', '.join(['!u'] * count)})") if count > 1 else (bundle, "!u")
            if isinstance(statement, Loop):
                self.loop(statement, left, types)
            elif isinstance(statement, Call):
                self.define(statement.function)
                operands = ", ".join(self.slots(statement.operands) + ["%p", "%n", "%s"])
                taken = ", ".join(["!u"] * len(statement.operands) + ["i1", "index", "index"])
                self.line(f"{left} = func.call @{statement.function.name}({operands}) : ({taken}) -> {types}")
            else:
                self.branch(statement, left, types)
            for position, out in enumerate(statement.outs):        # names of their own, so that text is easy to write
                source = f"{bundle}#{position}" if count > 1 else bundle
                self.line(f'%{out} = "promote.relax"({source}) : (!u) -> !u')

    def loop(self, loop, left, types):
        called = {"scan": "lax.scan", "while": "lax.while_loop"}.get(loop.form, "lax.fori_loop")
        inits = self.slots(loop.inits)
        self.line(f"// {called}{', traced bounds' if loop.form == 'fori-traced' else ''}")
        if loop.form == "while":
            before = [self.name() for _ in inits]
            entry = ", ".join(f"{b} = {i}" for b, i in zip(before, inits))
            several = ", ".join(["!u"] * len(inits))
            self.line(f"{left} = scf.while ({entry}) : ({several}) -> {types} {{")
            self.line(f"  scf.condition(%p) {', '.join(before)} : {several}")
            self.line("} do {")
            self.line(f"^bb0({', '.join(f'%{c}: !u' for c in loop.carries)}):")
        else:
            entry = ", ".join(f"%{c} = {i}" for c, i in zip(loop.carries, inits))
            to = "%n" if loop.form == "fori-traced" else f"%to{loop.trips}"
            types = types if types.startswith("(") else f"({types})"
            self.line(f"{left} = scf.for {self.name()} = %zero to {to} step %one iter_args({entry}) -> {types} {{")
        self.region(loop.body, loop.yields)
        self.line("}")

    def branch(self, branch, left, types):
        self.line(f"// lax.{branch.form}")
        types = types if types.startswith("(") or branch.form == "switch" else f"({types})"
        heads = ["} else {"] if branch.form == "cond" else \
            [f"case {i} {{" for i in range(len(branch.branches) - 1)] + ["default {"]
        if branch.form == "cond":
            heads.insert(0, f"{left} = scf.if %p -> {types} {{")
        else:
            self.line(f"{left} = scf.index_switch %s -> {types.strip('()')}")
        for position, (head, (body, yields)) in enumerate(zip(heads, branch.branches)):
            self.line(head)
            self.region(body, yields)
            if branch.form == "switch" or position == len(heads) - 1:
                self.line("}")


def static_trips(body):
    found = set()
    for statement in body:
        if isinstance(statement, Loop):
            found |= ({statement.trips} if statement.form in ("scan", "fori") else set()) | static_trips(statement.body)
        elif isinstance(statement, Branch):
            for inner, _ in statement.branches:
                found |= static_trips(inner)
    return found
