// Adoption and import store the values of a server unchanged.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import { COMMON_NAMES } from "../../src/drivers/common-items.ts";
import type { ConfigItem, DriverInfo } from "../../src/drivers/driver-info.ts";
import type { RecordResult } from "../../src/history/record-result.ts";
import { createDraft, type Draft } from "../../src/ledger/draft.ts";
import { writeDocument } from "../../src/mounts/archive/exported-row.ts";
import { readRows } from "../../src/mounts/archive/row.ts";
import { foundInput } from "../../src/mounts/found-input.ts";
import type { MountInput } from "../../src/mounts/input.ts";
import { draftMounts, MOUNTS, SITE_MOUNTS } from "../../src/mounts/kind.ts";
import { type Mount, wantedOn } from "../../src/mounts/mount.ts";
import { decideSave } from "../../src/mounts/save.ts";
import { mountSaver, skippedName } from "../../src/mounts/saver.ts";
import { isSecretItem } from "../../src/mounts/secret-item.ts";
import { compareMount } from "../../src/mounts/site/compare.ts";
import { readMount } from "../../src/mounts/site/read.ts";
import { readAddition, type StorageRow } from "../../src/mounts/site/row.ts";
import { NEW_MOUNT } from "../../src/mounts/site/state.ts";
import { saveEach } from "../../src/records/save-each.ts";
import { baseOf, snapshotOf } from "../settings/staged.ts";
import { saveRules } from "./save-rules.ts";
import { hash } from "./site/desk.ts";

const drivers = readBuiltIn({ offer: "all" }).drivers;
const byName = new Map(drivers.map((driver) => [driver.config.name, driver]));

const rules = saveRules({
  driverOf: (name) => byName.get(name),
  driverNames: () => byName.keys(),
  isAdopted: true,
  carries: true,
});

const emptyDraft = (): Draft => createDraft(baseOf(snapshotOf(1, [])));

/** A draft on the rows of another one, as after its commit. */
function committed(draft: Draft): Draft {
  const revision = draft.revision + 1;
  const rows = [...draft.keys(MOUNTS)].flatMap((key) => draft.get(MOUNTS, key) ?? []);
  return createDraft(
    baseOf(
      snapshotOf(
        revision,
        [],
        rows.map((row) => ({ ...row, revision })),
      ),
    ),
  );
}

const rowWith = (driver: string, addition: object, members: object = {}): StorageRow => ({
  id: 1,
  mount_path: "/m",
  driver,
  addition: JSON.stringify(addition),
  status: "work",
  disabled: false,
  ...members,
});

/** Adopts a row of the site `one`, as a new mount or into the mount that exists. */
async function adopt(
  draft: Draft,
  row: StorageRow,
  isShared = false,
): Promise<readonly RecordResult[]> {
  const mounts = draftMounts(draft);
  const values = readMount(row, byName.get(row.driver));
  if (values === undefined) return expect.unreachable("the addition is JSON");
  const before = mounts.get("m");
  const found = { ...values, name: "m", isNew: before === undefined, row };
  const site = { id: "one", name: "one" };
  const input = foundInput(found, site, before, { isShared, etagOf: () => "0" });
  return saveEach(SITE_MOUNTS, mountSaver(draft, rules), [input], mounts, skippedName);
}

const mountIn = (draft: Draft): Mount => {
  const mount = draftMounts(draft).get("m");
  return mount ?? expect.unreachable("the mount exists");
};

/** Names that a sync would push, and content that it would adopt. */
function differences(mount: Mount, row: StorageRow): readonly string[] {
  const addition = readAddition(row.addition) ?? {};
  const wanted = wantedOn(mount, "one");
  const { push, adopt } = compareMount(wanted, row, addition, { state: NEW_MOUNT, hash });
  return [...push, ...Object.keys(adopt)];
}

const save = (draft: Draft, input: MountInput) =>
  decideSave(draft, [input], draftMounts(draft), { ...rules, carries: false, isAdopted: false });

