import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/**
 * What each part of src may import besides itself, and besides packages and gen/. A request travels
 * http or grpc → rpc → service → store, and imports run the same way.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  http: ["rpc", "config/address.ts"],
  grpc: ["rpc"],
  rpc: ["service", "store/setting-store.ts"],
  service: ["store", "downloader"],
  store: [],
  downloader: ["service/error.ts"],
  config: [],
  server: ["http", "rpc", "config"],
  console: [],
  cli: ["config", "service"],
};

/** The files of src itself: the wiring, which may import everything. */
const wiring = [
  "main.ts",
  "serve.ts",
  "mooring.ts",
  "services.ts",
  "access.ts",
  "audit.ts",
  "doors.ts",
  "ports.ts",
  "settings.ts",
  "sites.ts",
  "offline.ts",
  "database.ts",
  "version.ts",
];

interface Import {
  readonly from: string;
  readonly to: string;
}

const imports: readonly Import[] = globSync("src/**/*.{ts,tsx}", { cwd: root }).flatMap(importsOf);

test("imports run one way: http and grpc, rpc, service, store", () => {
  const wrong = imports.filter(({ from, to }) => !isAllowed(from, to));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test("imports go in no circle", () => {
  const graph = new Map<string, readonly string[]>();
  for (const [from, of] of Map.groupBy(imports, (one) => one.from))
    graph.set(from, of?.map(({ to }) => to) ?? []);
  const done = new Set<string>();
  const circles: string[] = [];
  const follow = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" → "));
    if (done.has(file) || way.includes(file)) return;
    for (const to of graph.get(file) ?? []) follow(to, [...way, file]);
    done.add(file);
  };
  for (const file of graph.keys()) follow(file, []);
  expect(circles).toEqual([]);
});

test("every folder of src is in the table of what it may import", () => {
  const folders = new Set(imports.map(({ from }) => partOf(from)).filter((part) => part !== ""));
  expect([...folders].sort()).toEqual(Object.keys(allowed).sort());
});

test("the files of src itself are the wiring and nothing else", () => {
  const files = globSync("src/*.ts", { cwd: root }).map((file) => relative("src", file));
  expect(files.filter((file) => !wiring.includes(file))).toEqual([]);
});

test("the ways in name no service of the contract", () => {
  for (const file of globSync("src/{http,grpc}/**/*.ts", { cwd: root }))
    expect(readFileSync(join(root, file), "utf8"), file).not.toMatch(/mooring\/v1|mooring\.v1/);
});

test("only the store knows the database", () => {
  const database = /from "(?:kysely|better-sqlite3)/;
  const others = globSync("src/**/*.ts", { cwd: root })
    // Another server's database is read as a foreign file.
    .filter((file) => !file.startsWith(join("src", "store")) && !file.includes("backup"))
    .filter((file) => database.test(readFileSync(join(root, file), "utf8")));
  expect(others).toEqual([]);
});

function isAllowed(from: string, to: string): boolean {
  const part = partOf(from);
  if (part === "" || part === partOf(to)) return true;
  if (to === "version.ts") return true;
  return (allowed[part] ?? []).some((entry) => to === entry || to.startsWith(`${entry}/`));
}

function partOf(file: string): string {
  return file.includes("/") ? (file.split("/")[0] ?? "") : "";
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const from = relative("src", file).split(sep).join("/");
  return [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)]
    .map(([, path = ""]) => relative(join(root, "src"), join(root, dirname(file), path)))
    .filter((path) => !path.startsWith(".."))
    .map((path) => ({ from, to: path.split(sep).join("/") }));
}
