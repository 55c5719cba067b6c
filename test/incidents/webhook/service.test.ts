import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { IncidentClass } from "../../../src/incidents/incident.ts";
import { wantsClass } from "../../../src/incidents/webhook/input.ts";
import { createWebhookRegistry } from "../../../src/incidents/webhook/registry.ts";
import { type Attempt, newKey } from "../../../src/incidents/webhook/send.ts";
import { createWebhookService } from "../../../src/incidents/webhook/service.ts";
import { createSealer } from "../../../src/secrets/sealer.ts";
import { MASK } from "../../../src/settings/value.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { siteNames } from "../../sites/names.ts";
import { startedForEach } from "../../started.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { failureOf } from "../../thrown.ts";
import { storedDelivery } from "../store-contract.ts";

const translations = () => (text: string) => text;
const newPath = temporaryPaths();
const origin = {
  actor: "admin",
  transport: "test",
  method: "TestWebhook",
  requestId: "r",
  peer: "",
};
const store = startedForEach(() => openSqliteStore(newPath()));

type Parts = Parameters<typeof createWebhookService>[0];

/** A process with the webhooks of a store. */
const serviceOn = (incidents: typeof store.incidents, parts: Partial<Parts> = {}) =>
  createWebhookService({
    store: incidents,
    registry: createWebhookRegistry({
      store: incidents,
      sealer: createSealer([]),
      onClosed: () => undefined,
    }),
    send: async () => ({ status: 204, error: "" }),
    declaredBy: () => undefined,
    now: () => 1,
    readSites: async () => siteNames(),
    newId: () => "id",
    translations,
    ...parts,
  });

test("a hanging target has one message in progress over all calls, and blocks no other webhook", async () => {
  const hanging: ((attempt: Attempt) => void)[] = [];
  let ids = 0;
  const webhooks = serviceOn(store.incidents, {
    send: ({ url }) =>
      url.includes("hangs")
        ? new Promise((resolve) => hanging.push(resolve))
        : Promise.resolve({ status: 204, error: "" }),
    newId: () => {
      ids += 1;
      return `id-${ids}`;
    },
  });
  for (const name of ["hangs", "works"])
    await webhooks.create({ name, url: `https://${name}.example/`, secret: "" }, origin);
  const first = webhooks.test("hangs", origin);
  await expect.poll(() => hanging.length).toBe(1);
  const refused = await Promise.all(
    Array.from({ length: 20 }, () => failureOf(() => webhooks.test("hangs", origin))),
  );
  for (const failure of refused)
    expect(failure).toMatchObject({ code: Code.ResourceExhausted, text: { id: "WEBHOOK_BUSY" } });
  expect(await webhooks.test("works", origin)).toMatchObject({ state: "delivered" });
  hanging[0]?.({ status: 0, error: "too late" });
  const { id, state } = await first;
  expect(state).toBe("failed");
  const again = webhooks.resend(id, origin);
  await expect.poll(() => hanging.length).toBe(2);
  hanging[1]?.({ status: 204, error: "" });
  expect(await again).toMatchObject({ state: "delivered", attempts: 2 });
});

test("a resent message keeps an attempt that another process stores meanwhile, and its planned one", async () => {
  let during = async (): Promise<void> => undefined;
  const webhooks = serviceOn(store.incidents, {
    send: async () => {
      await during();
      return { status: 500, error: "HTTP 500" };
    },
  });
  await webhooks.create({ name: "hook", url: "https://a.example/", secret: "" }, origin);
  const waiting = storedDelivery("one", { webhookId: "id" });
  await store.incidents.write([], [waiting]);
  during = async () => {
    await store.incidents.changeDelivery(waiting, (stored) => ({
      ...stored,
      attempts: stored.attempts + 1,
      nextTry: 9,
    }));
  };
  const expected = { state: "waiting", attempts: 2, nextTry: 9, error: "HTTP 500" };
  expect(await webhooks.resend("one", origin)).toMatchObject(expected);
  expect(await store.incidents.delivery("one")).toMatchObject(expected);
});

test("a change keeps what another process changed between the read and the write", async () => {
  let gate = async (): Promise<void> => undefined;
  const other = serviceOn(store.incidents);
  const webhooks = serviceOn({
    ...store.incidents,
    putWebhook: async (webhook, options) => {
      await gate();
      return store.incidents.putWebhook(webhook, options);
    },
  });
  await webhooks.create({ name: "hook", url: "https://a.example/", secret: "" }, origin);
  gate = async () => {
    gate = async () => undefined;
    await other.update("hook", { secret: "", disabled: true }, origin);
  };
  await webhooks.update("hook", { secret: "", url: "https://a.example/b" }, origin);
  expect(await other.list()).toMatchObject([{ url: "https://a.example/b", disabled: true }]);
});

test.each<[classes: IncidentClass[], withoutUnknown: boolean, told: IncidentClass[]]>([
  [[], false, ["credential", "gone", "unknown"]],
  [[], true, ["credential", "gone", "unknown"]],
  [["credential"], false, ["credential", "unknown"]],
  [["credential"], true, ["credential"]],
  [["gone", "unknown"], true, ["gone", "unknown"]],
])(
  "a webhook with the classes %j (without unknown ones: %s) is told of %j",
  (classes, withoutUnknown, told) => {
    const all: IncidentClass[] = ["credential", "gone", "unknown"];
    expect(all.filter((kind) => wantsClass({ classes, withoutUnknown }, kind))).toEqual(told);
  },
);

test("whether unknown incidents are excluded is stored", async () => {
  const webhooks = serviceOn(store.incidents);
  await webhooks.create(
    { name: "hook", url: "https://a.example/", classes: ["gone"], withoutUnknown: true },
    origin,
  );
  const other = serviceOn(store.incidents);
  expect(await other.list()).toMatchObject([{ classes: ["gone"], withoutUnknown: true }]);
  await other.update("hook", { withoutUnknown: false }, origin);
  expect(await webhooks.list()).toMatchObject([{ classes: ["gone"], withoutUnknown: false }]);
});

test("a header whose value is masked keeps it, unless it would go to another address", async () => {
  const webhooks = serviceOn(store.incidents);
  const url = "https://a.example/";
  await webhooks.create(
    { name: "hook", url, format: "template", template: "x", headers: { "X-Key": "one" } },
    origin,
  );
  const change = (input: object) => failureOf(() => webhooks.update("hook", input, origin));
  const headersOf = async () => (await webhooks.list())[0]?.headers;
  await webhooks.update("hook", { headers: { "X-Key": MASK, "X-Other": "two" } }, origin);
  expect(await headersOf()).toEqual({ "X-Key": "one", "X-Other": "two" });
  for (const input of [
    { headers: { "X-Renamed": MASK } },
    { headers: { "x-key": MASK } },
    { headers: { "X-Key": MASK }, url: "https://b.example/", secret: newKey() },
    { url: "https://b.example/", secret: newKey() },
  ])
    expect(await change(input)).toMatchObject({ code: Code.InvalidArgument });
  expect(await headersOf()).toEqual({ "X-Key": "one", "X-Other": "two" });
  await webhooks.update("hook", { headers: { "X-Other": MASK } }, origin);
  expect(await headersOf()).toEqual({ "X-Other": "two" });
});