/** Any value that a server's driver accepts: of the right type, outside of options and bounds too. */
function anyValueOf({ type, options, default: initial }: ConfigItem): fc.Arbitrary<unknown> {
  if (type === "bool") return fc.boolean();
  if (type === "number") return fc.oneof(fc.integer(), fc.constantFrom(0, -1, 2 ** 53 - 1));
  if (type === "float")
    return fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 });
  return fc.oneof(
    fc.constantFrom("", " ", initial, ...options.split(","), "not an option", "密码"),
    fc.string({ maxLength: 20 }),
  );
}

const memberArbitrary = fc.record(
  {
    order: fc.integer({ min: -5, max: 5 }),
    remark: fc.string({ maxLength: 20 }),
    cache_expiration: fc.constantFrom(-1, 0, 30, 1_000_000),
    custom_cache_policies: fc.constantFrom("", "/a:1"),
    web_proxy: fc.boolean(),
    webdav_policy: fc.constantFrom("", "302_redirect", "native_proxy", "other"),
    proxy_range: fc.boolean(),
    down_proxy_url: fc.constantFrom("", "https://proxy.example"),
    disable_proxy_sign: fc.boolean(),
    down_proxy_sign: fc.boolean(),
    order_by: fc.constantFrom("", "name", "size", "other"),
    order_direction: fc.constantFrom("", "asc", "desc", "DESC"),
    extract_folder: fc.constantFrom("", "front", "back"),
    disable_index: fc.boolean(),
    enable_sign: fc.boolean(),
  },
  { requiredKeys: [] },
);

function rowArbitrary({ config, additional }: DriverInfo): fc.Arbitrary<StorageRow> {
  const addition = fc.record(
    Object.fromEntries(additional.map((item) => [item.name, anyValueOf(item)])),
    { requiredKeys: [] },
  );
  return fc
    .tuple(addition, memberArbitrary)
    .map(([items, members]) => rowWith(config.name, items, members));
}

describe("a row with any items that a server accepts", () => {
  test("covers every member that a row may have", () => {
    const [members] = fc.sample(
      memberArbitrary.filter((all) => Object.keys(all).length === 15),
      1,
    );
    expect(Object.keys(members ?? {}).sort()).toEqual(
      COMMON_NAMES.filter((name) => name !== "mount_path").sort(),
    );
  });

  test.each(drivers.map((driver) => [driver.config.name, driver] as const))(
    "is adopted without loss and is equal afterwards: %s",
    async (_name, driver) => {
      await fc.assert(
        fc.asyncProperty(
          rowArbitrary(driver),
          rowArbitrary(driver),
          fc.boolean(),
          async (row, later, isShared) => {
            const first = emptyDraft();
            const [created] = await adopt(first, row);
            expect(created).toMatchObject({ outcome: "created", leftOut: [] });
            expect(differences(mountIn(first), row)).toEqual([]);
            const draft = committed(first);
            // The server changes: the same row again, as an override if other sites have the mount.
            const [changed] = await adopt(draft, later, isShared);
            expect(changed?.outcome).not.toBe("skipped");
            expect(differences(mountIn(draft), later)).toEqual([]);
            // A user changes something else: nothing of the row is refused.
            const [saved] = await save(draft, { name: "m", path: "/elsewhere" });
            expect(saved?.outcome).toBe("changed");
          },
        ),
        { numRuns: 8 },
      );
    },
  );

  test.each(drivers.map((driver) => [driver.config.name, driver] as const))(
    "is the same mount after an export and an import: %s",
    async (_name, driver) => {
      await fc.assert(
        fc.asyncProperty(rowArbitrary(driver), async (row) => {
          const draft = emptyDraft();
          await adopt(draft, row);
          const mount = mountIn(draft);
          const document = await writeDocument(
            [mount],
            "",
            rules.sites,
            rules.driverOf,
            () => false,
          );
          const again = emptyDraft();
          const results = await importInto(again, document);
          expect(results).toMatchObject([{ name: "m", outcome: "created", leftOut: [] }]);
          expect({ ...mountIn(again), credentialRevision: 0 }).toEqual({
            ...mount,
            credentialRevision: 0,
          });
        }),
        { numRuns: 4 },
      );
    },
  );
});

