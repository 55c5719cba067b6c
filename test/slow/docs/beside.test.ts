import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { startService, TOKEN } from "../../wire/service.ts";
import { startFront } from "../../wire/upstream.ts";
import { runInBash } from "./shell.ts";
import { patternOf, sectionOf, stepsOf } from "./steps.ts";

const page = readFileSync(new URL("../../../docs/beside-your-server.md", import.meta.url), "utf8");

const home = startedForAll(startStandIn);
const second = startedForAll(startStandIn);
const beside = startedForAll(startService);
const front = startedForAll(startFront);
let folder: string;

beforeEach(needs("curl", "bash"));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-beside-"));
  // The second one uses the texts of the first.
  for (const key of ["announcement", "privacy_regs", "share_summary_content"])
    second.put(key, home.value(key) ?? "");
  await writeFile(join(folder, "site-token"), home.token());
  await writeFile(join(folder, "second-token"), second.token());
  await writeFile(join(folder, "new-token"), second.token());
  // OpenList v4.2.5 does not have this setting of Mooring.
  home.settings.rows.delete("move_task_threads_num");
}, 60_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

const sections = [
  ["## Beside", () => ({ mooring: beside.port, site: home.port, other: 0 })],
  ["## In front", () => ({ mooring: front.service.port, site: front.site.port, other: 0 })],
  ["## Many", () => ({ mooring: beside.port, site: home.port, other: second.port })],
  ["## Back", () => ({ mooring: beside.port, site: home.port, other: second.port })],
] as const;

describe.each(sections)("%s", (title, ports) => {
  test.each(stepsOf(sectionOf(page, title)))("$command", async ({ command, output }) => {
    const { mooring, site, other } = ports();
    const localized = (text: string): string =>
      text
        .replaceAll("127.0.0.1:5244", `127.0.0.1:${mooring}`)
        .replaceAll("127.0.0.1:5245", `127.0.0.1:${site}`)
        .replaceAll("127.0.0.1:5246", `127.0.0.1:${other}`);
    const { out } = await runInBash(`exec 2>&1; ${localized(command)}`, folder, {
      MOORING_TOKEN: TOKEN,
      MOORING_ADDRESS: `127.0.0.1:${mooring}`,
    });
    expect(out).toMatch(patternOf(localized(output)));
  });
});
