import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { failureOf } from "../../thrown.ts";
import { ALL, ORIGIN } from "../follower.ts";
import { add, anotherFollower, mooring, service, site, useOneSite } from "../one-site.ts";

useOneSite();

/** Rows that only the site has. */
async function addRows(count: number, value = "v"): Promise<void> {
  const row = site.settings.rows.get("site_title");
  for (let at = 0; at < count; at += 1)
    site.settings.rows.set(`own_${at}`, { ...row, key: `own_${at}`, value, flag: 1 } as never);
}

async function adopting(env: Readonly<Record<string, string>>) {
  await anotherFollower({ env });
  await add();
  const before = mooring.settings.ledger.snapshot().revision;
  return { before, adopt: () => service().adopt("one", ALL, ORIGIN) };
}

describe("a site's values that would exceed a bound of all settings together", () => {
  test.each([
    ["their number", { MOORING_MAX_CUSTOM_SETTINGS: "3" }, () => addRows(4)],
    ["their bytes", { MOORING_MAX_SETTINGS: "64KiB" }, () => addRows(2, "v".repeat(40_000))],
    [
      "the bytes of public ones",
      { MOORING_MAX_PUBLIC_SETTINGS: "64KiB" },
      async () => site.put("announcement", "a".repeat(70_000)),
    ],
  ] as const)("are all refused at adoption: %s", async (_name, env, fill) => {
    await fill();
    const { adopt, before } = await adopting(env);
    const failure = await failureOf(adopt);
    expect(failure).toMatchObject({ code: Code.ResourceExhausted });
    expect(failure.message).toContain(Object.keys(env)[0]);
    const { revision, totals } = mooring.settings.ledger.snapshot();
    expect(revision).toBe(before);
    expect(totals["custom"]).toBe(0);
    expect(mooring.value("announcement")).not.toBe(site.value("announcement"));
  });

  test("are adopted at the bound", async () => {
    await addRows(3);
    const { adopt } = await adopting({ MOORING_MAX_CUSTOM_SETTINGS: "3" });
    await adopt();
    expect(mooring.settings.ledger.snapshot().totals["custom"]).toBe(3);
  });
});