/** Rows of a backup, or of a list. */
function rowsOf(document: unknown): readonly unknown[] {
  if (Array.isArray(document)) return document;
  const { storages, data } = document as Readonly<Record<string, unknown>>;
  return rowsOf(storages ?? data);
}

async function importInto(
  draft: Draft,
  document: unknown,
  more: { readonly sites?: MountInput["sites"]; readonly passphrase?: string } = {},
): Promise<readonly RecordResult[]> {
  const mounts = draftMounts(draft);
  // An export has the sites; for other documents the caller chooses them.
  const chosen = JSON.stringify(document).includes('"mooring"') ? undefined : ("all" as const);
  const options = { sites: chosen, names: rules.sites, ...more };
  const rows = await readRows(rowsOf(document), { mounts, driverOf: rules.driverOf, ...options });
  const inputs = rows.flatMap((row) => ("input" in row ? [row.input] : []));
  const skipped = rows.flatMap((row): RecordResult[] =>
    "reason" in row ? [{ name: row.path, outcome: "skipped", note: row.reason, differs: [] }] : [],
  );
  const saver = mountSaver(draft, { ...rules, isAdopted: false });
  return [...(await saveEach(SITE_MOUNTS, saver, inputs, mounts, skippedName)), ...skipped];
}

const notes = (results: readonly RecordResult[]) =>
  results.map(({ name, outcome, note }) => `${name} ${outcome}: ${note}`);

describe("rows of real servers", () => {
  test.each([
    [
      "WebDav",
      { vendor: "other", address: "https://x/dav", username: "", password: "" },
      "username",
    ],
    ["WebDav", { address: "https://x/dav" }, "password"],
    ["139Yun", { authorization: "cGM6", type: "personal_new" }, ""],
    ["AliyundriveOpen", { refresh_token: "t", drive_type: "default" }, "remove_way"],
    ["FTP", { address: "h:21", username: "u", password: "p" }, "encoding"],
    ["PikPak", { platform: "web", refresh_token: "t" }, ""],
    ["189CloudPC", { login_type: "password", refresh_token: "t" }, ""],
    ["Local", { root_folder_path: "/x", thumbnail: false, video_thumb_pos: "" }, ""],
    [
      "S3",
      { bucket: "b", endpoint: "e", access_key_id: "", secret_access_key: "" },
      "access_key_id",
    ],
  ])("are taken with their problems as a warning: %s %j", async (driver, addition, missing) => {
    const draft = emptyDraft();
    const [result] = await adopt(draft, rowWith(driver, addition));
    expect(result?.outcome).toBe("created");
    expect(mountIn(draft).items).toEqual(addition);
    if (missing === "") expect(String(result?.note)).toBe("");
    else expect(String(result?.note)).toMatch(`config.${missing} is required`);
    // The same through a document.
    const [imported] = await importInto(
      emptyDraft(),
      { storages: [rowWith(driver, addition)] },
      { sites: ["one"] },
    );
    expect(String(imported?.note)).toBe(String(result?.note));
  });

  test("keep a driver's own order beside the members of the same name", async () => {
    const addition = { order_by: "lastOpTime", order_direction: "desc" };
    const row = rowWith("189CloudPC", addition, { order_by: "name", order_direction: "asc" });
    const draft = emptyDraft();
    const [result] = await importInto(draft, [row]);
    expect(result).toMatchObject({ outcome: "created", leftOut: [] });
    expect(mountIn(draft)).toMatchObject({
      items: addition,
      members: { order_by: "name", order_direction: "asc" },
    });
  });

  test("keep members that the form lacks, without a note", async () => {
    const draft = emptyDraft();
    const row = rowWith("Local", {}, { cache_expiration: 45, down_proxy_sign: true });
    const [result] = await importInto(draft, [row]);
    expect(result?.note).toBe("");
    expect(mountIn(draft).members).toEqual({ cache_expiration: 45, down_proxy_sign: true });
  });
});

