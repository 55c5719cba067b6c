import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ROOT } from "../../src/access/grant.ts";
import { createMountView } from "../../src/mounts/mount-view.ts";
import { createMountService } from "../../src/mounts/service.ts";
import { createMountRegistry } from "../../src/mounts/site/registry.ts";
import { failureOf } from "../archive/setting.ts";
import { tester, testParts } from "../settings/parts.ts";
import { fixedSites } from "../sites/names.ts";
import { temporaryPaths } from "../store/folder.ts";
import { driverByName, memoryStore } from "./site/desk.ts";

const newPath = temporaryPaths();
const caller = { grant: ROOT, origin: tester };
const films = (remark: string) => ({
  name: "films",
  path: "/films",
  driver: "Local",
  config: { root_folder_path: "/srv" },
  members: { remark },
});

function noSites(): never {
  throw new Error("this test has no sites");
}

/** Mounts. @param meanwhile runs before or after the commit of a declaration. */
async function opened(meanwhile: {
  readonly before?: () => Promise<unknown>;
  readonly after?: () => Promise<unknown>;
}) {
  const { ledger, fingerprint } = await testParts(newPath());
  const registry = createMountRegistry(memoryStore());
  await registry.load();
  return createMountService({
    ledger: {
      ...ledger,
      change: async (origin, ...change) => {
        if (origin.actor === "file") await meanwhile.before?.();
        const changed = await ledger.change(origin, ...change);
        if (origin.actor === "file") await meanwhile.after?.();
        return changed;
      },
    },
    fingerprint,
    registry,
    driverOf: driverByName,
    driverNames: () => [],
    sites: fixedSites(),
    stopping: new AbortController().signal,
    view: createMountView(ledger),
    sync: { read: noSites, request: noSites, push: noSites, forward: noSites, record: noSites },
    audit: noSites,
    lister: { list: noSites, accountOf: noSites },
    health: {
      siteState: noSites,
      incidentAt: noSites,
      remedyFor: noSites,
      classOf: noSites,
      isRefusal: noSites,
    },
  });
}

const file = { ...tester, actor: "file" };

test("a save between the commit of a declaration and its end does not replace a declared value", async () => {
  let refusal: unknown;
  const mounts = await opened({
    after: async () => {
      refusal = await failureOf(() => mounts.save([films("saved")], caller));
    },
  });
  await mounts.declare([films("declared")], file, "the file");
  expect(refusal).toMatchObject({ code: Code.FailedPrecondition });
  expect(mounts.get("films", ROOT).members).toMatchObject({ remark: "declared" });
});

test("a declaration that fails, or only checks, manages nothing", async () => {
  const mounts = await opened({
    before: () => Promise.reject(new Error("the database is away")),
  });
  await expect(mounts.declare([films("declared")], file, "the file")).rejects.toThrow("away");
  await mounts.declare([films("declared")], tester, "the file", { dryRun: true });
  await mounts.save([films("saved")], caller);
  expect(mounts.get("films", ROOT).members).toMatchObject({ remark: "saved" });
});
