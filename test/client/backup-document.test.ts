import { expect, test } from "vitest";
import { importDocument } from "../../src/client/backup-document.ts";

const row = { id: 1, mount_path: "/a", driver: "Local", addition: "{}", status: "work" };
const kept = { mount_path: "/a", driver: "Local", addition: "{}" };
const settings = [{ key: "a", value: "1" }];
const metas = [{ id: 1, path: "/a", p_sub: true }];
const page = { encrypted: "x", settings, users: [{}], storages: [row, "odd", null], metas };

test("an archive is sent unchanged", () => {
  const own = { format: "mooring-archive", settings, mounts: [{ name: "a", id: 1 }] };
  expect(importDocument(own)).toBe(own);
});

test.each([
  [[], { encrypted: "x", settings, users: 1, storages: [kept, "odd", null], metas }],
  [["settings"], { encrypted: "x", settings, users: 1, storages: 3, metas: 1 }],
  [
    ["mounts", "sites"],
    { encrypted: "x", settings: 1, users: 1, storages: [kept, "odd", null], metas: 1 },
  ],
  [["rules"], { encrypted: "x", settings: 1, users: 1, storages: 3, metas }],
])("of a page backup, the lists that %j does not read are sent as their lengths", (only, sent) => {
  expect(importDocument(page, only)).toEqual(sent);
});

test.each([
  [{ code: 200, data: { content: [row], total: 1 } }, { data: [kept] }],
  [{ code: 200, data: settings }, { data: settings }],
  [[row], { data: [kept] }],
  [settings, { data: settings }],
  [{ other: 1 }, { other: 1 }],
  ["text", undefined],
  [null, undefined],
])(
  "lists are sent as the data of a reply, without members that no mount has: %j",
  (document, sent) => {
    expect(importDocument(document)).toEqual(sent);
  },
);
