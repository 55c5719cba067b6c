import { globSync, readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { invalid, notFound, ServiceError } from "../../src/messages/error.ts";
import { createTranslations } from "../../src/messages/language.ts";
import {
  Message,
  message,
  problemAt,
  reviveText,
  textFromColumn,
  textToColumn,
} from "../../src/messages/message.ts";
import { MESSAGES, type MessageId } from "../../src/messages/table.ts";

const ids = Object.keys(MESSAGES) as MessageId[];
const chinese = createTranslations()("zh-CN");
const namesIn = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

describe.each(ids)("%s", (id) => {
  const names = namesIn(MESSAGES[id]);
  const parameters = Object.fromEntries(names.map((name) => [name, `<${name}>`]));
  const text = new Message(id, parameters);

  test("has every parameter in both languages", () => {
    for (const sentence of [String(text), text.in(chinese)]) {
      for (const value of Object.values(parameters)) expect(sentence).toContain(value);
      expect(sentence).not.toMatch(/[{}]/);
    }
  });

  test("has a reason in the form of google.rpc.ErrorInfo, with its parameters", () => {
    expect(id).toMatch(/^[A-Z][A-Z0-9_]{0,61}[A-Z0-9]$/);
    const error = new ServiceError(Code.Aborted, text).toConnectError();
    const [info] = error.findDetails(ErrorInfoSchema);
    expect(info).toEqual(
      create(ErrorInfoSchema, { reason: id, domain: "mooring", metadata: parameters }),
    );
  });
});

test("every id is used by the program", () => {
  const source = globSync("src/**/*.{ts,tsx}")
    .filter((file) => !file.endsWith("messages/table.ts"))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
  // Composed ids: by the code of an error, and by the outcome of a save at a site.
  const composed = /^(CODE|OUTCOME)_/;
  const unused = ids.filter((id) => !composed.test(id) && !source.includes(`"${id}"`));
  expect(unused).toEqual([]);
});

describe("a message in a message", () => {
  const inner = message("INTEGER_INVALID", {
    example: "30",
    instead: message("NOT_VALUE", { value: '"many"' }),
  });
  const error = invalid([
    {
      field: "settings[0].value",
      description: message("NAMED_PROBLEM", { name: "page", problem: inner }),
    },
    { field: "x", description: message("NUL_CHARACTER") },
  ]);

  test("is translated with it", () => {
    expect(error.message).toBe(
      'page: must be a whole number in digits, such as 30, not "many" (and 1 more)',
    );
    expect((error.text as Message).in(chinese)).toBe(
      'page：必须是用数字写的整数，例如 30，不能是 "many"（另有 1 处）',
    );
  });

  test("sets the reason of the error", () => {
    const [info] = error.toConnectError().findDetails(ErrorInfoSchema);
    expect(info?.reason).toBe("INTEGER_INVALID");
  });

  test("is unchanged after storage in a column and in a document", () => {
    expect(textFromColumn(textToColumn(inner))).toEqual(inner);
    const document = JSON.parse(JSON.stringify({ at: [inner, "words"] }), reviveText);
    expect(document).toEqual({ at: [inner, "words"] });
    expect(document.at[0]).toBeInstanceOf(Message);
  });
});

test.each(["", "words", '{"id":', '{"id":"NO_SUCH_ID","parameters":{}}', '{"id":"EMPTY"}'])(
  "stored text that is not a message is kept unchanged: %j",
  (stored) => {
    expect(textFromColumn(stored)).toBe(stored);
  },
);

test.each([
  [message("FIELD_REQUIRED"), "mounts[0].name is missing"],
  [message("ITEM_REQUIRED"), "mounts[0].name is required"],
  ["words of a site", "mounts[0].name words of a site"],
])("a problem at a field names the field once: %s", (problem, expected) => {
  expect(String(problemAt("mounts[0].name", problem))).toBe(expected);
});

test("a parameter value that looks like a parameter is not replaced", () => {
  const error = notFound(message("SETTING_NOT_FOUND", { key: "{key}$&$1" }));
  expect(error.message).toBe('there is no setting "{key}$&$1"');
});

test("a number that may be 1 is not followed by a plural", () => {
  // Numbers beside a limit are greater than it, and a digest has at least two incidents.
  const always = ["INCIDENTS_TOGETHER", "INCIDENTS_RESOLVED"];
  const wrong = ids.filter(
    (id) =>
      /\{(?:count|days|total|found)\} [a-z-]+s\b/.test(MESSAGES[id]) &&
      !/\{most\}|\{least\}/.test(MESSAGES[id]) &&
      !always.includes(id),
  );
  expect(wrong).toEqual([]);
});
