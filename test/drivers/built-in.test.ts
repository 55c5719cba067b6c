import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { OFFERS } from "../../src/config/family.ts";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import { type ConfigItem, itemsOf } from "../../src/drivers/driver-info.ts";
import { temporaryFolder } from "../temporary.ts";

const everything = readBuiltIn({ offer: "all" }).drivers;

const all = everything.flatMap((driver) =>
  itemsOf(driver).map((item) => ({ driver: driver.config.name, item })),
);

describe("the built-in drivers", () => {
  it("are valid, one per file", () => {
    const read = readBuiltIn({ offer: "all", trusted: false });
    const files = readdirSync("src/data/drivers").filter((file) => file.endsWith(".json"));
    expect(read.drivers).toHaveLength(files.length);
  });

  it.each(OFFERS)("are the same with and without validation: %s", (offer) => {
    const { drivers } = readBuiltIn({ offer, trusted: false });
    expect(readBuiltIn({ offer }).drivers).toEqual(drivers);
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

  it("can use exactly the shared items that the JSON Schema lists", () => {
    const schema = JSON.parse(readFileSync("src/data/driver.schema.json", "utf8")) as {
      $defs: { usedItem: { properties: { use: { enum: string[] } } } };
    };
    const shared = JSON.parse(readFileSync("src/data/shared-items.json", "utf8")) as object;
    expect(Object.keys(shared)).toEqual(schema.$defs.usedItem.properties.use.enum);
  });

  it("have a description for every item, in sentences", () => {
    const poor = all.filter(({ item }) => !/^\S.{10,}[.)]$/s.test(item.description));
    expect(poor.map(({ driver, item }) => `${driver}/${item.name}: ${item.description}`)).toEqual(
      [],
    );
  });

  it("have important facts in each alert", () => {
    const alerts = everything.map(({ config }) => config.alert).filter((alert) => alert !== "");
    expect(alerts.length).toBeGreaterThan(5);
    for (const alert of alerts) expect(alert).toMatch(/^(info|warning|danger)\|.{20}/);
  });

  /** Names that look like a secret and are not, each with its reason. */
  const harmless: Record<string, string> = {
    sharekey: "part of a share's public address",
    access_key_id: "names a key without being it",
    oauth_token_url: "the public address of a service",
  };
  const soundsSecret = /pass(word|phrase|wd)|pwd|token|cookie|secret|key|authorization|salt/i;

  it("mark every password, token, cookie and key as secret", () => {
    const open = all.filter(
      ({ item }) => holdsFreeText(item) && soundsSecret.test(item.name) && !item.secret,
    );
    const unexplained = open.filter(({ item }) => harmless[item.name] === undefined);
    expect(unexplained.map(({ driver, item }) => `${driver}/${item.name}`)).toEqual([]);
  });

  it("mark no other item as secret except those listed here", () => {
    const other = all.filter(({ item }) => item.secret && !soundsSecret.test(item.name));
    const names = new Set(other.map(({ item }) => item.name));
    expect([...names].sort()).toEqual([
      "AUSHELLPORTAL",
      "BDUSS",
      "algorithms",
      "captcha_sign",
      "dpop",
      "keep_alive",
      "link_id",
      "receive_code",
    ]);
  });
});

function holdsFreeText(item: ConfigItem): boolean {
  return item.type === "string" || item.type === "text";
}

it("invalid files among the built-in ones are an error that names each file, position and member", () => {
  const directory = temporaryFolder();
  cpSync("src/data", directory, { recursive: true });
  writeFileSync(join(directory, "drivers/ftp.json"), '{"name": "FTP", "adress": ""}');
  writeFileSync(join(directory, "drivers/sftp.json"), '{"name": "SFTP",}');
  writeFileSync(join(directory, "drivers/twin.json"), '{"name": "SMB"}');
  const read = () => readBuiltIn({ directory, trusted: false });
  expect(read).toThrow(/ftp\.json:1:17: adress is not a member/);
  expect(read).toThrow(/sftp\.json:1:17: expected a member name/);
  expect(read).toThrow(/twin\.json: names the driver "SMB" like .*smb\.json/);
});
