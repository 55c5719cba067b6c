import { Code } from "@connectrpc/connect";
import { beforeEach, expect, test } from "vitest";
import type { Incident, IncidentEvent } from "../../src/incidents/incident.ts";
import { createIncidentRegistry } from "../../src/incidents/registry.ts";
import { createIncidentService } from "../../src/incidents/service.ts";
import type { IncidentStore } from "../../src/incidents/store.ts";
import type { StorageRow } from "../../src/mounts/site/row.ts";
import type { Site } from "../../src/sites/site.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { startedForEach } from "../started.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";

const newPath = temporaryPaths();
const origin = { actor: "ann", transport: "test", method: "Acknowledge", requestId: "r", peer: "" };
const site = { id: "s", name: "home" } as Site;
const row = { id: 1, mount_path: "/a", driver: "S3", status: "work", addition: "{}" } as StorageRow;
const store = startedForEach(() => openSqliteStore(newPath()));
let announced: [IncidentEvent, Incident][];

beforeEach(async () => {
  announced = [];
});

const announce = (event: IncidentEvent, incident: Incident): [] => {
  announced.push([event, incident]);
  return [];
};

/** Process that follows the site. */
function openRegistry() {
  let time = 100;
  return createIncidentRegistry({
    store: store.incidents,
    now: () => {
      time += 1;
      return time;
    },
    newId: () => "id",
    driverOf: () => undefined,
    announce,
    join: () => undefined,
    onChange: () => undefined,
    onLeftOut: () => undefined,
  });
}

/** Service of another process. @param meanwhile runs between its read and its write, once. */
function openService(meanwhile: () => Promise<void> = async () => undefined) {
  let gate = meanwhile;
  const incidents: IncidentStore = {
    ...store.incidents,
    acknowledge: async (...args) => {
      const open = gate;
      gate = async () => undefined;
      await open();
      return store.incidents.acknowledge(...args);
    },
  };
  const { signal } = new AbortController();
  return createIncidentService({
    store: incidents,
    now: () => 500,
    announce,
    siteName: (siteId) => siteId,
    driverOf: () => undefined,
    stopping: signal,
  });
}

const failing = { ...row, status: "token is expired" };

async function openIncident(registry: ReturnType<typeof openRegistry>): Promise<void> {
  await registry.listed(site, [failing]);
  await registry.listed(site, [failing]);
  expect(registry.open()).toMatchObject([{ id: "id", mountPath: "/a" }]);
}

test("an incident that is closed during its acknowledgement is unchanged", async () => {
  const registry = openRegistry();
  await openIncident(registry);
  const service = openService(() => registry.listed(site, []));
  const failure = await failureOf(() => service.acknowledge("id", "on it", origin));
  expect(failure).toMatchObject({ code: Code.FailedPrecondition, text: { id: "INCIDENT_CLOSED" } });
  expect(await store.incidents.get("id")).toMatchObject({ acknowledgedAt: 0, note: "" });
});

test("the reply to an acknowledgement shows a change that was stored in the meantime", async () => {
  const registry = openRegistry();
  await openIncident(registry);
  const service = openService(() => registry.listed(site, [{ ...row, status: "no space left" }]));
  const incident = await service.acknowledge("id", "on it", origin);
  expect(incident).toMatchObject({ message: "no space left", acknowledgedBy: "ann" });
  expect(await store.incidents.get("id")).toEqual(incident);
});

test("the notification of the end names the user who acknowledged the incident in another process", async () => {
  const registry = openRegistry();
  await openIncident(registry);
  await openService().acknowledge("id", "on it", origin);
  await registry.listed(site, [row]);
  expect(announced.at(-1)).toMatchObject(["closed", { acknowledgedBy: "ann", note: "on it" }]);
});
