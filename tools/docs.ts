// Writes the generated tables of the pages, such as routes and configuration.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { http } from "../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../gen/google/api/http_pb.js";
import { publicMethods } from "../src/access/requirement.ts";
import { servedServices } from "../src/app/routes.ts";
import { type Definition, definitionList, flagOf } from "../src/config/definition.ts";
import { OFFERS } from "../src/config/family.ts";
import { explain, NO_DEFAULT } from "../src/config/help.ts";
import { readBuiltIn } from "../src/drivers/built-in.ts";
import { ENVELOPE_CODE } from "../src/gateway/failure.ts";
import { createTranslations, type Translate } from "../src/messages/language.ts";
import { MESSAGES } from "../src/messages/table.ts";
import { loadSettingDefinitions } from "../src/settings/definition-file.ts";

/**
 * Generated tables and counts, which pages have between the comments `<!-- NAME -->` and `<!--
 * /NAME -->`.
 */
const tables: Readonly<Record<string, () => string>> = {
  configuration: englishConfiguration,
  configurationInChinese: chineseConfiguration,
  routes: () => routeTable(ENGLISH_ROUTES),
  routesInChinese: () => routeTable(CHINESE_ROUTES),
  errorCodes: () => errorTable(ENGLISH_CODES, meanings),
  errorCodesInChinese: () => errorTable(CHINESE_CODES, chineseMeanings),
  messages: () => messageTable(["Reason", "Message"], (text) => text),
  messagesInChinese: () => messageTable(["原因", "消息"], createTranslations()("zh-CN")),
  driverCount: () => String(readBuiltIn({ offer: "all" }).drivers.length),
  settingCount: () => String(loadSettingDefinitions().length),
  ...Object.fromEntries(
    OFFERS.flatMap((offer) => [
      [`${offer}Drivers`, () => String(readBuiltIn({ offer }).drivers.length)],
      [`${offer}Settings`, () => String(loadSettingDefinitions(undefined, offer).length)],
    ]),
  ),
};

/** Pages with such tables, relative to the project's root. */
export const pages = [
  "README.md",
  "README.zh-CN.md",
  "CHANGELOG.md",
  "docs/calls.md",
  "docs/configuration.md",
  "docs/drivers.md",
  "docs/errors.md",
  "docs/settings.md",
  "docs/zh-CN/calls.md",
  "docs/zh-CN/configuration.md",
  "docs/zh-CN/drivers.md",
  "docs/zh-CN/errors.md",
  "docs/zh-CN/settings.md",
];

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

function englishConfiguration(): string {
  const rows = definitionList.map((definition) => describe(definition, (text) => text));
  return tableOf(["Variable", "Flag", "Default", "Meaning"], rows);
}

