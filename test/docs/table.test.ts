import { readFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { expect, test } from "vitest";
import { ENVELOPE_CODE } from "../../src/gateway/failure.ts";
import { pages, withTables } from "../../tools/docs.ts";

test.each(pages)("%s has the tables that npm run docs writes", (page) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  expect(withTables(text)).toBe(text);
});

test.each([
  ["docs/calls.md", "routes"],
  ["docs/configuration.md", "configuration"],
  ["docs/zh-CN/configuration.md", "configurationInChinese"],
])("%s has the table of the %s", (page, name) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  expect(text).toMatch(new RegExp(`<!-- ${name} -->\n\\| [\\s\\S]+\n<!-- /${name} -->`));
});

test.each(["docs/errors.md", "docs/zh-CN/errors.md"])("%s has each code that is sent", (page) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  const sent = Object.values(Code).filter(
    (code): code is Code =>
      typeof code === "number" && code !== Code.Unknown && code !== Code.DataLoss,
  );
  const rows = sent.map((code) => {
    const name = codeToString(code);
    // gRPC writes it with two L.
    const ofGrpc = name.toUpperCase().replace("CANCELED", "CANCELLED");
    return `| \`${ofGrpc}\` | ${ENVELOPE_CODE[code]} | ${code} | \`${name}\` |`;
  });
  expect(text.match(/^\| `[A-Z_]+` \| \d+ \| \d+ \| `\w+` \|/gm)).toEqual(rows);
});
