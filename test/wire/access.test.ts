import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createGrant, SCOPES } from "../../src/access/grant.ts";
import { requirementOf } from "../../src/access/requirement.ts";
import { servedServices } from "../../src/app/routes.ts";
import { MASK } from "../../src/settings/value.ts";
import { startedForAll } from "../started.ts";
import { as, drained, give, jsonOf } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { invoke } from "./transport/transport.ts";

const methods = servedServices.flatMap((service) => service.methods);

describe("every rpc", () => {
  const service = startedForAll(startService);
  const tokens = new Map<string, string>();
  beforeAll(async () => {
    for (const scope of SCOPES) tokens.set(scope, (await give(as(service.port), [scope])).text);
  });

  test.each(sharedPortTransports)(
    "over $name is refused without its scopes, and accepted with them alone",
    async ({ name, open }) => {
      const transport = open(service);
      let refused = 0;
      for (const [at, [scope, token]] of [...tokens].entries()) {
        const grant = createGrant([scope], []);
        for (const method of methods.filter(transport.carries)) {
          const { isPublic, scopes } = requirementOf(method);
          const missing = isPublic ? undefined : scopes.find((needed) => !grant.has(needed));
          // One scope of each method, and over one transport all that it accepts: the rule itself is
          // in requirement.test.ts, and a call is refused before its transport matters.
          const isChosen = methods.indexOf(method) % tokens.size === at;
          const isAccepted = !isPublic && missing === undefined;
          if (!isChosen && !(isAccepted && name === "gRPC")) continue;
          const outcome = await invoke(transport, method, {}, { authorization: token });
          const what = `${method.name} with ${scope}`;
          if (missing === undefined) {
            for (const code of [Code.PermissionDenied, Code.Unauthenticated])
              expect(outcome, what).not.toMatchObject({ code: transport.codeOf(code) });
          } else {
            refused += 1;
            expect(outcome, what).toMatchObject({
              code: transport.codeOf(Code.PermissionDenied),
              message: expect.stringContaining(
                missing === "root" ? "the permanent admin token" : `not have the scope ${missing}`,
              ),
            });
          }
        }
      }
      transport.close();
      expect(refused).toBeGreaterThan(20);
    },
  );
});

