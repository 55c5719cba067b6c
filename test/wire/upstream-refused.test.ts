import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { newDatabaseFolder } from "../store/folder.ts";
import { startService, TOKEN } from "./service.ts";
import { type Answer, type FrontedSite, type FrontOptions, startFront } from "./upstream.ts";

const soon = <T>(look: () => T) => expect.poll(look);
/** The stand-in's message on this value, without its stack trace. */
const MESSAGE = "failed to execute hook on search_index: not support index: meilisearch";
const REFUSED = { key: "search_index", value: "meilisearch" };
/** The server validates these values: a save of one has a longer time-out. */
const CHECKED = { key: "privacy_regs", value: "checked" };

let front: FrontedSite;

async function open(options: FrontOptions = {}): Promise<string> {
  front = await startFront(options);
  return front.login();
}

afterEach(() => front.stop());

const save = (token: string, items: readonly object[]): Promise<Answer> =>
  front.call("POST", "/api/admin/setting/save", { token, body: items });

/** The value in each list that a client may read. */
async function shown(key: string, token: string): Promise<(string | undefined)[]> {
  const { data: all } = await front.call("GET", "/api/admin/setting/list", { token });
  const { data: one } = await front.call("GET", `/api/admin/setting/get?key=${key}`, { token });
  const { data: open } = await front.call("GET", "/api/public/settings");
  return [
    all.find((item: { key: string }) => item.key === key)?.value,
    one.value,
    open[key],
    front.site.value(key),
  ];
}

interface Revision {
  readonly revision: string;
  readonly actor: string;
  readonly method: string;
  readonly reason?: string;
  readonly keys: string[];
}

async function history(): Promise<Revision[]> {
  return (await front.rpc("SettingService/ListRevisions", {})).body.revisions;
}

describe("a value that the server refuses", () => {
  test("is a failure with the server's code and message, and no list has it", async () => {
    const token = await open();
    const reply = await save(token, [REFUSED]);
    expect([reply.status, reply.code, reply.message]).toEqual([200, 500, MESSAGE]);
    expect(reply.headers.get("mooring-upstream")).toBe("refused");
    expect(await shown("search_index", token)).toEqual(["none", "none", "none", "none"]);
    // Its search works again: the old value was saved once more.
    expect(front.site.settings.engine).toBe("none");
  });

  test("is in the history and the audit: its actor, and that it was reverted", async () => {
    const token = await open();
    await save(token, [REFUSED]);
    const [back, saved] = await history();
    expect(saved).toMatchObject({ actor: "upstream:admin", method: "SaveSettings" });
    expect(back).toMatchObject({ actor: "sites", method: "AdoptSite", keys: ["search_index"] });
    expect(back?.reason).toBe(
      `the upstream refused search_index of revision ${saved?.revision}: ${MESSAGE}`,
    );
    const { body } = await front.rpc("AuditService/ListAuditEvents", {});
    const rows = body.events.map((event: Record<string, unknown>) => [
      event["actor"],
      event["method"],
      event["outcome"],
    ]);
    expect(rows).toContainEqual(["upstream:admin", "SaveSettings", "OK"]);
    expect(rows).toContainEqual(["sites", "refused", "FAILED_PRECONDITION"]);
    expect(rows).toContainEqual(["sites", "AdoptSite", "OK"]);
  });

  test("is reported with the outcome of the other settings of its save", async () => {
    const token = await open();
    const reply = await save(token, [{ key: "site_title", value: "Taken" }, REFUSED]);
    expect(reply.code).toBe(500);
    expect(reply.message).toBe(`${MESSAGE}; the other settings were saved`);
    expect(await shown("site_title", token)).toEqual(Array(4).fill("Taken"));
    expect(await shown("search_index", token)).toEqual(Array(4).fill("none"));
  });

  test.each(["openlist", "alist"] as const)(
    "is distinguished from accepted ones of its batch (%s)",
    async (manner) => {
      const token = await open({ manner });
      front.site.settings.refusals.set("logo", "no such picture");
      front.site.settings.refusals.set("robots_txt", "no robots");
      const before = [front.site.value("logo"), front.site.value("robots_txt")];
      const reply = await save(token, [
        { key: "site_title", value: "Taken" },
        { key: "logo", value: "https://a.example/a.svg" },
        { key: "robots_txt", value: "changed" },
        CHECKED,
      ]);
      expect(reply.message).toBe(
        "failed to execute hook on logo: no such picture (and 1 more); the other settings were saved",
      );
      expect(reply.data.violations).toMatchObject([
        { field: "settings[1].value" },
        { field: "settings[2].value", description: /no robots/ },
      ]);
      expect([front.site.value("logo"), front.site.value("robots_txt")]).toEqual(before);
      expect(await shown("logo", token)).toEqual(Array(4).fill(before[0]));
      expect(await shown("site_title", token)).toEqual(Array(4).fill("Taken"));
    },
  );

  test("is quoted without secrets, stack traces and control characters", async () => {
    const token = await open();
    const secret = 'first "line"\nsecond line';
    const words = `can't use "${secret}" (${JSON.stringify(secret)})\u0000\u001b[31m, it is wrong\nstack`;
    front.site.settings.refusals.set("aria2_secret", words);
    const reply = await save(token, [{ key: "aria2_secret", value: secret }, CHECKED]);
    expect(reply.code).toBe(500);
    expect(reply.message).toContain('can\'t use "********" ("********") [31m, it is wrong');
    expect(reply.text).not.toMatch(/line|stack/);
    expect(JSON.stringify(await history())).not.toMatch(/second line|first \\/);
    expect(front.site.value("aria2_secret")).toBe("");
  });

  test("may be saved again once the server accepts it", async () => {
    const token = await open();
    front.site.settings.refusals.set(CHECKED.key, "not now");
    expect((await save(token, [CHECKED])).code).toBe(500);
    front.site.settings.refusals.clear();
    expect((await save(token, [CHECKED])).code).toBe(200);
    expect(front.site.value(CHECKED.key)).toBe(CHECKED.value);
  });

  test("fails its own save, and no other one at the same time", async () => {
    const token = await open();
    const replies = await Promise.all([
      save(token, [{ key: "site_title", value: "Mine" }]),
      save(token, [REFUSED]),
      save(token, [{ key: "robots_txt", value: "theirs" }]),
    ]);
    expect(replies.map(({ code }) => code)).toEqual([200, 500, 200]);
    await soon(() => shown("site_title", token)).toEqual(Array(4).fill("Mine"));
  });
});

