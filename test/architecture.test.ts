import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/**
 * Folders of src with their permitted imports besides themselves, packages and gen/: only folders
 * listed above them. An entry is a folder or one file in it.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // General parts, independent of this product.
  transport: [],
  proxy: ["transport"],
  gateway: ["transport"],
  // Base of the nouns.
  config: ["transport/listen.ts"],
  files: [],
  messages: ["gateway/call.ts"],
  secrets: ["messages"],
  database: ["files", "messages"],
  downloaders: ["messages", "secrets"],
  // Nouns, each below the next ones.
  audit: ["database", "messages", "gateway"],
  drivers: ["config/family.ts", "files", "messages"],
  // Parts of archives are in the folders of their nouns.
  archive: [
    "access/grant.ts",
    "audit",
    "files",
    "history/effect.ts",
    "history/pending-site.ts",
    "messages",
    "sites/site-path.ts",
  ],
  // Stored backups, their schedule and their places.
  backups: [
    "access/grant.ts",
    "archive",
    "audit",
    "config/backup.ts",
    "config/complaint.ts",
    "files",
    "history/pending-site.ts",
    "messages",
  ],
  access: ["archive", "audit", "database", "files", "messages", "gateway"],
  ledger: ["access", "audit", "database", "messages", "secrets", "transport/body.ts"],
  // Revisions of all kinds of records: lists, differences, restores.
  history: ["access", "audit", "ledger", "messages", "secrets"],
  settings: [
    "access",
    "archive",
    "audit",
    "database",
    "downloaders",
    "files",
    "history",
    "ledger",
    "messages",
    "secrets",
    "config/family.ts",
    "gateway",
    "transport/body.ts",
  ],
  sync: ["database", "ledger", "messages", "secrets"],
  sites: [
    "access",
    "archive",
    "audit",
    "database",
    "history/effect.ts",
    "history/record-result.ts",
    "ledger",
    "messages",
    "secrets",
    "settings",
    "sync",
  ],
  // Common parts of mounts and folder rules.
  records: [
    "access/grant.ts",
    "archive/part.ts",
    "audit",
    "history",
    "ledger",
    "messages",
    "secrets",
    "settings/value.ts",
    "sites",
  ],
  mounts: [
    "access",
    "archive",
    "audit",
    "config/family.ts",
    "database",
    "drivers",
    "files",
    "history",
    "ledger",
    "messages",
    "records",
    "secrets",
    "settings",
    "sites",
    "sync",
  ],
  // Accounts of servers, which are copied on request.
  users: ["access", "audit", "database", "messages", "sites", "sync"],
  rules: [
    "access",
    "archive",
    "audit",
    "database",
    "files",
    "history",
    "ledger",
    "messages",
    "records",
    "secrets",
    "settings",
    "sites",
    "sync",
    "users/client.ts",
  ],
  incidents: [
    "access/grant.ts",
    "archive",
    "audit",
    "database",
    "drivers",
    "ledger",
    "messages",
    "mounts",
    "secrets",
    "sites",
    "sync",
    "settings/value.ts",
  ],
  // What servers have and Mooring does not manage.
  servers: ["archive", "audit", "database", "messages", "rules", "sites", "sync", "users"],
  // Files of the deployment that declare records.
  "state-file": [
    "access/grant.ts",
    "archive",
    "database/error.ts",
    "files",
    "messages",
    "settings/definition-file.ts",
    "settings/format/registry.ts",
    "settings/item.ts",
  ],
  // In front of a server.
  upstream: [
    "access",
    "audit",
    "ledger",
    "messages",
    "settings",
    "sites",
    "sync",
    "gateway",
    "proxy",
    "transport",
  ],
  // Above the nouns: their stores on one connection, and the process.
  store: ["access", "audit", "database", "incidents", "ledger", "sites", "sync"],
  telemetry: ["gateway", "messages/message.ts", "transport"],
  // Clients of the contract and their users.
  client: [],
  console: ["client"],
  // Files that a command reads or checks itself.
  cli: [
    "backups/check.ts",
    "client",
    "config",
    "files",
    "archive",
    "audit/checkpoint.ts",
    "database/glob.ts",
    "messages/error.ts",
    "settings/server-own.ts",
    "state-file",
    "transport/listen.ts",
  ],
};

/** Files of src that every folder may import. They import only one another. */
const everywhere = [
  "memoize.ts",
  "nfc.ts",
  "content-etag.ts",
  "bounded-lock.ts",
  "certificate-error.ts",
  "collection-view.ts",
  "error-text.ts",
  "is-object.ts",
  "json-error.ts",
  "json-surrogate.ts",
  "own-value.ts",
  "sorted-json.ts",
  "pause.ts",
  "periodic.ts",
  "rate-limit.ts",
  "suggestion.ts",
  "state-feed.ts",
  "ticks.ts",
  "trim-end.ts",
  "waiter.ts",
];

