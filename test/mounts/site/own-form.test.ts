import { afterEach, expect, test } from "vitest";
import type { WantedMount } from "../../../src/mounts/site/row.ts";
import { type Desk, driverByName, mount, openDesk, writes } from "./desk.ts";
import { type Storages, startStorages } from "./stand-in.ts";
import type { Live, Row } from "./stand-in-row.ts";

const GET = "GET /api/admin/storage/get";
const LIST = "GET /api/admin/storage/list";
const PATH = "/films";

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(
  wanted: WantedMount,
): Promise<{ readonly site: Storages; readonly desk: Desk }> {
  const site = await startStorages(driverByName);
  const desk = await openDesk(site);
  ends.push(() => site.stop(), desk.close);
  desk.wanted = [wanted];
  return { site, desk };
}

/** Saves a row as another client does on the server's own pages, which stores the time. */
function saveThere(site: Storages, changes: Partial<Row>): void {
  site.edit(PATH, { ...changes, modified: "2031-01-01T00:00:00Z" });
}

/** Runs an edit once, between a push of the mount and the read of its result. */
function beforeReadBack(site: Storages, call: string, edit: () => void): void {
  let hasMounted = false;
  const before = site.mounts.get(PATH) ?? 0;
  site.hold = (stage) => {
    hasMounted ||= (site.mounts.get(PATH) ?? 0) > before;
    if (!hasMounted || stage !== call) return;
    site.hold = undefined;
    edit();
  };
}

const items = { root_folder_path: "/srv/films", thumbnail: false, thumb_cache_folder: "" };
const members = { order: 1, remark: "ours", web_proxy: false, cache_expiration: 30 };
const films = (changes: Partial<WantedMount> = {}) => mount({ items, members, ...changes });
const withItems = (changes: object) => ({ addition: JSON.stringify({ ...items, ...changes }) });

const FOREIGN: [what: string, changes: Partial<Row>, name: string][] = [
  ["a remark", { remark: "theirs" }, "remark"],
  ["an order", { order: 9 }, "order"],
  ["a flag of the row", { web_proxy: true }, "web_proxy"],
  ["a time of the row", { cache_expiration: 99 }, "cache_expiration"],
  ["a folder", withItems({ root_folder_path: "/srv/theirs" }), "root_folder_path"],
  ["a flag of the driver", withItems({ thumbnail: true }), "thumbnail"],
  ["a text that was empty", withItems({ thumb_cache_folder: "/var/x" }), "thumb_cache_folder"],
];

test.each(
  FOREIGN.flatMap((one) => [
    ["saved there", ...one] as const,
    ["written to the database", ...one] as const,
  ]),
)(
  "a change by another client before the result of an update is read is a difference, then corrected (%s: %s)",
  async (how, _what, changes, name) => {
    const { site, desk } = await open(films());
    await desk.round();
    desk.wanted = [films({ revision: 2, members: { ...members, enable_sign: true } })];
    beforeReadBack(site, GET, () =>
      how === "saved there" ? saveThere(site, changes) : site.edit(PATH, changes),
    );
    await desk.round();
    expect(desk.state()?.differs).toEqual([name]);
    expect(site.row(PATH)).toMatchObject(changes);
    // As any other change on the site: corrected, and reported as such.
    const { done } = await desk.round({ forced: ["films"] });
    expect(done).toMatchObject([{ name: "films", drifted: true }]);
    expect(desk.state()).toMatchObject({ differs: [], applied: 2, phase: "", failures: 0 });
    expect(site.row(PATH)).toMatchObject({ ...members, enable_sign: true });
    expect(site.addition(PATH)).toMatchObject(items);
    // Also when the other client repeats it.
    site.edit(PATH, changes);
    await desk.round();
    expect(site.row(PATH)).toMatchObject(members);
    expect(site.addition(PATH)).toMatchObject(items);
  },
);

test.each(FOREIGN)(
  "a change by another client before the result of a creation is read is a difference, then corrected (%s)",
  async (_what, changes, name) => {
    const { site, desk } = await open(films());
    beforeReadBack(site, LIST, () => saveThere(site, changes));
    await desk.round();
    expect(desk.state()?.differs).toEqual([name]);
    expect(site.row(PATH)).toMatchObject(changes);
    const { done } = await desk.round({ forced: ["films"] });
    expect(done).toMatchObject([{ name: "films", drifted: true }]);
    expect(site.row(PATH)).toMatchObject(members);
    expect(site.addition(PATH)).toMatchObject(items);
    expect(desk.state()).toMatchObject({ differs: [], applied: 1, phase: "" });
  },
);

test("a mount to be disabled is disabled whatever another client has changed meanwhile", async () => {
  const { site, desk } = await open(films({ disabled: true }));
  beforeReadBack(site, LIST, () => saveThere(site, { remark: "theirs" }));
  await desk.round();
  expect(site.row(PATH)).toMatchObject({ disabled: true, remark: "theirs" });
  expect(desk.state()?.differs).toEqual(["remark"]);
  await desk.round();
  expect(site.row(PATH)).toMatchObject({ disabled: true, remark: "ours" });
});

