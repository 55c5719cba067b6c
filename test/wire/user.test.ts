import { Code, ConnectError } from "@connectrpc/connect";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { UserService } from "../../gen/mooring/v1/user_service_pb.js";
import { type StandIn, startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { read } from "./transport/transport.ts";

const { listUsers, compareUsers, copyUsers } = UserService.method;
const service = startedForAll(() => startService());
const home = startedForAll(() => startStandIn());
const hut = startedForAll(() => startStandIn());

beforeAll(async () => {
  const { sites, close } = as(service.port);
  for (const [name, { url, token }] of Object.entries({ home, hut }) as [string, StandIn][])
    await sites.createSite({ site: { name, url, token: token() } });
  close();
});

beforeEach(() => {
  for (const { users } of [home, hut])
    for (const [id, { username }] of users.rows)
      if (!["admin", "guest"].includes(username)) users.rows.delete(id);
  home.users.add({ username: "ann", base_path: "/films", permission: 0b1001, allow_ldap: false });
});

describe.each(sharedPortTransports)("users over $name", ({ open }) => {
  const transport = startedForAll(() => open(service));

  test("are listed, compared and copied", async () => {
    const list = await read(transport, listUsers, { site: "home" });
    expect(list["users"]).toMatchObject([
      { name: "admin", built_in: true, roles: ["admin"] },
      { name: "guest", built_in: true, disabled: true },
      {
        name: "ann",
        base_path: "/films",
        permission: 9,
        permissions: ["see_hidden", "write"],
        allow_ldap: false,
      },
    ]);
    const both = { from: "home", to: "hut" };
    const compared = await read(transport, compareUsers, both);
    expect(compared["differences"]).toMatchObject([{ name: "ann", state: "missing" }]);
    const request = { ...both, names: ["ann"], password: "one for all", dryRun: true };
    const planned = await read(transport, copyUsers, request);
    expect(planned["results"]).toMatchObject([{ name: "ann", outcome: "created" }]);
    expect(hut.users.named("ann")).toBeUndefined();
    await read(transport, copyUsers, { ...request, dryRun: false });
    expect(hut.users.named("ann")).toMatchObject({ base_path: "/films", allow_ldap: false });
    expect((await read(transport, compareUsers, both))["differences"]).toEqual([]);
  });
});

test("a generated password is in the reply, and in no log, audit or log of the site", async () => {
  const { users, audit, sites, close } = as(service.port);
  const request = { from: "home", to: "hut", names: ["ann"], randomPasswords: true };
  const { results } = await users.copyUsers(request);
  const password = results[0]?.password ?? "";
  expect(password).toMatch(/^[a-zA-Z2-9]{20}$/);
  expect(hut.users.named("ann")?.hidden.password).toBe(password);
  const rows = await audit.listAuditEvents({ subject: "user:ann" });
  expect(rows.events.slice(0, 2).map(({ method, actor }) => [method, actor])).toEqual([
    ["CopyUsers", "admin"],
    ["CopyUsers", "admin"],
  ]);
  const log = await sites.listSiteLog({ name: "hut", pageSize: 1 });
  expect(log.entries).toMatchObject([{ action: "user", keys: ["user:ann"], result: "created" }]);
  const chinese = await sites.listSiteLog(
    { name: "hut", pageSize: 1 },
    { headers: { "accept-language": "zh-CN" } },
  );
  expect(chinese.entries).toMatchObject([{ action: "user", result: "已创建" }]);
  const shown = JSON.stringify([rows.events, log.entries], (_name, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
  expect(shown + service.log()).not.toContain(password);
  close();
});

test("the scopes are needed, writing includes reading, and limits are refused", async () => {
  const root = as(service.port);
  const scoped = async (...scopes: string[]) => as(service.port, (await give(root, scopes)).text);
  const copy = { from: "home", to: "hut", names: ["ann"], dryRun: true };
  const sites = await scoped("sites:manage", "mounts:write");
  await expect(sites.users.listUsers({ site: "home" })).rejects.toThrow("users:read");
  const reader = await scoped("users:read", "sites:read");
  await reader.users.listUsers({ site: "home" });
  await reader.users.compareUsers({ from: "home", to: "hut" });
  await expect(reader.users.copyUsers(copy)).rejects.toThrow("users:write");
  const writer = await scoped("users:write");
  await writer.users.compareUsers({ from: "home", to: "hut" });
  await writer.users.copyUsers(copy);
  const limited = give(root, ["users:read"], ["mount:/a"]);
  await expect(limited).rejects.toThrow("users:read cannot be limited");
  for (const each of [root, sites, reader, writer]) each.close();
});

test("the log of a site shows copies of users only to those who may read users", async () => {
  const root = as(service.port);
  await root.users.copyUsers({ from: "home", to: "hut", names: ["ann"], password: "x" });
  const { text } = await give(root, ["sites:read"]);
  const other = as(service.port, text);
  expect((await other.sites.listSiteLog({ name: "hut" })).entries).toEqual([]);
  expect((await root.sites.listSiteLog({ name: "hut" })).entries).not.toEqual([]);
  for (const each of [root, other]) each.close();
});

test("an error names the field, and never a password", async () => {
  const { users, close } = as(service.port);
  const request = { from: "home", to: "hut", passwords: { ann: "line\nbreak-secret" } };
  const error = await users
    .copyUsers(request)
    .catch((thrown: unknown) => ConnectError.from(thrown));
  expect(error).toMatchObject({ code: Code.InvalidArgument });
  expect(JSON.stringify(error) + service.log()).not.toContain("break-secret");
  close();
});

test("a caller who disconnects ends the copy", async () => {
  for (let at = 0; at < 5; at += 1) home.users.add({ username: `user-${at}` });
  const { audit, close } = as(service.port);
  const events = async (name: string) =>
    (await audit.listAuditEvents({ subject: `user:${name}` })).events;
  const ending = new AbortController();
  const reached = new Set<string>();
  hut.users.hold = async (name) => {
    reached.add(name);
    ending.abort();
    await expect(call).rejects.toThrow("aborted");
    // The service has read the end of the connection before it answers these calls.
    for (let calls = 0; calls < 3; calls += 1) await events(name);
  };
  const body = { from: "home", to: "hut", random_passwords: true };
  const call = fetch(`http://127.0.0.1:${service.port}/api/admin/site/user/copy`, {
    method: "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: ending.signal,
  });
  await expect(call).rejects.toThrow("aborted");
  await expect.poll(async () => (await events("user-4")).length).toBe(2);
  expect([...reached]).toEqual(["ann"]);
  close();
});
