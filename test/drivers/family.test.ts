import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FAMILIES, type Family } from "../../src/config/family.ts";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import { type ConfigItem, type DriverInfo, itemsOf } from "../../src/drivers/driver-info.ts";

// The offered drivers, item by item, compared with facts of each family's own server.

const OPENLIST = "../shared/facts/drivers.json";
const ALIST = "../shared/facts/drivers-alist.json";
const FORMS = "../shared/facts/form-order.json";

/** Compared members of an item in a facts file. */
interface ItemFact {
  readonly name: string;
  readonly type: string;
  readonly default: string | null;
  readonly options: string;
  readonly required: boolean;
  readonly default_withheld?: string;
}

interface DriverFact {
  readonly name: string;
  readonly config: Record<string, string | boolean>;
  readonly common_items: ItemFact[];
  readonly additional: ItemFact[];
  readonly in_v3_25_1?: boolean;
  readonly only_local_in_alist_v3_25_1?: boolean;
}

interface Difference {
  readonly name: string;
  readonly items_openlist_lacks: ItemFact[];
  readonly items_alist_lacks: string[];
  readonly items_that_differ: { name: string; member: keyof ItemFact; alist: never }[];
  readonly config_that_differs: { member: string; alist: never; hidden?: boolean }[];
}

interface AlistFacts {
  readonly drivers: DriverFact[];
  readonly alist_names: string[];
  readonly openlist_only_names: string[];
  readonly common_differences: Difference[];
  readonly against_openlist: { only_local_in_common_drivers: { names: string[] } };
}

const credential = "a credential of another application: left empty";
const text = "a text of another author: left empty";

/**
 * Defaults in which the catalogue intentionally differs from the families' servers, with reasons.
 */
const OWN_DEFAULTS: Readonly<Record<string, string>> = {
  "360AIYunPan/alert": text,
  "BaiduNetdisk/client_id": credential,
  "BaiduNetdisk/client_secret": credential,
  "DoubaoNew/app_id": credential,
  "GoogleDrive/client_id": credential,
  "GoogleDrive/client_secret": credential,
  "GooglePhoto/client_id": credential,
  "GooglePhoto/client_secret": credential,
  "GuangYaPan/client_id": credential,
  "HalalCloud/app_id": credential,
  "HalalCloud/app_secret": credential,
  "ThunderExpert/algorithms": credential,
  "ThunderExpert/client_id": credential,
  "ThunderExpert/client_secret": credential,
  "ThunderExpert/user_agent": text,
  "ThunderBrowserExpert/algorithms": credential,
  "ThunderBrowserExpert/client_id": credential,
  "ThunderBrowserExpert/client_secret": credential,
  "ThunderXExpert/algorithms": credential,
  "ThunderXExpert/client_id": credential,
  "ThunderXExpert/client_secret": credential,
  "UrlTree/url_structure": "a text of another author: has an example of our own",
  "WuKongNetdisk/aid": credential,
  "YandexDisk/client_id": credential,
  "YandexDisk/client_secret": credential,
};

/** Items of a family that are other items here, with reasons. */
const OWN_NAMES: Readonly<Record<string, readonly [name: string, reason: string]>> = {
  "ProtonDrive/two_fa_code,omitempty": [
    "two_fa_code",
    "a slip of the pen there: no value of that name is ever read",
  ],
};

/** An item of a form as a running server sends it; `help`: whether it has a help text. */
interface FormItem extends Pick<ItemFact, "name" | "type" | "options" | "required"> {
  readonly default: string;
  readonly help: boolean;
}

interface Form {
  readonly common: readonly FormItem[];
  readonly additional: readonly FormItem[];
}

/**
 * Drivers and items that a running server of the family does not have, and why they are offered.
 */
const BEYOND_SERVER: Readonly<Record<Family, Readonly<Record<string, string>>>> = {
  openlist: {
    "AList V2": "part of the version that the contract was written from",
    BaiduShare: "part of the version that the contract was written from",
    Trainbit: "part of the version that the contract was written from",
    "Strm/minFileSize": "in the source of OpenList, after the release that was asked",
  },
  alist: { "123 Open": "in the source of AList, but not in the build that was asked" },
};

