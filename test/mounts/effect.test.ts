import { describe, expect, test } from "vitest";
import { effectsOf, effectsOfFollowing } from "../../src/mounts/effect.ts";
import type { Mount } from "../../src/mounts/mount.ts";
import { NEW_MOUNT } from "../../src/mounts/site/state.ts";
import { isRunning } from "../../src/records/effect.ts";
import { sampleMount } from "../settings/staged.ts";

const films = sampleMount("films", { items: { root_folder_path: "/srv" }, members: { order: 1 } });
/** The folder rule of /films on one site. */
const sites = [
  { id: "h", name: "home", opensWhenMoved: () => false },
  { id: "q", name: "quay", opensWhenMoved: (from: string) => from === "/films" },
];
const moved = { ...films, path: "/movies" };
const off = { ...films, disabled: true };
const kino = { ...films, overrides: { q: { path: "/kino", items: {}, members: { order: 9 } } } };
const onHome = { ...films, siteIds: ["h"] };
const nowhere = { ...films, siteIds: [] };

describe("a change of a mount", () => {
  test.each<[string, Mount | undefined, Mount | undefined, differs: string, effects: string]>([
    ["creates it", undefined, films, "", ""],
    ["deletes it", films, undefined, "", "remove /films home, remove /films quay"],
    ["deletes one with an own path", kino, undefined, "", "remove /films home, remove /kino quay"],
    ["deletes a disabled one", off, undefined, "", "remove /films home, remove /films quay"],
    ["takes it from one site", films, onHome, "sites", "remove /films quay"],
    ["takes it from all sites", onHome, nowhere, "sites", "remove /films home"],
    ["puts it on more sites", onHome, films, "sites", ""],
    ["disables it", films, off, "disabled", "disable /films home, disable /films quay"],
    ["enables it", off, films, "disabled", ""],
    ["changes a disabled one", off, off, "root_folder_path", ""],
    ["changes a value", onHome, onHome, "root_folder_path", "remount /films home"],
    ["moves it", onHome, onHome, "mount_path", "remount /films home"],
    ["moves it where one site has an own path", kino, kino, "mount_path", "remount /films home"],
    [
      "moves it away from the folder rule of one site",
      films,
      moved,
      "mount_path",
      "remount /films home, remount /films quay, open /films quay",
    ],
    [
      "moves it on the site with the folder rule only",
      films,
      kino,
      "overrides.quay",
      "remount /films quay, open /films quay",
    ],
    ["moves it back", moved, films, "mount_path", "remount /movies home, remount /movies quay"],
    ["moves a disabled one", off, { ...moved, disabled: true }, "mount_path", "open /films quay"],
    ["moves and enables it", off, moved, "mount_path, disabled", "open /films quay"],
    [
      "moves and disables it",
      films,
      { ...moved, disabled: true },
      "mount_path, disabled",
      "disable /films home, disable /films quay, open /films quay",
    ],
    ["changes a value that one site overrides", kino, kino, "order", "remount /films home"],
    ["changes the values of one site", kino, kino, "overrides.quay", "remount /kino quay"],
    ["changes how edits on a site are taken", films, films, "content", ""],
    ["changes nothing", films, films, "", ""],
  ])("%s", (_name, before, after, differs, effects) => {
    const names = differs === "" ? [] : differs.split(", ");
    const found = effectsOf({ before, after, differs: names }, sites);
    const texts = found.map(({ action, path, site }) => `${action} ${path} ${site}`);
    expect(texts.join(", ")).toBe(effects);
  });
});

test.each([
  ["follow", false, true, true],
  ["follow", true, true, false],
  ["follow", false, false, false],
  ["observe", false, true, false],
] as const)(
  "mode %s, paused %s, mounts were adopted %s: written %s",
  (mode, paused, contacted, is) => {
    expect(isRunning({ mode, paused }, { contacted })).toBe(is);
  },
);

test("a site that begins to follow: what its server has and Mooring does not want is removed, what differs is mounted again", () => {
  const there = (name: string, differs: string[], id = 1) =>
    [name, { ...NEW_MOUNT, id, path: `/${name}`, applied: 1, differs }] as const;
  const mounts = new Map([
    ["same", { ...films, name: "same" }],
    ["other", { ...films, name: "other" }],
    ["off", { ...off, name: "off" }],
    ["elsewhere", { ...films, name: "elsewhere", siteIds: ["q"] }],
  ]);
  const states = new Map([
    there("same", []),
    there("other", ["order"]),
    there("off", ["disabled"]),
    there("elsewhere", []),
    there("gone", []),
    there("never", ["order"], 0),
  ]);
  const found = effectsOfFollowing({ id: "h", name: "home" }, mounts, states);
  expect(
    found.flatMap(({ name, effects }) =>
      effects.map(({ action, path, site }) => `${name}: ${action} ${path} ${site}`),
    ),
  ).toEqual([
    "other: remount /other home",
    "off: disable /off home",
    "elsewhere: remove /elsewhere home",
    "gone: remove /gone home",
  ]);
});
