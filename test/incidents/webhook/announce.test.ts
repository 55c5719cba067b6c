import { expect, test } from "vitest";
import type { Incident } from "../../../src/incidents/incident.ts";
import type { StoredIncident } from "../../../src/incidents/store.ts";
import { createAnnounce } from "../../../src/incidents/webhook/announce.ts";
import { createDeliverer } from "../../../src/incidents/webhook/deliver.ts";
import { newWebhook } from "../../../src/incidents/webhook/input.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { startedForEach } from "../../started.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { storedIncident, storedWebhook } from "../store-contract.ts";

const newPath = temporaryPaths();
const store = startedForEach(() => openSqliteStore(newPath()));

const incidentAt = (path: string, changes: Partial<Incident> = {}): StoredIncident =>
  storedIncident(path, { mountPath: path, class: "network", message: "refused", ...changes });

async function start() {
  await store.incidents.putWebhook(storedWebhook("w"), { before: undefined, audit: [] });
  const clock = { now: 1_000_000 };
  let made = 0;
  const webhook = { ...newWebhook("w", 1, "admin"), name: "w", url: "https://a.example/" };
  const { announce, join } = createAnnounce({
    webhooks: () => [webhook],
    placeOf: ({ mountPath }) => ({ site: "home", mount: mountPath.slice(1), name: "" }),
    driverOf: () => undefined,
    translations: () => (text) => text,
    now: () => clock.now,
    newId: () => {
      made += 1;
      return `d-${made}`;
    },
  });
  const sent: { type: string; data: { count?: number; mount_path?: string; text?: string } }[] = [];
  let during = async (): Promise<void> => undefined;
  const deliverer = createDeliverer({
    store: store.incidents,
    webhook: () => webhook,
    send: async ({ body }) => {
      sent.push(JSON.parse(body));
      await during();
      return { status: 204, error: "" };
    },
    now: () => clock.now,
    random: () => 0,
    disable: async () => undefined,
    onAttempt: () => undefined,
  });
  const write = (event: "opened" | "closed", incidents: readonly StoredIncident[]) =>
    store.incidents.write(
      incidents,
      incidents.flatMap((incident) => announce(event, incident)),
      join,
    );
  const open = (...incidents: StoredIncident[]) => write("opened", incidents);
  return {
    close: (...incidents: StoredIncident[]) => write("closed", incidents),
    clock,
    sent,
    open,
    announce,
    join,
    run: deliverer.run,
    onSend: (work: () => Promise<void>) => {
      during = work;
    },
  };
}

test("incidents of one cause within ten seconds are one notification, over transactions", async () => {
  const { clock, sent, open, run } = await start();
  await open(...Array.from({ length: 100 }, (_, at) => incidentAt(`/a${at}`)));
  await run();
  expect(sent).toEqual([]);
  clock.now += 9_999;
  await open(...Array.from({ length: 50 }, (_, at) => incidentAt(`/b${at}`)));
  clock.now += 1;
  await run();
  await run();
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({ type: "incidents.opened", data: { count: 150 } });
});

test("incidents of other sites, classes and later times are notifications of their own", async () => {
  const { clock, sent, open, run } = await start();
  await open(
    incidentAt("/a"),
    incidentAt("/b", { siteId: "t" }),
    incidentAt("/c", { class: "quota" }),
  );
  clock.now += 10_000;
  await open(incidentAt("/d"));
  for (let turn = 0; turn < 4; turn += 1) {
    await run();
    clock.now += 10_000;
  }
  expect(sent.map(({ type }) => type)).toEqual(Array(4).fill("incident.opened"));
  expect(new Set(sent.map(({ data }) => data.mount_path))).toEqual(
    new Set(["/a", "/b", "/c", "/d"]),
  );
});

test("an incident that joins a notification while it is sent is sent with the next attempt", async () => {
  const { clock, sent, open, run, onSend } = await start();
  await open(incidentAt("/a"));
  clock.now += 10_000;
  onSend(async () => {
    onSend(async () => undefined);
    // As a transaction that began before the end of the ten seconds.
    clock.now -= 1;
    await open(incidentAt("/b"));
    clock.now += 1;
  });
  await run();
  clock.now += 10_000;
  await run();
  expect(sent.map(({ type }) => type)).toEqual(["incident.opened", "incidents.opened"]);
});

test.each([
  [4_000, "4 s"],
  [119_000, "119 s"],
  [120_000, "2 min"],
  [7_200_000, "2 h"],
  [86_400_000, "24 h"],
  [300 * 86_400_000, "300 d"],
  [-5, "0 s"],
])("the notification of an incident that closes after %s ms has its duration", async (ms, text) => {
  const { clock, sent, close, run } = await start();
  const openedAt = clock.now - ms;
  await close(incidentAt("/a", { openedAt, closedAt: clock.now }));
  clock.now += 10_000;
  await close(
    incidentAt("/b", { openedAt, closedAt: openedAt + ms, class: "quota" }),
    incidentAt("/c", { openedAt, closedAt: openedAt + ms, class: "quota" }),
  );
  for (let turn = 0; turn < 3; turn += 1) {
    await run();
    clock.now += 10_000;
  }
  expect(sent.map(({ data }) => data.text)).toEqual([
    `It was open for ${text}: refused`,
    `/b (${text}): refused\n/c (${text}): refused`,
  ]);
});
