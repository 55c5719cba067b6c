import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type StandIn, startStandIn } from "../sites/stand-in.ts";
import { service, useService } from "./service.ts";

useService({ MOORING_WEBHOOK_TARGETS: "any" });

let site: StandIn;
let target: Server;
let urlFile: string;
let status = 204;

beforeAll(async () => {
  target = createServer((request, response) => {
    request.resume();
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  site = await startStandIn();
  site.mounts.push({
    id: 1,
    mount_path: "/films",
    driver: "PikPak",
    status: "invalid_grant",
    disabled: false,
    addition: "{}",
  });
  urlFile = join(service.folder, "url");
  const tokenFile = join(service.folder, "site-token");
  await writeFile(urlFile, `http://127.0.0.1:${(target.address() as AddressInfo).port}/key\n`);
  await writeFile(tokenFile, site.token());
  await service.cli(["site", "add", "one", site.url, "--site-token-file", tokenFile]);
  await vi.waitFor(async () => expect((await service.cli(["incident", "list"])).out).not.toBe(""), {
    timeout: 60_000,
  });
});

afterAll(async () => {
  await site.stop();
  target.close();
});

const incident = (...args: string[]) => service.cli(["incident", ...args]);
const webhook = (...args: string[]) => service.cli(["webhook", ...args]);

test("incidents are listed, shown and acknowledged", async () => {
  const list = await incident("list");
  expect(list.out).toMatch(/^ID +SITE +MOUNT +CLASS +SINCE +STATE +MESSAGE$/m);
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

test("webhooks are added, tested, changed and removed", async () => {
  const classes = ["--classes", "credential,quota"];
  const added = await webhook("add", "chat", "--url-file", urlFile, ...classes);
  expect(added.out).toMatch(/^whsec_\S+\n$/);
  expect((await webhook("list")).out).toMatch(
    /^chat +http:\/\/127.0.0.1:\d+ +credential,quota +all +en +enabled$/m,
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
  expect(set.out).toMatch(/^chat +\S+ +all +one +en +disabled$/m);
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
