import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonSyntaxError, parseJson, parseJsonInTicks } from "../../src/files/json-source.ts";

function errorOf(text: string, depth = 16): { line: number; column: number; message: string } {
  try {
    parseJson(text, depth);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return { ...error.position, message: error.message };
    throw error;
  }
  throw new Error("no error");
}

describe("the JSON reader with positions", () => {
  it("reads every value as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 1, "\t"), (text, indent) => {
        const value: unknown = JSON.parse(text);
        const written = JSON.stringify(value, null, indent);
        expect(parseJson(written, 100).value).toEqual(value);
      }),
    );
  });

  it("accepts a malformed text only if JSON.parse does", () => {
    const damage = fc.tuple(
      fc.json({ maxDepth: 3 }),
      fc.nat(200),
      fc.nat(3),
      fc.constantFrom(
        "",
        ",",
        '"',
        "}",
        "]",
        "{",
        ":",
        "\\",
        "\n",
        "0",
        "-",
        ".",
        "e",
        "t",
        " ",
        "'",
      ),
    );
    fc.assert(
      fc.property(damage, ([text, at, removed, inserted]) => {
        const damaged = text.slice(0, at) + inserted + text.slice(at + removed);
        let expected: unknown;
        try {
          expected = JSON.parse(damaged);
        } catch {
          expect(() => parseJson(damaged, 100)).toThrow(JsonSyntaxError);
          return;
        }
        let value: unknown;
        try {
          ({ value } = parseJson(damaged, 100));
        } catch (error) {
          // The one difference: JSON.parse accepts it and this reader does not.
          expect(String(error)).toContain("a second time");
          return;
        }
        expect(value).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["", 1, 1, "expected a value, the file ends here"],
    ['{"a": 1,}', 1, 9, 'expected a member name in double quotes, found "}"'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, 'expected "," or "}", found "\\""'],
    ['{"a": x}', 1, 7, 'expected a value, found "x"'],
    ["{'a': 1}", 1, 2, 'expected a member name in double quotes, found "\'"'],
    ['{"a" 1}', 1, 6, 'expected ":" after the member name, found "1"'],
    ["[1, 2\n", 2, 1, 'expected "," or "]", the file ends here'],
    ['{"a": "open\n}', 1, 7, "no closing quote"],
    ['{"a": "\\x"}', 1, 7, "an invalid escape"],
    ['{"a": "\t"}', 1, 7, "a control character"],
    ['{"a": 1, "b": 2, "a": 3}', 1, 18, 'member "a" occurs a second time here'],
    ["[] []", 1, 4, "expected the end of the file"],
    ["// note\n{}", 1, 1, "expected a value"],
    ["[01]", 1, 2, "expected a value"],
  ])("reports the position of the first wrong character: %j", (text, line, column, message) => {
    expect(errorOf(text)).toEqual({ line, column, message: expect.stringContaining(message) });
  });

  it("refuses deep nesting early", () => {
    expect(errorOf("[".repeat(200_000)).message).toContain(
      "more than 16 levels of nested arrays and objects",
    );
    expect(() => parseJson(`${"[".repeat(16)}${"]".repeat(16)}`, 16)).not.toThrow();
  });

  it("finds the position of each part, or of the nearest parent of a missing part", () => {
    const source = parseJson('{\n  "a": [1,\n    {"b": "c"}],\n  "__proto__": 2\n}', 16);
    expect(source.positionOf([])).toEqual({ line: 1, column: 1 });
    expect(source.positionOf(["a", 0])).toEqual({ line: 2, column: 9 });
    expect(source.positionOf(["a", 1, "b"])).toEqual({ line: 3, column: 11 });
    expect(source.positionOf(["a", 1, "b"], "name")).toEqual({ line: 3, column: 6 });
    expect(source.positionOf(["a", 1, "missing"])).toEqual({ line: 3, column: 5 });
    expect(source.positionOf(["__proto__"], "name")).toEqual({ line: 4, column: 3 });
    expect(Object.getPrototypeOf(source.value)).toBe(Object.prototype);
  });
});

/** Outcome of reading a text: the value, or the position and reason of the error. */
async function outcomeOf(read: () => unknown): Promise<unknown> {
  try {
    return { value: await read() };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return { reason: error.message, position: error.position };
  }
}

describe("the JSON reader of long texts", () => {
  const same = async (text: string, depth = 16): Promise<void> =>
    expect(await outcomeOf(() => parseJsonInTicks(text, depth))).toEqual(
      await outcomeOf(() => parseJson(text, depth).value),
    );

  it("reads and rejects the same texts as the reader with positions", async () => {
    const damage = fc.tuple(fc.json(), fc.nat(200), fc.nat(3), fc.constantFrom(...'{}[],:"\\0 '));
    await fc.assert(
      fc.asyncProperty(damage, async ([text, at, removed, inserted]) => {
        await same(text);
        await same(text.slice(0, at) + inserted + text.slice(at + removed));
      }),
    );
  });

  it.each([
    '{"a":1,"a":2}',
    '{"a":{"b":1,"b":2}}',
    '{"a":{"b":{"c":1,"c":2}}}',
    '{"a":[{"b":1,"b":2}]}',
    '{"__proto__":{"x":1},"constructor":2,"toString":3}',
    '{"__proto__":1,"__proto__":2}',
    '{"a":[{"__proto__":{"x":1}}]}',
    '{"2":1,"1":2}',
    '[[],{},[{}],"",0,null]',
    "[[[1,]]]",
    '{"a":[1,2',
    "{} {}",
    "",
  ])("reads or rejects %s at every depth as the reader with positions", async (text) => {
    for (const depth of [0, 1, 2, 3, 4]) await same(text, depth);
  });

  it("keeps a member of the name __proto__ apart from the prototype", async () => {
    const value = await parseJsonInTicks('{"a":[{"__proto__":{"x":1}}]}', 16);
    const [entry] = (value as { readonly a: readonly object[] }).a;
    expect(Object.keys(entry ?? {})).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(entry)).toBe(Object.prototype);
  });

  it.each([
    ["a list", `[${"0,".repeat(400_000)}0]`],
    ["a list in an object", `{"a":[${"0,".repeat(400_000)}0]}`],
    [
      "an object in an object",
      `{"a":{${Array.from({ length: 200_000 }, (_each, at) => `"k${at}":0`)}}}`,
    ],
  ])("lets other work run while it reads %s, and ends with its signal", async (_name, text) => {
    const end = new AbortController();
    setImmediate(() => end.abort(new Error("the caller has gone")));
    await expect(parseJsonInTicks(text, 16, end.signal)).rejects.toThrow("the caller has gone");
  });
});