describe("every other way to change a setting", () => {
  test("a rollback to a refused value fails, and is reverted", async () => {
    const token = await open();
    await save(token, [REFUSED]);
    const [, saved] = await history();
    const { status, body } = await front.rpc("SettingService/Rollback", { to: saved?.revision });
    expect([status, body.code, body.message]).toEqual([400, "failed_precondition", MESSAGE]);
    expect(await shown("search_index", token)).toEqual(Array(4).fill("none"));
  });

  test("an import of a refused value fails, and is reverted", async () => {
    const token = await open();
    const { body: backup } = await front.rpc("BackupService/ExportArchive", { only: ["settings"] });
    const item = backup.document.settings.find(
      ({ key }: { key: string }) => key === "search_index",
    );
    item.value = REFUSED.value;
    const { status, body } = await front.rpc("BackupService/ImportArchive", backup);
    expect([status, body.code], JSON.stringify(body)).toEqual([400, "failed_precondition"]);
    expect(body.message).toContain(MESSAGE);
    expect(await shown("search_index", token)).toEqual(Array(4).fill("none"));
  });

  test("a dry run sends nothing to the server", async () => {
    await open();
    const body = { settings: [REFUSED], dryRun: true };
    expect((await front.rpc("SettingService/SaveSettings", body)).status).toBe(200);
    expect(front.site.saves).toEqual([]);
  });

  test("a settings file keeps no refused value either", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mooring-refused-"));
    const file = join(folder, "settings.yaml");
    await writeFile(file, "settings:\n  site_title: From the file\n");
    const token = await open({ env: { MOORING_SETTINGS_FILE: file } });
    await writeFile(file, "settings:\n  search_index: meilisearch\n  site_title: From the file\n");
    await soon(async () => (await history())[0]?.reason).toContain(MESSAGE);
    expect(await shown("search_index", token)).toEqual(Array(4).fill("none"));
    await rm(folder, { recursive: true, force: true });
  });
});

describe("an outcome that is unknown at the reply", () => {
  test("is settled by the server's state, though its reply was lost", async () => {
    const token = await open({ siteTimes: { patience: 50 } });
    // The reply is lost after the value was stored.
    front.site.hold = (stage) => {
      if (stage !== "stored") return;
      front.site.hold = undefined;
      return front.site.restart();
    };
    await save(token, [{ key: "site_title", value: "Stored all the same" }]);
    await soon(() => shown("site_title", TOKEN)).toEqual(Array(4).fill("Stored all the same"));
  });

  test("is reverted when the server refuses it after a restart of this service", async () => {
    await open();
    const { site } = front;
    const folder = newDatabaseFolder();
    const env = { MOORING_UPSTREAM: site.url, MOORING_UPSTREAM_TOKEN: site.token() };
    const listed = async (port: number) => {
      const reply = await fetch(`http://127.0.0.1:${port}/api/public/settings`);
      const { data } = (await reply.json()) as { data: Record<string, string> };
      return [reply.headers.get("etag") !== null, data["search_index"]];
    };
    const first = await startService({ folder, env, siteTimes: { patience: 50 } });
    await soon(() => listed(first.port)).toEqual([true, "none"]);
    await site.stop();
    const reply = await fetch(`http://127.0.0.1:${first.port}/api/admin/setting/save`, {
      method: "POST",
      headers: { authorization: TOKEN, "content-type": "application/json" },
      body: JSON.stringify([REFUSED]),
    });
    expect(reply.headers.get("mooring-upstream")).toBe("pending");
    await first.stop();
    await site.start();
    const again = await startService({ folder, env });
    await soon(() => listed(again.port)).toEqual([true, "none"]);
    expect(site.value("search_index")).toBe("none");
    await again.stop();
    await rm(folder, { recursive: true, force: true });
  });
});
