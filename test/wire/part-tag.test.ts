import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);

async function list(token: string, headers: Record<string, string> = {}, path = "list") {
  const url = `http://127.0.0.1:${service.port}/api/admin/setting/${path}`;
  const reply = await fetch(url, {
    headers: { "accept-encoding": "identity", authorization: token, ...headers },
  });
  return { status: reply.status, tag: reply.headers.get("etag") ?? "", body: await reply.text() };
}

test("the entity tag of a list differs for tokens with different visible parts, and caches work", async () => {
  const root = as(service.port);
  const token = async (scopes: string[], limits: string[] = []) =>
    (await give(root, scopes, limits)).text;
  const tokens = [
    TOKEN,
    await token(["settings:reveal"]),
    await token(["settings:read"]),
    await token(["settings:read"], ["key:s3_*"]),
    await token(["settings:read"], ["group:1"]),
    await token(["settings:reveal"], ["group:1"]),
  ];
  const replies = await Promise.all(tokens.map((each) => list(each)));
  // Only the last two see the same: that group has no secrets.
  expect(new Set(replies.map(({ body }) => body)).size).toBe(tokens.length - 1);
  expect(new Set(replies.map(({ tag }) => tag)).size).toBe(tokens.length);
  for (const [at, { tag }] of replies.entries())
    for (const [other, each] of tokens.entries()) {
      const { status } = await list(each, { "if-none-match": tag });
      expect(status, `${at} ${other}`).toBe(at === other ? 304 : 200);
    }
  const same = await token(["settings:read"], ["key:s3_*"]);
  expect((await list(same)).tag).toBe(replies[3]?.tag);
  const [clear, masked] = await Promise.all(
    [TOKEN, tokens[2] ?? ""].map((each) => list(each, {}, "get?key=qbittorrent_url")),
  );
  expect(clear?.tag).not.toBe(masked?.tag);
});

test("a tag of a part is accepted for a save, like that of the whole", async () => {
  const { text } = await give(as(service.port), ["settings:write"], ["key:mine_*"]);
  const { tag } = await list(text);
  const save = (match: string) =>
    fetch(`http://127.0.0.1:${service.port}/api/admin/setting/save`, {
      method: "POST",
      headers: { authorization: text, "content-type": "application/json", "if-match": match },
      body: JSON.stringify([{ key: "mine_a", value: crypto.randomUUID() }]),
    }).then((reply) => reply.json() as Promise<{ code: number }>);
  expect(await save(tag)).toMatchObject({ code: 200 });
  expect(await save(tag)).toMatchObject({ code: 409 });
  expect(tag).toMatch(/~[0-9a-f]{16}"$/);
});

test("lists of groups without settings share the reply and the tag of existing ones", async () => {
  const only = await list(TOKEN, {}, "list?groups=0,1");
  expect(only.status).toBe(200);
  for (let more = 0; more < 20; more += 1)
    expect(await list(TOKEN, {}, `list?groups=1,0,1,${1_000 + more}`)).toEqual(only);
});
