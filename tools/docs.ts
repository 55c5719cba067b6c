// Writes the generated tables of the pages, such as routes and configuration.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { http } from "../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../gen/google/api/http_pb.js";
import { publicMethods } from "../src/access/requirement.ts";
import { servedServices } from "../src/app/routes.ts";
import { type Definition, definitionList, flagOf } from "../src/config/definition.ts";
import { OFFERS } from "../src/config/family.ts";
import { explain, NO_DEFAULT } from "../src/config/help.ts";
import { readBuiltIn } from "../src/drivers/built-in.ts";
import { createTranslations, type Translate } from "../src/messages/language.ts";
import { MESSAGES } from "../src/messages/table.ts";
import { loadSettingDefinitions } from "../src/settings/definition-file.ts";

const root = join(import.meta.dirname, "..");

const same: Translate = (text) => text;
const inChinese = (): Translate => createTranslations()("zh-CN");

/**
 * Generated tables and counts, which pages have between the comments `<!-- NAME -->` and `<!--
 * /NAME -->`.
 */
const tables: Readonly<Record<string, () => string>> = {
  configuration: () => configurationTable(["Variable", "Flag", "Default", "Meaning"], same),
  configurationInChinese: () => configurationTable(["变量", "参数", "默认值", "含义"], inChinese()),
  routes: () => routeTable(["Route", "Rpc", "Token"], ["no", "yes"]),
  routesInChinese: () => routeTable(["路由", "RPC", "令牌"], ["否", "是"]),
  messages: () => messageTable(["Reason", "Message"], same),
  messagesInChinese: () => messageTable(["原因", "消息"], inChinese()),
  driverCount: () => String(readBuiltIn({ offer: "all" }).drivers.length),
  settingCount: () => String(loadSettingDefinitions().length),
  ...Object.fromEntries(
    OFFERS.flatMap((offer) => [
      [`${offer}Drivers`, () => String(readBuiltIn({ offer }).drivers.length)],
      [`${offer}Settings`, () => String(loadSettingDefinitions(undefined, offer).length)],
    ]),
  ),
};

/** Pages that may have such tables, relative to the project's root. */
export const pages = globSync(["*.md", "docs/*.md", "docs/zh-CN/*.md"], { cwd: root }).sort();

/** Replaces the tables in the text of a page. */
export function withTables(page: string): string {
  return page.replace(
    /(<!-- (\w+) -->\n?)[\s\S]*?(\n?<!-- \/\2 -->)/g,
    (whole, begin: string, name: string, end: string) => {
      const table = tables[name];
      return table === undefined ? whole : `${begin}${table()}${end}`;
    },
  );
}

function configurationTable(heads: readonly string[], translate: Translate): string {
  return tableOf(
    heads,
    definitionList.map((definition) => describe(definition, translate)),
  );
}

function describe(definition: Definition, translate: Translate): string[] {
  return [
    `\`${definition.variable}\``,
    `\`${flagOf(definition)} ${definition.placeholder}\``,
    definition.default === undefined
      ? translate(definition.otherwise ?? NO_DEFAULT)
      : `\`${definition.default}\``,
    explain(definition, translate),
  ];
}

/** @param no text for a route that needs no token. */
function routeTable(heads: readonly string[], [no, yes]: readonly [string, string]): string {
  const methods = servedServices.flatMap(({ methods }) => methods);
  const rows = methods.flatMap((method) =>
    routesOf(method).map((route) => [
      `\`${route}\``,
      `\`${method.parent.name}.${method.name}\``,
      publicMethods.has(method) ? no : yes,
    ]),
  );
  return tableOf(heads, rows);
}

function messageTable(heads: readonly string[], translate: Translate): string {
  const rows = Object.entries(MESSAGES)
    .filter(([id]) => !id.startsWith("CODE_"))
    .map(([id, text]) => [
      `\`${id}\``,
      translate(text).replaceAll("|", "\\|").replaceAll("<", "&lt;"),
    ]);
  return tableOf(heads, rows);
}

function routesOf(method: DescMethod): string[] {
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings].flatMap(({ pattern }: HttpRule) =>
    typeof pattern.value === "string" ? [`${pattern.case.toUpperCase()} ${pattern.value}`] : [],
  );
}

function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}

if (import.meta.main)
  for (const page of pages) {
    const file = join(root, page);
    writeFileSync(file, withTables(readFileSync(file, "utf8")));
  }
