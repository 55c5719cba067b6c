// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { folder, parse, readValue } from "./parse.ts";

describe("a reference", () => {
  mkdirSync(join(folder, "run"));
  writeFileSync(join(folder, "run", "secret"), "top secret\r\n\n");
  writeFileSync(join(folder, "lines"), "a\nb");
  writeFileSync(join(folder, "large"), Buffer.alloc(64 * 1024 + 1, "x"));
  writeFileSync(join(folder, "binary"), Buffer.from([0xff, 0xfe]));
  writeFileSync(join(folder, "nul"), "a\0b");

  test.each([
    ["${env:SECRET}", "from the environment"],
    ["a ${env:NUMBER} b ${env:EMPTY}c", "a 5 b c"],
    ["${file:run/secret}", "top secret"],
    ["${file:./run/../lines}", "a\nb"],
    [`\${file:${join(folder, "lines")}}`, "a\nb"],
    ["$${env:SECRET} $ $$ $e_url", "${env:SECRET} $ $$ $e_url"],
    ["$$${env:NUMBER}", "$${env:NUMBER}"],
  ])("%s is resolved", (yaml, value) => {
    expect(readValue(yaml)).toBe(value);
  });

  test.each([
    ["${env:NOT_SET}", /the environment variable NOT_SET is not set/],
    ["${env:toString}", /toString is not set/],
    ["${env:a-b}", /needs the name of a variable/],
    ["${file:}", /needs the path of a file/],
    ["${file:none}", /the file .*none does not exist/],
    ["${file:run}", /run is not a file/],
    ["${file:large}", /more than 65536 bytes/],
    ["${file:binary}", /is not text in UTF-8/],
    ["${file:nul}", /NUL character/],
    ["${HOME}", /only \$\{env:NAME\} and \$\{file:PATH\} are known/],
    ["'${env:SECRET'", /is not closed/],
  ])("%s is refused", (yaml, message) => {
    expect(readValue(yaml)).toMatch(message);
  });

  test("cannot make a value longer than the limit of a setting", () => {
    writeFileSync(join(folder, "full"), Buffer.alloc(64 * 1024, "x"));
    expect(readValue("${file:full}${file:full}")).toMatch(/more than 65536 characters/);
  });

  test("to a file is reported, so that the file can be watched, readable or not", () => {
    const { files } = parse(
      "settings: {site_title: '${file:lines}', aria2_secret: '${file:none}'}",
    );
    expect(files).toEqual([join(folder, "lines"), join(folder, "none")]);
  });

  test("keeps its value out of every problem", () => {
    const file = parse("settings:\n  allow_indexed: ${env:SECRET}\n  site_title: x${env:NUMBER}\n");
    const at = (field: string, reason: string) => String(file.problemAt(field, reason)?.reason);
    expect(at("settings[0]", 'must be true or false, not "from the environment"')).toMatch(
      /is not shown/,
    );
    expect(at("settings[1].value", 'site_title: must be short, not "x5"')).toContain('not "x5"');
    fc.assert(
      fc.property(fc.base64String({ minLength: 8 }), (secret) => {
        const text = "settings:\n  allow_indexed: ${env:S} \n  site_title: {\n";
        const { problems } = parse(text, { env: { S: secret } });
        expect(JSON.stringify(problems)).not.toContain(secret);
      }),
    );
  });
});
