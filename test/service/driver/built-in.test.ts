import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterEach, describe, expect, it } from "vitest";
import { readBuiltIn } from "../../../src/service/driver/built-in.ts";
import { type ConfigItem, itemsOf } from "../../../src/service/driver/driver-info.ts";
import { builtIn } from "./sample.ts";

const all = builtIn.drivers.flatMap((driver) =>
  itemsOf(driver).map((item) => ({ driver: driver.config.name, item })),
);

describe("the built-in drivers", () => {
  it("are 93, and read fast they are the same as read with care", () => {
    expect(builtIn.drivers).toHaveLength(93);
    expect(readBuiltIn().drivers).toEqual(builtIn.drivers);
  });

  it("fit the JSON Schema of driver files", () => {
    const schema = JSON.parse(readFileSync("src/data/driver.schema.json", "utf8")) as object;
    const ajv = new Ajv2020({ strict: true });
    const fits = ajv.compile(schema);
    for (const file of readdirSync("src/data/drivers")) {
      const text = readFileSync(join("src/data/drivers", file), "utf8");
      expect(fits(JSON.parse(text)), `${file}: ${ajv.errorsText(fits.errors)}`).toBe(true);
    }
  });

  it("can use exactly the shared items that the JSON Schema completes", () => {
    const schema = JSON.parse(readFileSync("src/data/driver.schema.json", "utf8")) as {
      $defs: { usedItem: { properties: { use: { enum: string[] } } } };
    };
    const shared = JSON.parse(readFileSync("src/data/shared-items.json", "utf8")) as object;
    expect(Object.keys(shared)).toEqual(schema.$defs.usedItem.properties.use.enum);
  });

  it("have help for every item, in sentences", () => {
    const poor = all.filter(({ item }) => !/^\S.{10,}[.)]$/s.test(item.help));
    expect(poor.map(({ driver, item }) => `${driver}/${item.name}: ${item.help}`)).toEqual([]);
  });

  it("say what to know in each alert", () => {
    const alerts = builtIn.drivers
      .map(({ config }) => config.alert)
      .filter((alert) => alert !== "");
    expect(alerts).toHaveLength(5);
    for (const alert of alerts) expect(alert).toMatch(/^(info|warning|danger)\|.{20}/);
  });

  /** Names that sound like a secret and are none, each with its reason. */
  const harmless: Record<string, string> = {
    sharekey: "part of a share's public address",
    access_key_id: "names a key without being it",
  };
  const soundsSecret = /pass(word|phrase|wd)|pwd|token|cookie|secret|key|authorization|salt/i;

  it("mark every password, token, cookie and key as secret", () => {
    const open = all.filter(
      ({ item }) => holdsFreeText(item) && soundsSecret.test(item.name) && !item.secret,
    );
    const unexplained = open.filter(({ item }) => harmless[item.name] === undefined);
    expect(unexplained.map(({ driver, item }) => `${driver}/${item.name}`)).toEqual([]);
  });

  it("mark nothing else as secret but what is listed here", () => {
    const other = all.filter(({ item }) => item.secret && !soundsSecret.test(item.name));
    const names = new Set(other.map(({ item }) => item.name));
    expect([...names].sort()).toEqual(["algorithms", "captcha_sign", "link_id", "receive_code"]);
  });
});

function holdsFreeText(item: ConfigItem): boolean {
  return item.type === "string" || item.type === "text";
}

describe("a wrong file among the built-in ones", () => {
  let directory: string | undefined;
  afterEach(() => directory && rmSync(directory, { recursive: true }));

  it("fails the reading, naming each file, position and member", () => {
    directory = mkdtempSync(join(tmpdir(), "mooring-data-"));
    cpSync("src/data", directory, { recursive: true });
    writeFileSync(join(directory, "drivers/ftp.json"), '{"name": "FTP", "adress": ""}');
    writeFileSync(join(directory, "drivers/sftp.json"), '{"name": "SFTP",}');
    writeFileSync(join(directory, "drivers/twin.json"), '{"name": "SMB"}');
    const read = () => readBuiltIn({ directory: directory ?? "" });
    expect(read).toThrow(/ftp\.json:1:17: adress is not a member/);
    expect(read).toThrow(/sftp\.json:1:17: expected a member name/);
    expect(read).toThrow(/twin\.json: names the driver "SMB" like .*smb\.json/);
  });
});

/** A driver in the facts file, as far as it is compared. */
interface Fact {
  readonly name: string;
  readonly config: Record<string, string | boolean>;
  readonly config_hidden: { NoLinkURL: boolean; ProxyRangeOption: boolean };
  readonly common_items: ItemFact[];
  readonly additional: ItemFact[];
  readonly only_local_in_alist_v3_25_1?: boolean;
}

