import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { watchContent } from "../../src/files/file-watch.ts";
import { STATE_FILE } from "../../src/state-file/form.ts";
import { loadStateFile, type StateFile } from "../../src/state-file/read.ts";
import { deps, valuesOf } from "./parse.ts";

const opened: (() => Promise<void>)[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "mooring-watch-"));
  folders.push(folder);
  return folder;
}

const title = (value: string) => `settings:\n  site_title: ${value}\n`;
const titleOf = (file: StateFile) =>
  String(file.problems[0]?.reason ?? valuesOf(file)["site_title"] ?? "none");

/** Watches a settings file and returns the reports one by one. */
function follow(path: string, onChange?: (content: StateFile) => Promise<void>) {
  const seen: string[] = [];
  const errors: unknown[] = [];
  const waiting: (() => void)[] = [];
  const load = () => loadStateFile({ ...deps, form: STATE_FILE, path });
  const first = load();
  const close = watchContent({
    path,
    first,
    load,
    keyOf: ({ content }) => content,
    onChange: async (content) => {
      await onChange?.(content);
      seen.push(titleOf(content));
      for (const wake of waiting.splice(0)) wake();
    },
    onError: (error) => {
      errors.push(error);
      for (const wake of waiting.splice(0)) wake();
    },
    times: { interval: 50, quiet: 5 },
  });
  opened.push(close);
  const until = async (done: () => boolean): Promise<void> => {
    while (!done()) await new Promise<void>((wake) => waiting.push(wake));
  };
  return {
    close,
    seen,
    errors,
    until,
    first,
    last: (value: string) => until(() => seen.at(-1) === value),
  };
}

test("an overwritten file is reported", async () => {
  const path = join(newFolder(), "settings.yaml");
  writeFileSync(path, title("one"));
  const { last, seen } = follow(path);
  writeFileSync(path, title("two"));
  await last("two");
  writeFileSync(path, title("three"));
  await last("three");
  expect(seen).not.toContain("one");
});

test("a file replaced by a rename is reported, also repeatedly", async () => {
  const folder = newFolder();
  const path = join(folder, "settings.yaml");
  writeFileSync(path, title("0"));
  const { last } = follow(path);
  for (const value of ["one", "two", "three"]) {
    writeFileSync(join(folder, "new"), title(value));
    renameSync(join(folder, "new"), path);
    await last(value);
  }
});

test("the swapped link of a Kubernetes volume is reported", async () => {
  const folder = newFolder();
  const version = (name: string, value: string) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "settings.yaml"), title(value));
    symlinkSync(name, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
  };
  version("..1", "one");
  symlinkSync("..data/settings.yaml", join(folder, "settings.yaml"));
  const { last } = follow(join(folder, "settings.yaml"));
  version("..2", "two");
  rmSync(join(folder, "..1"), { recursive: true });
  await last("two");
  version("..3", "three");
  await last("three");
});

test("files of values are watched, new ones too", async () => {
  const folder = newFolder();
  const path = join(folder, "settings.yaml");
  const secret = join(newFolder(), "secret");
  writeFileSync(path, title("none yet"));
  const { last } = follow(path);
  writeFileSync(path, title(`\${file:${secret}}`));
  await last(`the file ${secret} does not exist`);
  writeFileSync(secret, "first");
  await last("first");
  writeFileSync(secret, "second");
  await last("second");
});

test("a file behind a link to another folder is detected by polling", async () => {
  const target = join(newFolder(), "target.yaml");
  const path = join(newFolder(), "settings.yaml");
  writeFileSync(target, title("one"));
  symlinkSync(target, path);
  const { last } = follow(path);
  writeFileSync(target, title("two"));
  await last("two");
});

test("a file that is deleted and restored, with its folder, is reported", async () => {
  const folder = join(newFolder(), "etc");
  const path = join(folder, "settings.yaml");
  mkdirSync(folder);
  writeFileSync(path, title("one"));
  const { last } = follow(path);
  unlinkSync(path);
  await last("the file does not exist");
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  writeFileSync(path, title("two"));
  await last("two");
  writeFileSync(path, title("three"));
  await last("three");
});

test("an invalid file is reported with its problems", async () => {
  const path = join(newFolder(), "settings.yaml");
  writeFileSync(path, title("one"));
  const { last } = follow(path);
  writeFileSync(path, "settings:\n  site_title:\n");
  await last('has no value; write "" for empty text');
});

test("an unchanged file is not reported", async () => {
  const path = join(newFolder(), "settings.yaml");
  writeFileSync(path, title("one"));
  const { last, seen } = follow(path);
  writeFileSync(path, `# a comment\n${title("one")}`);
  writeFileSync(path, `# another comment\n${title("two")}`);
  await last("two");
  expect(seen).toEqual(["two"]);
});

test("a failing report is logged once, and repeated without another change of the file", async () => {
  const path = join(newFolder(), "settings.yaml");
  writeFileSync(path, title("one"));
  let attempts = 0;
  const { last, errors } = follow(path, async () => {
    attempts += 1;
    if (attempts < 3) throw new Error("the disk is full");
  });
  writeFileSync(path, title("two"));
  await last("two");
  expect(errors).toHaveLength(1);
});

test("a failure after a recovery is logged again", async () => {
  const path = join(newFolder(), "settings.yaml");
  writeFileSync(path, "one");
  const content = (text: string) => ({ files: [], text });
  const loads = [new Error("the file is locked"), content("one"), content("two")];
  const errors: unknown[] = [];
  opened.push(
    watchContent({
      path,
      first: content("one"),
      keyOf: ({ text }: ReturnType<typeof content>) => text,
      load: () => {
        const next = loads.length > 1 ? loads.shift() : loads[0];
        if (next === undefined || next instanceof Error) throw next;
        return next;
      },
      onChange: () => Promise.reject(new Error("the disk is full")),
      onError: (error) => errors.push(error),
      times: { interval: 20, quiet: 5 },
    }),
  );
  let writes = 0;
  const write = (): number => {
    writes += 1;
    writeFileSync(path, `change ${writes}`);
    return errors.length;
  };
  await expect.poll(write).toBe(2);
  expect(errors).toEqual([new Error("the file is locked"), new Error("the disk is full")]);
});

test("close waits for a running report, and none follows", async () => {
  const path = join(newFolder(), "settings.yaml");
  writeFileSync(path, title("one"));
  let release = (): void => {};
  let started = (): void => {};
  const running = new Promise<void>((resolve) => {
    started = resolve;
  });
  const { close, seen } = follow(path, () => {
    started();
    return new Promise<void>((resolve) => {
      release = resolve;
    });
  });
  writeFileSync(path, title("two"));
  await running;
  const closed = close();
  writeFileSync(path, title("three"));
  release();
  await closed;
  expect(seen).toEqual(["two"]);
});
