import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import { LIMITS } from "../../src/drivers/limits.ts";
import { builtIn } from "./sample.ts";

const doc = readFileSync("docs/drivers.md", "utf8");

interface MembersSchema {
  readonly properties: object;
}

const schema = JSON.parse(readFileSync("src/data/driver.schema.json", "utf8")) as MembersSchema & {
  $defs: Record<"config" | "itemFacts", MembersSchema>;
  properties: { variants: { additionalProperties: MembersSchema } };
};
const driverVariant = schema.properties.variants.additionalProperties;

describe("docs/drivers.md", () => {
  it("has an example that the program and the JSON Schema accept", () => {
    const [, example = ""] = /```json\n(.*?)```/s.exec(doc) ?? [];
    const driver = builtIn.reader({ file: "docs/drivers.md", text: example });
    expect(driver?.config.name).toBe("House NAS");
    expect(new Ajv2020({ strict: true }).validate(schema, JSON.parse(example))).toBe(true);
  });

  it("has an order for AList that fits the example", () => {
    const [example, order] = [...doc.matchAll(/```json\n(.*?)```/gs)].map(
      ([, text = ""]) => JSON.parse(text) as object,
    );
    const text = JSON.stringify({ ...example, ...order });
    const { reader } = readBuiltIn({ offer: "alist" });
    const driver = reader({ file: "docs/drivers.md", text });
    expect(driver?.additional[0]?.name).toBe("address");
    expect(new Ajv2020({ strict: true }).validate(schema, JSON.parse(text))).toBe(true);
  });

  it("lists every member of the format and every shared item", () => {
    const shared = JSON.parse(readFileSync("src/data/shared-items.json", "utf8")) as object;
    const members = [schema, schema.$defs.config, schema.$defs.itemFacts, driverVariant].map(
      ({ properties }) => properties,
    );
    for (const name of [...members, shared].flatMap((object) => Object.keys(object))) {
      expect(doc).toContain(`\`${name}\``);
    }
  });

  it("has the limits of the program", () => {
    expect(doc).toContain(
      `A file may have ${LIMITS.fileBytes / 1024} KiB, the folder ${LIMITS.files}`,
    );
    expect(doc).toContain(`${LIMITS.folderLength / 1024 / 1024} MiB`);
    expect(doc).toContain(`at most ${LIMITS.items} `);
    expect(doc).toContain(`at most ${LIMITS.value.toLocaleString("en")} characters`);
    expect(doc).toContain(`a \`text\` ${LIMITS.longValue.toLocaleString("en")}`);
  });
});
