import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { startedForEach } from "../started.ts";
import { startService } from "./service.ts";
import { startWatching } from "./watching.ts";

const service = startedForEach(() => startService());

const follow = (...args: string[]) =>
  startWatching(["audit", "list", "--follow", ...args], service.env);
const save = (title: string) => service.cli(["set", `site_title=${title}`, "--reason", title]);

/** Messages printed with `--json`. */
function messagesOf(out: string) {
  return out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { sequence: string; events: { sequence: string }[] });
}

test("matching rows are printed when they are written, and Ctrl-C ends it with 0", async () => {
  const following = follow("--subject", "site_*", "--after", "0");
  await save("First");
  await following.until("First");
  await service.cli(["set", "announcement=not asked for"]);
  await save("Second");
  await following.until("Second");
  const { code, out, err } = await following.interrupt();
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(
    /^\d+ {2}[-\d]+ [\d:]+ {2}admin {2}grpc SaveSettings {2}OK {2}site_title {2}\{.*"First".*\}\n/m,
  );
  expect(out).not.toContain("announcement");
});

test("without --after only new rows are printed", async () => {
  await save("Before");
  const following = follow("--json");
  await following.until('"sequence"');
  await save("After");
  await following.until("After");
  expect((await following.interrupt()).out).not.toContain("Before");
});

test("audit --follow continues after a restart of the service without missing or repeated rows", async () => {
  const following = follow("--json", "--after", "0");
  await save("One");
  await following.until("One");
  await service.stop();
  await following.until("trying again");
  const offline = { env: { MOORING_ADDRESS: "", MOORING_TOKEN: "" } };
  await service.cli(
    ["set", "site_title=Meanwhile", "--reason", "Meanwhile", "--database", "mooring.db"],
    offline,
  );
  await service.start();
  await following.until("Meanwhile");
  await save("Two");
  await following.until('"reason\\":\\"Two');
  const { code, out } = await following.interrupt();
  expect(code).toBe(0);
  const rows = messagesOf(out).flatMap(({ events }) => events.map(({ sequence }) => sequence));
  expect(rows).toEqual(rows.map((_, at) => String(at + 1)));
});

test("when the audit was replaced, it reports so and begins with its oldest row", async () => {
  for (const title of ["A", "B", "C"]) await save(title);
  const following = follow();
  await save("Newest");
  await following.until("Newest");
  await service.stop();
  await following.until("trying again");
  for (const end of ["", "-wal", "-shm"]) await rm(service.database + end, { force: true });
  await service.start();
  await following.until("resuming with row 1");
  await save("Anew");
  await following.until("Anew");
  expect((await following.interrupt()).code).toBe(0);
});

test.each<[string[], string]>([
  [["--follow", "--since", "1h"], "--since cannot be combined with --follow"],
  [["--follow", "-n", "3"], "--limit cannot be combined with --follow"],
  [["--after", "3"], "--after requires audit list --follow"],
  [["--follow", "--after", "x"], "is not the number of a row"],
  [["--follow", "--database", "mooring.db"], "--follow requires a service"],
])("%j is refused", async (args, message) => {
  expect(await service.cli(["audit", "list", ...args])).toMatchObject({
    code: 2,
    err: expect.stringContaining(message),
  });
});

test("a row that does not exist yet is refused at once", async () => {
  const { code, err } = await follow("--after", "999").running;
  expect(code).toBe(3);
  expect(err).toContain("row 999 of the audit does not exist yet");
});