describe("a user's save", () => {
  test("is refused for the problems that it makes, and for no other", async () => {
    const draft = emptyDraft();
    await adopt(draft, rowWith("WebDav", { address: "https://x", vendor: "unheard" }));
    await save(draft, { name: "m", config: { username: "ann" } });
    await save(draft, { name: "m", config: { vendor: "unheard" } });
    await expect(save(draft, { name: "m", config: { username: "" } })).rejects.toThrow(
      "config.username is required",
    );
    await expect(save(draft, { name: "m", config: { vendor: "else" } })).rejects.toThrow("vendor");
    await expect(save(draft, { name: "m", config: { address: null } })).rejects.toThrow(
      "config.address is required",
    );
    await expect(
      save(draft, { name: "n", path: "/n", driver: "WebDav", config: { address: "https://x" } }),
    ).rejects.toThrow("config.username is required");
  });

  test("of values as they are stored is accepted, as a file that was exported declares them", async () => {
    const draft = emptyDraft();
    await adopt(draft, rowWith("WebDav", { address: "https://x" }));
    const declared = { ...rules, carries: false };
    const input = { name: "m", config: { address: "https://x" } };
    await decideSave(draft, [input], draftMounts(draft), declared);
    expect(mountIn(draft).items).toMatchObject({ address: "https://x" });
  });
});

