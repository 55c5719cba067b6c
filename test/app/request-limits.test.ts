import type { DescMethod } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { publicMethods } from "../../src/access/requirement.ts";
import { createBodyLimit, createMessageLimits } from "../../src/app/request-limits.ts";
import { servedServices } from "../../src/app/routes.ts";
import { LIMITS } from "../../src/drivers/limits.ts";

const MAX_BODY = 8 * 2 ** 20;
const limit = createBodyLimit({ maxBody: MAX_BODY, maxValue: 2 ** 20 });
const methods = servedServices.flatMap((service): DescMethod[] => service.methods);

/** Requests that have values of many settings, mounts or rules, passwords of users, or headers. */
const LARGE = [
  "CopyUsers",
  "CreateSite",
  "CreateWebhook",
  "ImportArchive",
  "RestoreBackup",
  "SaveMounts",
  "SaveRules",
  "SaveSettings",
  "UpdateSite",
  "UpdateWebhook",
];

/** Requests with the values of one driver's items. */
const ITEMS = ["ValidateDriverConfig"];

/** Requests with up to 1,000 names, or one value. */
const LONG = [
  "AdoptMounts",
  "AdoptRules",
  "AdoptSite",
  "BatchGetSettings",
  "DeleteMounts",
  "DeleteRules",
  "ExportArchive",
  "ExportMounts",
  "ReplaceCredential",
  "Rollback",
  "SetAria2",
  "SetQbittorrent",
  "SyncMounts",
  "SyncRules",
  "SyncSite",
  "TestMounts",
];

describe("the body limit of a method", () => {
  test("is MOORING_MAX_BODY only where the message has values of any number", () => {
    const large = methods.filter((method) => limit(method) === MAX_BODY).map(({ name }) => name);
    expect(large.sort()).toEqual(LARGE);
  });

  test("covers a thousand of the longest keys, and the longest value", () => {
    const keys = Array.from(
      { length: 1_000 },
      (_, at) => `${"\u{20000}".repeat(251)}${1_000 + at}`,
    );
    const largest = JSON.stringify({ keys, reason: "\u{20000}".repeat(500) });
    const named = methods.filter(
      ({ input, methodKind }) =>
        methodKind === "unary" && input.fields.some(({ name }) => name === "keys"),
    );
    expect(named.length).toBeGreaterThan(2);
    for (const method of named)
      expect(Buffer.byteLength(largest), method.name).toBeLessThanOrEqual(limit(method));
    const long = methods.filter((method) => limit(method) === 2 ** 20 + 65_536);
    expect(long.map(({ name }) => name).sort()).toEqual(LONG);
  });

  test("covers the longest value of an item", () => {
    const text = "\u{20000}".repeat(LIMITS.longValue);
    const values = { private_key: text, user: "u".repeat(1_000) };
    const largest = JSON.stringify({ driver: "SFTP", values });
    const items = methods.filter((method) => limit(method) === 2 ** 21 + 65_536);
    expect(items.map(({ name }) => name)).toEqual(ITEMS);
    expect(Buffer.byteLength(largest)).toBeLessThanOrEqual(2 ** 21 + 65_536);
  });

  test("is small for streams, which retain their request, for public methods, and for short texts", () => {
    for (const method of methods) {
      if (publicMethods.has(method)) expect(limit(method)).toBe(4_096);
      else if (![...LARGE, ...LONG, ...ITEMS].includes(method.name))
        expect(limit(method)).toBe(262_144);
    }
  });

  test("follows MOORING_MAX_BODY and MOORING_MAX_VALUE", () => {
    const small = createBodyLimit({ maxBody: 8_192, maxValue: 1_024 });
    const wide = createBodyLimit({ maxBody: 64 * 2 ** 20, maxValue: 16 * 2 ** 20 });
    for (const method of methods) {
      expect(small(method)).toBeLessThanOrEqual(8_192);
      if (method.name === "SetAria2") expect(wide(method)).toBe(16 * 2 ** 20 + 65_536);
    }
  });
});

describe("the number of values of a request", () => {
  const limits = createMessageLimits({ maxValue: 1_000 });
  const namesWith = (most: number): string[] =>
    methods.flatMap((method) => (limits(method).values === most ? [method.name] : [])).sort();

  test("is 400,000 with a document of rows, and 100,000 with other JSON documents", () => {
    expect(namesWith(400_000)).toEqual(["ImportArchive", "RestoreBackup"]);
    expect(namesWith(100_000)).toEqual(["SaveMounts", "SaveRules"]);
  });

  test("is 10,000 for the items of one driver", () => {
    expect(namesWith(10_000)).toEqual(ITEMS);
  });

  test("is 40,000 for settings, overrides of sites, passwords and headers, and 2,500 otherwise", () => {
    expect(namesWith(40_000)).toEqual([
      "CopyUsers",
      "CreateSite",
      "CreateWebhook",
      "SaveSettings",
      "UpdateSite",
      "UpdateWebhook",
    ]);
    expect(namesWith(2_500).length).toBe(methods.length - 11);
  });

  test("is limited beside the length of a text, except in a document", () => {
    const wide = createMessageLimits({ maxValue: 2 ** 20 });
    for (const method of methods) {
      const isDocument = ["ImportArchive", "RestoreBackup"].includes(method.name);
      const hasItems = ["SaveMounts", "SaveRules", ...ITEMS].includes(method.name);
      expect(limits(method).text).toBe(
        isDocument ? Number.POSITIVE_INFINITY : hasItems ? 2 ** 21 : 2 ** 18,
      );
      expect(wide(method).text).toBe(isDocument ? Number.POSITIVE_INFINITY : 2 ** 21);
    }
  });
});
