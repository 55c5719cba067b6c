import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCodeLoader } from "../../src/app/code-cache.ts";
import { temporaryFolder } from "../temporary.ts";

const asFunction = (code: string): string =>
  `(function(exports,require,module,__filename,__dirname){"use strict";${code}\n})\n`;

/** A package of files, and the folder of its cache. */
function packageOf(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder();
  for (const [name, code] of Object.entries(files))
    writeFileSync(join(folder, name), asFunction(code));
  return { folder, cache: join(folder, "cache", "kind") };
}

const ADD = "exports.add = (one, other) => one + other;\nexports.unused = () => 1;";

type Adding = { readonly add: (one: number, other: number) => number };

test("files are loaded once, with those that they require, and packages", () => {
  const place = packageOf({
    "first.cjs": `const { count } = require("./second.cjs");
      require("./second.cjs");
      exports.sum = count.value;
      exports.name = require("node:path").basename(__filename);
      exports.folder = __dirname;`,
    "second.cjs": `exports.count = { value: (globalThis.counted = (globalThis.counted ?? 0) + 1) };
      exports.first = require("./first.cjs");`,
  });
  const first = createCodeLoader(place).load("first.cjs");
  expect(first).toEqual({ sum: 1, name: "first.cjs", folder: place.folder });
  expect(Reflect.deleteProperty(globalThis, "counted")).toBe(true);
});

test("a file is strict, and its errors have their positions", () => {
  const place = packageOf({ "bad.cjs": "\nexports.fail = () => { undeclared = 1; };" });
  const { fail } = createCodeLoader(place).load("bad.cjs") as { readonly fail: () => void };
  expect(fail).toThrow(ReferenceError);
  expect(fail).toThrow(expect.objectContaining({ stack: expect.stringContaining("bad.cjs:2:") }));
});

describe("compiled code", () => {
  const stored = ({ cache }: { readonly cache: string }) =>
    readdirSync(cache).map((name) => join(cache, name));

  function saved() {
    const place = packageOf({ "add.cjs": ADD });
    const loader = createCodeLoader(place);
    const { add } = loader.load("add.cjs") as Adding;
    add(1, 2);
    loader.save();
    return place;
  }

  const sum = (place: ReturnType<typeof packageOf>) => {
    const loader = createCodeLoader(place);
    const result = (loader.load("add.cjs") as Adding).add(2, 3);
    loader.save();
    return result;
  };

  test("is stored once, and used afterwards", () => {
    const place = saved();
    const [path = ""] = stored(place);
    const before = readFileSync(path);
    // A cache that was not used would be written again, without the function that was called.
    const loader = createCodeLoader(place);
    loader.load("add.cjs");
    loader.save();
    expect(stored(place)).toEqual([path]);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(sum(place)).toBe(5);
  });

  test("holds the functions that were called before it was saved", () => {
    const place = packageOf({ "add.cjs": ADD });
    const loader = createCodeLoader(place);
    loader.load("add.cjs");
    loader.save();
    const [idle = ""] = stored(place);
    const [called = ""] = stored(saved());
    expect(readFileSync(called).length).toBeGreaterThan(readFileSync(idle).length);
  });

  test.each([
    ["damaged", (bytes: Buffer) => bytes.with(bytes.length - 9, 0xff ^ (bytes.at(-9) ?? 0))],
    ["cut off", (bytes: Buffer) => bytes.subarray(0, 3)],
    ["empty", () => Buffer.alloc(0)],
    ["of something else", () => Buffer.from("\x0b\x0a\x0d\x0cnothing of V8")],
  ])("that is %s is replaced", (_, change) => {
    const place = saved();
    const [path = ""] = stored(place);
    const before = readFileSync(path);
    writeFileSync(path, change(before));
    expect(sum(place)).toBe(5);
    expect(readFileSync(path).length).toBe(before.length);
  });

  test("of another text of the same length is not used", () => {
    const place = saved();
    writeFileSync(join(place.folder, "add.cjs"), asFunction(ADD.replace("+", "-")));
    expect(sum(place)).toBe(-1);
    expect(stored(place)).toHaveLength(2);
  });

  test("leaves no part of a file behind if it cannot be stored", () => {
    const place = saved();
    const [path = ""] = stored(place);
    rmSync(path);
    mkdirSync(path);
    expect(sum(place)).toBe(5);
    expect(stored(place)).toEqual([path]);
  });

  test("is not kept without a folder, or if it cannot be written", () => {
    const { folder, cache } = packageOf({ "add.cjs": ADD });
    const loader = createCodeLoader({ folder, cache: undefined });
    expect((loader.load("add.cjs") as Adding).add(1, 1)).toBe(2);
    loader.save();
    expect(readdirSync(folder)).toEqual(["add.cjs"]);
    mkdirSync(join(folder, "cache"));
    writeFileSync(cache, "no folder");
    expect(sum({ folder, cache })).toBe(5);
  });
});