interface ItemFact {
  readonly name: string;
  readonly type: string;
  readonly default: string;
  readonly options: string;
  readonly required: boolean;
  readonly help_present: boolean;
  readonly default_withheld?: unknown;
}

const FACTS = "../shared/facts/drivers.json";

describe.skipIf(!existsSync(FACTS))("the built-in drivers and the facts file", () => {
  const facts = existsSync(FACTS)
    ? (JSON.parse(readFileSync(FACTS, "utf8")) as { drivers: Fact[] }).drivers
    : [];
  const driverOf = (name: string) => builtIn.drivers.find(({ config }) => config.name === name);

  const credential = "a credential of somebody's own application, not ours to hand on: left empty";
  /** Defaults where the catalogue is meant to differ from today's servers, and why. */
  const differences: Record<string, string> = {
    "DoubaoNew/app_id": credential,
    "GooglePhoto/client_id": credential,
    "GooglePhoto/client_secret": credential,
    "HalalCloud/app_id": credential,
    "HalalCloud/app_secret": credential,
    "ThunderExpert/algorithms": credential,
    "ThunderExpert/client_id": credential,
    "ThunderExpert/client_secret": credential,
    "ThunderExpert/user_agent": "a text of somebody else's: left empty",
    "ThunderBrowserExpert/algorithms": credential,
    "ThunderBrowserExpert/client_id": credential,
    "ThunderBrowserExpert/client_secret": credential,
    "ThunderXExpert/algorithms": credential,
    "ThunderXExpert/client_id": credential,
    "ThunderXExpert/client_secret": credential,
    "UrlTree/url_structure": "a text of somebody else's: an example of our own stands there",
  };

  const factsOf = ({ name, type, default: initial, options, required }: ItemFact | ConfigItem) => ({
    name,
    type,
    default: initial,
    options,
    required,
  });

  it("have the same names", () => {
    const names = builtIn.drivers.map(({ config }) => config.name);
    expect(names.sort()).toEqual(facts.map(({ name }) => name).sort());
  });

  it.each(facts.map((fact) => [fact.name, fact] as const))("agree on %s", (name, fact) => {
    const driver = driverOf(name);
    expect(driver?.common.map(factsOf)).toEqual(fact.common_items.map(factsOf));
    const expected = fact.additional.map((item) => {
      const own = driver?.additional.find((other) => other.name === item.name);
      const deliberate = differences[`${name}/${item.name}`] !== undefined;
      expect(deliberate).toBe(item.default_withheld !== undefined);
      return factsOf(deliberate && own ? { ...item, default: own.default } : item);
    });
    expect(driver?.additional.map(factsOf)).toEqual(expected);
  });

  it.each(facts.map((fact) => [fact.name, fact] as const))(
    "agree on the flags of %s",
    (name, fact) => {
      const { onlyLocal, ...config } = (driverOf(name) ?? never()).config;
      const snakeCase = Object.entries(config).map(([member, value]) => [
        member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value,
      ]);
      // The facts hold the alert's level only; its text is this project's own.
      const alert = config.alert.replace(/\|.*$/s, "|");
      expect({ ...Object.fromEntries(snakeCase), alert }).toEqual(fact.config);
      // Known for the version that the contract was written from; later drivers have it off.
      expect(onlyLocal).toBe(fact.only_local_in_alist_v3_25_1 ?? false);
    },
  );

  it("keep the two defaults that are not among their options, and the one empty option", () => {
    const odd = all.filter(
      ({ item }) =>
        item.type === "select" &&
        item.default !== "" &&
        !item.options.split(",").includes(item.default),
    );
    // Sites were offered these and have storages with them, so they stay valid values.
    expect(odd.map(({ driver, item }) => `${driver}/${item.name}=${item.default}`).sort()).toEqual([
      "115 Cloud/qrcode_source=linux",
      "115 Share/qrcode_source=linux",
    ]);
    // An empty first option lets a form say "leave it to the service".
    const empty = all.filter(({ item }) => item.options.split(",").includes("") && item.options);
    expect(empty.map(({ driver, item }) => `${driver}/${item.name}`)).toEqual([
      "cloudflare_imgbed/largeChannelType",
    ]);
  });

  it("have help wherever the facts say that help is needed", () => {
    for (const fact of facts) {
      const items = new Map(
        itemsOf(driverOf(fact.name) ?? never()).map((item) => [item.name, item]),
      );
      for (const item of [...fact.common_items, ...fact.additional]) {
        if (item.help_present) expect(items.get(item.name)?.help, item.name).not.toBe("");
      }
    }
  });
});

function never(): never {
  throw new Error("a driver of the facts file is missing");
}
