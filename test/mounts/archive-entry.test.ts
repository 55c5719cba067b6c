// Values that servers refresh in imports of mounts: "115 Cloud" refreshes its cookie.
import { describe, expect, test } from "vitest";
import { declaredInput, entryToInput } from "../../src/mounts/archive/entry-input.ts";
import { readRows } from "../../src/mounts/archive/row.ts";
import { MASK } from "../../src/settings/value.ts";
import { sampleMount } from "../settings/staged.ts";

const NAMES = {
  names: ["home"],
  ids: ["s1"],
  named: () => {
    throw new Error("no site is named");
  },
  idOf: (name: string) => (name === "home" ? "s1" : undefined),
  nameOf: (id: string) => (id === "s1" ? "home" : ""),
  problemOf: () => undefined,
};

const mountWith = (cookie: string | undefined) =>
  sampleMount("m", {
    driver: "115 Cloud",
    items: cookie === undefined ? {} : { cookie },
    overrides: { s1: { path: "", items: { cookie: "of home" }, members: {} } },
  });

const ENTRY = {
  name: "m",
  content: { path: "/m", driver: "115 Cloud", sites: "all" },
  secrets: { "config/cookie": "of the archive", "overrides/home/config/cookie": "of home" },
  missing: [],
  isSealed: false,
};

describe("a value that servers refresh", () => {
  const cases: readonly (readonly [string, string | undefined, string, readonly string[]])[] = [
    ["stays if the mount has one, and is named", "newer", MASK, ["cookie"]],
    ["that is equal here is not named", "of the archive", MASK, []],
    ["is taken if the mount has none", undefined, "of the archive", []],
    ["is taken if that of the mount is empty", "", "of the archive", []],
  ];

  test.each(cases)("of an archive %s", (_, stored, cookie, newer) => {
    const options = { names: NAMES, renamed: new Map(), reveals: true };
    expect(entryToInput(ENTRY, mountWith(stored), options)).toMatchObject({
      input: { config: { cookie }, newer, overrides: { home: { config: { cookie: MASK } } } },
    });
  });

  test.each(cases)("of a file of the caller %s", (_, stored, cookie, newer) => {
    const options = { names: NAMES, keepsRefreshed: true, reveals: true };
    expect(declaredInput(ENTRY, mountWith(stored), options)).toMatchObject({
      input: { config: { cookie }, newer },
      problems: [],
    });
  });

  test.each([
    ["stays if the mount has one, and is named", "newer", undefined, ["cookie"]],
    ["is taken if the mount has none", undefined, "of the server", []],
    ["is taken if that of the mount is empty", "", "of the server", []],
  ])("of a server's backup %s", async (_, stored, cookie, newer) => {
    const mounts = new Map([["m", mountWith(stored)]]);
    const addition = JSON.stringify({ cookie: "of the server" });
    const rows = [{ id: 1, mount_path: "/m", driver: "115 Cloud", addition }];
    const [row] = await readRows(rows, {
      mounts,
      driverOf: () => undefined,
      sites: undefined,
      names: NAMES,
    });
    expect(row).toMatchObject({ input: { newer } });
    expect(row && "input" in row && row.input.config?.["cookie"]).toBe(cookie);
  });
});

test("callers who may not read secrets do not learn from a note whether a value is equal", () => {
  const options = { names: NAMES, renamed: new Map(), reveals: false };
  for (const cookie of ["newer", "of the archive"])
    expect(entryToInput(ENTRY, mountWith(cookie), options)).toMatchObject({
      input: { newer: ["cookie", "cookie"] },
    });
});
