import { expect, test } from "vitest";
import { adoptRound } from "../../src/mounts/adopt.ts";
import { draftMounts, MOUNTS, mountsByName } from "../../src/mounts/kind.ts";
import type { Mount } from "../../src/mounts/mount.ts";
import { createMountView } from "../../src/mounts/mount-view.ts";
import { decideSave } from "../../src/mounts/save.ts";
import { createMountRegistry } from "../../src/mounts/site/registry.ts";
import type { MountRound } from "../../src/mounts/site/round.ts";
import type { StorageRow } from "../../src/mounts/site/row.ts";
import type { Site } from "../../src/sites/site.ts";
import { type Parts, tester, testParts } from "../settings/parts.ts";
import { temporaryPaths } from "../store/folder.ts";
import { saveRules } from "./save-rules.ts";
import { driverByName, hash, memoryStore } from "./site/desk.ts";

const newPath = temporaryPaths();

const rules = saveRules({
  etagOf: (mount) => (mount === undefined ? "0" : `${mount.revision}.of-this-database`),
  isAdopted: true,
  carries: true,
});

function films(remark: string): StorageRow {
  const addition = JSON.stringify({ root_folder_path: "/srv" });
  return {
    id: 1,
    mount_path: "/films",
    driver: "Local",
    addition,
    remark,
    status: "work",
    disabled: false,
  };
}

/** Adopts a row of a site, decided on earlier mounts. */
async function adopt(
  { ledger }: Parts,
  name: string,
  round: Partial<MountRound>,
  mounts: ReadonlyMap<string, Mount>,
) {
  const registry = createMountRegistry(memoryStore());
  await registry.load();
  return adoptRound(
    { rows: [], extra: [], done: [], states: {}, adopt: {}, ...round },
    {
      site: { id: name, name } as Site,
      names: [],
      dryRun: false,
      origin: tester,
      rules,
      ledger,
      registry,
      hash,
      mounts,
      others: [],
      driverOf: driverByName,
      wantedOf: createMountView(ledger).wantedOf,
    },
  );
}

const extra = [{ id: 1, path: "/films", driver: "Local" }] as MountRound["extra"];

test("two sites adopt one new path at the same time: the second takes no mount of the first", async () => {
  const parts = await testParts(newPath());
  const none = new Map<string, Mount>();
  const round = { rows: [films("")], extra };
  const first = await adopt(parts, "one", round, none);
  const second = await adopt(parts, "two", round, none);
  expect(first.saved.results).toMatchObject([{ name: "films", outcome: "created" }]);
  expect(second.saved.results).toMatchObject([{ name: "/films", outcome: "skipped" }]);
  expect(Object.keys(second.states)).toEqual([]);
  expect(mountsByName(parts.ledger.snapshot().of(MOUNTS)).get("films")?.siteIds).toEqual(["one"]);
});

test("a mount that is saved between the read and the adoption keeps the saved value, and no state is stored", async () => {
  const parts = await testParts(newPath());
  await adopt(parts, "one", { rows: [films("old")], extra }, new Map());
  const before = mountsByName(parts.ledger.snapshot().of(MOUNTS));
  await parts.ledger.change(tester, (draft) =>
    decideSave(draft, [{ name: "films", members: { remark: "saved" } }], draftMounts(draft), {
      ...rules,
      isAdopted: false,
    }),
  );
  const states = { films: { id: 1, applied: 1, differs: ["remark"] } };
  const round = { rows: [films("at the site")], states } as unknown as MountRound;
  const adopted = await adopt(parts, "one", round, before);
  expect(adopted.saved.results).toMatchObject([{ outcome: "skipped" }]);
  expect(adopted.states).toEqual({});
  const { members } = mountsByName(parts.ledger.snapshot().of(MOUNTS)).get("films") ?? {};
  expect(members?.["remark"]).toBe("saved");
});
