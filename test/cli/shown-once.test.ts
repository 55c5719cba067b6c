import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForEach } from "../started.ts";
import { addSite, service, TOKEN, useService } from "./service.ts";
import { closedPipe } from "./world.ts";

useService();
const home = startedForEach(() => startStandIn());
const hut = startedForEach(() => startStandIn());

function fullDisk() {
  return new Writable({
    write: (_chunk, _encoding, done) =>
      done(Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" })),
  });
}

const unwritten = [
  ["without a reader", closedPipe, [], "the reader of the output has gone"],
  ["without a reader, in JSON", closedPipe, ["--json"], "the reader of the output has gone"],
  ["on a full disk", fullDisk, [], "write ENOSPC"],
] as const;

test.each(unwritten)("a new token is reported as lost %s", async (_, stdout, json, reason) => {
  const line = ["token", "create", "ci", "--scopes", "settings:read", ...json];
  const ended = await service.cli(line, { world: { stdout: stdout() } });
  expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`lost (${reason})`) });
  const [, revoke = ""] = /"mooring (token revoke \w{12} --yes)"/.exec(ended.err) ?? [];
  expect((await service.cli(revoke.split(" "))).code).toBe(0);
});

test.each(unwritten)("a rotated token is reported as lost %s", async (_, stdout, json, reason) => {
  const made = await service.cli(["token", "create", "ci", "--scopes", "settings:read"]);
  const line = ["token", "rotate", made.out.slice(4, 16), ...json];
  const ended = await service.cli(line, { world: { stdout: stdout() } });
  expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`lost (${reason})`) });
});

test.each(unwritten)("a reset token is reported as lost %s", async (_, stdout, json, reason) => {
  const line = ["token", "reset", "--yes", ...json];
  const ended = await service.cli(line, { world: { stdout: stdout() } });
  expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`lost (${reason})`) });
  expect(ended.err).toContain("token show --database");
  const set = ["token", "set", "--yes", "--database", service.database];
  const env = { MOORING_ADDRESS: "", MOORING_TOKEN: "" };
  expect((await service.cli(set, { stdin: TOKEN, env })).code).toBe(0);
});

test.each(unwritten)("the key of a webhook is reported as lost %s", async (...one) => {
  const [, stdout, json, reason] = one;
  const ended = await service.cli(["webhook", "add", "hook", "--url-file", "-", ...json], {
    stdin: "https://example.com/hook",
    world: { stdout: stdout() },
  });
  expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`lost (${reason})`) });
  expect(ended.err).toContain("mooring webhook set hook --secret-file PATH");
  expect((await service.cli(["webhook", "remove", "hook", "--yes"])).code).toBe(0);
});

async function addSites(): Promise<void> {
  for (const [name, site] of Object.entries({ home, hut })) {
    await service.cli(["site", "remove", name, "--yes"]);
    await addSite(name, site);
  }
  home.users.add({ username: "ann" });
}

test.each(unwritten)("passwords of a restore are reported as lost %s", async (...one) => {
  const [, stdout, json, reason] = one;
  await addSites();
  await writeFile(join(service.folder, "passphrase"), "passphrase of the operator\n");
  const sealed = ["--passphrase-file", "passphrase"];
  const made = ["backup", "create", "--output", "site.json", "--force", ...sealed];
  expect((await service.cli(made)).code).toBe(0);
  home.users.rows.delete(home.users.named("ann")?.id ?? 0);
  const line = ["backup", "restore", "site.json", "--yes", ...sealed, ...json];
  const ended = await service.cli(line, { world: { stdout: stdout() } });
  expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`(${reason})`) });
  expect(ended.err).toContain("the generated password of home users ann is lost");
});

test.each(unwritten)("passwords of users are reported as lost %s", async (...one) => {
  const [, stdout, json, reason] = one;
  await addSites();
  const line = ["user", "copy", "home", "hut", "--random-passwords", ...json];
  const ended = await service.cli(line, { world: { stdout: stdout() } });
  expect(ended).toMatchObject({ code: 1, err: expect.stringContaining(`lost (${reason})`) });
  expect(ended.err).toContain("the generated password of ann is lost");
});
