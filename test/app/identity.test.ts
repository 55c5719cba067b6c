import { randomBytes } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { makeToken } from "../../src/access/token-text.ts";
import { callerSource } from "../../src/app/access.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";

const ledgerOf = (token: string): Pick<Ledger, "freshUnshared" | "snapshot"> =>
  ({ snapshot: () => ({ get: () => ({ value: token }) }) }) as never;

async function identified(sent: string, permanent = "the permanent token") {
  const registry = { fresh: vi.fn(), find: vi.fn() };
  const upstream = { identify: vi.fn() };
  const caller = await callerSource(ledgerOf(permanent), registry, upstream).callerOf(sent);
  return { registry, upstream, caller };
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
    const { registry, upstream, caller } = await identified(sent);
    expect(caller).toBe(undefined);
    for (const lookup of [registry.fresh, registry.find, upstream.identify])
      expect(lookup).not.toHaveBeenCalled();
  });

  test("is accepted if it is the permanent token", async () => {
    expect((await identified("mrg_short", "mrg_short")).caller).toMatchObject({ name: "admin" });
    expect((await identified(text, text)).caller).toMatchObject({ name: "admin" });
  });
});

test("a well-formed token is looked up in the database and never sent to the upstream", async () => {
  const { text } = makeToken(randomBytes);
  const { registry, upstream, caller } = await identified(text);
  expect(caller).toBe(undefined);
  expect(registry.find).toHaveBeenCalledOnce();
  expect(upstream.identify).not.toHaveBeenCalled();
});
