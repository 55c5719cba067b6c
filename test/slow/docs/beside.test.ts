import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { builtProgram } from "../../built.ts";
import { needs } from "../../downloaders/program.ts";
import { type StandIn, startStandIn } from "../../sites/stand-in.ts";
import { startService, type TestService, TOKEN } from "../../wire/service.ts";
import { type FrontedSite, startFront } from "../../wire/upstream.ts";
import { patternOf, sectionOf, stepsOf } from "./steps.ts";

const page = readFileSync(new URL("../../../docs/beside-your-server.md", import.meta.url), "utf8");
const PROGRAM = await builtProgram();

let folder: string;
let home: StandIn;
let second: StandIn;
let beside: TestService;
let front: FrontedSite;

beforeEach(needs("curl", "bash"));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-beside-"));
  [home, second, beside, front] = await Promise.all([
    startStandIn(),
    startStandIn(),
    startService(),
    startFront(),
  ]);
  // The second one uses the texts of the first.
  for (const key of ["announcement", "privacy_regs", "share_summary_content"])
    second.put(key, home.value(key) ?? "");
  await writeFile(join(folder, "site-token"), home.token());
  await writeFile(join(folder, "second-token"), second.token());
  await writeFile(join(folder, "new-token"), second.token());
  // OpenList v4.2.5 does not have this setting of Mooring.
  home.settings.rows.delete("move_task_threads_num");
}, 60_000);

afterAll(async () => {
  await Promise.all([beside.stop(), front.stop(), home.stop(), second.stop()]);
  await rm(folder, { recursive: true, force: true });
});

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
    const printed = await shell(localized(command), mooring);
    expect(printed).toMatch(patternOf(localized(output)));
  });
});

/** Runs a command in bash, with `mooring` as a program. @returns its output. */
async function shell(command: string, port: number): Promise<string> {
  const program = `mooring() { "${process.execPath}" "${PROGRAM}" "$@"; }`;
  const child = spawn("bash", ["-c", `exec 2>&1; ${program}; ${command}`], {
    cwd: folder,
    env: { PATH: process.env["PATH"], MOORING_TOKEN: TOKEN, MOORING_ADDRESS: `127.0.0.1:${port}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await once(child, "close");
  return text.trim();
}
