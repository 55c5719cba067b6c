import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { attacks } from "../../../bench/attack/attacks.ts";
import { brokenBounds } from "../../../bench/attack/run.ts";

const times = (p50: number, p99 = p50) => ({ p50, p99 });
const calm = { ping: times(1, 2), save: times(15), control: times(1, 2), failed: 0 };
const memory = { before: 100, peak: 150, after: 100 };
const bounds = { memory: 60, save: 2 };

function broken(during: Partial<typeof calm>, peak = 150): string[] {
  const outcome = { before: calm, during: { ...calm, ...during }, memory: { ...memory, peak } };
  return brokenBounds({ bounds }, outcome);
}

describe("an attack", () => {
  test("passes when other clients and memory stay within their bounds", () => {
    expect(broken({ ping: times(3, 25), save: times(30) }, 160)).toEqual([]);
  });

  test.each([
    ["memory grows", {}, 161, /memory grew by 61 MB/],
    ["pings wait", { ping: times(3, 26) }, 150, /ping took 26 ms, more than 25/],
    ["saves wait", { save: times(31) }, 150, /a save took 31 ms, more than 30/],
    ["a call of another client fails", { failed: 1 }, 150, /1 calls of others failed/],
    ["pings are never answered", { ping: times(Number.NaN) }, 150, /ping took NaN ms/],
  ])("fails when %s", (_what, during, peak, reason) => {
    expect(broken(during, peak)).toEqual([expect.stringMatching(reason)]);
  });

  test("passes when an idle server is equally slow", () => {
    expect(broken({ ping: times(3, 90), control: times(1, 20) })).toEqual([]);
  });
});

describe("an attack on a shared machine", () => {
  const brokenOnShared = (during: Partial<typeof calm>, peak = 150) => {
    const outcome = { before: calm, during: { ...calm, ...during }, memory: { ...memory, peak } };
    return brokenBounds({ bounds }, outcome, "shared");
  };

  test("passes when the server is slow and does not freeze", () => {
    expect(brokenOnShared({ ping: times(30, 900), save: times(900) }, 190)).toEqual([]);
  });

  test.each([
    ["pings freeze", { ping: times(3, 1_001) }, 150, /ping took 1001 ms, more than 1000/],
    ["saves freeze", { save: times(1_001) }, 150, /a save took 1001 ms/],
    ["memory exceeds its bound by half", {}, 191, /memory grew by 91 MB/],
    ["a call of another client fails", { failed: 1 }, 150, /1 calls of others failed/],
  ])("fails when %s", (_what, during, peak, reason) => {
    expect(brokenOnShared(during, peak)).toEqual([expect.stringMatching(reason)]);
  });
});

test("attacks have unique names", () => {
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
});

test("npm run attack refuses an unknown name", () => {
  const program = join(import.meta.dirname, "../../../bench/attack/main.ts");
  const { status, stderr } = spawnSync(process.execPath, [program, "--only", "nonsense"], {
    encoding: "utf8",
  });
  expect(status).toBe(1);
  expect(stderr).toContain('there is no attack "nonsense"');
});
