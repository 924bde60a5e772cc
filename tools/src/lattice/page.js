"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byLabel = new Map(data.systems.map((system) => [system.label, system]));
  for (const system of data.systems) {
    system.index = new Map(system.nodes.map((node, position) => [node.name, position]));
    system.kinds = new Map(system.nodes.map((node) => [node.name, node.kind]));
  }
  const element = (id) => document.getElementById(id);
  const [systemBox, otherBox, nodesBox] = ["system", "other", "nodes"].map(element);
  /** What is shown: two semantics, which dtypes, and the chosen pair. */
  const state = { system: data.first, other: "", nodes: "core", lhs: null, rhs: null, pending: null };

  const system = () => byLabel.get(state.system);
  const isWeak = (name) => name.endsWith("*");
  const shownNodes = () => system().nodes.filter((node) => state.nodes === "all" || node.is_core);

  /** The result of a pair: a name, null if it is refused, undefined if the semantics lacks an operand. */
  const promote = (of, lhs, rhs) => {
    const [row, column] = [of.index.get(lhs), of.index.get(rhs)];
    return row === undefined || column === undefined ? undefined : of.table[row][column];
  };

  const make = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  const code = (text) => make("code", { textContent: text });

  /** A shortest way up the order, both ends included, or null. */
  const path = (of, from, to) => {
    const cameFrom = new Map([[from, null]]);
    const queue = [from];
    while (queue.length > 0) {
      const node = queue.shift();
      if (node === to) {
        const way = [];
        for (let at = to; at !== null; at = cameFrom.get(at)) way.unshift(at);
        return way;
      }
      for (const next of of.successors[node] ?? []) {
        if (!cameFrom.has(next)) {
          cameFrom.set(next, node);
          queue.push(next);
        }
      }
    }
    return null;
  };

  const drawTable = () => {
    const of = system();
    const other = byLabel.get(state.other);
    const nodes = shownNodes();
    const head = make("tr", {}, make("th", { textContent: "+", scope: "col" }));
    for (const { name } of nodes) {
      const cell = make("th", { textContent: name, scope: "col" });
      cell.dataset.rhs = name;
      head.append(cell);
    }
    const body = make("tbody");
    let differing = 0;
    for (const { name: lhs } of nodes) {
      const line = make("tr");
      const stub = make("th", { textContent: lhs, scope: "row" });
      stub.dataset.lhs = lhs;
      line.append(stub);
      for (const { name: rhs } of nodes) {
        const result = promote(of, lhs, rhs);
        const cell = make("td", { textContent: result ?? "-", tabIndex: -1 });
        cell.setAttribute("role", "gridcell");
        cell.dataset.pair = `${lhs},${rhs}`;
        cell.classList.add(result === null ? "refused" : of.kinds.get(result) ?? "plain");
        if (result !== null && isWeak(result)) cell.classList.add("weak");
        const theirs = other && promote(other, lhs, rhs);
        if (other && theirs !== undefined && theirs !== result) {
          differing += 1;
          cell.classList.add("differs");
          cell.title = `${other.label}: ${theirs ?? "refused"}`;
        }
        line.append(cell);
      }
      body.append(line);
    }
    const table = make("table", { className: "diagram" }, make("thead", {}, head), body);
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", `Promotion table of ${of.label}`);
    element("table").replaceChildren(table);
    element("compared").replaceChildren();
    if (other) {
      const frame = make("span", { className: "key", textContent: "framed" });
      element("compared").append(" ", frame, ` cells differ from ${other.label}: ${differing}.`);
    }
  };

  const drawDiagram = () => {
    element("diagram").innerHTML = state.nodes === "all" ? system().all : system().core;
    for (const node of element("diagram").querySelectorAll(".node[data-node]")) {
      node.setAttribute("tabindex", "0");
      node.setAttribute("role", "button");
      node.setAttribute("aria-label", node.dataset.node);
    }
  };

  const markDiagram = (lhs, rhs, ways, result) => {
    const diagram = element("diagram");
    for (const marked of diagram.querySelectorAll(".on")) marked.classList.remove("on", "lhs", "rhs", "result");
    diagram.classList.toggle("chosen", lhs !== null);
    const node = (name, ...classes) =>
      diagram.querySelector(`.node[data-node="${CSS.escape(name)}"]`)?.classList.add("on", ...classes);
    if (lhs === null) return;
    node(lhs, "lhs");
    if (rhs === null) return;
    node(rhs, "rhs");
    if (result) node(result, "result");
    for (const [side, way] of ways) {
      for (let step = 1; way && step < way.length; step += 1) {
        const edge = `${way[step - 1]}>${way[step]}`;
        diagram.querySelector(`.edge[data-edges~="${CSS.escape(edge)}"]`)?.classList.add("on", side);
        node(way[step]);
      }
    }
  };

  const conversion = (side, from, to, way) => {
    const item = make("li", {}, make("span", { className: side === "lhs" ? "left" : "right", textContent: from }));
    if (from === to) {
      item.append(" stays");
    } else if (way) {
      item.append(` → ${way.slice(1).join(" → ")}`);
    } else {
      const why = system().role === "narrowed" ? "narrowed from the least upper bound" : "by a rule that is no way in the order";
      item.append(` becomes ${to}, ${why}`);
    }
    const lost = data.losses[`${from}>${to}`];
    if (from !== to) item.append(lost ? `; ${lost}` : "; nothing is lost");
    return item;
  };

  const drawAnswer = () => {
    const { lhs, rhs, pending } = state;
    const answer = element("answer");
    if (lhs === null) {
      markDiagram(pending, null, [], null);
      const words = pending === null ? "Choose a pair of dtypes." : `${pending} and …: choose a second dtype.`;
      answer.replaceChildren(make("h2", { textContent: words }));
      return;
    }
    const of = system();
    const result = promote(of, lhs, rhs);
    const sign = of.role === "described" ? "+" : "∨";
    const heading = result ? `${lhs} ${sign} ${rhs} = ${result}` : `${lhs} ${sign} ${rhs} is refused by ${of.label}`;
    const ways = result ? [["lhs", path(of, lhs, result)], ["rhs", path(of, rhs, result)]] : [];
    const list = make("ul");
    for (const [side, way] of ways) list.append(conversion(side, side === "lhs" ? lhs : rhs, result, way));
    const groups = new Map();
    for (const each of data.systems) {
      const theirs = promote(each, lhs, rhs);
      const key = theirs === undefined ? "lacks a dtype" : theirs ?? "refused";
      groups.set(key, [...(groups.get(key) ?? []), each.label]);
    }
    const others = make("dl");
    for (const [key, labels] of groups) {
      others.append(make("dt", { textContent: key }), make("dd", { textContent: labels.join(", ") }));
    }
    const inAll = make("p", { textContent: "The same pair in all semantics:" });
    answer.replaceChildren(make("h2", {}, code(heading)), list, inAll, others);
    markDiagram(lhs, rhs, ways, result);
  };

  const markTable = () => {
    for (const marked of element("table").querySelectorAll(".picked")) marked.classList.remove("picked", "lhs", "rhs");
    for (const cell of element("table").querySelectorAll("td[aria-selected=true]")) {
      cell.removeAttribute("aria-selected");
      cell.tabIndex = -1;
    }
    const chosen = element("table").querySelector(`td[data-pair="${CSS.escape(`${state.lhs},${state.rhs}`)}"]`);
    const entry = chosen ?? element("table").querySelector("td");
    if (entry) entry.tabIndex = 0;
    if (!chosen) return null;
    chosen.setAttribute("aria-selected", "true");
    for (const side of ["lhs", "rhs"]) {
      element("table").querySelector(`th[data-${side}="${CSS.escape(state[side])}"]`)?.classList.add("picked", side);
    }
    return chosen;
  };

  /** The state in the address, so that a link leads to a cell. */
  const remember = () => {
    const pair = state.lhs === null ? "" : `${state.lhs},${state.rhs}`;
    const hash = new URLSearchParams({ s: state.system, with: state.other, n: state.nodes, pair });
    history.replaceState(null, "", `#${hash}`);
  };
  const recall = () => {
    const hash = new URLSearchParams(location.hash.slice(1));
    if (byLabel.has(hash.get("s"))) state.system = hash.get("s");
    if (byLabel.has(hash.get("with"))) state.other = hash.get("with");
    if (["core", "all"].includes(hash.get("n"))) state.nodes = hash.get("n");
    const [lhs, rhs] = (hash.get("pair") ?? "").split(",");
    if (promote(system(), lhs, rhs) !== undefined) Object.assign(state, { lhs, rhs });
  };

  const choose = (lhs, rhs) => {
    Object.assign(state, { lhs, rhs, pending: null });
    drawAnswer();
    remember();
    return markTable();
  };

  const draw = () => {
    const names = shownNodes().map((node) => node.name);
    if (!names.includes(state.lhs) || !names.includes(state.rhs)) Object.assign(state, { lhs: null, rhs: null });
    const of = system();
    element("summary").textContent = `${of.summary}. ${of.about_order}`;
    drawTable();
    drawDiagram();
    drawAnswer();
    markTable();
    remember();
  };

  const pickNode = (name) => {
    if (state.pending === null) {
      Object.assign(state, { lhs: null, rhs: null, pending: name });
      drawAnswer();
      markTable();
    } else {
      choose(state.pending, name);
    }
  };

  const move = (cell, key) => {
    const line = cell.parentElement;
    const cells = [...line.querySelectorAll("td")];
    const lines = [...line.parentElement.rows];
    const [column, row] = [cells.indexOf(cell), lines.indexOf(line)];
    const at = (newRow, newColumn) => lines[newRow]?.querySelectorAll("td")[newColumn];
    switch (key) {
      case "ArrowRight": return at(row, column + 1);
      case "ArrowLeft": return at(row, column - 1);
      case "ArrowDown": return at(row + 1, column);
      case "ArrowUp": return at(row - 1, column);
      case "Home": return at(row, 0);
      case "End": return at(row, cells.length - 1);
      case "PageUp": return at(0, column);
      case "PageDown": return at(lines.length - 1, column);
      case "Enter": case " ": return cell;
      default: return null;
    }
  };

  element("table").addEventListener("click", (event) => {
    const cell = event.target.closest("td[data-pair]");
    if (cell) choose(...cell.dataset.pair.split(",")).focus();
  });
  element("table").addEventListener("keydown", (event) => {
    const cell = event.target.closest("td[data-pair]");
    const next = cell && !event.ctrlKey && !event.metaKey && !event.altKey && move(cell, event.key);
    if (!next) return;
    event.preventDefault();
    choose(...next.dataset.pair.split(",")).focus();
  });
  element("diagram").addEventListener("click", (event) => {
    const node = event.target.closest(".node[data-node]");
    if (node) pickNode(node.dataset.node);
  });
  element("diagram").addEventListener("keydown", (event) => {
    const node = event.target.closest(".node[data-node]");
    if (!node || !["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    pickNode(node.dataset.node);
  });
  for (const [box, key] of [[systemBox, "system"], [otherBox, "other"], [nodesBox, "nodes"]]) {
    box.addEventListener("change", () => {
      state[key] = box.value;
      draw();
    });
  }
  element("controls").addEventListener("submit", (event) => event.preventDefault());

  otherBox.append(make("option", { value: "", textContent: "none" }));
  for (const { label } of data.systems) {
    systemBox.append(make("option", { value: label, textContent: label }));
    otherBox.append(make("option", { value: label, textContent: label }));
  }
  recall();
  [systemBox.value, otherBox.value, nodesBox.value] = [state.system, state.other, state.nodes];
  draw();
  for (const id of ["controls", "summary", "app"]) element(id).hidden = false;
  element("static").hidden = true;
})();
