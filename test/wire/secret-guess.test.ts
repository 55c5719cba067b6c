import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { beforeEach, describe, expect, test } from "vitest";
import { MASK } from "../../src/settings/value.ts";
import { startedForEach } from "../started.ts";
import { type As, as, give, jsonOf } from "./access-client.ts";
import { startRestartable, TOKEN } from "./service.ts";

const KEY = "aria2_secret";
const RIGHT = "the-right-guess";
const WRONG = "a-wrong-guess";

const service = startedForEach(startRestartable);
let root: As;
beforeEach(async () => {
  root = as(service.port);
  await root.settings.saveSettings({ settings: [{ key: KEY, value: RIGHT }] });
});

const token = async (...scopes: string[]): Promise<As & { readonly id: string }> => {
  const { text, id } = await give(root, ["settings:write", ...scopes]);
  return { ...as(service.port, text), id };
};
/** A reply or failure without the revision, which grows. */
async function shownOf(call: Promise<object>): Promise<unknown> {
  const reply = await call.catch((error: Error) => ({ failure: error.message }));
  // The state differs from call to call.
  return JSON.parse(jsonOf({ ...reply, revision: undefined, etag: undefined }));
}
const documentOf = async (value: string): Promise<JsonObject> => {
  const { document } = await root.backup.exportArchive({ only: ["settings"], secrets: 3 });
  const text = JSON.stringify(document).replaceAll(RIGHT, value);
  return JSON.parse(text) as JsonObject;
};

describe("without settings:reveal a reply does not reveal whether a secret equals the sent value", () => {
  test("in dry runs of saves and imports", async () => {
    const { settings, backup } = await token("backup:import");
    const previews = [RIGHT, WRONG].map((value) =>
      shownOf(settings.saveSettings({ settings: [{ key: KEY, value }], dryRun: true })),
    );
    const [right, wrong] = await Promise.all(previews);
    expect(right).toEqual(wrong);
    expect(right).toMatchObject({ preview: { changes: [{ key: KEY, secret: true }] } });
    for (const replaceSecrets of [false, true]) {
      const imports = [RIGHT, WRONG].map(async (value) =>
        shownOf(
          backup.importArchive({
            only: ["settings"],
            document: await documentOf(value),
            replaceSecrets,
            dryRun: true,
          }),
        ),
      );
      const [same, other] = await Promise.all(imports);
      expect(same).toEqual(other);
    }
  });

  test("in saves, their revisions, differences and rollbacks", async () => {
    const { settings } = await token("history:read", "history:rollback");
    const shown: unknown[] = [];
    for (const value of [RIGHT, WRONG]) {
      await root.settings.saveSettings({ settings: [{ key: KEY, value: "between" }] });
      const set = await root.settings.saveSettings({ settings: [{ key: KEY, value: RIGHT }] });
      const from = set.revision;
      const saved = await settings.saveSettings({ settings: [{ key: KEY, value }] });
      const item = await settings.getSetting({ key: KEY });
      shown.push([
        saved.revision - from,
        item.setting?.value,
        (item.setting?.revision ?? 0n) - from,
        await shownOf(
          settings.getRevision({ revision: saved.revision }).then((r) => ({ changes: r.changes })),
        ),
        await shownOf(settings.diffRevisions({ from, to: saved.revision })),
        await shownOf(settings.rollback({ to: from, dryRun: true })),
      ]);
    }
    expect(shown[0]).toEqual(shown[1]);
    expect(shown[0]).toMatchObject([1n, MASK, 1n, {}, { changes: [{ key: KEY }] }, {}]);
  });

  test("in saves with the etag of a read", async () => {
    const { settings } = await token();
    const read = await root.settings.getSetting({ key: KEY });
    const seen = read.setting?.etag ?? "";
    const shown: unknown[] = [];
    // The old value, the current one, and another one.
    for (const value of [RIGHT, "later", WRONG]) {
      await root.settings.saveSettings({ settings: [{ key: KEY, value: "later" }] });
      shown.push(
        await shownOf(
          settings.saveSettings({ settings: [{ key: KEY, value, etag: seen }], dryRun: true }),
        ),
      );
    }
    expect(shown[1]).toEqual(shown[0]);
    expect(shown[2]).toEqual(shown[0]);
    const masked = await settings.saveSettings({
      settings: [{ key: KEY, value: MASK, etag: seen }],
      dryRun: true,
    });
    expect(masked.preview?.changes).toEqual([]);
  });

  test("of the permanent token", async () => {
    const { settings } = await token("settings:reveal");
    for (const value of [TOKEN, "another-token-0123456789abcdefghijkl"]) {
      const save = settings.saveSettings({ settings: [{ key: "token", value }], dryRun: true });
      await expect(save).rejects.toMatchObject({ code: Code.PermissionDenied });
    }
  });

  test("except for an empty secret, as in reads", async () => {
    const { settings } = await token();
    const empty = { settings: [{ key: "ldap_manager_password", value: "" }], dryRun: true };
    expect((await settings.saveSettings(empty)).preview?.changes).toEqual([]);
  });
});

test("with settings:reveal an equal value is no change", async () => {
  const { settings } = await token("settings:reveal");
  const reply = await settings.saveSettings({
    settings: [{ key: KEY, value: RIGHT }],
    dryRun: true,
  });
  expect(reply.preview?.changes).toEqual([]);
});

test("such dry runs are in the audit, with their token", async () => {
  const { settings, backup, id } = await token("backup:import");
  for (const value of [RIGHT, WRONG, "third"])
    await settings.saveSettings({ settings: [{ key: KEY, value }], dryRun: true });
  await backup.importArchive({
    only: ["settings"],
    document: await documentOf(WRONG),
    replaceSecrets: true,
    dryRun: true,
  });
  await service.restart();
  const { events } = await as(service.port).audit.listAuditEvents({ tokenId: id });
  expect(
    events.map(({ method, subjects, detail }) => [method, subjects, JSON.parse(detail)]),
  ).toEqual(
    expect.arrayContaining([
      ["SaveSettings", [KEY], expect.objectContaining({ count: 3, reason: "dry run" })],
      [
        "ImportArchive",
        expect.arrayContaining([KEY]),
        expect.objectContaining({ count: 1, reason: "dry run" }),
      ],
    ]),
  );
});
