import { expect, test } from "vitest";
import type { Mount } from "../../src/mounts/mount.ts";
import { createMountRegistry } from "../../src/mounts/site/registry.ts";
import { mountCoverage } from "../../src/mounts/use-case/coverage.ts";
import { storedSite } from "../store/site-contract.ts";
import { ticksDuring } from "../ticks-during.ts";
import { memoryStore } from "./site/desk.ts";

const mount = (at: number): Mount => ({
  name: `m${at}`,
  path: `/m${at}`,
  driver: "Local",
  items: {},
  members: {},
  disabled: false,
  content: "adopt",
  siteIds: "all",
  overrides: {},
  credentialRevision: 0,
  missing: [],
  revision: 1,
});

function coverageOf(siteCount: number, mountCount: number) {
  const registry = createMountRegistry(memoryStore());
  const sites = Array.from({ length: siteCount }, (_, at) => ({
    ...storedSite(`s${at}`),
    include: [],
    exclude: [],
    overrides: {},
    upstream: false,
  }));
  const mounts = new Map(Array.from({ length: mountCount }, (_, at) => [`m${at}`, mount(at)]));
  return mountCoverage({
    view: { all: () => mounts },
    sites: { sites: () => sites },
    registry,
    sources: {
      registry,
      siteState: () => ({}),
      incidentAt: () => undefined,
      remedyFor: () => "",
      driverOf: () => undefined,
    },
  } as unknown as Parameters<typeof mountCoverage>[0]);
}

test("the coverage of many mounts leaves the event loop to other work", async () => {
  const { ticks, result } = await ticksDuring(async () => coverageOf(10, 5_000)(undefined));
  expect(result.mounts).toHaveLength(50_000);
  expect(ticks).toBeGreaterThan(2);
});

test("the coverage ends with its call", async () => {
  const ended = AbortSignal.abort(new Error("the client has left"));
  await expect(coverageOf(10, 5_000)(undefined, ended)).rejects.toThrow("the client has left");
});
