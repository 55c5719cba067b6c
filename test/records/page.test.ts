import { expect, test } from "vitest";
import { SITE_MOUNTS } from "../../src/mounts/kind.ts";
import type { Mount } from "../../src/mounts/mount.ts";
import { recordPage } from "../../src/records/reply.ts";

const MOUNTS = Array.from(
  { length: 1_000 },
  (_, at): Mount => ({
    name: `m${String(at).padStart(4, "0")}`,
    path: `/m${at}`,
    driver: "Local",
    siteIds: "all",
    items: {},
    members: {},
    disabled: false,
    content: "adopt",
    overrides: {},
    credentialRevision: 0,
    missing: [],
    revision: 1,
  }),
);
const pageOf = (mounts: readonly Mount[], siteCount: number) =>
  recordPage(SITE_MOUNTS, mounts, { pageSize: 0, pageToken: "" }, siteCount);

test("a page of records on many sites ends early, because each is shown with its states", () => {
  expect(pageOf(MOUNTS, 1).items).toHaveLength(1_000);
  const { items, next } = pageOf(MOUNTS, 1_000);
  expect(items.length).toBeLessThan(20);
  expect(next).toBe(items.at(-1)?.name);
  const onThree = MOUNTS.map((mount): Mount => ({ ...mount, siteIds: ["a", "b", "c"] }));
  expect(pageOf(onThree, 1_000).items).toHaveLength(1_000);
});
