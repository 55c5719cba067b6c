import { randomBytes } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { makeToken } from "../../src/access/token-text.ts";
import { identityBy } from "../../src/app/identity.ts";
import type { Engine } from "../../src/settings/engine.ts";

const engineOf = (token: string): Pick<Engine, "look" | "snapshot"> =>
  ({ snapshot: () => new Map([["token", { value: token }]]) }) as never;

async function asked(sent: string, permanent = "the permanent token") {
  const book = { fresh: vi.fn(), find: vi.fn() };
  const upstream = { identify: vi.fn() };
  const caller = await identityBy(engineOf(permanent), book, upstream).whose(sent);
  return { book, upstream, caller };
}

describe("a mistyped token", () => {
  const { text } = makeToken(randomBytes);
  const mistyped = [
    text.slice(0, -1) + (text.endsWith("a") ? "b" : "a"),
    text.slice(0, 30),
    `${text}x`,
    "mrg_",
  ];

  test.each(mistyped)("is refused without a look-up: %#", async (sent) => {
    const { book, upstream, caller } = await asked(sent);
    expect(caller).toBe(undefined);
    for (const look of [book.fresh, book.find, upstream.identify])
      expect(look).not.toHaveBeenCalled();
  });

  test("is accepted if it is the permanent token", async () => {
    expect((await asked("mrg_short", "mrg_short")).caller).toMatchObject({ name: "admin" });
    expect((await asked(text, text)).caller).toMatchObject({ name: "admin" });
  });
});

test("a well-formed token is looked up in the database and never sent to the upstream", async () => {
  const { text } = makeToken(randomBytes);
  const { book, upstream, caller } = await asked(text);
  expect(caller).toBe(undefined);
  expect(book.find).toHaveBeenCalledOnce();
  expect(upstream.identify).not.toHaveBeenCalled();
});
