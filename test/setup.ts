import { afterAll, expect } from "vitest";
import { Message } from "../src/messages/message.ts";
import { collectLeftovers } from "./leftovers.ts";

declare module "vitest" {
  interface Matchers {
    /** A message, or text, whose English sentence contains or matches this. */
    sentence(expected: string | RegExp): unknown;
  }
  interface AsymmetricMatchersContaining {
    sentence(expected: string | RegExp): string;
  }
}

// Tests compare messages by their English sentences.
expect.addEqualityTesters([
  (one: unknown, other: unknown) => {
    if (one instanceof Message && typeof other === "string") return String(one) === other;
    if (other instanceof Message && typeof one === "string") return one === String(other);
    return undefined;
  },
]);

expect.extend({
  sentence(received: unknown, expected: string | RegExp) {
    const text = String(received);
    const pass = typeof expected === "string" ? text.includes(expected) : expected.test(text);
    return { pass, message: () => `expected ${JSON.stringify(text)} to have ${String(expected)}` };
  },
});

// After the hooks of the file itself, which are registered later and run earlier.
afterAll(async () => {
  expect(await collectLeftovers(), "left running at the end of the file").toEqual([]);
});
