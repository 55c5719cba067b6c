import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { collectLeftovers } from "./leftovers.ts";
import { RUN_FOLDER } from "./once.ts";

declare module "vitest" {
  interface Matchers {
    /** A message, or text, whose English sentence contains or matches this. */
    sentence(expected: string | RegExp): unknown;
  }
  interface AsymmetricMatchersContaining {
    sentence(expected: string | RegExp): string;
  }
}

expect.extend({
  sentence(received: unknown, expected: string | RegExp) {
    const text = String(received);
    const pass = typeof expected === "string" ? text.includes(expected) : expected.test(text);
    return { pass, message: () => `expected ${JSON.stringify(text)} to have ${String(expected)}` };
  },
});

// Programs of the tests are started often, each with much of the service. The processes of the tests
// themselves are few: writing what they compile takes longer than reading it saves.
process.env["NODE_COMPILE_CACHE"] = join(process.env[RUN_FOLDER] ?? "", "compiled");

// After the hooks of the file itself, which are registered later and run earlier.
afterAll(async () => {
  expect(await collectLeftovers(), "left running at the end of the file").toEqual([]);
});
