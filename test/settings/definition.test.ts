import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterAll, describe, expect, it } from "vitest";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";
import { formats } from "../../src/settings/format/registry.ts";

const FACTS = "../shared/facts/settings.json";
const DATA = "src/data/settings.json";

interface Fact {
  readonly key: string;
  readonly type: string;
  readonly options: string;
  readonly group: number;
  readonly flag: number;
  readonly default: string | null;
  readonly index: number;
  readonly help_present: boolean;
  readonly note?: string;
  /** Characters of a default that the facts omit. */
  readonly default_length?: number;
}

/** Defaults that differ from the reference server, with reasons. */
const OWN_DEFAULTS: Readonly<Record<string, string>> = {
  announcement: "the reference server's is prose about itself",
  privacy_regs: "the reference server's text is its own; these three say the same",
  share_summary_content: "the reference server's text is its own",
};

const definitions = loadSettingDefinitions();
const byKey = new Map(definitions.map((definition) => [definition.key, definition]));

function json(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

describe("the definitions of settings", () => {
  it("keep the rules of their JSON schema", () => {
    const validate = new Ajv({ allErrors: true }).compile(
      json("src/data/settings.schema.json") as object,
    );
    validate(json(DATA));
    expect(validate.errors).toBeNull();
  });

  it("have a schema with every format, and no other", () => {
    const schema = JSON.stringify(json("src/data/settings.schema.json"));
    const named = [...schema.matchAll(/"const":"(\w+)"/g)].map(([, name]) => name);
    expect(named.toSorted()).toEqual(Object.keys(formats).toSorted());
  });

  it("are frozen, in the order of their indexes", () => {
    expect(Object.isFrozen(definitions)).toBe(true);
    expect(definitions.every((definition) => Object.isFrozen(definition))).toBe(true);
    expect(definitions.map(({ index }) => index)).toEqual(definitions.map((_, at) => at));
  });

  it("mark as secret every setting that is or may contain a password, token or key", () => {
    const secrets = definitions.filter(({ secret }) => secret).map(({ key }) => key);
    expect(secrets).toEqual([
      "token",
      "sso_client_secret",
      "ldap_manager_password",
      "s3_secret_access_key",
      "aria2_secret",
      "qbittorrent_url",
      "transmission_uri",
    ]);
  });

  it("use every format at least once", () => {
    const used = new Set(definitions.map(({ format }) => format));
    expect(Object.keys(formats).filter((name) => !used.has(name as never))).toEqual([]);
  });
});

describe("docs/settings.md", () => {
  const file = join(import.meta.dirname, "../../docs/settings.md");
  const text = readFileSync(file, "utf8");

  it("explains every format, and no other", () => {
    const rows = text.slice(text.indexOf("## Formats"), text.indexOf("## Custom settings"));
    const explained = [...rows.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(explained.toSorted()).toEqual(Object.keys(formats).toSorted());
  });
});

describe.skipIf(!existsSync(FACTS))(
  "the definitions compared with the facts of the reference server (needs ../shared)",
  () => {
    const facts = existsSync(FACTS)
      ? (json(FACTS) as Fact[]).filter(({ note }) => note !== "dev mode only")
      : [];

    it("are the same settings in the same order", () => {
      const ordered = facts.toSorted((a, b) => a.index - b.index).map(({ key }) => key);
      expect(definitions.map(({ key }) => key)).toEqual(ordered);
    });

    it.each(facts)("agree in type, options, group, flag and default: $key", (fact) => {
      const definition = byKey.get(fact.key);
      const { key, type, options, group, flag } = fact;
      expect(definition).toMatchObject({ key, type, options, group, flag });
      if (fact.key in OWN_DEFAULTS) expect(definition?.default).not.toBe(fact.default);
      else expect(definition?.default).toBe(fact.default);
    });
  },
);

const ALIST_FACTS = "../shared/facts/settings-alist.json";

interface AlistFacts {
  readonly settings: Fact[];
  readonly openlist_only_keys: string[];
  readonly common_differences: { key: string; member: "default" | "options"; alist: string }[];
}

describe.skipIf(!existsSync(ALIST_FACTS))(
  "the definitions for alist compared with its facts (needs ../shared)",
  () => {
    const facts = existsSync(ALIST_FACTS)
      ? (json(ALIST_FACTS) as AlistFacts)
      : { settings: [], openlist_only_keys: [], common_differences: [] };
    const own = loadSettingDefinitions(undefined, "alist");
    const ownByKey = new Map(own.map((definition) => [definition.key, definition]));

    it("are the common settings and its own", () => {
      const removed = new Set(facts.openlist_only_keys);
      const common = definitions.filter(({ key }) => !removed.has(key)).map(({ key }) => key);
      const keys = [...common, ...facts.settings.map(({ key }) => key)];
      expect(own.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
      expect(own.map(({ index }) => index)).toEqual(own.map((_, at) => at));
    });

    it.each(facts.settings)("agree in type, options, group, flag and default: $key", (fact) => {
      const { key, type, options, group, flag } = fact;
      const definition = ownByKey.get(key);
      expect(definition).toMatchObject({ key, type, options, group, flag, families: ["alist"] });
      expect(definition?.default).toSatisfy((text: string) =>
        fact.default === null ? text.length === fact.default_length : text === fact.default,
      );
    });

    it.each(facts.settings)("has the place and the hint of its server: $key", (fact) => {
      const definition = ownByKey.get(fact.key);
      expect(definition?.index).toBe(fact.index);
      expect(definition?.help !== "").toBe(fact.help_present);
    });

    it("differ from the common ones as its server does", () => {
      for (const { key, member, alist } of facts.common_differences)
        if (!(key in OWN_DEFAULTS)) expect(ownByKey.get(key)?.[member], key).toBe(alist);
    });
  },
);

describe("the definitions of both families", () => {
  const all = loadSettingDefinitions(undefined, "all");

  it.each(["openlist", "alist", "all"] as const)("keep the rules between members: %s", (offer) => {
    expect(loadSettingDefinitions(undefined, offer, false).length).toBeGreaterThan(100);
  });

  it("list the families of each setting", () => {
    expect(all.length).toBeGreaterThan(byKey.size);
    for (const family of ["openlist", "alist"] as const)
      expect(all.filter(({ families }) => families.includes(family)).map(({ key }) => key)).toEqual(
        loadSettingDefinitions(undefined, family).map(({ key }) => key),
      );
  });

  it("have the options of both", () => {
    const search = all.find(({ key }) => key === "search_index");
    expect(search?.options.split(",")).toEqual(expect.arrayContaining(["no_index", "none"]));
  });
});

describe("the default of privacy_regs", () => {
  const patterns = (byKey.get("privacy_regs")?.default ?? "")
    .split("\n")
    .map((line) => new RegExp(line.replace("(?i)", ""), line.startsWith("(?i)") ? "gi" : "g"));
  const masked = (text: string): string =>
    patterns.reduce((rest, pattern) => rest.replace(pattern, "*"), text);

  it.each([
    ["dial tcp 127.0.0.1:6800: refused", "dial tcp *:6800: refused"],
    ["from 255.255.255.255", "from *"],
    ["dial tcp [2001:db8::8a2e:370:7334]:80", "dial tcp [*]:80"],
    ["dial tcp [::1]:80", "dial tcp [*]:80"],
    ["fe80:0:0:0:202:b3ff:fe1e:8329 is down", "* is down"],
    ['get "https://host/x?access_token=abc.def&b=1"', 'get "https://host/x?*&b=1"'],
    ["at 12:30:45 version 1.36.0 of 2024.11", "at 12:30:45 version 1.36.0 of 2024.11"],
  ])("masks %j as %j", (text, expected) => {
    expect(masked(text)).toBe(expected);
  });
});

describe("an invalid definition file", () => {
  const folder = mkdtempSync(join(tmpdir(), "mooring-definitions-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  const good = {
    key: "a",
    type: "string",
    options: "",
    group: 1,
    flag: 0,
    default: "",
    help: "What it is.",
  };
  const load = (...settings: readonly object[]): unknown => loadText(JSON.stringify({ settings }));
  const loadText = (text: string): unknown => {
    const file = join(folder, "settings.json");
    writeFileSync(file, text);
    return loadSettingDefinitions(file);
  };
  const wrong = (member: string, key = "a"): RegExp =>
    new RegExp(`settings\\.json: settings\\[\\d\\] "${key}", member "${member}"`);

  it("is distinguished from a valid one", () => {
    expect(load(good)).toMatchObject([
      { ...good, help: "", description: "What it is.", secret: false, decimal: false, index: 0 },
    ]);
  });

  it.each([
    ["colour", { ...good, colour: "red" }],
    ["help", { ...good, help: undefined }],
    ["help", { ...good, help: " " }],
    ["key", { ...good, key: " a" }, " a"],
    ["type", { ...good, type: "float" }],
    ["type", { ...good, type: 1 }],
    ["options", { ...good, options: "x,y" }],
    ["options", { ...good, type: "select" }],
    ["options", { ...good, type: "select", options: "x,y", site_options: true }],
    ["site_options", { ...good, site_options: true }],
    ["site_options", { ...good, type: "select", site_options: false }],
    ["default", { ...good, type: "select", options: "x,y", default: "z" }],
    ["default", { ...good, type: "number", default: "x" }],
    ["default", { ...good, type: "number", default: "5", min: 6 }],
    ["default", { ...good, format: "list", default: "a, b" }],
    ["default", { ...good, format: "url", default: "localhost" }],
    ["default", { ...good, default: "a\0" }],
    ["group", { ...good, group: 13 }],
    ["families", { ...good, families: ["flist"] }],
    ["variants", { ...good, variants: { alist: { type: "text" } } }],
    ["flag", { ...good, flag: 3 }],
    ["secret", { ...good, secret: "yes" }],
    ["min", { ...good, min: 1 }],
    ["unit", { ...good, unit: "hours" }],
    ["max", { ...good, type: "number", default: "5", min: 5, max: 4 }],
    ["format", { ...good, format: "toString" }],
    ["format", { ...good, type: "number", default: "5", format: "url" }],
    ["format", { ...good, secret: true, format: "list" }],
  ] as [string, object, string?][])(
    "is refused with the name of the member: %s of %j",
    (member, setting, key) => {
      expect(() => load(setting)).toThrow(wrong(member, key));
    },
  );

  it("is refused for a duplicate key", () => {
    expect(() => load(good, { ...good, key: "b" }, good)).toThrow(
      /settings\[2\] "a", member "key"/,
    );
  });

  it("is refused with all its problems at once", () => {
    const load2 = () => load({ ...good, type: "float" }, { ...good, key: "b", group: -1 });
    expect(load2).toThrow(wrong("type"));
    expect(load2).toThrow(wrong("group", "b"));
  });

  it("may omit the options of a select, which depend on each site", () => {
    const role = { ...good, type: "select", default: "1", site_options: true };
    expect(load(role)).toEqual([expect.not.objectContaining({ site_options: true })]);
    expect(load(role)).toMatchObject([{ type: "select", options: "", optionLabels: [] }]);
  });

  it.each(["", "[]", '{"settings":{}}', '{"settings":[1]}', "{"])(
    "is refused as a whole: %j",
    (text) => {
      expect(() => loadText(text)).toThrow(/settings\.json: (?:is not JSON|must be a JSON object)/);
    },
  );
});
