import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readArchive, type Section, writeArchive } from "../../src/archive/document.ts";
import type { ArchiveEntry } from "../../src/archive/part.ts";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";

const doc = readFileSync(new URL("../../docs/backup.md", import.meta.url), "utf8");
const [, example = ""] = /```json\n([\s\S]*?)```/.exec(doc) ?? [];
const cipher = createPassphraseCipher((size) => Buffer.alloc(size, 1));
const parts = ["settings", "mounts", "sites", "webhooks", "principals"].map((name) => ({ name }));

test("the file in docs/backup.md is an archive, and is written identically", async () => {
  const document = JSON.parse(example);
  const { origin, sections } = await readArchive(document, { passphrase: "", parts }, cipher);
  const { mooring, databaseId, revision, created } = origin;
  const inOrder = Object.keys(document).flatMap((part): Section[] => {
    const entries: readonly ArchiveEntry[] | undefined = sections.get(part);
    return entries === undefined ? [] : [{ part, entries }];
  });
  const written = await writeArchive(
    {
      origin: { mooring, databaseId, revision, time: Date.parse(created) },
      sections: inOrder,
      leftOut: document.leftOut,
    },
    { mode: "omit" },
    cipher,
  );
  expect(JSON.stringify(written, null, 2)).toBe(JSON.stringify(document, null, 2));
});

test("docs/backup.md lists every member of a sealed archive", async () => {
  const origin = { mooring: "v1", databaseId: "d", revision: 1, time: 0 };
  const written = await writeArchive(
    { origin, sections: [], leftOut: [] },
    { mode: "seal", passphrase: "12345678" },
    cipher,
  );
  for (const name of [...Object.keys(written), ...Object.keys(written.sealed ?? {})])
    expect(doc).toContain(`\`${name}\``);
});