test("a mount that another client disables before the result is read is enabled, and reported as corrected", async () => {
  const { site, desk } = await open(films());
  await desk.round();
  desk.wanted = [films({ revision: 2, members: { ...members, order: 2 } })];
  beforeReadBack(site, GET, () => saveThere(site, { disabled: true, status: "disabled" }));
  const { done } = await desk.round();
  expect(done).toMatchObject([{ drifted: true }]);
  expect(site.row(PATH)).toMatchObject({ disabled: false, status: "work", order: 2 });
});

test("a save by another client between the update and the mount is reported as corrected", async () => {
  const { site, desk } = await open(films());
  await desk.round();
  desk.wanted = [films({ revision: 2, members: { ...members, order: 2 } })];
  let isUpdated = false;
  site.hold = (stage) => {
    isUpdated ||= stage.endsWith("/update");
    if (!isUpdated || stage !== GET) return;
    site.hold = undefined;
    saveThere(site, { remark: "theirs" });
  };
  const { done } = await desk.round();
  expect(done).toMatchObject([{ drifted: true }]);
  expect(site.row(PATH)).toMatchObject({ remark: "ours", order: 2, status: "work" });
  expect(desk.state()).toMatchObject({ differs: [], applied: 2 });
});

test("content that a user edits before the result is read is adopted", async () => {
  const tree = (text: string, revision: number) =>
    mount({ driver: "UrlTree", revision, items: { url_structure: text } });
  const { site, desk } = await open(tree("a", 1));
  await desk.round();
  desk.wanted = [tree("b", 2)];
  beforeReadBack(site, GET, () => site.writeBack(PATH, { url_structure: "b and theirs" }));
  const { adopt } = await desk.round();
  expect(adopt).toEqual({ films: { url_structure: "b and theirs" } });
  expect(site.addition(PATH)["url_structure"]).toBe("b and theirs");
});

/** Drivers with an own form of a value, and the number of mounts until it counts as equal. */
const OWN_FORMS: [
  what: string,
  driver: string,
  items: WantedMount["items"],
  form: (live: Live) => void,
  mounts: number,
][] = [
  [
    "a trimmed address",
    "WebDav",
    { address: " https://dav.example// " },
    ({ addition }) => {
      addition["address"] = String(addition["address"]).trim().replace(/\/+$/, "");
    },
    1,
  ],
  ["a default of the driver", "Local", { video_thumb_pos: "" }, () => undefined, 1],
  ["a scrambled secret", "Crypt", { password: "secret", salt: "more" }, () => undefined, 1],
  [
    "a number in its bounds",
    "GoogleDrive",
    { chunk_size: 500 },
    ({ addition }) => {
      addition["chunk_size"] = 200;
    },
    2,
  ],
  [
    "a form that no list has",
    "WebDav",
    { address: "dav.example" },
    ({ addition }) => {
      addition["address"] = `https://${String(addition["address"]).replace(/^https:\/\//, "")}`;
    },
    2,
  ],
  [
    "another form at each mount",
    "WebDav",
    { address: "dav.example" },
    ({ addition }) => {
      addition["address"] = `dav.example#${Math.random()}`;
    },
    2,
  ],
];

test.each(OWN_FORMS)(
  "the driver's own form of a value counts as equal (%s)",
  async (_what, driver, own, form, mounts) => {
    const { site, desk } = await open(mount({ driver, items: own }));
    site.providers.set(driver, form);
    for (let round = 0; round < 2; round += 1) await desk.round({ forced: ["films"] });
    expect(desk.state()).toMatchObject({ differs: [], applied: 1, phase: "", error: "" });
    expect(site.mounts.get(PATH)).toBe(mounts);
    const before = writes(site).length;
    for (let round = 0; round < 2; round += 1) expect((await desk.round()).done).toEqual([]);
    expect(writes(site)).toHaveLength(before);
    // A change of it on the site is a difference as before.
    const [name = ""] = Object.keys(own);
    const changed = { ...site.addition(PATH), [name]: "theirs" };
    site.edit(PATH, { addition: JSON.stringify(changed) });
    const { done } = await desk.round();
    expect(done).toMatchObject([{ drifted: true }]);
  },
);

test("a driver's own form that is found out by a second mount is not reported as a change on the site", async () => {
  const { site, desk } = await open(mount({ driver: "GoogleDrive", items: { chunk_size: 500 } }));
  site.providers.set("GoogleDrive", ({ addition }) => {
    addition["chunk_size"] = 200;
  });
  const rounds = [await desk.round(), await desk.round({ forced: ["films"] })];
  expect(rounds.map(({ done }) => done.map(({ drifted }) => drifted))).toEqual([[false], [false]]);
});

test("a row member that a driver changes at each mount counts as equal", async () => {
  const { site, desk } = await open(
    mount({ driver: "Quark", items: {}, members: { web_proxy: false } }),
  );
  site.providers.set("Quark", ({ row }) => {
    row.web_proxy = true;
  });
  for (let round = 0; round < 3; round += 1) await desk.round({ forced: ["films"] });
  expect(desk.state()).toMatchObject({ differs: [], applied: 1 });
});
