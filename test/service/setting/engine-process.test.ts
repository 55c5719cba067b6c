import { expect, test } from "vitest";
import { openSqliteSettingStore } from "../../../src/store/sqlite/store.ts";
import { expectAudited } from "../../store/audit-contract.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { startProcess } from "../../store/process.ts";
import { openParts } from "./parts.ts";

const newPath = temporaryPaths();

interface Acknowledged {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

test("what was acknowledged to 64 clients is there after the process is killed at any moment", async () => {
  const path = newPath();
  let newest = 0;
  for (let round = 0; round < 4; round += 1) {
    const service = startProcess(new URL("../watch/watch-program.ts", import.meta.url));
    await service.call("open", path);
    await service.call("saveTogether", 64);
    await service.event<Acknowledged>(({ revision }) => revision > newest + 500 + 37 * round);
    await service.kill();
    const acknowledged = service.events as Acknowledged[];
    const { store, engine, close } = await openParts(path);
    const commits = await store.commits(newest, Number.MAX_SAFE_INTEGER, 1e6);
    newest = engine.snapshot().revision;
    const kept = new Map(commits.map((commit) => [commit.revision, commit.changes]));
    expect(acknowledged.length).toBeGreaterThan(500);
    for (const { key, value, revision } of acknowledged)
      expect(kept.get(revision)).toMatchObject([{ key, newValue: value }]);
    // The settings are what the history comes to.
    const last = new Map(commits.flatMap(({ changes }) => changes.map((one) => [one.key, one])));
    for (const [key, { newValue }] of last)
      expect(engine.snapshot().get(key)?.value).toBe(newValue);
    await close();
    const again = await openSqliteSettingStore(path);
    await expectAudited(
      again.audit,
      Array.from({ length: newest }, (_, at) => at + 1),
    );
    await again.close();
  }
});
