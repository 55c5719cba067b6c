import { describe, expect, it } from "vitest";
import { createErrorTranslation } from "../../src/messages/error-text.ts";
import { createTranslations } from "../../src/messages/language.ts";

const said = createErrorTranslation(createTranslations()("zh-CN"));

describe("the message of an error in Chinese", () => {
  it.each([
    ["driver [Sftp] not found", "not_found", "没有驱动 [Sftp]"],
    [
      'driver [Sftp] not found. Did you mean "SFTP" or "FTP"?',
      "not_found",
      '没有驱动 [Sftp]。您是不是要找 "SFTP" or "FTP"？',
    ],
    [
      'default_page_size: must be a whole number in digits, such as 30, not "many"',
      "invalid_argument",
      'default_page_size：必须是用数字写的整数，例如 30，不能是 "many"',
    ],
    [
      'sign_all: must be true or false, not "yes" (and 2 more)',
      "invalid_argument",
      'sign_all：必须是 true 或 false，不能是 "yes"（另有 2 处）',
    ],
    ["the token was reset or revoked", "unauthenticated", "令牌已被重置或撤销"],
    ["words that nobody knows", "aborted", "没有任何改动：words that nobody knows"],
    ["secret details", "internal", "内部错误，详情见服务的日志。"],
    ["words that nobody knows", "no_such_code", "words that nobody knows"],
  ])("%s", (message, code, expected) => {
    expect(said(message, code)).toBe(expected);
  });

  it("takes nothing apart that is endless", () => {
    const message = `driver [${"a".repeat(5_000)}] not found`;
    expect(said(message, "not_found")).toBe(`找不到：${message}`);
  });
});