const present = [OPENLIST, ALIST, FORMS].every((file) => existsSync(file));
const read = <T>(file: string): T => JSON.parse(readFileSync(file, "utf8")) as T;
const openlistFacts = present ? read<{ drivers: DriverFact[] }>(OPENLIST).drivers : [];
const alistFacts: AlistFacts = present
  ? read<AlistFacts>(ALIST)
  : {
      drivers: [],
      alist_names: [],
      openlist_only_names: [],
      common_differences: [],
      against_openlist: { only_local_in_common_drivers: { names: [] } },
    };

const forms: Record<Family, Record<string, Form>> = present
  ? read(FORMS)
  : { openlist: {}, alist: {} };

function offeredBy(offer: Family): Map<string, DriverInfo> {
  const { drivers } = readBuiltIn({ offer });
  return new Map(drivers.map((driver) => [driver.config.name, driver]));
}

const offered = { openlist: offeredBy("openlist"), alist: offeredBy("alist") };

function driverOf(family: Family, name: string): DriverInfo {
  const driver = offered[family].get(name);
  if (driver === undefined) throw new Error(`${family} is offered no driver ${name}`);
  return driver;
}

/** Compared members of an item. */
function facts(item: ItemFact | FormItem | ConfigItem, driver: string) {
  const { name: there, type, options, required } = item;
  const [name = there] = OWN_NAMES[`${driver}/${there}`] ?? [];
  const own = `${driver}/${name}` in OWN_DEFAULTS;
  return { name, type, options, required, default: own ? "(own)" : item.default };
}

/** An item with the default that its facts omit and a running server sends. */
function completed(item: ItemFact, family: Family, driver: string): ItemFact {
  if (item.default !== null && item.default_withheld === undefined) return item;
  const served = forms[family][driver]?.additional.find(({ name }) => name === item.name);
  return { ...item, default: served?.default ?? null };
}

const byName = <T extends { name: string }>(items: readonly T[]): T[] =>
  items.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** The families' flags by their own names; the text of an alert is this project's own. */
