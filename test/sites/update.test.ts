import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { failureOf } from "../thrown.ts";
import { type Follower, type FollowerOptions, ORIGIN, startFollower } from "./follower.ts";
import { following, mooring, site, useOneSite } from "./one-site.ts";
import { startStandIn } from "./stand-in.ts";

/** Rounds run on request only. */
const times = { tick: 600_000, read: 600_000, reread: 600_000 };

/** Awaited before each call of the store of sites. */
let gate: (name: string) => void | Promise<void> = () => undefined;

/** Other processes on the same database. */
const others: Follower[] = [];

useOneSite({ times, onQuery: (name) => gate(name) });
beforeEach(async () => {
  gate = () => undefined;
  await following();
});
afterEach(async () => {
  for (const other of others.splice(0)) await other.close();
});

async function anotherProcess(options: FollowerOptions = {}): Promise<Follower> {
  const other = await startFollower({ folder: mooring.folder, times, ...options });
  others.push(other);
  return other;
}

test("a new token clears the error that another process stores in between for the old one", async () => {
  const { service } = mooring.sites;
  const [failed, cleared] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const other = await anotherProcess({
    onQuery: async (name) => {
      if (name !== "record") return;
      failed.resolve();
      await cleared.promise;
    },
  });
  site.settings.resetToken();
  const checked = other.sites.service.check("one").catch(String);
  await failed.promise;
  // This process has read the old state, and is about to write it without its error.
  gate = async (name) => {
    if (name !== "record") return;
    cleared.resolve();
    await checked;
  };
  await service.update("one", { token: site.token() }, ORIGIN);
  expect(await checked).toContain("Error");
  expect(service.get("one").state).toMatchObject({ error: undefined, failures: 0, nextTry: 0 });
});

test("a change keeps what another process changed between the read and the write", async () => {
  const { service } = mooring.sites;
  const other = await anotherProcess();
  let isFirst = true;
  gate = async (name) => {
    if (name !== "update" || !isFirst) return;
    isFirst = false;
    await other.sites.service.update("one", { paused: true }, ORIGIN);
  };
  const { view } = await service.update("one", { exclude: ["site_title"] }, ORIGIN);
  const changed = view.site;
  expect(isFirst).toBe(false);
  expect(changed).toMatchObject({ paused: true, exclude: ["site_title"] });
  expect(service.get("one").site).toEqual(changed);
});

test("a change by the program keeps a change by an operator in another process", async () => {
  const { registry, service } = mooring.sites;
  const other = await anotherProcess();
  let isFirst = true;
  gate = async (name) => {
    if (name !== "update" || !isFirst) return;
    isFirst = false;
    await other.sites.service.update("one", { exclude: ["site_logo"] }, ORIGIN);
  };
  const { site } = service.get("one");
  await registry.change(
    site.id,
    (now) => ({ ...now, token: "renewed" }),
    () => [],
  );
  expect(isFirst).toBe(false);
  expect(service.get("one").site).toMatchObject({ token: "renewed", exclude: ["site_logo"] });
});

test("two processes that give one name at the same time: one of them is refused", async () => {
  const second = await startStandIn();
  onTestFinished(() => second.stop());
  const other = await anotherProcess();
  const input = { name: "two", url: second.url, token: second.token() };
  await other.sites.service.create(input, ORIGIN);
  const failures: unknown[] = [];
  gate = async (name) => {
    if (name !== "update" || failures.length > 0) return;
    failures.push("none");
    await other.sites.service.update("two", { name: "new" }, ORIGIN);
  };
  const { service } = mooring.sites;
  const failure = await failureOf(() => service.update("one", { name: "new" }, ORIGIN));
  expect(failure).toMatchObject({ code: Code.AlreadyExists });
  expect(service.list().map(({ site: { name } }) => name)).toEqual(["new", "one"]);
});
