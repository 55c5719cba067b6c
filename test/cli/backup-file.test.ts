import { expect, test } from "vitest";
import { hasSealedSecrets } from "../../src/cli/backup-file.ts";

test.each([
  ["sealed secrets", '{"settings":[],"sealed":{"text":"x"}}', true],
  ["a space before the colon", '{"sealed" : {}}', true],
  ["an escaped name", '{"\\u0073ealed":{}}', true],
  ["a byte order mark", '\ufeff{"sealed":{}}', true],
  ["no secrets", '{"settings":[]}', false],
  ["names of sealed secrets of an entry alone", '{"sites":[{"sealed":["token"]}]}', false],
  ["a member of an entry", '{"settings":[{"sealed":{}}]}', false],
  ["a text", '{"reason":"\\"sealed\\":{}"}', false],
  ["a list", '[{"sealed":{}}]', false],
  ["a text that is not JSON", '{"sealed":{', false],
])("a backup with %s asks for a passphrase: %s", (_what, text, isAsked) => {
  expect(hasSealedSecrets(Buffer.from(text))).toBe(isAsked);
});
