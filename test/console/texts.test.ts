import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";

const FOLDER = join(import.meta.dirname, "../../src/console");

/** Entries whose code is loaded separately from main.tsx. */
const entries = [
  "shell/palette.tsx",
  "sign-in/page.tsx",
  ...[...read("shell/pages.ts").matchAll(/import\("\.\.\/(.+?)"\)/g)].map(([, file = ""]) => file),
];

/** Parts that an entry loads when they are first shown, and those that these load. */
function partsOf(entry: string, found: Set<string> = new Set()): ReadonlySet<string> {
  for (const file of importsOf(entry))
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(
      /\bimport\("(\.\.?\/.+?\.tsx)"\)/g,
    )) {
      const part = relative(FOLDER, resolve(dirname(file), path));
      if (found.has(part) || entries.includes(part)) continue;
      found.add(part);
      partsOf(part, found);
    }
  return found;
}

/** A page, and a part of it. */
const parts = entries.flatMap((entry) => [...partsOf(entry)].map((part) => [entry, part] as const));

function read(file: string): string {
  return readFileSync(join(FOLDER, file), "utf8");
}

/** Files of the console that an entry imports statically, with itself. */
function importsOf(entry: string): ReadonlySet<string> {
  const found = new Set<string>();
  const follow = (file: string): void => {
    if (found.has(file) || !file.startsWith(FOLDER)) return;
    found.add(file);
    const imports = /^import (?!type )(?:[^;"]*? from )?"(\.[^"]+\.tsx?)";/gm;
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(imports))
      follow(resolve(dirname(file), path));
  };
  follow(join(FOLDER, entry));
  return found;
}

/** Text ids in a file: literals, and all that begin with the prefix of a template. */
function namesIn(file: string, known: ReadonlySet<string>): readonly string[] {
  const code = readFileSync(file, "utf8");
  const whole = [...code.matchAll(/"([a-zA-Z]+\.[\w.:-]+)"/g)].map(([, name = ""]) => name);
  const starts = [...code.matchAll(/`([a-zA-Z]+\.[\w.]*)\$\{/g)].map(([, start = ""]) => start);
  return [...known].filter(
    (name) => whole.includes(name) || starts.some((start) => name.startsWith(start)),
  );
}

let known: ReadonlySet<string>;
let early: ReadonlySet<string>;

beforeAll(async () => {
  vi.stubGlobal("document", { documentElement: {} });
  const { zhCn } = await import(join(FOLDER, "i18n/zh-cn.ts"));
  const { en } = await import(join(FOLDER, "i18n/en.ts"));
  known = new Set(Object.keys(zhCn));
  early = new Set(Object.keys(en));
  vi.unstubAllGlobals();
});

/** Text ids that are loaded with an entry. */
async function textsOf(files: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const parts = [...files].filter((file) => dirname(file).endsWith("i18n/en"));
  const modules = await Promise.all(parts.map((file) => import(file)));
  const names = modules.flatMap((module) =>
    Object.values(module).flatMap((of) => Object.keys(of as object)),
  );
  return new Set([...early, ...names]);
}

describe("the texts of an entry are loaded with its code", () => {
  test.each(["main.tsx", ...entries])("%s", async (entry) => {
    const files = importsOf(entry);
    const texts = await textsOf(files);
    const code = [...files].filter((file) => !/\/i18n\/(en|zh-cn)\b/.test(file));
    const main = entry === "main.tsx" ? new Set<string>() : importsOf("main.tsx");
    const used = code.filter((file) => !main.has(file)).flatMap((file) => namesIn(file, known));
    expect(used.filter((name) => !texts.has(name))).toEqual([]);
    expect(code.length).toBeGreaterThan(1);
  });

  test.each(parts)("%s with %s", async (entry, part) => {
    const files = importsOf(part);
    const texts = await textsOf(new Set([...importsOf(entry), ...files]));
    const used = [...files].flatMap((file) =>
      file.includes("/i18n/") ? [] : namesIn(file, known),
    );
    expect(used.filter((name) => !texts.has(name))).toEqual([]);
  });

  test("each text is used", () => {
    const lazy = parts.map(([, part]) => part);
    const all = ["main.tsx", ...entries, ...lazy].flatMap((entry) => [...importsOf(entry)]);
    const code = [...new Set(all)].filter((file) => !/\/i18n\/(en|zh-cn)\b/.test(file));
    const used = new Set(code.flatMap((file) => namesIn(file, known)));
    expect([...known].filter((name) => !used.has(name))).toEqual([]);
  });
});

/** Texts whose count is never one: a minimum and a maximum. */
const PLURAL_ONLY: ReadonlySet<string> = new Set(["audit.cut", "export.short"]);

test("each English text with a count has a form for one", async () => {
  const files = ["main.tsx", ...entries, ...parts.map(([, part]) => part)]
    .flatMap((entry) => [...importsOf(entry)])
    .filter((file) => /i18n\/en(\.ts$|\/)/.test(file));
  const modules = await Promise.all([...new Set(files)].map((file) => import(file)));
  const texts = modules.flatMap((module) =>
    Object.values(module).flatMap((of) => Object.entries(of as Record<string, unknown>)),
  );
  const wrong = texts.filter(
    ([name, text]) =>
      typeof text === "string" && text.includes("{count}") && !PLURAL_ONLY.has(name),
  );
  expect(texts.length).toBeGreaterThan(500);
  expect(wrong).toEqual([]);
});
