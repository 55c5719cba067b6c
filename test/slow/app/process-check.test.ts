import { rm } from "node:fs/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { checkInProcess } from "../../../src/app/check-process.ts";
import { checkConfigOf, createProcessCheck } from "../../../src/app/process-check.ts";
import { deriveKey } from "../../../src/archive/passphrase.ts";
import { startLocalServices } from "../../app/local-services.ts";
import { CHEAP } from "../../archive/text.ts";
import { startedForAll } from "../../started.ts";
import { newDatabaseFolder } from "../../store/folder.ts";
import { configOf } from "../../wire/service.ts";

const PASSPHRASE = "correct horse battery";
const signal = new AbortController().signal;
// The process has a low priority: on a busy machine it waits for the tests beside it.
const timeout = 300_000;

/** The file of a backup, and the configuration of its service. */
const backup = startedForAll(async () => {
  const folder = newDatabaseFolder();
  const env = { MOORING_DRIVERS_ENABLED: "Local" };
  const local = await startLocalServices(folder, env, { passphraseCost: CHEAP, deriveKey });
  await local.call("SaveSettings", { settings: [{ key: "aria2_secret", value: "hush" }] });
  const made = await local.call("CreateBackup", { download: true, passphrase: PASSPHRASE });
  const { document } = made as unknown as { document: JsonObject };
  return {
    content: Buffer.from(JSON.stringify(document)),
    config: configOf(folder, env),
    stop: async () => {
      await local.close();
      await rm(folder, { recursive: true });
    },
  };
});

test.each([
  ["is the same as in this process", PASSPHRASE],
  ["reports a wrong passphrase in the same words", "another passphrase"],
])("a check in a process of its own %s", { timeout }, async (_what, passphrase) => {
  const { content, config } = backup;
  expect(content.length).toBeGreaterThan(0);
  const checked = await createProcessCheck(config)(content, passphrase, signal);
  const here = await checkInProcess(content, passphrase, checkConfigOf(config));
  expect(JSON.stringify(checked)).toBe(JSON.stringify(here));
  expect(String(checked.problem) === "").toBe(passphrase === PASSPHRASE);
});

test("a check ends with its caller", { timeout }, async () => {
  const ending = new AbortController();
  const check = createProcessCheck(backup.config)(backup.content, PASSPHRASE, ending.signal);
  ending.abort(new Error("the caller has gone"));
  await expect(check).rejects.toThrow("the caller has gone");
});
