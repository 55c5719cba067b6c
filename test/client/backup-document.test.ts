import { expect, test } from "vitest";
import { mountsOnly, settingsOnly } from "../../src/client/backup-document.ts";

const row = { id: 1, mount_path: "/a", driver: "Local", addition: "{}", status: "work" };
const kept = { mount_path: "/a", driver: "Local", addition: "{}" };

test("an import of settings is sent without the other lists of a page backup, but with their lengths", () => {
  const settings = [{ key: "a", value: "1" }];
  const storages = Array.from({ length: 1_160 }, () => row);
  expect(settingsOnly({ encrypted: "x", settings, users: [], storages })).toEqual({
    encrypted: "x",
    settings,
    users: 0,
    storages: 1_160,
  });
  const own = { format: "mooring-settings", settings, omitted: ["token"] };
  expect(settingsOnly(own)).toBe(own);
  const reply = { code: 200, data: settings };
  expect(settingsOnly(reply)).toBe(reply);
});

test.each([
  [
    { encrypted: "", settings: [{}], storages: [row] },
    { encrypted: "", storages: [kept] },
  ],
  [{ code: 200, data: { content: [row], total: 1 } }, { storages: [kept] }],
  [[row], { storages: [kept] }],
  [{ storages: ["text", null] }, { storages: ["text", null] }],
  [{ settings: [] }, undefined],
  ["text", undefined],
  [null, undefined],
])(
  "an import of mounts is sent as its rows, without members that no mount has: %j",
  (document, sent) => {
    expect(mountsOnly(document)).toEqual(sent);
  },
);
