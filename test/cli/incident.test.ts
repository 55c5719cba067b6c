import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { durationText } from "../../src/cli/day-strip.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { addSite, service, useService } from "./service.ts";

useService({ MOORING_WEBHOOK_TARGETS: "any" });

const site = startedForAll(() => startStandIn());
const target = startedForAll(() =>
  createServer((request, response) => {
    request.resume();
    response.writeHead(status).end();
  }),
);
let urlFile: string;
let status = 204;

beforeAll(async () => {
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  site.mounts.push({
    id: 1,
    mount_path: "/films",
    driver: "PikPak",
    status: "invalid_grant",
    disabled: false,
    addition: "{}",
  });
  urlFile = join(service.folder, "url");
  await writeFile(urlFile, `http://127.0.0.1:${(target.address() as AddressInfo).port}/key\n`);
  await addSite("one", site);
  await vi.waitFor(async () => expect((await service.cli(["incident", "list"])).out).not.toBe(""), {
    timeout: 60_000,
  });
});

const incident = (...args: string[]) => service.cli(["incident", ...args]);
const webhook = (...args: string[]) => service.cli(["webhook", ...args]);

test("incidents are listed, shown and acknowledged", async () => {
  const list = await incident("list");
  expect(list.out).toMatch(/^ID +SITE +SUBJECT +CLASS +SINCE +STATE +MESSAGE$/m);
  expect(list.out).toMatch(/one +\/films +credential .* open +invalid_grant/);
  const [{ id }] = JSON.parse((await incident("list", "--json")).out).incidents;
  // As an argument it must not look like a flag.
  expect(id).toMatch(/^[0-9a-f]{18}$/);
  const shown = await incident("show", id);
  expect(shown.out).toMatch(/^to do +Get a new credential/m);
  expect(shown.out).toMatch(/^ {2}password +/m);
  expect((await incident("ack", id, "--comment", "on it")).out).toMatch(/^note +on it$/m);
  expect((await incident("list")).out).toContain("acknowledged by admin");
  expect(await incident("list", "--site", "other")).toMatchObject({
    code: 3,
    err: expect.stringContaining('there is no site "other"'),
  });
  expect(await incident("show", "nothing")).toMatchObject({
    code: 3,
    err: 'mooring incident: there is no incident "nothing"\n',
  });
});

