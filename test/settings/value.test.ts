import { describe, expect, it } from "vitest";
import { customDefinition } from "../../src/settings/custom.ts";
import type { SettingDefinition } from "../../src/settings/definition.ts";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";
import { checkValue, normalizeStoredValue, normalizeValue } from "../../src/settings/value.ts";

const definitions = new Map(
  loadSettingDefinitions().map((definition) => [definition.key, definition]),
);

function known(key: string): SettingDefinition {
  const definition = definitions.get(key);
  if (definition === undefined) throw new Error(`no setting ${key}`);
  return definition;
}

function check(key: string, value: string): string | undefined {
  return checkValue(known(key), value)?.toString();
}

describe("a select whose options are data of each site", () => {
  const role = loadSettingDefinitions(undefined, "alist").find(({ key }) => key === "default_role");

  it.each(["1", "guest", "editor", ""])("accepts %j", (value) => {
    expect(role).toMatchObject({ type: "select", options: "" });
    expect(checkValue(role as SettingDefinition, value)).toBeUndefined();
  });
});

describe("a value", () => {
  it.each([
    ["site_title", "Ünïcode 🏠 site"],
    ["site_title", ""],
    ["announcement", "line\n\tline"],
    ["default_page_size", "0"],
    ["default_page_size", "30"],
    ["default_page_size", "007"],
    ["link_expiration", "0"],
    ["max_client_download_speed", "-1"],
    ["max_index_depth", "-1"],
    ["handle_hook_rate_limit", "0.5"],
    ["handle_hook_rate_limit", ".5"],
    ["multipart_chunk_size", "1"],
    ["allow_indexed", "true"],
    ["allow_indexed", "false"],
    ["pagination_type", "auto_load_more"],
    ["sso_login_platform", ""],
    ["sso_login_platform", "OIDC"],
    ["aria2_uri", ""],
    ["token", "anything"],
  ])("of %s may be %j", (key, value) => {
    expect(check(key, value)).toBeUndefined();
  });

  it.each([
    ["default_page_size", "", 'must be a whole number in digits, such as 30, not ""'],
    ["default_page_size", "abc", 'not "abc"'],
    ["default_page_size", "1.5", "whole number"],
    ["default_page_size", "1e3", "whole number"],
    ["default_page_size", "0x10", "whole number"],
    ["default_page_size", "+5", "whole number"],
    ["default_page_size", " 5", "whole number"],
    ["default_page_size", "５", "whole number"],
    ["default_page_size", "-1", "must be at least 0 entries"],
    ["default_page_size", "9007199254740993", "must be at most 9007199254740991"],
    ["default_page_size", "9".repeat(33), "whole number"],
    ["handle_hook_rate_limit", "NaN", "must be a number in digits"],
    ["handle_hook_rate_limit", "Infinity", "must be a number in digits"],
    ["handle_hook_rate_limit", "1e9999", "must be a number in digits"],
    ["handle_hook_rate_limit", "1.", "must be a number in digits"],
    ["handle_hook_rate_limit", "-0.1", "must be at least 0 folders/s"],
    ["multipart_chunk_size", "0", "must be at least 1 MiB"],
    ["qbittorrent_seedtime", "-1", "must be at least 0 minutes"],
    ["max_server_upload_speed", "-2", "must be at least -1 KiB/s"],
    ["link_expiration", "2562048", "must be at most 2562047 hours"],
    ["allow_indexed", "1", 'must be true or false, not "1"'],
    ["allow_indexed", "True", "must be true or false"],
    ["allow_indexed", "", "must be true or false"],
    ["pagination_type", "pages", "must be one of all, pagination, load_more, auto_load_more"],
    ["pagination_type", "", "must be one of"],
    ["sso_login_platform", "Gitlab", "must be one of Casdoor, Github"],
    ["site_title", "a\0b", "NUL"],
    ["site_title", "a\ud800b", "surrogate"],
    ["site_title", "x".repeat(1_048_577), "more than 1048576 bytes"],
    ["site_title", "ü".repeat(524_289), "more than 1048576 bytes"],
    ["hide_files", "/ok/\n/(/", "line 2 must be a regular expression"],
    ["privacy_regs", "ok\n(?=x)", "line 2 looks ahead"],
  ])("of %s may not be %.40j: %s", (key, value, problem) => {
    expect(check(key, value)).sentence(problem);
  });

  it("may have 1 MiB of UTF-8", () => {
    expect(check("announcement", "ü".repeat(524_288))).toBeUndefined();
  });

  it("is quoted short and escaped in a message", () => {
    expect(check("allow_indexed", `${"é\n".repeat(50)}`)).toMatch(/not "(?:é\\n){20}"…$/);
  });

  it.each(["qbittorrent_url", "transmission_uri"])("of the secret %s is never quoted", (key) => {
    for (const value of [
      "hunter2",
      "http://hunter2:hunter2@",
      "http://h/hunter2 x",
      "ftp://hunter2",
    ])
      expect(check(key, value)).toEqual(expect.not.stringContaining("hunter2"));
  });

  it("of any secret type is not quoted", () => {
    for (const type of ["number", "bool", "select"] as const) {
      const definition = { ...known("token"), type, options: "a,b" };
      expect(checkValue(definition, "hunter2")).toEqual(expect.not.stringContaining("hunter2"));
    }
  });
});

it.each([
  ["number", "-12.5"],
  ["select", ""],
  ["float", "an old type is text"],
])("a value of a custom setting of type %s may be %j", (type, value) => {
  const definition = customDefinition({
    key: "k",
    type,
    options: type === "select" ? "a,b" : "",
    group: 1,
    flag: 1,
    help: "",
  });
  expect(checkValue(definition, value)).toBeUndefined();
});

describe("normalizing", () => {
  it.each([
    ["default_page_size", " 30\n", "30"],
    ["text_types", "txt, md", "txt,md"],
    ["aria2_uri", " http://host/jsonrpc ", "http://host/jsonrpc"],
    ["site_title", " as is ", " as is "],
    ["aria2_secret", " secret ", " secret "],
    ["allow_indexed", " true", " true"],
    ["pagination_type", " all", " all"],
  ])("of %s converts %j to %j", (key, value, expected) => {
    expect(normalizeValue(known(key), value)).toBe(expected);
  });

  it.each([
    ["allow_indexed", "1", "true"],
    ["allow_indexed", "0", "false"],
    ["allow_indexed", "", "false"],
    ["allow_indexed", "maybe", "maybe"],
    ["default_page_size", "", "30"],
    ["default_page_size", " 5 ", "5"],
    ["site_title", "", ""],
  ])("of %s, stored elsewhere as %j, converts to %j", (key, value, expected) => {
    expect(normalizeStoredValue(known(key), value)).toBe(expected);
  });
});
