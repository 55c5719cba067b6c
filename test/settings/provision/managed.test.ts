import { writeFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";
import {
  createManagedSettings,
  type ManagedSettings,
} from "../../../src/settings/provision/managed.ts";
import { failureOf } from "../../archive/setting.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { definitions, save, testParts } from "../parts.ts";

const newPath = temporaryPaths();

/** Settings with a file of one setting. @param meanwhile runs before or after its commit. */
async function opened(meanwhile: {
  readonly before?: () => Promise<unknown>;
  readonly after?: () => Promise<unknown>;
}) {
  let managed: ManagedSettings | undefined;
  const parts = await testParts(newPath(), { managedBy: (key) => managed?.managedBy(key) });
  const path = newPath();
  writeFileSync(path, "settings:\n  site_title: declared\n");
  managed = createManagedSettings({
    ledger: {
      ...parts.ledger,
      change: async (...change) => {
        await meanwhile.before?.();
        const changed = await parts.ledger.change(...change);
        await meanwhile.after?.();
        return changed;
      },
    },
    path,
    env: {},
    definitions,
    onProblems: () => undefined,
    onError: () => undefined,
    onApplied: () => undefined,
  });
  const { close } = managed;
  onTestFinished(() => close());
  return { parts, managed };
}

test("a save between the commit of the file and its end does not replace a declared value", async () => {
  let refusal: unknown;
  const { parts, managed } = await opened({
    after: async () => {
      refusal = await failureOf(() => save(parts, { site_title: "saved" }));
    },
  });
  await managed.start();
  expect(refusal).toMatchObject({ code: Code.FailedPrecondition });
  expect(parts.settings.get("site_title").value).toBe("declared");
  expect(managed.managedBy("site_title")).toContain("the settings file");
  expect(managed.managedBy("announcement")).toBe(undefined);
});

test("a file that could not be applied manages nothing", async () => {
  const { parts, managed } = await opened({
    before: () => Promise.reject(new Error("the database is away")),
  });
  await expect(managed.start()).rejects.toThrow("away");
  await save(parts, { site_title: "saved" });
  expect(parts.settings.get("site_title").value).toBe("saved");
});
