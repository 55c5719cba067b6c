import { afterEach, beforeEach, expect, test } from "vitest";
import { createSiteClient, type SiteClient } from "../../src/sites/client.ts";
import { createSessions, type Sessions } from "../../src/sites/session.ts";
import { type StandIn, startStandIn } from "./stand-in.ts";

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

const asked = () => site.count("GET /api/me");
const who = (token = site.token(), id?: string) => Promise.resolve(sessions.identify(token, id));

test("an admin is cached for three seconds, and requested again afterwards", async () => {
  expect(await who()).toEqual({ kind: "admin", name: "admin" });
  time = 2_999;
  await who();
  expect(asked()).toBe(1);
  time = 3_000;
  await who();
  expect(asked()).toBe(2);
});

test("simultaneous requests are shared; other devices have their own", async () => {
  await Promise.all([who(), who(), who(site.token(), "a"), who(site.token(), "a")]);
  expect(asked()).toBe(2);
  expect(site.seen.filter(({ headers }) => headers["client-id"] === "a")).toHaveLength(1);
});

test("an absent header causes no request; an unauthenticated user is refused with the site's message", async () => {
  site.put("token", "");
  expect(await who("")).toEqual({ kind: "refused", words: "login please" });
  expect(asked()).toBe(0);
  expect(await who("stranger")).toEqual({ kind: "refused", words: "token is invalidated" });
});

test("a site that does not answer gives no right, and that is not cached", async () => {
  ask(300);
  site.mode = { kind: "hang" };
  expect((await who()).kind).toBe("silent");
  site.mode = undefined;
  await expect.poll(async () => (await who()).kind).toBe("admin");
});

test("a reply from before a logout is invalid after it", async () => {
  const goOn = Promise.withResolvers<void>();
  site.mode = { kind: "held", until: goOn.promise };
  const before = who();
  await expect.poll(asked).toBe(1);
  sessions.forget();
  goOn.resolve();
  await before;
  await who();
  expect(asked()).toBe(2);
});

test("too many concurrent requests are refused", async () => {
  ask(300);
  site.mode = { kind: "hang" };
  const questions = Array.from({ length: 300 }, (_, at) => who(`token ${at}`.replace(" ", "-")));
  const answers = await Promise.all(questions);
  const refused = answers.filter((each) => each.kind === "silent" && /too many/.test(each.words));
  expect(refused.length).toBe(300 - 256);
});

test("invalidation does not raise the limit of concurrent requests", async () => {
  ask(300);
  site.mode = { kind: "hang" };
  const questions = Array.from({ length: 256 }, (_, at) => who(`token-${at}`));
  sessions.forget();
  expect(await who("another")).toMatchObject({
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
