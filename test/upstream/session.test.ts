import { afterEach, beforeEach, expect, test } from "vitest";
import { createSiteClient, type SiteClient } from "../../src/sync/client.ts";
import { createSessions, type Sessions } from "../../src/upstream/session.ts";
import { type StandIn, startStandIn } from "../sites/stand-in.ts";

let site: StandIn;
let client: SiteClient;
let sessions: Sessions;
let time: number;

beforeEach(async () => {
  site = await startStandIn();
  time = 0;
  ask();
});

/** @param limit time-out of the site, in milliseconds. */
function ask(limit?: number): void {
  client?.close();
  client = createSiteClient({ url: site.url, token: "", ca: "", pin: "" }, 4, limit);
  sessions = createSessions(client, () => time);
}

afterEach(async () => {
  client.close();
  await site.stop();
});

const requests = () => site.count("GET /api/me");
const userOf = (token = site.token(), id?: string) => Promise.resolve(sessions.identify(token, id));

test("an admin is cached for three seconds, and requested again afterwards", async () => {
  expect(await userOf()).toEqual({ kind: "admin", name: "admin" });
  time = 2_999;
  await userOf();
  expect(requests()).toBe(1);
  time = 3_000;
  await userOf();
  expect(requests()).toBe(2);
});

test("simultaneous requests are shared; other devices have their own", async () => {
  await Promise.all([userOf(), userOf(), userOf(site.token(), "a"), userOf(site.token(), "a")]);
  expect(requests()).toBe(2);
  expect(site.seen.filter(({ headers }) => headers["client-id"] === "a")).toHaveLength(1);
});

test("an absent header causes no request; an unauthenticated user is refused with the site's message", async () => {
  site.put("token", "");
  expect(await userOf("")).toEqual({ kind: "refused", words: "login please" });
  expect(requests()).toBe(0);
  expect(await userOf("stranger")).toEqual({ kind: "refused", words: "token is invalidated" });
});

test("a site that does not answer gives no right, and that is not cached", async () => {
  ask(300);
  site.mode = { kind: "hang" };
  expect((await userOf()).kind).toBe("silent");
  site.mode = undefined;
  await expect.poll(async () => (await userOf()).kind).toBe("admin");
});

test("a reply from before a logout is invalid after it", async () => {
  const release = Promise.withResolvers<void>();
  site.mode = { kind: "held", until: release.promise };
  const before = userOf();
  await expect.poll(requests).toBe(1);
  sessions.forget();
  release.resolve();
  await before;
  await userOf();
  expect(requests()).toBe(2);
});

test("too many concurrent requests are refused", async () => {
  ask(300);
  site.mode = { kind: "hang" };
  const questions = Array.from({ length: 300 }, (_, at) => userOf(`token ${at}`.replace(" ", "-")));
  const answers = await Promise.all(questions);
  const refused = answers.filter((each) => each.kind === "silent" && /too many/.test(each.words));
  expect(refused.length).toBe(300 - 256);
});

test("invalidation does not raise the limit of concurrent requests", async () => {
  ask(300);
  site.mode = { kind: "hang" };
  const questions = Array.from({ length: 256 }, (_, at) => userOf(`token-${at}`));
  sessions.forget();
  expect(await userOf("another")).toMatchObject({
    kind: "silent",
    words: expect.stringContaining("too many"),
  });
  await Promise.all(questions);
});

test("at most ten thousand replies are cached, the newest ones", async () => {
  let questions = 0;
  const known = createSessions(
    {
      ...client,
      call: async () => {
        questions += 1;
        return { role: 2, username: "admin" };
      },
    },
    () => time,
  );
  for (let at = 0; at <= 10_000; at += 1) await known.identify(`token-${at}`, undefined);
  expect(questions).toBe(10_001);
  await known.identify("token-10000", undefined);
  await known.identify("token-1", undefined);
  expect(questions).toBe(10_001);
  await known.identify("token-0", undefined);
  expect(questions).toBe(10_002);
});