function chineseConfiguration(): string {
  const translate = createTranslations()("zh-CN");
  const rows = definitionList.map((definition) => describe(definition, translate));
  return tableOf(["变量", "参数", "默认值", "含义"], rows);
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

/** Heads of the table of routes, and whether a route needs a token. */
interface RouteWords {
  readonly heads: readonly string[];
  readonly no: string;
  readonly yes: string;
}

const ENGLISH_ROUTES: RouteWords = { heads: ["Route", "Rpc", "Token"], no: "no", yes: "yes" };
const CHINESE_ROUTES: RouteWords = { heads: ["路由", "RPC", "令牌"], no: "否", yes: "是" };

function routeTable({ heads, no, yes }: RouteWords): string {
  const methods = servedServices.flatMap(({ methods }) => methods);
  const rows = methods.flatMap((method) =>
    routesOf(method).map((route) => [route, method] as const),
  );
  return tableOf(
    heads,
    rows.map(([route, method]) => [
      `\`${route}\``,
      `\`${method.parent.name}.${method.name}\``,
      publicMethods.has(method) ? no : yes,
    ]),
  );
}

/** Occasion of each code, and advice for clients. Codes that are never sent are absent. */
type Meanings = Partial<Record<Code, readonly [when: string, advice: string]>>;

const ENGLISH_CODES = ["Code", "REST `code`", "gRPC", "Connect", "When", "What to do"];
const CHINESE_CODES = ["代码", "REST `code`", "gRPC", "Connect", "何时", "如何处理"];

const meanings: Meanings = {
  [Code.InvalidArgument]: ["a value or the request itself is wrong", "correct the named fields"],
  [Code.FailedPrecondition]: [
    "the state does not permit the change: a file manages the setting, or it is not deprecated",
    "change the file, or the state first",
  ],
  [Code.OutOfRange]: ["the history no longer has the revision", "reload everything"],
  [Code.Unauthenticated]: ["the token is missing, wrong or reset", "send a valid token"],
  [Code.PermissionDenied]: ["the token does not have the right", "use a token with the right"],
  [Code.NotFound]: [
    "there is no such setting, driver or revision",
    "use the name that the message suggests",
  ],
  [Code.AlreadyExists]: ["the name exists already", "choose another name"],
  [Code.Aborted]: [
    "the settings have changed since the expected revision",
    "read again, then save",
  ],
  [Code.ResourceExhausted]: [
    "too large, too many at a time, or a watcher too slow",
    "send less, or wait and resume",
  ],
  [Code.Unimplemented]: ["there is no such method or encoding", "see the contract"],
  [Code.Unavailable]: [
    "the service starts or stops, its database or a download manager does not answer",
    "try again in a moment",
  ],
  [Code.DeadlineExceeded]: [
    "the client's deadline has expired",
    "set a longer deadline; the call may have been carried out",
  ],
  [Code.Canceled]: ["the client ended the call", "nothing"],
  [Code.Internal]: ["a fault of the service", "report the request id to the operator"],
};

const chineseMeanings: Meanings = {
  [Code.InvalidArgument]: ["某个值或请求本身有误", "更正所列字段"],
  [Code.FailedPrecondition]: [
    "当前状态不允许此改动：设置由文件管理，或者不是已弃用的设置",
    "先修改文件或状态",
  ],
  [Code.OutOfRange]: ["历史中已没有该版本", "全部重新读取"],
  [Code.Unauthenticated]: ["缺少令牌，或令牌错误、已被重置", "发送有效的令牌"],
  [Code.PermissionDenied]: ["令牌没有此权限", "使用有此权限的令牌"],
  [Code.NotFound]: ["没有这样的设置、驱动或版本", "使用消息所建议的名称"],
  [Code.AlreadyExists]: ["名称已存在", "选择其他名称"],
  [Code.Aborted]: ["在所期望的版本之后，设置已有改动", "重新读取后再保存"],
  [Code.ResourceExhausted]: ["太大、同时过多，或监听的客户端太慢", "减少发送的内容，或稍后继续"],
  [Code.Unimplemented]: ["没有这样的方法或编码", "查看接口定义"],
  [Code.Unavailable]: ["服务正在启动或停止，或数据库、下载工具没有应答", "稍后重试"],
  [Code.DeadlineExceeded]: ["超过了客户端的期限", "设置更长的期限；调用可能已经执行"],
  [Code.Canceled]: ["客户端结束了调用", "无需处理"],
  [Code.Internal]: ["服务的故障", "把请求标识告诉运维人员"],
};

function errorTable(heads: readonly string[], of: Meanings): string {
  const rows = Object.entries(of).map(([number, [when, advice]]) => {
    const code = Number(number) as Code;
    const name = codeToString(code);
    return [
      // gRPC writes it with two L.
      `\`${name.toUpperCase().replace("CANCELED", "CANCELLED")}\``,
      String(ENVELOPE_CODE[code]),
      String(code),
      `\`${name}\``,
      when,
      advice,
    ];
  });
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
    const file = join(import.meta.dirname, "..", page);
    writeFileSync(file, withTables(readFileSync(file, "utf8")));
  }