describe("a token", () => {
  const service = startedForAll(startService);

  const denied = (call: Promise<unknown>) =>
    expect(call).rejects.toMatchObject({ code: Code.PermissionDenied });

  test("is named by history and whoami, and its text is only in the reply of its creation", async () => {
    const root = as(service.port);
    const { text, id } = await give(root, ["settings:write", "history:read"], [], "backup");
    const own = as(service.port, text);
    const { etag: afterEtag } = await own.settings.listSettings({});
    await own.settings.saveSettings({ settings: [{ key: "site_title", value: "By a token" }] });
    const by = { actor: `backup/${id}`, tokenId: id };
    const { revisions } = await own.settings.listRevisions({ pageSize: 1 });
    expect(revisions).toMatchObject([by]);
    const revision = revisions[0]?.revision ?? 0n;
    expect(await own.settings.getRevision({ revision })).toMatchObject({ revision: by });
    const end = new AbortController();
    for await (const { event } of own.settings.watchSettings(
      { afterEtag },
      { signal: end.signal },
    )) {
      expect(event).toMatchObject({ case: "change", value: by });
      break;
    }
    end.abort();
    await root.settings.saveSettings({ settings: [{ key: "site_title", value: "By root" }] });
    const last = await own.settings.listRevisions({ pageSize: 1 });
    expect(last.revisions).toMatchObject([{ actor: "admin", tokenId: "" }]);
    expect(await own.access.whoAmI({})).toMatchObject({
      principal: "backup",
      tokenId: id,
      scopes: ["history:read", "settings:read", "settings:write"],
      limits: [],
      peer: "127.0.0.1",
    });
    expect(await root.access.whoAmI({})).toMatchObject({ principal: "admin", tokenId: "" });
    const { tokens } = await root.access.listTokens({});
    expect(jsonOf(tokens)).not.toContain(text);
    expect(tokens.find((token) => token.id === id)).toMatchObject({
      principal: "backup",
      active: true,
    });
    expect(service.log()).not.toContain(text.slice(17));
    expect(service.log()).toContain(`backup/${id}`);
  });

  test("gets secrets masked without settings:reveal, and never the permanent token", async () => {
    const root = as(service.port);
    await root.settings.saveSettings({ settings: [{ key: "aria2_secret", value: "very secret" }] });
    const reader = as(service.port, (await give(root, ["settings:read"])).text);
    const revealer = as(
      service.port,
      (await give(root, ["settings:reveal", "backup:export"])).text,
    );
    const valueFor = async (client: typeof root, key: string) => {
      const one = (await client.settings.getSetting({ key })).setting?.value;
      const batch = (await client.settings.batchGetSettings({ keys: [key] })).settings[0]?.value;
      const all = await client.settings.listSettings({});
      expect([batch, all.settings.find((each) => each.key === key)?.value]).toEqual([one, one]);
      return one;
    };
    expect(await valueFor(reader, "aria2_secret")).toBe(MASK);
    expect(await valueFor(revealer, "aria2_secret")).toBe("very secret");
    for (const client of [reader, revealer]) expect(await valueFor(client, "token")).toBe(MASK);
    expect(await valueFor(root, "token")).toBe(TOKEN);
    const { document } = await revealer.backup.exportArchive({ only: ["settings"], secrets: 3 });
    expect(JSON.stringify(document)).toContain("very secret");
    expect(JSON.stringify(document)).not.toContain(TOKEN);
    const exporter = as(service.port, (await give(root, ["backup:export"])).text);
    await denied(exporter.backup.exportArchive({ only: ["settings"], secrets: 3 }));
    await denied(
      exporter.backup.exportArchive({ only: ["settings"], secrets: 2, passphrase: "long enough" }),
    );
    expect(
      JSON.stringify((await exporter.backup.exportArchive({ only: ["settings"] })).document),
    ).not.toContain("very secret");
  });

  test("never writes the permanent token, with any scopes", async () => {
    const root = as(service.port);
    const all = as(service.port, (await give(root, SCOPES)).text);
    const value = "another-token-0123456789-0123456789";
    await denied(all.settings.saveSettings({ settings: [{ key: "token", value }] }));
    await denied(all.settings.resetToken({}));
    const document = {
      format: "mooring-archive",
      version: 1,
      settings: [{ key: "token", value }],
    };
    const { results } = await all.backup.importArchive({ document, includeServerOwn: true });
    expect(results).toMatchObject([{ name: "token", outcome: "skipped", isLoss: true }]);
    expect((await root.settings.getSetting({ key: "token" })).setting?.value).toBe(TOKEN);
  });

  test("limited to a group creates no new settings in it, by a save, an import or a rollback", async () => {
    const root = as(service.port);
    const one = (key: string) => ({ key, value: "v", group: 77, flag: 3 });
    await root.settings.saveSettings({ settings: [one("of_77")] });
    const { revision: to } = await root.settings.saveSettings({ settings: [one("gone_of_77")] });
    await root.settings.deleteSetting({ key: "gone_of_77" });
    const scopes = ["settings:write", "backup:import", "history:rollback"];
    const limited = as(service.port, (await give(root, scopes, ["group:77"])).text);
    const document = { format: "mooring-archive", version: 1, settings: [one("new_of_77")] };
    await denied(limited.settings.saveSettings({ settings: [one("new_of_77")] }));
    await denied(limited.backup.importArchive({ only: ["settings"], document }));
    // A setting of another group is not distinguished from one that does not exist.
    await root.settings.saveSettings({ settings: [{ ...one("of_78"), group: 78 }] });
    const keys = ["of_78", "new_of_77", "of_77"];
    const { results: shown } = await limited.backup.importArchive({
      document: { ...document, settings: keys.map(one) },
      dryRun: true,
    });
    expect(shown.map(({ name: _name, ...rest }) => rest)[0]).toEqual(
      shown.map(({ name: _name, ...rest }) => rest)[1],
    );
    await denied(limited.settings.rollback({ to, only: ["gone_of_77"] }));
    await limited.settings.saveSettings({ settings: [{ key: "of_77", value: "w" }] });
  });
});

describe("a right that ends", () => {
  const first = startedForAll(startService);
  const second = startedForAll(() => startService({ folder: first.folder }));

  const ends: readonly (readonly [string, (id: string, principal: string) => Promise<unknown>])[] =
    [
      ["revoked", (id) => as(first.port).access.revokeToken({ id })],
      [
        "disabled with its principal",
        (_id, name) => as(first.port).access.disablePrincipal({ name }),
      ],
      ["rotated without overlap", (id) => as(first.port).access.rotateToken({ id, overlap: {} })],
    ];

  test.each(ends)(
    "%s: refused in every process at once, and its streams end",
    async (what, end) => {
      const principal = `p-${what.length}`;
      const { text, id } = await give(as(first.port), ["settings:read"], [], principal);
      const both = [as(first.port, text), as(second.port, text)];
      const streams = both.map((client) =>
        client.settings.watchSettings({})[Symbol.asyncIterator](),
      );
      for (const stream of streams) await stream.next();
      await end(id, principal);
      for (const client of both)
        await expect(client.settings.getSetting({ key: "site_title" })).rejects.toMatchObject({
          code: Code.Unauthenticated,
        });
      for (const stream of streams)
        await expect(drained(stream)).rejects.toMatchObject({ code: Code.Unauthenticated });
    },
  );

  test("is valid after a restart, and its last use is kept", async () => {
    const service = await startService();
    onTestFinished(service.stop);
    const again = await startService({ folder: service.folder });
    const { text, id } = await give(as(again.port), ["settings:read"]);
    await as(again.port, text).settings.getSetting({ key: "site_title" });
    await again.stop();
    await vi.waitFor(async () => {
      const { tokens } = await as(service.port).access.listTokens({});
      expect(tokens.find((token) => token.id === id)).toMatchObject({
        lastUsePeer: "127.0.0.1",
        active: true,
      });
    }, 60_000);
  });
});
