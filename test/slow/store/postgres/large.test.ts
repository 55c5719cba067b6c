import { expect, test } from "vitest";
import { createLedger } from "../../../../src/ledger/ledger.ts";
import { createFingerprint } from "../../../../src/secrets/fingerprint.ts";
import { createSealer } from "../../../../src/secrets/sealer.ts";
import { settingRules } from "../../../../src/settings/kind.ts";
import { decideValue } from "../../../../src/settings/save.ts";
import { definitions, tester } from "../../../settings/parts.ts";
import { opened } from "../../../store/postgres/opened.ts";
import { serverOfFile } from "../../../store/postgres/server.ts";

const server = serverOfFile();

test("64 clients that save long values at the same time are all answered, because their changes are several statements", async () => {
  const { store } = await opened(await server().newDatabase());
  const ledger = await createLedger({
    store,
    kinds: [settingRules(definitions)],
    now: Date.now,
    onReadFailure: () => undefined,
    sealer: createSealer([]),
    fingerprint: createFingerprint(store.fingerprintKey),
  });
  const save = (client: number) =>
    ledger.change(tester, (draft) => {
      for (const key of ["customize_head", "customize_body"])
        decideValue(draft, key, `client ${client} `.repeat(45_000));
    });
  const saved = await Promise.all(Array.from({ length: 64 }, (_, client) => save(client)));
  expect(saved.map(({ revision }) => revision)).toEqual(saved.map((_, at) => at + 1));
});
