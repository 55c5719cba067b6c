import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder } from "../../src/files/make-folder.ts";
import { temporaryPaths } from "../store/folder.ts";

const newPath = temporaryPaths();

describe("a folder is created", () => {
  test("with its missing parents, for the owner alone if asked", async () => {
    const top = newPath("top");
    await makeFolder(join(top, "between", "folder"), 0o700);
    const paths = [top, join(top, "between"), join(top, "between", "folder")];
    expect(paths.map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700, 0o700]);
  });

  test("once by two calls at the same time", async () => {
    const path = join(newPath("top"), "between", "folder");
    await Promise.all([makeFolder(path, 0o755), makeFolder(path, 0o755)]);
    expect(statSync(path).isDirectory()).toBe(true);
  });
});

test("an existing folder stays as it is, also behind a link", async () => {
  const [path, link] = [newPath("folder"), newPath("link")];
  mkdirSync(path, 0o750);
  symlinkSync(path, link);
  await makeFolder(path, 0o700);
  await makeFolder(link, 0o700);
  expect(statSync(path).mode & 0o777).toBe(0o750);
});

describe("the error of the system is thrown", () => {
  test.each([
    { name: "a file in its place", path: (file: string) => file, code: "EEXIST" },
    { name: "a file as its parent", path: (file: string) => join(file, "folder"), code: "ENOTDIR" },
    { name: "a link to nothing", path: (_: string, link: string) => link, code: "EEXIST" },
  ])("$name", async ({ path, code }) => {
    const [file, link] = [newPath("file"), newPath("link")];
    writeFileSync(file, "");
    symlinkSync(newPath("nothing"), link);
    await expect(makeFolder(path(file, link), 0o755)).rejects.toMatchObject({ code });
  });

  test.runIf(process.platform === "linux").each(["/proc/x", "/proc/x/y", "/proc/self/x"])(
    "a file system without new folders: %s",
    async (path) => {
      await expect(makeFolder(path, 0o755)).rejects.toMatchObject({ code: "ENOENT" });
    },
  );
});