describe("a document", () => {
  const local = { mount_path: "/m", driver: "Local", addition: '{"root_folder_path":"/x"}' };

  test.each([
    ["written by sqlite3 -json", { ...local, id: 7, disabled: 0, web_proxy: 1, order: 2 }],
    ["with null for a status", { ...local, status: null, disabled: false }],
    ["with numbers as text", { ...local, order: "2", disabled: "false", web_proxy: "true" }],
    ["with an object as addition", { ...local, addition: { root_folder_path: "/x" }, order: 2 }],
    ["without a status", { ...local, remark: null }],
  ])("has rows %s", async (_name, row) => {
    const draft = emptyDraft();
    const results = await importInto(draft, [row]);
    expect(results).toMatchObject([{ name: "m", outcome: "created", note: "", leftOut: [] }]);
    const { items, members } = mountIn(draft);
    expect(items).toEqual({ root_folder_path: "/x" });
    if ("order" in row) expect(members["order"]).toBe(2);
    if ("web_proxy" in row) expect(members["web_proxy"]).toBe(true);
  });

  test.each([
    ["text", "row 1 skipped: is not a mount: it is not an object"],
    [{ driver: "Local" }, "row 1 skipped: is not a mount: it has no mount_path"],
    [{ mount_path: "", driver: 7 }, "row 1 skipped: is not a mount: it has no mount_path, driver"],
    [{ ...local, disabled: "yes" }, "/m skipped: disabled must be true or false"],
    [{ ...local, addition: "VTJGc2RHVmtY" }, "/m skipped: its addition is not a JSON object: .*"],
    [{ ...local, driver: "Nothing" }, "/m skipped: driver.*"],
    [{ ...local, order: "first" }, "m created: not kept: order"],
    [{ ...local, addition: '{"root_folder_path":["/"]}' }, "m created: .*config.root_folder_path"],
    [{ ...local, label: "x", rank: 0 }, "m created: not kept: label"],
    [{ ...local, addition: '{"root_folder_path":"/","mode":"x"}' }, "m created: .*config.mode"],
    [
      {
        ...local,
        driver: "Alias",
        addition: '{"paths":"/a","file_consistency_check":12345678901234567890}',
      },
      "m created: not kept: config.file_consistency_check",
    ],
  ])("has a reason for what it does not keep: %j", async (row, expected) => {
    const results = await importInto(emptyDraft(), [row]);
    expect(notes(results).join()).toMatch(new RegExp(`^${expected}$`));
    const [result] = results;
    const isLoss = result?.outcome === "skipped" || (result?.leftOut ?? []).length > 0;
    expect(isLoss).toBe(true);
  });

  test("of an export keeps name, sites, overrides, content, members and disabled", async () => {
    const draft = emptyDraft();
    const input: MountInput = {
      name: "m",
      path: "/music",
      driver: "WebDav",
      config: { address: "https://x", username: "u", password: "p" },
      members: { remark: "r" },
      disabled: true,
      content: "overwrite",
      sites: ["one", "two"],
      overrides: {
        two: { path: "/songs", config: { username: "v", password: "q" }, members: { order: 3 } },
      },
    };
    await save(draft, input);
    const mount = mountIn(draft);
    const whole = await writeDocument([mount], "", rules.sites, rules.driverOf, () => false);
    const again = emptyDraft();
    await importInto(again, whole);
    expect(mountIn(again)).toEqual({ ...mount, overrides: mountIn(again).overrides });
    expect(mountIn(again).overrides["two"]).toMatchObject({
      path: "/songs",
      items: { username: "v", password: "q" },
      members: { order: 3 },
    });
    // Without secrets: the mount is incomplete, also on the site with values of its own.
    const bare = await writeDocument([mount], "", rules.sites, rules.driverOf, (driver, item) =>
      isSecretItem(byName.get(driver), item),
    );
    expect(JSON.stringify(bare)).not.toMatch(/"p"|"q"/);
    const incomplete = emptyDraft();
    const [result] = await importInto(incomplete, bare);
    expect(String(result?.note)).toMatch(/config\.password, overrides\.two\.config\.password/);
    expect(mountIn(incomplete).missing).toEqual([
      { site: "", item: "password" },
      { site: "two", item: "password" },
    ]);
    // Into the same service: nothing changes.
    const same = committed(draft);
    expect(await importInto(same, bare)).toMatchObject([{ name: "m", outcome: "unchanged" }]);
    expect(same.changes()).toEqual([]);
    // Under another name here, and where its sites are unknown.
    const other = emptyDraft();
    await save(other, { ...input, name: "other", sites: [], overrides: {}, content: "adopt" });
    expect(await importInto(other, whole)).toMatchObject([{ name: "other", leftOut: ["name"] }]);
  });

  test("with sites that do not exist here is not imported to all sites", async () => {
    const row = { ...local, mooring: { name: "m", sites: ["gone"], overrides: { gone: {} } } };
    const [skipped] = await importInto(emptyDraft(), [row]);
    expect(String(skipped?.note)).toMatch(/^no site has the name gone/);
    const [partly] = await importInto(emptyDraft(), [
      { ...row, mooring: { ...row.mooring, sites: ["gone", "one"] } },
    ]);
    expect(partly).toMatchObject({
      outcome: "created",
      leftOut: ["sites.gone", "overrides.gone"],
    });
    const draft = emptyDraft();
    const [chosen] = await importInto(draft, [row], { sites: ["two"] });
    expect(chosen).toMatchObject({ outcome: "created", leftOut: ["overrides.gone"] });
    expect(mountIn(draft).siteIds).toEqual(["two"]);
  });

  test.each([
    [{ name: 7, sites: "x", overrides: [], filled: {} }],
    [{ name: "no/name" }],
    [{ overrides: { one: 5, two: { config: [], missing: [1] } } }],
    [[]],
    ["x"],
  ])("with a damaged member of its own is refused or read without it: %j", async (mooring) => {
    const [result] = await importInto(emptyDraft(), [{ ...local, mooring }]);
    expect(["created", "skipped"]).toContain(result?.outcome);
  });
});
