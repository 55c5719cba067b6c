import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { createThrottle } from "../../src/access/throttle.ts";
import { openAccess } from "../../src/app/access.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { testParts } from "../settings/parts.ts";
import { temporaryPaths } from "../store/folder.ts";

const newPath = temporaryPaths();

test("closing waits for a read of the database in progress", async () => {
  const path = newPath();
  const { ledger } = await testParts(path);
  const store = await openSqliteStore(path);
  onTestFinished(() => store.close());
  const release = Promise.withResolvers<void>();
  const fresh = vi.fn(async () => {
    await release.promise;
    return ledger.snapshot();
  });
  const access = await openAccess({
    ledger: { ...ledger, fresh },
    store,
    upstream: undefined,
    throttle: createThrottle({ perMinute: 0 }),
    localize: (error) => error,
    log: pino({ level: "silent" }),
    endedTokenAge: 0,
  });
  await expect.poll(() => fresh).toHaveBeenCalled();
  let isClosed = false;
  const closing = access.close().then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  release.resolve();
  await closing;
});
