import { parseAst } from "rolldown/parseAst";

/** One change of a source text. */
interface Mutant {
  readonly line: number;
  /** The change for people: `a < b → a <= b`. */
  readonly change: string;
  /** Offset of the first replaced character; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
  /** An expression, or `;` for a statement. */
  readonly other: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** Replacements of an operator: its boundary, its negation, its counterpart. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&&": ["||"],
  "||": ["&&"],
  "??": ["&&"],
};

/** Type-level nodes around an expression. */
const AROUND = /^TS(?:As|Satisfies|NonNull)|^TSInstantiationExpression/;

/**
 * Creates all mutants of a file: negated conditions, omitted operands of `&&` and `||`, boundaries
 * of comparisons, other operators, booleans, omitted list elements, removed statements and returned
 * values.
 */
export function mutantsOf(path: string, source: string): Mutant[] {
  const found: Mutant[] = [];
  const add = ({ start, end }: Pick<Node, "start" | "end">, other: string): void => {
    const line = source.slice(0, start).split("\n").length;
    const change = `${short(source.slice(start, end))} → ${short(other) || "(nothing)"}`;
    found.push({ line, change, start, end, other });
  };
  const code = (node: Node): string => source.slice(node.start, node.end);
  const visit = (node: Node): void => {
    if (node.type.startsWith("TS") && !AROUND.test(node.type)) return;
    if (isDeclaration(node)) return;
    mutate(node, { add, code });
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child);
  };
  visit(parseAst(source, { lang: "ts" }, path) as unknown as Node);
  return found;
}

interface Making {
  readonly add: (at: Pick<Node, "start" | "end">, other: string) => void;
  readonly code: (node: Node) => string;
}

function mutate(node: Node, { add, code }: Making): void {
  const child = (name: string): Node => node[name] as Node;
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const { left, right, operator } = node as unknown as Record<"left" | "right", Node> & {
        readonly operator: string;
      };
      // Concatenation of texts is not an addition.
      if (operator === "+" && [left, right].some(isText)) return;
      for (const other of OPERATORS[operator] ?? []) {
        add(node, `(${code(left)}) ${other} (${code(right)})`);
      }
      if (operator === "&&" || operator === "||")
        for (const one of [left, right]) add(node, code(one));
      return;
    }
    case "IfStatement":
    case "ConditionalExpression":
      add(child("test"), `!(${code(child("test"))})`);
      return;
    case "UnaryExpression":
      if (node["operator"] === "!") add(node, `(${code(child("argument"))})`);
      return;
    case "Literal":
      if (typeof node["value"] === "boolean") add(node, String(!node["value"]));
      return;
    case "ArrayExpression": {
      const elements = node["elements"] as readonly (Node | null)[];
      if (elements.length < 2 || elements.includes(null)) return;
      const texts = elements.map((element) => code(element as Node));
      for (const at of texts.keys()) add(node, `[${texts.toSpliced(at, 1).join(", ")}]`);
      return;
    }
    case "ExpressionStatement":
    case "ThrowStatement":
    case "BreakStatement":
    case "ContinueStatement":
      add(node, ";");
      return;
    case "ReturnStatement": {
      const value = node["argument"] as Node | null;
      if (value !== null && !isBoolean(value) && code(value) !== "undefined")
        add(value, "undefined");
      return;
    }
    case "ArrowFunctionExpression": {
      const body = child("body");
      const returns = body.type !== "BlockStatement" && !isBoolean(body);
      if (returns && code(body) !== "undefined") add(body, "undefined");
      return;
    }
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string";

const isDeclaration = ({ type, importKind }: Node): boolean =>
  type === "ImportDeclaration" || importKind === "type";

const isText = ({ type, value }: Node): boolean =>
  type === "TemplateLiteral" || typeof value === "string";

const isBoolean = ({ value }: Node): boolean => typeof value === "boolean";

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").replace(/^;$/, "");
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}

/** Mutant with the number of its switch. */
export interface Numbered extends Mutant {
  readonly id: number;
}

/** Part of the source text, with its mutants and nested parts. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly mutants: Numbered[];
  readonly parts: Part[];
}

/**
 * Prelude that reads the mutant from the environment, for programs that tests start. It is on the
 * first line, so that line numbers stay.
 */
const PRELUDE =
  "globalThis.isMutant ??= ((own) => (id) => id === own)(Number(process.env.MOORING_MUTANT));";

/**
 * Writes all mutants into one source text, each behind a switch: modules and tests are loaded once for
 * all of them. The text is for running (types are not narrowed as before).
 */
export function instrument(source: string, mutants: readonly Numbered[]): string {
  const root: Part = { start: 0, end: source.length, mutants: [], parts: [] };
  const outermostFirst = mutants.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const open = [root];
  for (const mutant of outermostFirst) {
    while ((open.at(-1) as Part).end < mutant.end) open.pop();
    const inner = open.at(-1) as Part;
    if (inner !== root && inner.start === mutant.start && inner.end === mutant.end) {
      inner.mutants.push(mutant);
      continue;
    }
    const part = { start: mutant.start, end: mutant.end, mutants: [mutant], parts: [] };
    inner.parts.push(part);
    open.push(part);
  }
  return PRELUDE + write(source, root);
}

function write(source: string, { start, end, mutants, parts }: Part): string {
  let text = "";
  let at = start;
  for (const part of parts) {
    text += source.slice(at, part.start) + write(source, part);
    at = part.end;
  }
  text += source.slice(at, end);
  for (const { id, other } of mutants)
    text =
      other === ";"
        ? `{ if (!isMutant(${id})) { ${text} } }`
        : `(isMutant(${id}) ? (${other}) : (${text}))`;
  return text;
}