test("the last days of sites and mounts are a line each, with a character a day", async () => {
  const days = (...args: string[]) => incident("days", ...args);
  await expect.poll(async () => (await days()).out).toMatch(/^one +_?\.{29}/m);
  await expect.poll(async () => (await days("--failed")).out).toMatch(/^one +\/films +\.{29}[#+]/m);
  const all = await days();
  expect(all.out).toMatch(/^SITE +MOUNT +LAST 30 DAYS +FAILED +LAST FAILURE$/m);
  const today = new Date().toISOString().slice(0, 10);
  expect(all.out).toMatch(
    /^one +\/films +\.{29}[#+] +less than 1 min +\d{4}-\d\d-\d\d: invalid_grant$/m,
  );
  expect(all.err).toContain("_ worked, + failed for a part, # failed, . not monitored");
  const { strips } = JSON.parse((await days("--site", "one", "--json")).out);
  expect(strips).toMatchObject([{ mount_path: "" }, { mount_path: "/films" }]);
  expect(strips[1].days).toHaveLength(30);
  expect((await days("-n", "1")).out.trim().split("\n")).toHaveLength(2);
  const onTerminal = async (LANG: string) =>
    (await service.cli(["incident", "days", "--failed"], { terminal: 100, env: { LANG } })).out;
  expect(await onTerminal("en_US.UTF-8")).toMatch(/·{29}[█▄]/);
  expect(await onTerminal("C")).toMatch(/\.{29}[#+]/);
  expect((await service.cli(["site", "list", "--days"])).out).toMatch(/^one .* [._]{29}[._] /m);
  expect(await service.cli(["site", "list", "--days", "--json"])).toMatchObject({
    code: 2,
    err: expect.stringContaining('"mooring incident days --json" has the numbers'),
  });
  const file = join(service.folder, "films.json");
  const mount = { path: "/films", driver: "Local", config: { root_folder_path: "/srv" } };
  await writeFile(file, JSON.stringify({ mounts: { films: { ...mount, sites: ["one"] } } }));
  expect((await service.cli(["apply", file, "--yes"])).err).toBe("");
  const shown = await service.cli(["mount", "get", "films", "--days"]);
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.out).toMatch(/\.{29}[#+]/);
  expect(shown.err).toContain("_ worked, + failed for a part, # failed, . not monitored");
  expect((await service.cli(["mount", "get", "films"])).out).not.toMatch(/\.{29}/);
  expect((await service.cli(["mount", "get", "films", "--days", "--json"])).code).toBe(2);
  const listed = await incident("list", "--date", today);
  expect(listed.out).toContain("/films");
  expect(await incident("list", "--date", "2020-01-01")).toMatchObject({
    code: 0,
    out: "",
    err: "mooring: no incident was open on 2020-01-01\n",
  });
  expect(await incident("list", "--date", "yesterday")).toMatchObject({
    code: 4,
    err: expect.stringContaining('date must be a day such as "2026-11-26"'),
  });
  expect((await days("--date", today)).code).toBe(2);
});

test.each([
  [0, "less than 1 min"],
  [59, "less than 1 min"],
  [60, "1 min"],
  [3_599, "59 min"],
  [3_600, "1 h"],
  [5 * 3_600 + 600, "5 h 10 min"],
  [86_400, "1 d"],
  [2 * 86_400 + 3 * 3_600 + 59 * 60, "2 d 3 h"],
  [86_400 + 60, "1 d"],
])("%i seconds are %s", (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

test("webhooks are added, tested, changed and removed", async () => {
  const classes = ["--classes", "credential,quota"];
  const added = await webhook("add", "chat", "--url-file", urlFile, ...classes);
  expect(added.out).toMatch(/^whsec_\S+\n$/);
  expect((await webhook("list")).out).toMatch(
    /^chat +standard +http:\/\/127.0.0.1:\d+ +credential,quota +all +en +enabled$/m,
  );
  expect(await webhook("test", "chat")).toMatchObject({
    code: 0,
    out: "chat: delivered (HTTP 204)\n",
  });
  status = 500;
  expect(await webhook("test", "chat")).toMatchObject({
    code: 1,
    out: "chat: failed (1 attempt, HTTP 500)\n",
  });
  status = 204;
  const sent = await webhook("deliveries", "chat");
  expect(
    sent.out
      .split("\n")
      .slice(1, -1)
      .map((line) => /test +(\w+)/.exec(line)?.[1]),
  ).toEqual(["failed", "delivered"]);
  const [{ id }] = JSON.parse((await webhook("deliveries", "chat", "--json")).out).deliveries;
  expect((await webhook("resend", id)).out).toBe(`${id}: delivered (HTTP 204)\n`);
  const changes = ["--disabled", "true", "--classes", "all", "--site", "one"];
  const set = await webhook("set", "chat", ...changes);
  expect(set.out).toMatch(/^chat +standard +\S+ +all +one +en +disabled$/m);
  expect((await webhook("test", "chat")).err).toContain("is disabled: enable it first");
  expect(await webhook("remove", "chat", "--yes")).toMatchObject({
    code: 0,
    out: "chat: removed\n",
  });
  expect((await webhook("deliveries", "chat")).err).toContain('there is no webhook "chat"');
});

test("invalid commands are reported", async () => {
  expect((await webhook("add", "x")).err).toContain("--url-file");
  expect((await webhook("add", "x", "--url-file", urlFile, "--classes", "qota")).err).toContain(
    "did you mean quota?",
  );
  expect((await webhook("set", "x", "--disabled", "yes")).err).toContain("true or false");
  expect((await incident("lst")).err).toContain("did you mean incident list?");
});

test("webhooks of services are created with their token from a file, which is not shown", async () => {
  const token = "123456789:AAE-abcdefghijklmnopqrstuvwxyz012345";
  const tokenFile = join(service.folder, "bot-token");
  await writeFile(tokenFile, `${token}\n`);
  const made = await webhook(
    "create",
    "phone",
    "--format",
    "telegram",
    "--chat",
    "-1001234567890",
    "--service-token-file",
    tokenFile,
  );
  expect(made).toMatchObject({
    code: 0,
    err: expect.stringContaining("mooring webhook test phone"),
  });
  expect(made.out).toMatch(/^phone +telegram +https:\/\/api\.telegram\.org +all/m);
  const listed = await webhook("list", "--json");
  expect(listed.out).toMatch(/"format": ?"WEBHOOK_FORMAT_TELEGRAM"/);
  expect(made.out + made.err + listed.out).not.toContain(token);
  expect((await webhook("remove", "phone", "--yes")).code).toBe(0);
});

test("a template is created with its content type and headers", async () => {
  const template = join(service.folder, "template");
  const headers = join(service.folder, "headers");
  await writeFile(template, '{"content":"{{title}}"}');
  await writeFile(headers, "X-Key: secret-value\n");
  const files = ["--template-file", template, "--headers-file", headers, "--url-file", urlFile];
  expect((await webhook("add", "own", "--format", "template", ...files)).code).toBe(0);
  const listed = (await webhook("list", "--json")).out;
  expect(listed).toContain("X-Key");
  expect(listed).not.toContain("secret-value");
  status = 200;
  expect((await webhook("test", "own")).out).toMatch(/^own: delivered/);
  await webhook("remove", "own", "--yes");
});

test.each([
  [["--format", "telegrm"], /did you mean telegram\?/],
  [["--format", "telegram"], /the token of the bot is missing.*--service-token-file/],
  [["--format", "bark"], /the key of the device is missing/],
  [["--format", "slack"], /the address of the webhook is missing.*--url-file/],
  [["--content-type", "text/plain"], /go with --template-file/],
])("a webhook with %j says what is missing", async (args, expected) => {
  const failed = await webhook("create", "x", ...args);
  expect(failed.code).toBe(2);
  expect(failed.err).toMatch(expected);
});
