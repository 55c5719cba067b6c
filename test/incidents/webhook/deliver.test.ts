import { Webhook as Verifier } from "standardwebhooks";
import { beforeEach, expect, test } from "vitest";
import type { StoredDelivery } from "../../../src/incidents/store.ts";
import { createDeliverer } from "../../../src/incidents/webhook/deliver.ts";
import { newWebhook, type Webhook } from "../../../src/incidents/webhook/input.ts";
import { type Attempt, newKey } from "../../../src/incidents/webhook/send.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { startedForEach } from "../../started.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { storedDelivery, storedWebhook } from "../store-contract.ts";

const newPath = temporaryPaths();
const key = newKey();
const store = startedForEach(() => openSqliteStore(newPath()));

beforeEach(async () => {
  for (const id of ["a", "b"])
    await store.incidents.putWebhook(storedWebhook(id), { before: undefined, audit: [] });
});

const delivery = (id: string, changes: Partial<StoredDelivery> = {}): StoredDelivery =>
  storedDelivery(id, { webhookId: "a", body: `{"id":"${id}"}`, ...changes });

function desk(
  answer: (url: string) => Attempt | Promise<Attempt>,
  webhooks: Partial<Record<string, Partial<Webhook>>> = {},
) {
  const sent: { url: string; body: string; headers: Readonly<Record<string, string>> }[] = [];
  const disabled: string[] = [];
  const clock = { now: Date.now() };
  const deliverer = createDeliverer({
    store: store.incidents,
    webhook: (id) => ({
      ...newWebhook(id, 1, "admin"),
      url: `http://${id}`,
      secret: key,
      ...webhooks[id],
    }),
    send: async ({ url, body, headers }) => {
      sent.push({ url, body, headers });
      return answer(url);
    },
    now: () => clock.now,
    random: () => 0,
    disable: async (id) => void disabled.push(id),
    onAttempt: () => undefined,
    pauses: [5_000, 300_000],
  });
  return { sent, disabled, clock, deliverer };
}

const get = (id: string) => store.incidents.delivery(id);

test("a delivery is signed, sent once, and finished", async () => {
  await store.incidents.write([], [delivery("one")]);
  const { sent, deliverer } = desk(() => ({ status: 204, error: "" }));
  await deliverer.run();
  await deliverer.run();
  expect(sent).toHaveLength(1);
  const [{ body, headers }] = sent as [(typeof sent)[0]];
  expect(new Verifier(key).verify(body, { ...headers })).toEqual({ id: "one" });
  expect(headers["webhook-id"]).toBe("one");
  expect(await get("one")).toMatchObject({ state: "delivered", attempts: 1, nextTry: 0 });
});

test("a failed delivery is repeated after each pause, then given up", async () => {
  await store.incidents.write([], [delivery("one")]);
  const { sent, deliverer, clock } = desk(() => ({ status: 500, error: "HTTP 500" }));
  await deliverer.run();
  const first = await get("one");
  expect(first).toMatchObject({ state: "waiting", attempts: 1, nextTry: clock.now + 5_000 });
  clock.now += 4_999;
  await deliverer.run();
  expect(sent).toHaveLength(1);
  clock.now += 1;
  await deliverer.run();
  expect(await get("one")).toMatchObject({ attempts: 2, nextTry: clock.now + 300_000 });
  clock.now += 300_000;
  await deliverer.run();
  expect(await get("one")).toMatchObject({ state: "failed", attempts: 3, error: "HTTP 500" });
  clock.now += 1e9;
  await deliverer.run();
  expect(sent).toHaveLength(3);
  // The same identifier each time, so that the target can detect duplicates.
  expect(new Set(sent.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set(["one"]));
});

test.each([0, 1, 2])(
  "a delivery that was stored while the clock was ahead is sent, after %i attempts",
  async (attempts) => {
    const { sent, deliverer, clock } = desk(() => ({ status: 500, error: "HTTP 500" }));
    const nextTry = clock.now + 86_400_000;
    await store.incidents.write([], [delivery("one", { attempts, nextTry })]);
    await deliverer.run();
    expect(sent).toHaveLength(1);
    expect((await get("one"))?.nextTry).toBeLessThanOrEqual(clock.now + 330_000);
  },
);

test("410 Gone disables the webhook, and deliveries of a disabled webhook are given up", async () => {
  await store.incidents.write([], [delivery("one"), delivery("two", { webhookId: "b" })]);
  const { sent, disabled, deliverer } = desk(() => ({ status: 410, error: "HTTP 410" }), {
    b: { disabled: true },
  });
  await deliverer.run();
  expect(disabled).toEqual(["a"]);
  expect(sent).toHaveLength(1);
  expect(await get("one")).toMatchObject({ state: "failed" });
  expect(await get("two")).toMatchObject({
    state: "failed",
    error: expect.sentence(/^the webhook was disabled$/),
  });
});

test("the backlog of a hanging target does not delay another target", async () => {
  const backlog = Array.from({ length: 300 }, (_, at) => delivery(`a${at}`));
  await store.incidents.write([], [...backlog, delivery("other", { webhookId: "b", nextTry: 2 })]);
  const { sent, deliverer } = desk((url) =>
    url === "http://a" ? new Promise(() => undefined) : { status: 204, error: "" },
  );
  void deliverer.run();
  await expect.poll(async () => (await get("other"))?.state).toBe("delivered");
  expect(sent.filter(({ url }) => url === "http://a")).toHaveLength(1);
});

test("a hanging target does not delay another one, and gets one message at a time", async () => {
  await store.incidents.write(
    [],
    [delivery("one"), delivery("two"), delivery("three", { webhookId: "b" })],
  );
  let release = (_: Attempt): void => undefined;
  const hanging = new Promise<Attempt>((resolve) => {
    release = resolve;
  });
  const { sent, deliverer } = desk((url) =>
    url === "http://a" ? hanging : { status: 200, error: "" },
  );
  const run = deliverer.run();
  await expect.poll(async () => (await get("three"))?.state).toBe("delivered");
  await deliverer.run();
  expect(sent.filter(({ url }) => url === "http://a")).toHaveLength(1);
  release({ status: 200, error: "" });
  await run;
  await deliverer.run();
  expect(await get("two")).toMatchObject({ state: "delivered" });
});

test("deliveries of a webhook that was deleted in between are not stored again", async () => {
  await store.incidents.write([], [delivery("one")]);
  const { deliverer } = desk(async () => {
    await store.incidents.deleteWebhook("a", []);
    return { status: 500, error: "HTTP 500" };
  });
  await deliverer.run();
  expect(await get("one")).toBeUndefined();
});

test.each([
  ["accepted", { state: "delivered", nextTry: 0, status: 204, error: "" }],
  ["rejected", { state: "waiting", status: 500, error: "HTTP 500" }],
] as const)(
  "a message that is resent and %s during a failing attempt has both attempts",
  async (_result, resent) => {
    await store.incidents.write([], [delivery("one")]);
    const { deliverer, clock } = desk(async () => {
      await store.incidents.changeDelivery(delivery("one"), (stored) => ({
        ...stored,
        attempts: stored.attempts + 1,
        ...resent,
      }));
      return { status: 500, error: "HTTP 500" };
    });
    await deliverer.run();
    expect(await get("one")).toMatchObject({
      nextTry: clock.now + 300_000,
      ...resent,
      attempts: 2,
    });
  },
);
