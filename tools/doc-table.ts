import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { http } from "../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../gen/google/api/http_pb.js";
import { publicMethods } from "../src/access/authenticate.ts";
import { servedServices } from "../src/app/routes.ts";
import { type Definition, definitionList, flagOf } from "../src/config/definition.ts";
import { OFFERS } from "../src/config/family.ts";
import { explain } from "../src/config/help.ts";
import { readBuiltIn } from "../src/drivers/built-in.ts";
import { ENVELOPE_CODE } from "../src/gateway/failure.ts";
import { MESSAGES } from "../src/messages/table.ts";
import { loadSettingDefinitions } from "../src/settings/definition-file.ts";

/** Tables and counts that pages have between the comments `<!-- NAME -->` and `<!-- /NAME -->`. */
const tables: Readonly<Record<string, () => string>> = {
  configuration: configurationTable,
  routes: routeTable,
  errorCodes: errorTable,
  messages: messageTable,
  driverCount: () => String(readBuiltIn({ offer: "all" }).drivers.length),
  settingCount: () => String(loadSettingDefinitions().length),
  ...Object.fromEntries(
    OFFERS.flatMap((offer) => [
      [`${offer}Drivers`, () => String(readBuiltIn({ offer }).drivers.length)],
      [`${offer}Settings`, () => String(loadSettingDefinitions(undefined, offer).length)],
    ]),
  ),
};

/** Pages that have such tables, from the project's root. */
export const pages = [
  "README.md",
  "README.zh-CN.md",
  "CHANGELOG.md",
  "docs/calls.md",
  "docs/configuration.md",
  "docs/drivers.md",
  "docs/errors.md",
  "docs/settings.md",
  "docs/zh-CN/drivers.md",
  "docs/zh-CN/settings.md",
];

/** The text of a page with its tables as the program makes them. */
export function withTables(page: string): string {
  return page.replace(
    /(<!-- (\w+) -->\n?)[\s\S]*?(\n?<!-- \/\2 -->)/g,
    (whole, begin: string, name: string, end: string) => {
      const table = tables[name];
      return table === undefined ? whole : `${begin}${table()}${end}`;
    },
  );
}

function configurationTable(): string {
  return tableOf(["Variable", "Flag", "Default", "Meaning"], definitionList.map(describe));
}

function describe(definition: Definition): string[] {
  return [
    `\`${definition.variable}\``,
    `\`${flagOf(definition)} ${definition.placeholder}\``,
    definition.default === undefined
      ? (definition.otherwise ?? "none")
      : `\`${definition.default}\``,
    explain(definition),
  ];
}

function routeTable(): string {
  const methods = servedServices.flatMap(({ methods }) => methods);
  const rows = methods.flatMap((method) =>
    routesOf(method).map((route) => [route, method] as const),
  );
  return tableOf(
    ["Route", "Rpc", "Token"],
    rows.map(([route, method]) => [
      `\`${route}\``,
      `\`${method.parent.name}.${method.name}\``,
      publicMethods.has(method) ? "no" : "yes",
    ]),
  );
}

/** When each code is sent, and what a client can do; codes that are never sent are not there. */
const meanings: Partial<Record<Code, readonly [when: string, advice: string]>> = {
  [Code.InvalidArgument]: [
    "a value or the request itself is wrong",
    "correct what the fields name",
  ],
  [Code.FailedPrecondition]: [
    "the setting can't be changed so: a file manages it, it is not deprecated",
    "change it where it is kept",
  ],
  [Code.OutOfRange]: ["the history does not reach back so far", "read everything anew"],
  [Code.Unauthenticated]: ["the token is missing, wrong or reset", "send the right one"],
  [Code.PermissionDenied]: ["the token may not do this", "use one that may"],
  [Code.NotFound]: [
    "there is no such setting, driver or revision",
    "use the name that the message suggests",
  ],
  [Code.AlreadyExists]: ["something of that name exists", "choose another"],
  [Code.Aborted]: [
    "something has changed since the revision that was expected",
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
  [Code.Internal]: ["a fault of this side", "tell the operator the request id"],
};

function errorTable(): string {
  const rows = Object.entries(meanings).map(([number, [when, advice]]) => {
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
  return tableOf(["Code", "REST `code`", "gRPC", "Connect", "When", "What to do"], rows);
}

function messageTable(): string {
  const rows = Object.entries(MESSAGES)
    .filter(([id]) => !id.startsWith("CODE_"))
    .map(([id, text]) => [`\`${id}\``, text.replaceAll("|", "\\|").replaceAll("<", "&lt;")]);
  return tableOf(["Reason", "Message"], rows);
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