/** Wiring: folders that may import everything. */
const wiring = ["app", "main.ts"];

/** Generated code that the general parts may import: none of it is of this product. */
const GENERAL = ["transport", "proxy", "gateway"];
const GENERAL_GEN = /^(?:google|grpc|health|mooring\/rest)\//;

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = globSync("src/**/*.{ts,tsx}", { cwd: root }).map((file) =>
  relative("src", file).split(sep).join("/"),
);
const imports: readonly Import[] = files.flatMap(importsOf);

test("each folder imports only permitted folders", () => {
  const wrong = imports.filter(({ from, to }) => !to.startsWith("../") && !isAllowed(from, to));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test("the table lists every folder of src and no other", () => {
  const folders = new Set(files.map(partOf));
  expect([...folders].sort()).toEqual([...Object.keys(allowed), ...wiring, ...everywhere].sort());
});

test("no two folders may import each other", () => {
  const graph = Object.entries(allowed).map(
    ([part, of]) => [part, of.filter((entry) => !entry.endsWith(".ts"))] as const,
  );
  expect(circlesOf(new Map(graph))).toEqual([]);
});

test("imports between files have no cycle", () => {
  const graph = new Map<string, readonly string[]>();
  for (const [from, of] of Map.groupBy(imports, (one) => one.from))
    graph.set(from, of?.map(({ to }) => to) ?? []);
  expect(circlesOf(graph)).toEqual([]);
});

test("the general parts have no message and no service of this product", () => {
  const wrong = imports
    .filter(({ from }) => GENERAL.includes(partOf(from)))
    .filter(({ to }) => to.startsWith("../") && !isGeneral(to));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  for (const file of files.filter((each) => GENERAL.includes(partOf(each))))
    expect(textOf(file), file).not.toMatch(/mooring[./]v1/);
});

test("the reconciler names no kind of records", () => {
  for (const file of files.filter((each) => partOf(each) === "sync"))
    expect(textOf(file), file).not.toMatch(/setting|mount/i);
});

test("only database, queries of nouns and their stores contain SQL", () => {
  const database = /from "(?:kysely|better-sqlite3|pg)"/;
  const others = files
    .filter((file) => !/^(?:database|store)\//.test(file))
    // The database of another server is read as a foreign file.
    .filter((file) => !/(?:query|transaction)\.ts$|^archive\//.test(file))
    .filter((file) => database.test(textOf(file)));
  expect(others).toEqual([]);
});

function isAllowed(from: string, to: string): boolean {
  const part = partOf(from);
  if (everywhere.includes(part)) return everywhere.includes(to);
  if (wiring.includes(part) || part === partOf(to) || everywhere.includes(to)) return true;
  return (allowed[part] ?? []).some((entry) => to === entry || to.startsWith(`${entry}/`));
}

function isGeneral(to: string): boolean {
  return to.startsWith("../gen/") && GENERAL_GEN.test(to.slice("../gen/".length));
}

/** Top folder of a file; for a file of src itself, the file. */
function partOf(file: string): string {
  return file.split("/")[0] ?? "";
}

function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const follow = (node: string, way: readonly string[]): void => {
    if (way.includes(node)) circles.push([...way.slice(way.indexOf(node)), node].join(" → "));
    if (done.has(node) || way.includes(node)) return;
    for (const to of graph.get(node) ?? []) follow(to, [...way, node]);
    done.add(node);
  };
  for (const node of graph.keys()) follow(node, []);
  return circles;
}

function textOf(file: string): string {
  return readFileSync(join(root, "src", file), "utf8");
}

/** Relative imports as paths from src; those of gen/ begin with `../`. */
function importsOf(from: string): Import[] {
  const text = textOf(from);
  return [...text.matchAll(/(?:from|import\(?)\s*"(\.[^"]+)"/g)].map(([, path = ""]) => {
    const to = relative(join(root, "src"), join(root, "src", dirname(from), path));
    return { from, to: to.split(sep).join("/") };
  });
}
