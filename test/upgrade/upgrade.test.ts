import { copyFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryPaths } from "../store/folder.ts";
import { startService } from "../wire/service.ts";

const DATABASES = join(import.meta.dirname, "database");
const newPath = temporaryPaths();
const env = { MOORING_SECRET_KEY: "0f".repeat(32) };
const headers = { authorization: "upgrade-test-token-0123456789abcdefghij" };

/** Each was made by the version in its name, by the same commands. */
describe.each(readdirSync(DATABASES))("the database of version %s", (file) => {
  test("opens with its settings, secrets and history, and accepts changes", async () => {
    const path = newPath();
    copyFileSync(join(DATABASES, file), path);
    const service = await startService({ folder: dirname(path), env });
    onTestFinished(() => service.stop());
    const call = async (path: string, body?: unknown) => {
      const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const at = `http://127.0.0.1:${service.port}/api/admin/setting/${path}`;
      const type = { "content-type": "application/json" };
      const reply = await fetch(at, { ...sent, headers: { ...headers, ...type } });
      return (await reply.json()) as { code: number; data: Record<string, unknown>[] };
    };
    const keys = "site_title,default_page_size,my_own_setting,ldap_manager_password";
    const settings = await call(`get?keys=${keys}`);
    expect(settings.data.map(({ value }) => value)).toEqual([
      "Haven",
      "50",
      "kept",
      "a-password-of-somebody",
    ]);
    const change = await call("revision?revision=2");
    expect(change).toMatchObject({
      code: 200,
      data: {
        changes: expect.arrayContaining([expect.objectContaining({ new_value: "Harbour" })]),
      },
    });
    const saved = await call("save", [{ key: "site_title", value: "Later" }]);
    expect(saved.code).toBe(200);
    expect((await call("rollback", { to: "2", only: ["site_title"] })).code).toBe(200);
    expect((await call("get?keys=site_title")).data[0]).toMatchObject({ value: "Harbour" });
    const audit = await call("../audit/events?after_sequence=0");
    const { events } = audit.data as unknown as { events: Record<string, unknown>[] };
    expect(events.map(({ sequence, method }) => `${sequence} ${method}`)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^\d SaveSettings$/)]),
    );
  });
});
