import { readFileSync } from "node:fs";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { servedServices } from "../../src/app/routes.ts";

const page = readFileSync(new URL("../../docs/audit.md", import.meta.url), "utf8");

/** Calls that change nothing here: writes to sites have rows of their own. */
const NO_CHANGE = [
  "CheckSite",
  "CompareSite",
  "CompareMounts",
  "CompareRules",
  "CheckBackup",
  "SyncSite",
  "SyncMounts",
  "SyncRules",
  "TestMounts",
  "ValidateDriverConfig",
];

test("the page names every rpc that changes something", () => {
  const changes = servedServices
    .filter(({ typeName }) => typeName.startsWith("mooring."))
    .flatMap(({ methods }) => methods)
    .filter(({ idempotency }) => idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS)
    .map(({ name }) => name)
    .filter((name) => !NO_CHANGE.includes(name));
  expect(changes.length).toBeGreaterThan(20);
  expect(changes.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("the page names changes on the pages of the server behind Mooring", () => {
  expect(page).toContain("`ChangeUpstream`");
});
