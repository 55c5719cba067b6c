import { expect, test } from "vitest";
import { startedForEach } from "../../started.ts";
import { driverByName, mount, openDesk, writes } from "./desk.ts";
import { startStorages } from "./stand-in.ts";

const site = startedForEach(() => startStorages(driverByName));
const desk = startedForEach(() => openDesk(site));

/** A mount that a user of the site has made there. */
async function made(driver: string, addition: object): Promise<void> {
  const reply = await fetch(`${site.url}/api/admin/storage/create`, {
    method: "POST",
    headers: { authorization: site.token, "content-type": "application/json" },
    body: JSON.stringify({ mount_path: "/films", driver, addition: JSON.stringify(addition) }),
  });
  expect(await reply.json()).toMatchObject({ code: 200 });
  site.calls.length = 0;
}

const there = (): Record<string, unknown> =>
  JSON.parse(site.row("/films")?.addition ?? "{}") as Record<string, unknown>;

test("a secret of the site's own mount is not sent to another address", async () => {
  const address = "https://dav.example";
  await made("WebDav", { address, username: "ann", password: "of the site" });
  desk.wanted = [
    mount({ driver: "WebDav", items: { address: "https://evil.example", username: "ann" } }),
  ];
  await desk.round({ forced: ["films"] });
  expect(writes(site)).toEqual([]);
  expect(there()).toMatchObject({ address, password: "of the site" });
  expect(String(desk.state()?.error)).toMatch(/another address with secrets of its own.*password/);
  desk.wanted = [
    mount({
      driver: "WebDav",
      revision: 2,
      items: { address: "https://evil.example", username: "ann", password: "of the mount" },
    }),
  ];
  await desk.round({ forced: ["films"] });
  expect(there()).toMatchObject({ address: "https://evil.example", password: "of the mount" });
});

test("a token that the site has refreshed stays only at its address", async () => {
  const items = { url: "https://one.example", username: "a", password: "of the site" };
  await made("OpenList", { ...items, token: "refreshed by the site" });
  desk.wanted = [mount({ driver: "OpenList", items })];
  await desk.round({ forced: ["films"] });
  expect(there()).toMatchObject({ token: "refreshed by the site" });
  desk.wanted = [
    mount({
      driver: "OpenList",
      revision: 2,
      items: { ...items, url: "https://two.example", password: "another" },
    }),
  ];
  await desk.round({ forced: ["films"] });
  expect(there()).toMatchObject({ url: "https://two.example", token: "" });
});

test("at first contact, a mount with another address sends its own token", async () => {
  const items = { url: "https://one.example", username: "a", password: "p" };
  await made("OpenList", { ...items, token: "of the site" });
  desk.wanted = [
    mount({
      driver: "OpenList",
      items: { ...items, url: "https://two.example", token: "of the mount" },
    }),
  ];
  await desk.round({ forced: ["films"] });
  expect(there()).toMatchObject({ url: "https://two.example", token: "of the mount" });
});
