import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { addSite, service, useService } from "./service.ts";
import { startWatching } from "./watching.ts";

useService();

const site = startedForAll(() => startStandIn());
const cli = (...args: string[]) => service.cli(["site", ...args]);
const add = (name: string, url: string) => addSite(name, { url, token: () => site.token() });

test("the list is empty at first", async () => {
  expect(await cli("list")).toMatchObject({ code: 0, out: "" });
});

test("a site is added, and its problems are reported", async () => {
  expect(await add("home", "http://127.0.0.1:1")).toMatchObject({
    code: 6,
    err: "mooring site: http://127.0.0.1:1 cannot be reached: connection refused\n",
  });
  expect(await cli("add", "home", site.url)).toMatchObject({ code: 2 });
  const added = await add("home", site.url);
  expect(added.code).toBe(0);
  expect(added.out).toBe(
    "home: openlist v4.2.5 (Commit: 0123456) - Frontend: v4.2.5 - Build at: 2026-08-19 answers; 3 settings differ there\n",
  );
  expect(await add("again", site.url)).toMatchObject({
    code: 7,
    err: `mooring site: the site "home" has this address already: ${site.url}\n`,
  });
  expect((await add("home", "http://127.0.0.1:2")).err).toContain('the site "home" exists already');
  expect((await cli("adopt", "home", "announcment")).err).toContain('Did you mean "announcement"?');
  expect((await cli("set", "home", "override:site_titel=x")).err).toContain(
    'Did you mean "site_title"?',
  );
  expect((await service.cli(["status"])).out).toMatch(/^sites +1: 1 differs; 3 settings differ$/m);
  expect((await cli("check", "hom")).err).toContain('there is no site "hom". Did you mean "home"?');
});

test("Mooring itself is refused as a site", async () => {
  const own = join(service.folder, "own-token");
  await writeFile(own, service.env["MOORING_TOKEN"] ?? "");
  const refused = await cli("add", "loop", `http://${service.address}`, "--site-token-file", own);
  expect(refused.code).toBe(4);
  expect(refused.err).toContain("is a Mooring server");
});

test("compare, adopt and sync report their effect; secrets are masked", async () => {
  await service.cli(["set", "sso_client_secret", "s3cret-value"]);
  const compared = await cli("compare", "home");
  expect(compared.out).toMatch(/^announcement +differs/m);
  expect(compared.out).toMatch(/^sso_client_secret +differs +\*{8} +""/m);
  expect(compared.out).toContain("4 settings differ\n");
  expect((await cli("set", "home", "mode=follow")).err).toContain("cannot follow yet");
  const dry = await cli("adopt", "home", "announcement", "privacy_regs", "--dry-run");
  expect(dry.out).toContain("dry run: 2 settings would be adopted from home");
  const taken = await cli("adopt", "home", "announcement", "privacy_regs", "share_summary_content");
  expect(taken.out).toContain("adopted from home: 3 settings");
  const would = await cli("sync", "home", "--dry-run");
  expect(would.out).toContain("dry run: 1 setting differs at home");
  expect(site.saves).toEqual([]);
  expect((await cli("sync", "home")).out).toContain("home: 1 setting written");
  expect(site.value("sso_client_secret")).toBe("s3cret-value");
});

test("a site with mode follow gets saved values, and a refused value ends sync with 4", async () => {
  const set = await cli(
    "set",
    "home",
    "mode=follow",
    "exclude=ftp_*,group:9",
    "override:site_title=Its own",
  );
  expect(set.out).toMatch(/^home +follow/m);
  await service.cli(["set", "main_color=#123456", "site_title=Everywhere"]);
  await expect.poll(() => site.value("main_color")).toBe("#123456");
  await expect.poll(() => site.value("site_title")).toBe("Its own");
  await service.cli(["set", "search_index=meilisearch"]);
  const synced = await cli("sync", "home");
  expect(synced.code).toBe(4);
  expect(synced.err).toContain("not support index: meilisearch");
  expect((await cli("list")).out).toMatch(/home +follow +stuck .*search_index refused/);
  expect((await cli("check", "home")).out).toContain("search_index refused");
});

test("a paused site says so, also beside what differs", async () => {
  await cli("set", "home", "paused=true");
  expect((await cli("list")).out).toMatch(/^home .* paused/m);
  await cli("set", "home", "paused=false");
  expect((await cli("list")).out).not.toMatch(/^home .* paused/m);
});

test("the log lists actions, also as JSON, and never has the token", async () => {
  const log = await cli("log", "home");
  expect(log.out).toMatch(/push +\d+ +sites +.*main_color/);
  for (const args of [["log", "home"], ["list"], ["check", "home"]]) {
    const { out } = await cli(...args, "--json");
    expect(JSON.parse(out)).toBeTypeOf("object");
    expect(out).not.toContain(site.token());
  }
});

test("sites watch prints all sites at once", async () => {
  const watching = startWatching(["site", "watch"], service.env);
  await watching.until("home");
  expect((await watching.interrupt()).out).toMatch(/^home +follow/m);
});

test("control characters in a site's version do not reach the terminal", async () => {
  const version = site.value("version") ?? "";
  site.put("version", "v4\u001b[2J\nhome: ok");
  const { out } = await cli("check", "home");
  expect(out).toContain("v4\\u001b[2J\\nhome: ok, stuck (search_index refused");
  // A line for the state, and one for what to do.
  expect(out.trimEnd().split("\n")).toHaveLength(2);
  site.put("version", version);
});

test("a site whose token was reset is stuck until it has the new token", async () => {
  site.settings.resetToken();
  const refused = await cli("check", "home");
  expect(refused).toMatchObject({ code: 4 });
  expect(refused.err).toContain("refused the token");
  expect((await cli("list")).out).toMatch(/^home +follow +stuck .*refused the token/m);
  const newTokenFile = join(service.folder, "new-token");
  await writeFile(newTokenFile, `${site.token()}\n`);
  const cured = await cli("set", "home", "--site-token-file", newTokenFile);
  expect(cured).toMatchObject({ code: 0, err: "" });
  await expect
    .poll(async () => (await cli("list")).out)
    .toMatch(/^home +follow +stuck .*search_index refused/m);
  await service.cli(["set", "main_color=#654321"]);
  await expect.poll(() => site.value("main_color")).toBe("#654321");
});

test("an unreachable site is listed at once, with its settings", async () => {
  await site.stop();
  expect(await cli("check", "home")).toMatchObject({ code: 6 });
  for (const args of [["list"], ["list", "--json"], ["log", "home"]])
    expect(await cli(...args, "--timeout", "10s")).toMatchObject({ code: 0, err: "" });
  expect((await cli("list")).out).toMatch(/^home +follow +failing .*connection refused/m);
  await site.start();
});

test("a removed site is left unchanged", async () => {
  const title = site.value("site_title");
  expect((await cli("remove", "home", "--yes")).out).toContain("home: removed");
  expect(site.value("site_title")).toBe(title);
  expect((await cli("check", "home")).code).toBe(3);
});
