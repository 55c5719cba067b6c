import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { invoke, read } from "./transport/transport.ts";

const { listTokens, listPrincipals } = AccessService.method;
const COUNT = 23;
const names = Array.from({ length: COUNT }, (_, at) => `p${String(at).padStart(2, "0")}`);

const service = startedForAll(startService);
/** All tokens, newest first. */
let ids: readonly string[];
beforeAll(async () => {
  const root = as(service.port);
  for (const name of names.toReversed()) await give(root, ["settings:read"], [], name);
  ids = (await root.access.listTokens({})).tokens.map(({ id }) => id);
});

const rest = async (path: string) => {
  const url = `http://127.0.0.1:${service.port}/api/admin/access/${path}`;
  const reply = await fetch(url, { headers: { authorization: TOKEN } });
  return reply.json() as Promise<{ code: number; message: string; data: never }>;
};

describe.each(sharedPortTransports)("over $name", ({ open }) => {
  const transport = startedForAll(() => open(service));
  const page = async (method: typeof listTokens | typeof listPrincipals, members: object) =>
    (await read(transport, method, members)) as unknown as {
      readonly tokens: readonly { readonly id: string }[];
      readonly principals: readonly { readonly name: string }[];
      readonly next_page_token: string;
    };

  test("a page continues the one before: tokens newest first, principals by name", async () => {
    const { tokens, next_page_token: pageToken } = await page(listTokens, { pageSize: 20 });
    const rest = await page(listTokens, { pageSize: 20, pageToken });
    expect([...tokens, ...rest.tokens].map(({ id }) => id)).toEqual(ids);
    expect(rest.next_page_token).toBe("");
    const first = await page(listPrincipals, { pageSize: 20 });
    const second = await page(listPrincipals, { pageSize: 20, pageToken: first.next_page_token });
    expect([first, second].map(({ principals }) => principals.map(({ name }) => name))).toEqual([
      names.slice(0, 20),
      names.slice(20),
    ]);
  });

  test.each([
    [{ pageSize: -1 }, "page_size", "page_size must be a number from 1 to 10000, not -1"],
    [{ pageToken: "no page has given it" }, "page_token", "invalid page_token"],
  ])("%j is refused", async (members, field, message) => {
    for (const method of [listTokens, listPrincipals])
      expect(await invoke(transport, method, members)).toMatchObject({
        kind: "failure",
        code: transport.codeOf(Code.InvalidArgument),
        fields: [field],
        message: expect.stringContaining(message),
      });
  });
});

test("a token created in between shifts nothing, and the next page continues at its place", async () => {
  const other = await startService();
  onTestFinished(other.stop);
  const root = as(other.port);
  for (const name of names) await give(root, ["settings:read"], [], name);
  const before = (await root.access.listTokens({})).tokens.map(({ id }) => id);
  const first = await root.access.listTokens({ pageSize: 10 });
  await give(root, ["settings:read"], [], "later");
  await root.access.revokeToken({ id: first.tokens.at(-1)?.id ?? "" });
  const second = await root.access.listTokens({ pageToken: first.nextPageToken });
  expect([...first.tokens, ...second.tokens].map(({ id }) => id)).toEqual(before);
});

test("over REST the former path answers a bare list, and another path the next page token", async () => {
  const whole = await rest("tokens");
  expect(whole.data).toHaveLength(COUNT);
  expect(await rest("tokens/list?page_size=20")).toMatchObject({
    code: 200,
    data: { next_page_token: expect.stringMatching(/./) },
  });
  const people = await rest("principals/list?page_size=1");
  expect(people.data).toMatchObject({ principals: [{ name: "p00" }], next_page_token: "p00" });
  expect((await rest("principals")).data).toHaveLength(COUNT);
});
