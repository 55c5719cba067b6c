// What the history and imports of mounts show to callers who may not read secrets.
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { startedForEach } from "../started.ts";
import { type As, as, give } from "./access-client.ts";
import { startService } from "./service.ts";

const service = startedForEach(startService);
const at = (text?: string): As => as(service.port, text);
const withScopes = async (...scopes: string[]): Promise<As> => at((await give(at(), scopes)).text);

const RIGHT = "the-right-one";
const save = ({ mounts }: As, config: JsonObject) =>
  mounts.saveMounts({ mounts: [{ name: "cloud", config }] });
const create = () =>
  at().mounts.saveMounts({
    mounts: [
      {
        name: "cloud",
        mountPath: "/cloud",
        driver: "Doge",
        config: {
          bucket: "b",
          endpoint: "https://s3.example",
          access_key_id: "id",
          secret_access_key: RIGHT,
          session_token: "session-one",
        },
        sites: { all: true },
      },
    ],
  });

test("a rollback does not show whether a saved secret was the same before", async () => {
  const { revision } = await create();
  const caller = await withScopes("mounts:write", "history:rollback", "settings:read");
  const shown: unknown[] = [];
  for (const secret of [RIGHT, "a-wrong-one"]) {
    await save(caller, { secret_access_key: secret });
    const { results } = await caller.settings.rollback({ to: revision, dryRun: true });
    shown.push(results);
    await save(at(), { secret_access_key: RIGHT });
  }
  expect(shown[0]).toEqual(shown[1]);
});

test("a difference over several revisions does not show which of several secrets are the same", async () => {
  const { revision: from } = await create();
  await save(at(), { secret_access_key: "changed for a while", session_token: "session-two" });
  const { revision: to } = await save(at(), { secret_access_key: RIGHT });
  const shownTo = async ({ settings }: As, a: bigint, b: bigint) => {
    const { changes } = await settings.diffRevisions({ from: a, to: b });
    return changes.flatMap(({ items }) =>
      items.flatMap(({ name, secret }) => (secret ? [name] : [])),
    );
  };
  const secrets = ["config.secret_access_key", "config.session_token"];
  const blind = await withScopes("mounts:read", "history:read");
  expect((await shownTo(blind, from, to)).sort()).toEqual(secrets);
  expect((await shownTo(blind, to, from)).sort()).toEqual(secrets);
  const reader = await withScopes("mounts:reveal", "history:read");
  expect(await shownTo(reader, from, to)).toEqual(["config.session_token"]);
  // One revision shows what it changed.
  expect(await shownTo(blind, to - 1n, to)).toEqual(["config.secret_access_key"]);
});

test.each([
  [false, "unchanged"],
  [true, "changed"],
])(
  "an import does not show whether a sent secret is the stored one: replaced %s",
  async (replaceSecrets, outcome) => {
    await create();
    const { document } = await at().backup.exportArchive({ only: ["mounts"], secrets: 3 });
    const caller = await withScopes("mounts:write", "backup:import");
    const shown: unknown[] = [];
    for (const secret of [RIGHT, "a-wrong-one"]) {
      const sent = JSON.parse(JSON.stringify(document).replaceAll(RIGHT, secret)) as JsonObject;
      const { results } = await caller.backup.importArchive({
        document: sent,
        dryRun: true,
        replaceSecrets,
      });
      shown.push(results);
    }
    expect(shown[0]).toEqual(shown[1]);
    expect(shown[0]).toMatchObject([{ outcome }]);
  },
);
