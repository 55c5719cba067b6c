import { describe, expect, test } from "vitest";
import { save, tester, testParts } from "../../../settings/parts.ts";
import { broken, type Recorded } from "../../../settings/watch/guarantee.ts";
import { truthOf, type WatchOptions } from "../../../settings/watch/stream.ts";
import type { Reported } from "../../../settings/watch/watch-program.ts";
import { temporaryPaths } from "../../../store/folder.ts";
import { startProcess, type TestProcess } from "../../../store/process.ts";

const newPath = temporaryPaths();
const POLL = 20;

/** Another process on the database; without a poll it reads only on a request. */
async function startService(path: string, poll?: number): Promise<TestProcess> {
  const service = startProcess(
    new URL("../../../settings/watch/watch-program.ts", import.meta.url),
  );
  await service.call("open", path, poll);
  return service;
}

/** Events of a stream of a process so far. */
function eventsOf(service: TestProcess, stream: string): Recorded[] {
  return (service.events as Reported[])
    .filter((one) => one.stream === stream)
    .map(({ event }) => event)
    .filter((event) => event !== undefined);
}

/** Waits until a stream has reached a revision. */
async function eventsUpTo(service: TestProcess, stream: string, revision: number) {
  await service.event<Reported>(
    (one) => one.stream === stream && (one.event?.revision ?? -1) >= revision,
  );
  return eventsOf(service, stream);
}

const watch = (
  service: TestProcess,
  stream: string,
  options: WatchOptions = {},
  isPublic = false,
) => service.call("watch", stream, options, isPublic);

describe("the guarantees across processes on one file", () => {
  test("hold for every reader of either, while both write", async () => {
    const path = newPath();
    const parts = await testParts(path);
    const services = [await startService(path, POLL), await startService(path, POLL)];
    await save(parts, { k0: "0" });
    for (const service of services) {
      await watch(service, "snapshot");
      await watch(service, "from 0", { after: 0 });
      await watch(service, "of one key", { after: 0, keys: ["k1"] });
    }
    const made = await Promise.all(
      services.map((service, at) => service.call<number[]>("saveOften", `k${at + 1}`, 120)),
    );
    const last = Math.max(...made.flat());
    const truth = await truthOf(parts.store);
    expect(truth).toHaveLength(last);
    for (const service of services) {
      for (const stream of ["snapshot", "from 0"])
        expect(broken(await eventsUpTo(service, stream, last), truth)).toEqual([]);
      const mine = truth
        .filter(({ values }) => "k1" in values)
        .map(({ revision, values: { k1 = null } }) => ({ revision, values: { k1 } }));
      const ofOneKey = await eventsUpTo(service, "of one key", last);
      expect(broken(ofOneKey, mine)).toEqual([]);
      expect(ofOneKey.filter(({ kind }) => kind === "change")).toHaveLength(mine.length);
    }
  });

  test("hold for a reader whose process is killed and who resumes at another, repeatedly", async () => {
    const path = newPath();
    const parts = await testParts(path);
    const writer = await startService(path, POLL);
    void writer.call("saveForever", "k1").catch(() => undefined);
    const history: Recorded[] = [];
    for (let round = 0; round < 4; round += 1) {
      const service = await startService(path, POLL);
      const after = history.at(-1)?.revision;
      await watch(service, "s", after === undefined ? {} : { after });
      await eventsUpTo(service, "s", (after ?? 0) + 40);
      void service.call("saveForever", "k2").catch(() => undefined);
      await eventsUpTo(service, "s", (after ?? 0) + 80);
      await service.kill();
      history.push(...eventsOf(service, "s"));
    }
    await writer.kill();
    expect(broken(history, await truthOf(parts.store))).toEqual([]);
    expect(history.filter(({ kind }) => kind === "snapshot")).toHaveLength(1);
  });

  test("hold for one that resumes at a process that has not read yet", async () => {
    const path = newPath();
    const [one, two] = [await startService(path), await startService(path)];
    for (let round = 0; round < 3; round += 1) {
      const revision = await one.call<number>("save", { site_title: `${round}` });
      const stream = `s${round}`;
      await watch(two, stream, { after: revision }, true);
      const [first] = await eventsUpTo(two, stream, revision);
      expect(first).toEqual({ kind: "bookmark", revision, values: {} });
      await watch(two, `${stream} all`, { after: revision });
      await eventsUpTo(two, `${stream} all`, revision);
    }
    expect((two.events as Reported[]).filter(({ end }) => end !== undefined)).toEqual([]);
  });
});

describe("two processes on one file", () => {
  test("a change in one reaches snapshot and watchers of the other by its poll", async () => {
    const path = newPath();
    const [one, two] = [await startService(path, POLL), await startService(path, POLL)];
    await watch(two, "s");
    await eventsUpTo(two, "s", 0);
    const revision = await one.call<number>("save", { site_title: "Harbour" });
    const history = await eventsUpTo(two, "s", revision);
    expect(history.at(-1)).toMatchObject({ values: { site_title: "Harbour" } });
    expect(await two.call("value", "site_title")).toBe("Harbour");
  });

  test("a token reset in one is refused by the other at once, without its poll", async () => {
    const path = newPath();
    const parts = await testParts(path);
    const other = await startService(path);
    for (let round = 0; round < 5; round += 1) {
      const { token } = await parts.settings.resetToken(tester);
      expect(await other.call("snapshotToken")).not.toBe(token);
      expect(await other.call("token")).toBe(token);
    }
  });

  test("readers of one are reset when compaction by the other has passed them", async () => {
    const path = newPath();
    const parts = await testParts(path);
    const other = await startService(path);
    await watch(other, "s", { after: 0 });
    for (let at = 1; at <= 30; at += 1) await save(parts, { k1: `${at}` });
    await parts.store.compact({ count: 5, notBefore: 0 }, 100);
    await other.call("token");
    const { end } = await other.event<Reported>((one) => one.end !== undefined);
    expect(end?.message).toMatch(/the oldest revision is 26/);
    expect(await other.call("value", "k1")).toBe("30");
    await watch(other, "again");
    expect(await eventsUpTo(other, "again", 30)).toMatchObject([{ kind: "snapshot" }]);
  });
});