function flags(config: object) {
  const entries = Object.entries(config).map(([member, value]) => [
    member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    member === "alert" ? String(value).replace(/\|.*$/s, "|") : value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

describe.skipIf(!present)("the drivers offered to openlist (needs ../shared)", () => {
  const contract = alistFacts.drivers.filter(({ in_v3_25_1 }) => in_v3_25_1);

  it("are those of its own server and of the contract's version", () => {
    const names = [...openlistFacts, ...contract].map(({ name }) => name);
    expect([...offered.openlist.keys()].sort()).toEqual(names.sort());
    expect(contract.map(({ name }) => name).sort()).toEqual(["AList V2", "BaiduShare", "Trainbit"]);
  });

  it.each(openlistFacts)("agree on $name", (fact) => {
    const { name } = fact;
    const { common, additional, config } = driverOf("openlist", name);
    expect(common.map((item) => facts(item, name))).toEqual(
      fact.common_items.map((item) => facts(item, name)),
    );
    expect(additional.map((item) => facts(item, name))).toEqual(
      fact.additional.map((item) => facts(completed(item, "openlist", name), name)),
    );
    const { only_local, ...others } = flags(config);
    expect(others).toEqual(fact.config);
    // True for the version that the contract was written from; later drivers have it off.
    expect(only_local).toBe(fact.only_local_in_alist_v3_25_1 ?? false);
  });

  it("are listed in docs/drivers.md if their own default is left empty", () => {
    const page = readFileSync("docs/drivers.md", "utf8");
    const listed = [...page.matchAll(/^\| `([^`]+\/[^`]+)` \|/gm)].map(([, name]) => name);
    const left = Object.keys(OWN_DEFAULTS).filter((name) => !name.endsWith("/alert"));
    expect(listed.toSorted()).toEqual(left.toSorted());
  });
});

describe.skipIf(!present)("the drivers offered to alist (needs ../shared)", () => {
  const differences = new Map(alistFacts.common_differences.map((fact) => [fact.name, fact]));
  const ofOpenlist = new Map(openlistFacts.map((fact) => [fact.name, fact]));
  const both = alistFacts.alist_names.filter((name) => ofOpenlist.has(name));

  it("are those of its own server", () => {
    expect([...offered.alist.keys()].sort()).toEqual(alistFacts.alist_names.toSorted());
  });

  it.each(alistFacts.drivers)("agree on $name, which only alist has", (fact) => {
    const { name } = fact;
    const { common, additional, config, families } = driverOf("alist", name);
    expect(common.map((item) => facts(item, name))).toEqual(
      fact.common_items.map((item) => facts(item, name)),
    );
    expect(additional.map((item) => facts(item, name))).toEqual(
      fact.additional.map((item) => facts(completed(item, "alist", name), name)),
    );
    expect(flags(config)).toMatchObject({ ...fact.config, alert: expect.any(String) });
    expect(families).toEqual(["alist"]);
  });

  it.each(both)("agree on differences of %s", (name) => {
    const fact = ofOpenlist.get(name);
    const difference = differences.get(name);
    const lacks = new Set(difference?.items_alist_lacks);
    const kept = (fact?.additional ?? []).filter((item) => !lacks.has(item.name));
    const changed = kept.map((item) => {
      const members = difference?.items_that_differ.filter((other) => other.name === item.name);
      const own = Object.fromEntries((members ?? []).map(({ member, alist }) => [member, alist]));
      return { ...item, ...own };
    });
    const expected = [...changed, ...(difference?.items_openlist_lacks ?? [])];
    const { additional, config } = driverOf("alist", name);
    expect(byName(additional.map((item) => facts(item, name)))).toEqual(
      byName(expected.map((item) => facts(completed(item, "alist", name), name))),
    );
    const shown = flags(config);
    for (const { member, alist, hidden } of difference?.config_that_differs ?? []) {
      if (hidden === true) continue;
      if (member === "alert") expect(shown["alert"] === "").toBe(alist === null);
      else if (alist === null) expect([false, ""]).toContain(shown[member]);
      else expect(shown[member]).toBe(alist);
    }
    const local = alistFacts.against_openlist.only_local_in_common_drivers.names;
    expect(shown["only_local"]).toBe(local.includes(name));
  });
});

describe.skipIf(!present).each(FAMILIES)(
  "the forms offered to %s, compared with a running server (needs ../shared)",
  (family) => {
    const names = Object.keys(forms[family]);

    it("are those of its drivers", () => {
      const added = [...offered[family].keys()].filter((name) => !names.includes(name));
      const explained = Object.keys(BEYOND_SERVER[family]).filter((name) => !name.includes("/"));
      expect(added).toEqual(explained);
      expect(names.filter((name) => !offered[family].has(name))).toEqual([]);
    });

    it.each(names)("have the same items in the same order: %s", (name) => {
      const there = forms[family][name];
      const here = driverOf(family, name);
      const whole = (item: FormItem | ConfigItem) => ({
        ...facts(item, name),
        help: item.help !== "" && item.help !== false,
      });
      const own = here.additional.filter(
        (item) => !(`${name}/${item.name}` in BEYOND_SERVER[family]),
      );
      expect(here.common.map(whole)).toEqual(there?.common.map(whole));
      expect(own.map(whole)).toEqual(there?.additional.map(whole));
    });
  },
);

describe("the union of both families", () => {
  const { drivers } = readBuiltIn({ offer: "all" });

  it("has every driver and item of each family, marked with its families", () => {
    for (const family of ["openlist", "alist"] as const)
      for (const [name, driver] of offered[family]) {
        const whole = drivers.find(({ config }) => config.name === name);
        if (!driver.families.includes(family)) continue;
        expect(whole?.families, name).toContain(family);
        const items = new Map((whole ? itemsOf(whole) : []).map((item) => [item.name, item]));
        for (const item of itemsOf(driver))
          expect(items.get(item.name)?.families, `${name}/${item.name}`).toContain(family);
      }
  });

  it("requires only values of both families, and has the options of both", () => {
    for (const driver of drivers)
      for (const item of driver.additional) {
        const known = driver.families.every((family) => item.families.includes(family));
        if (!known) expect(item.required, `${driver.config.name}/${item.name}`).toBe(false);
      }
  });

  it("always shows an item whose condition is on an item that is not offered", () => {
    const client = driverOf("alist", "GoogleDrive").additional.find(
      ({ name }) => name === "client_id",
    );
    expect(client?.showWhen).toBe("");
    expect(
      driverOf("openlist", "GoogleDrive").additional.find(({ name }) => name === "client_id")
        ?.showWhen,
    ).toBe("use_online_api=false");
  });
});
