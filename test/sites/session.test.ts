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

/** @param limit how long the site may take, in milliseconds. */
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

test("an admin is known for three seconds, and asked about again then", async () => {
  expect(await who()).toEqual({ kind: "admin", name: "admin" });
  time = 2_999;
  await who();
  expect(asked()).toBe(1);
  time = 3_000;
  await who();
  expect(asked()).toBe(2);
});

test("simultaneous questions are one; other devices are others", async () => {
  await Promise.all([who(), who(), who(site.token(), "a"), who(site.token(), "a")]);
  expect(asked()).toBe(2);
  expect(site.seen.filter(({ headers }) => headers["client-id"] === "a")).toHaveLength(1);
});

test("no header is never asked about; a stranger is refused by the site's words", async () => {
  site.put("token", "");
  expect(await who("")).toEqual({ kind: "refused", words: "login please" });
  expect(asked()).toBe(0);
  expect(await who("stranger")).toEqual({ kind: "refused", words: "token is invalidated" });
});

test("a silent site is silence, and is not remembered as a right", async () => {
  ask(300);
  site.mode = { kind: "hang" };
  expect((await who()).kind).toBe("silent");
  site.mode = undefined;
  await expect.poll(async () => (await who()).kind).toBe("admin");
});

test("an answer from before a logout does not count after it", async () => {
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

test("too many questions at once are refused", async () => {
  ask(300);
  site.mode = { kind: "hang" };
  const questions = Array.from({ length: 300 }, (_, at) => who(`token ${at}`.replace(" ", "-")));
  const answers = await Promise.all(questions);
  const refused = answers.filter((each) => each.kind === "silent" && /too many/.test(each.words));
  expect(refused.length).toBe(300 - 256);
});

test("invalidation makes no room for more questions", async () => {
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

test("ten thousand answers are kept at most, the newest ones", async () => {
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
