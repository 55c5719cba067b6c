import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
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
let ended: string;
beforeAll(async () => {
  const root = as(service.port);
  for (const name of names.toReversed()) await give(root, ["settings:read"], [], name);
  ids = (await root.access.listTokens({})).tokens.map(({ id }) => id);
  ended = ids[4] ?? "";
  await root.access.revokeToken({ id: ended });
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

  test("pages of any size have each token once, newest first", async () => {
    for (const pageSize of [1, 7, COUNT - 1, COUNT, COUNT + 1, 2_000_000_000]) {
      const found: string[] = [];
      let pageToken = "";
      let pages = 0;
      do {
        const { tokens, next_page_token: next } = await page(listTokens, { pageSize, pageToken });
        expect(tokens.length).toBeLessThanOrEqual(pageSize);
        found.push(...tokens.map(({ id }) => id));
        pageToken = next;
        pages += 1;
      } while (pageToken !== "");
      expect(found).toEqual(ids);
      expect(pages).toBe(Math.ceil(COUNT / pageSize));
    }
  });

  test("pages of principals are ordered by name", async () => {
    const first = await page(listPrincipals, { pageSize: 20 });
    const second = await page(listPrincipals, { pageSize: 20, pageToken: first.next_page_token });
    expect([first, second].map(({ principals }) => principals.map(({ name }) => name))).toEqual([
      names.slice(0, 20),
      names.slice(20),
    ]);
    expect(second.next_page_token).toBe("");
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

test("filters apply before pages", async () => {
  const { access } = as(service.port);
  const first = await access.listTokens({ active: true, pageSize: 4 });
  const second = await access.listTokens({
    active: true,
    pageSize: 4,
    pageToken: first.nextPageToken,
  });
  expect([...first.tokens, ...second.tokens].map(({ id }) => id)).toEqual(
    ids.filter((id) => id !== ended).slice(0, 8),
  );
  expect(await access.listTokens({ principal: "p03", pageSize: 1 })).toMatchObject({
    tokens: [{ principal: "p03" }],
    nextPageToken: "",
  });
});

test("a token created in between shifts nothing, and the next page continues at its place", async () => {
  const other = await startService();
  try {
    const root = as(other.port);
    for (const name of names) await give(root, ["settings:read"], [], name);
    const before = (await root.access.listTokens({})).tokens.map(({ id }) => id);
    const first = await root.access.listTokens({ pageSize: 10 });
    await give(root, ["settings:read"], [], "later");
    await root.access.revokeToken({ id: first.tokens.at(-1)?.id ?? "" });
    const second = await root.access.listTokens({ pageToken: first.nextPageToken });
    expect([...first.tokens, ...second.tokens].map(({ id }) => id)).toEqual(before);
  } finally {
    await other.stop();
  }
});

test("over REST the former path answers a bare list, and another path the next page token", async () => {
  const whole = await rest("tokens");
  expect(whole.data).toHaveLength(COUNT);
  const page = await rest("tokens/list?page_size=20");
  expect(page).toMatchObject({ code: 200, data: { next_page_token: expect.any(String) } });
  const { tokens, next_page_token: next } = page.data as {
    tokens: { id: string }[];
    next_page_token: string;
  };
  const last = await rest(`tokens/list?page_size=20&page_token=${encodeURIComponent(next)}`);
  expect(last.data).toMatchObject({ next_page_token: "" });
  const { tokens: others } = last.data as { tokens: { id: string }[] };
  expect([...tokens, ...others].map(({ id }) => id)).toEqual(ids);
  const people = await rest("principals/list?page_size=1");
  expect(people.data).toMatchObject({ principals: [{ name: "p00" }], next_page_token: "p00" });
  expect((await rest("principals")).data).toHaveLength(COUNT);
});
