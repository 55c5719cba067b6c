import { expect, test } from "vitest";
import { writeStateFile } from "../../src/state-file/write.ts";

/** Longest name of a file on Linux, macOS and Windows, in bytes. */
const MAX_NAME_BYTES = 255;

/** Files of the secrets of an archive with these mounts, each with one secret. */
function secretFiles(mounts: readonly { readonly name: string; readonly secret: string }[]) {
  const { text, secrets } = writeStateFile(
    {
      counts: { mounts: mounts.length },
      mounts: mounts.map(({ name, secret }) => ({
        name,
        path: `/${name}`,
        driver: "WebDav",
        config: {},
        secrets: { [secret]: `password of ${name}` },
      })),
    },
    { known: new Map(), all: false, pathOf: (file) => `secrets/${file}`, comment: "" },
  );
  return { text, files: secrets.map(({ file }) => file) };
}

test.each([
  ["letters of one byte", "a".repeat(300)],
  ["letters of three bytes", "云".repeat(64)],
  ["letters of two code units, cut between them", `x${"𠀀".repeat(100)}`],
])("long names of %s have files whose names a file system accepts", (_, name) => {
  const { text, files } = secretFiles([
    { name, secret: "overrides/harbour/config/password" },
    { name: `${name}b`, secret: "overrides/harbour/config/password" },
  ]);
  expect(new Set(files).size).toBe(2);
  for (const file of files) {
    expect(Buffer.byteLength(file)).toBeLessThanOrEqual(MAX_NAME_BYTES);
    expect(file.isWellFormed()).toBe(true);
    expect(text).toContain(`\${file:secrets/${file}}`);
  }
});

test.each([
  ["case", "Cloud", "cloud"],
  ["the Unicode form", "\uac01", "\u1100\u1161\u11a8"],
])("names that differ only in %s have different files on any file system", (_, one, other) => {
  const { files } = secretFiles([one, other].map((name) => ({ name, secret: "config/password" })));
  expect(files).toEqual([`mounts.${one}.config.password`, `mounts.${other}.config.password-2`]);
});
