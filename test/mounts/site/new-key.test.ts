import { expect, test } from "vitest";
import { ONE, OTHER, renewHashes, sealedBy, spendTokens } from "./crash.ts";
import { driverByName, memoryStore, mount, openDesk } from "./desk.ts";
import { startStorages } from "./stand-in.ts";

test.each([
  ["the same sealing key", [ONE]],
  ["another sealing key", [OTHER, ONE]],
  ["a sealing key without the earlier one", [OTHER]],
])("a credential whose push was interrupted is sent with %s", async (_name, keys) => {
  await using ends = new AsyncDisposableStack();
  const site = await startStorages(driverByName);
  ends.defer(() => site.stop());
  spendTokens(site);
  const store = memoryStore();
  const items = {
    url: "https://up.example",
    username: "u",
    password: "p",
    token: "token-of-mooring",
  };
  const before = mount({ driver: "AList V3", items });
  const first = await openDesk(site, { store, hash: sealedBy(ONE) });
  first.wanted = [before];
  await first.round();
  first.close();
  const given = { ...before, revision: 2, credentialRevision: 2 };
  const wanted = { ...given, items: { ...items, token: "token-given" } };
  const broken = await openDesk(site, {
    store,
    hash: sealedBy(ONE),
    wrap: (client) => ({ ...client, update: () => Promise.reject(new Error("ended")) }),
  });
  broken.wanted = [wanted];
  await expect(broken.round()).rejects.toThrow("ended");
  broken.close();
  expect(JSON.stringify(site.calls)).not.toContain("token-given");
  const hash = sealedBy(...keys);
  await renewHashes(store, hash);
  const next = await openDesk(site, { store, hash });
  ends.defer(() => next.close());
  next.wanted = [wanted];
  await next.round();
  expect(JSON.stringify(site.calls)).toContain("token-given");
});
