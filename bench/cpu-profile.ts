/** The parts of a `.cpuprofile` file (Chrome DevTools Protocol, Profiler.Profile) that are read. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** Microseconds on the clock that `performance.now` and `process.hrtime` read too. */
  readonly startTime: number;
  /** The node that was on top of the stack at each sample. */
  readonly samples: readonly number[];
  /** Microseconds from each sample to the next. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
}

/** Whose code it is. */
export interface Share {
  readonly name: string;
  /** Microseconds on top of the stack. */
  readonly micros: number;
}

/** Self time by part and by function. */
export interface SelfTime {
  readonly busyMicros: number;
  readonly parts: readonly Share[];
  readonly functions: readonly Share[];
}

/** Folder of `node_modules` to the part that its code is counted to; the first match counts. */
const PACKAGES: readonly (readonly [RegExp, string])[] = [
  [/@grpc\//, "grpc-js"],
  [/@connectrpc\//, "connect"],
  [/@bufbuild\//, "protobuf"],
  [/better-sqlite3|kysely/, "sqlite and kysely"],
  [/pino|sonic-boom|thread-stream/, "pino"],
  [/fastify|find-my-way|avvio|light-my-request|fast-|secure-json-parse/, "fastify"],
];

/** Own functions that run statements: native calls of SQLite count to who makes them. */
const STATEMENTS = /\/store\/setting-(?:transaction|write)\.[jt]s$/;

/** V8's names for time outside of functions. */
const SPECIAL: Readonly<Record<string, string>> = {
  "(garbage collector)": "garbage collector",
  "(program)": "native code and system calls",
  "(idle)": "idle",
};

/**
 * Adds up who was on top of the stack.
 *
 * @param from begin and
 * @param to end of the time that counts, in microseconds on the profile's clock.
 * @param own a part of the path that the program's own files have in common, such as `/src/`.
 */
export function selfTime(profile: CpuProfile, from: number, to: number, own: string): SelfTime {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parts = new Map<string, number>();
  const functions = new Map<string, number>();
  let time = profile.startTime;
  for (const [at, id] of profile.samples.entries()) {
    time += profile.timeDeltas[at] ?? 0;
    const node = nodes.get(id);
    const lasted = profile.timeDeltas[at + 1] ?? 0;
    if (node === undefined || time < from || time > to) continue;
    const part = partOf(node, own);
    if (part === "idle") continue;
    add(parts, part, lasted);
    add(functions, `${part}: ${nameOf(node)}`, lasted);
  }
  const shares = sorted(parts);
  const busyMicros = shares.reduce((sum, { micros }) => sum + micros, 0);
  return { busyMicros, parts: shares, functions: sorted(functions) };
}

function partOf({ callFrame: { functionName, url } }: ProfileNode, own: string): string {
  const special = SPECIAL[functionName];
  if (special !== undefined) return special;
  if (url.startsWith("node:")) return "node";
  const module = url.split("/node_modules/").at(-1) ?? "";
  if (url.includes("/node_modules/"))
    return PACKAGES.find(([pattern]) => pattern.test(module))?.[1] ?? "other packages";
  if (STATEMENTS.test(url)) return "sqlite and kysely";
  if (url.includes(own)) return "own code";
  return url === "" ? "native functions" : "other code";
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === "" ? "(anonymous)" : functionName;
  const file = url.split("/").slice(-2).join("/");
  return file === "" ? name : `${name} (${file}:${lineNumber + 1})`;
}

function add(sums: Map<string, number>, name: string, micros: number): void {
  sums.set(name, (sums.get(name) ?? 0) + micros);
}

function sorted(sums: ReadonlyMap<string, number>): Share[] {
  return [...sums].map(([name, micros]) => ({ name, micros })).sort((a, b) => b.micros - a.micros);
}
