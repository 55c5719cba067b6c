import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { readBinaryReason, readReason } from "../../src/audit/reason.ts";

const bytes = (text: string) => Buffer.from(text).toString("latin1");
const base64 = (text: string) => Buffer.from(text).toString("base64");
const refused = expect.objectContaining({ code: Code.InvalidArgument });

describe("the reason of a header", () => {
  test.each([
    ["a plain reason", "a plain reason"],
    [bytes("更新标题"), "更新标题"],
    [bytes("Grüße 😀"), "Grüße 😀"],
    [encodeURIComponent("更新标题"), "更新标题"],
    ["%e6%9b%b4 and more", "更 and more"],
    [`${bytes("更")}%E6%96%B0`, "更新"],
    ["50% off, 100 %", "50% off, 100 %"],
    ["100%25", "100%"],
    ["%2525", "%25"],
    ["first%0Asecond", "first\nsecond"],
    ["更新", "更新"],
    ["", ""],
  ])("%j is read as %j", (header, reason) => {
    expect(readReason(header)).toBe(reason);
  });

  test.each(["\xe9t\xe9", "%E6%9B", "%ff", `${bytes("更")}\xff`, "\xc0\x80"])(
    "%j is refused",
    (header) => {
      expect(() => readReason(header)).toThrow(refused);
    },
  );

  test.each([
    [base64("更新标题"), "更新标题"],
    [base64("更新").replaceAll("=", ""), "更新"],
    ["", ""],
  ])("%j in base64 is read as %j", (header, reason) => {
    expect(readBinaryReason(header)).toBe(reason);
  });

  test.each(["not base64", "4pyT, 4pyT", Buffer.from([0xff]).toString("base64")])(
    "%j in base64 is refused",
    (header) => {
      expect(() => readBinaryReason(header)).toThrow(refused);
    },
  );
});
