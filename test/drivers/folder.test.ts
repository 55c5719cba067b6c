import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readFolder } from "../../src/drivers/folder.ts";
import { temporaryFolder } from "../temporary.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const put = (name: string, content: string | Uint8Array) =>
  writeFileSync(join(folder, name), content);
const filesOf = async () => (await readFolder(folder)).sources.map(({ file }) => file);

describe("the reader of a deployment's driver folder", () => {
  it("reads the JSON files in the order of their names, and no others", async () => {
    for (const name of ["b.json", "a.json", ".hidden.json", "c.json~", "notes.txt"])
      put(name, "{}");
    mkdirSync(join(folder, "deeper"));
    writeFileSync(join(folder, "deeper", "d.json"), "{}");
    expect(await filesOf()).toEqual([join(folder, "a.json"), join(folder, "b.json")]);
  });

  it("follows links, as a mounted Kubernetes ConfigMap has them", async () => {
    mkdirSync(join(folder, "..2026_11_20"));
    writeFileSync(join(folder, "..2026_11_20", "a.json"), "first");
    symlinkSync("..2026_11_20", join(folder, "..data"));
    symlinkSync("..data/a.json", join(folder, "a.json"));
    const { sources } = await readFolder(folder);
    expect(sources).toEqual([{ file: join(folder, "a.json"), text: "first" }]);
  });

  it("removes a byte order mark", async () => {
    put("a.json", "\uFEFF{}");
    expect((await readFolder(folder)).sources[0]?.text).toBe("{}");
  });

  it("returns a hash of names and content only", async () => {
    put("a.json", "1");
    const { hash } = await readFolder(folder);
    put("a.json", "1");
    expect((await readFolder(folder)).hash).toBe(hash);
    put("a.json", "2");
    expect((await readFolder(folder)).hash).not.toBe(hash);
  });

  it("reports every unreadable file with the reason", async () => {
    put("latin.json", new Uint8Array([0x22, 0xe9, 0x22]));
    put("large.json", " ".repeat(256 * 1024 + 1));
    mkdirSync(join(folder, "folder.json"));
    symlinkSync("nowhere", join(folder, "dangling.json"));
    symlinkSync("loop.json", join(folder, "loop.json"));
    execFileSync("mkfifo", [join(folder, "pipe.json")]);
    const read = readFolder(folder);
    await expect(read).rejects.toThrow("dangling.json: is a link to a file that does not exist");
    await expect(read).rejects.toThrow("folder.json: is not a file");
    await expect(read).rejects.toThrow("large.json: is larger than 256 KiB");
    await expect(read).rejects.toThrow("latin.json: is not UTF-8 text");
    await expect(read).rejects.toThrow("loop.json: is a link to itself");
    await expect(read).rejects.toThrow("pipe.json: is not a file");
  });

  it("reads a file of exactly 256 KiB", async () => {
    put("a.json", " ".repeat(256 * 1024));
    expect(await filesOf()).toHaveLength(1);
  });

  it("reports a missing folder, or a file in its place", async () => {
    put("file", "");
    await expect(readFolder(join(folder, "none"))).rejects.toThrow(
      /none: there is no such folder$/,
    );
    await expect(readFolder(join(folder, "file"))).rejects.toThrow(/file: is not a folder$/);
  });

  it("refuses too many files, or too much text in all", async () => {
    for (let index = 0; index < 33; index += 1) put(`${index}.json`, " ".repeat(256 * 1024));
    await expect(readFolder(folder)).rejects.toThrow("more than 8 MiB in all");
    for (let index = 0; index < 1001; index += 1) put(`${index}.json`, "");
    await expect(readFolder(folder)).rejects.toThrow("1001 files; 1000 is the most");
  });
});
