import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import { readBackup, writeBackup } from "./text.ts";

const doc = readFileSync(new URL("../../docs/backup.md", import.meta.url), "utf8");
const [, example = ""] = /```json\n([\s\S]*?)```/.exec(doc) ?? [];
const cipher = createPassphraseCipher((size) => Buffer.alloc(size, 1));

test("the file in docs/backup.md is a backup, and is written identically", async () => {
  const { settings, skipped, header } = await readBackup(example, {}, cipher);
  const secrets = skipped.map(({ key }) => ({ ...settings[0], key, secret: true }));
  const written = await writeBackup(
    {
      settings: [...settings.map((one) => ({ ...one, secret: false })), ...secrets] as never,
      revision: header.revision,
      time: Date.parse(header.created),
      databaseId: header.databaseId,
    },
    { mode: "omit" },
    cipher,
  );
  expect(JSON.parse(written)).toEqual(JSON.parse(example));
});

test("docs/backup.md lists every member of a sealed backup", async () => {
  const content = { settings: [], revision: 1, time: 0 };
  const text = await writeBackup(content, { mode: "seal", passphrase: "12345678" }, cipher);
  const { secrets, ...members } = JSON.parse(text);
  for (const name of [...Object.keys(members), "secrets", ...Object.keys(secrets)])
    expect(doc).toContain(`\`${name}\``);
});
