import { writeFile } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { StoreError, writeFailure } from "../../src/database/error.ts";
import { MOUNTS_FILE } from "../../src/state-file/form.ts";
import { startedForEach } from "../started.ts";
import { newFolder } from "../store/folder.ts";
import { as } from "../wire/access-client.ts";
import { observe } from "../wire/following.ts";
import { startService, type TestService } from "../wire/service.ts";
import { followSettings } from "./follow.ts";
import { parse } from "./parse.ts";

const folder = startedForEach(newFolder);
let file: string;
let service: TestService | undefined;

beforeEach(async () => {
  file = folder.at("mounts.yaml");
});

afterEach(async () => {
  await service?.stop();
  service = undefined;
});

const start = async () => {
  service = await startService({ env: { MOORING_MOUNTS_FILE: file } });
  const { mounts } = as(service.port);
  return {
    get: async (name: string) => (await mounts.getMount({ name, reveal: true })).mount,
    save: (mount: object) => mounts.saveMounts({ mounts: [mount] }),
    remove: (name: string) => mounts.deleteMounts({ names: [name] }),
    revision: async () => (await mounts.listMounts({})).revision,
  };
};

const FILMS = `version: 1
mounts:
  films:
    path: /films
    driver: Local
    config:
      root_folder_path: /srv/films
    members: { remark: all films }
    sites: all
  cloud:
    path: /cloud
    driver: WebDav
    config:
      address: https://dav.example
      username: ann
      password: \${file:password}
    sites: [harbour]
    overrides:
      quay: { path: /own }
`;

test("mounts of a file are created, updated, and changed only by the file", async () => {
  await writeFile(folder.at("password"), "from-a-file\n");
  await writeFile(file, FILMS);
  const { get, save, remove, revision } = await start();
  // Sites are created while the service runs. Until then, nothing of the file is stored.
  expect(service?.log()).toContain(`${file}:17:5: cloud.sites: there is no site`);
  await expect(get("films")).rejects.toThrow("there is no mount");
  const sites = await observe(as(service?.port ?? 0), "harbour", "quay");
  onTestFinished(sites.stop);
  await expect.poll(() => get("films").catch(() => undefined)).toBeDefined();
  expect(await get("films")).toMatchObject({
    mountPath: "/films",
    config: { root_folder_path: "/srv/films" },
    members: { remark: "all films" },
  });
  expect(await get("cloud")).toMatchObject({
    config: { password: "from-a-file" },
    sites: { names: ["harbour"] },
    overrides: { quay: { mountPath: "/own" } },
  });
  await expect(save({ name: "films", disabled: true })).rejects.toThrow("is managed by the file");
  await expect(remove("films")).rejects.toThrow("is managed by the file");
  const before = await revision();
  await writeFile(folder.at("password"), "another\n");
  await expect.poll(async () => (await get("cloud"))?.config?.["password"]).toBe("another");
  await writeFile(file, FILMS.replace("    members: { remark: all films }\n", ""));
  await expect.poll(async () => (await get("films"))?.members).toEqual({});
  expect(await revision()).toBe(before + 2n);
  // An invalid file changes nothing, and reports the place.
  await writeFile(file, FILMS.replace("root_folder_path", "rot_folder_path"));
  await expect
    .poll(() => service?.log())
    .toContain(`${file}:7:7: films.config.rot_folder_path is not an item of this driver`);
  expect((await get("films"))?.config).toEqual({ root_folder_path: "/srv/films" });
  // A removed mount is kept, and clients may change it again.
  await writeFile(file, "mounts: {}\n");
  await expect
    .poll(() => save({ name: "films", disabled: true }).then(String, String))
    .not.toContain("is managed");
  expect(service?.log()).not.toContain("from-a-file");
});

test("a change of the file while the database is unavailable is applied afterwards, and is no error of the file", async () => {
  await writeFile(file, "mounts: {}\n");
  const imported: unknown[] = [];
  const applied: (readonly string[] | undefined)[] = [];
  const errors: unknown[] = [];
  const problems: (readonly string[])[] = [];
  const archive = {
    parts: ["mounts"],
    import: async (document: unknown) => {
      imported.push(document);
      if (imported.length === 2) throw writeFailure(new StoreError("away", "the database is away"));
      return { revision: 1, results: [], skipped: [] };
    },
  };
  const stop = await followSettings({ archive }, file, {
    file: { form: MOUNTS_FILE, path: file },
    times: { interval: 20, quiet: 5 },
    onApplied: (names) => applied.push(names.get("mounts")),
    onProblems: (lines) => problems.push(lines),
    onError: (error) => errors.push(error),
  });
  onTestFinished(stop);
  const mount = "{ path: /a, driver: Local, config: { root_folder_path: /x } }";
  await writeFile(file, `mounts:\n  a: ${mount}\n`);
  await expect.poll(() => applied).toEqual([[], ["a"]]);
  expect(imported).toHaveLength(3);
  expect([errors, problems]).toMatchObject([[{ code: Code.Unavailable }], []]);
});

describe("an invalid file fails the start with the place of each error", () => {
  test.each([
    ["mounts: [", ":1:10: this is not YAML"],
    ["", ":1:1: the file is empty"],
    ["mount: {}\n", ':1:1: there is no section "mount". Did you mean "mounts"?'],
    ["mounts:\n  a: text\n", ':2:3: "a" must be a mapping'],
    [
      "mounts:\n  a:\n    path: /a\n    driver: Lokal\n",
      ':4:5: a.driver: there is no driver "Lokal". Did you mean "Local"?',
    ],
    ["mounts:\n  a:\n    driver: Local\n", ":2:3: a: path must be a text"],
    [
      "mounts:\n  a:\n    path: /a\n    driver: Local\n    conifg: {}\n",
      ':5:5: a: a mount has no "conifg". Did you mean "config"?',
    ],
    [
      "mounts:\n  a:\n    path: /a\n    driver: Local\n    config:\n      root_folder_path: 5\n",
      ":6:7: a.config.root_folder_path must be text",
    ],
    [
      "mounts:\n  a:\n    path: /a\n    driver: S3\n    overrides:\n      b: { members: { order: x } }\n",
      ":6:23: a.overrides.b.members.order must be a whole number",
    ],
    [
      `mounts:\n  a:\n    path: /a\n    driver: Local\n    config: { root_folder_path: '\${env:NO_SUCH_VARIABLE}' }\n`,
      ":5:33: the environment variable NO_SUCH_VARIABLE is not set",
    ],
    [
      "mounts:\n  a: { path: /a, driver: Local, config: { root_folder_path: /x } }\n  b: { path: /a, driver: Local, config: { root_folder_path: /y } }\n",
      ':2:8: a.mount_path is already the path of the mount "b"',
    ],
  ])("%j", async (text, message) => {
    await writeFile(file, text);
    await expect(start()).rejects.toThrow(`${file}${message}`);
  });

  test("all errors are reported at once, also while a file of a value is missing", async () => {
    await writeFile(
      file,
      FILMS.replace("root_folder_path", "rot_folder_path").replace("driver: WebDav", "driver: S3"),
    );
    const problem = await start().then(String, String);
    expect(problem).toContain(`${file}:7:7: films.config.rot_folder_path is not an item`);
    expect(problem).toContain(`${file}:16:17: the file ${folder.at("password")}`);
    expect(problem).toContain("cloud.config.address is not an item");
    expect(problem).not.toContain("cloud.config.password is");
  });

  test("a missing file of a value is reported once", async () => {
    await writeFile(file, FILMS.slice(0, FILMS.indexOf("    sites: [")));
    const problem = await start().then(String, String);
    expect(problem.split("\n").slice(1)).toEqual([
      expect.stringContaining(`${file}:16:17: the file ${folder.at("password")}`),
    ]);
  });

  test("no part that had started keeps running", async () => {
    await writeFile(file, "mounts: [");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    await expect(start()).rejects.toThrow("not YAML");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("no value is quoted", () => {
    const { problems } = parse(`mounts: { a: '\${env:SECRET}' }`, {
      form: MOUNTS_FILE,
      env: { SECRET: "a-secret" },
    });
    expect(JSON.stringify(problems)).not.toContain("a-secret");
    expect(problems).toHaveLength(1);
  });

  test("an equal name is reported with its place", () => {
    const { problems } = parse("mounts:\n  a: {}\n  b: {}\n  a: {}\n", { form: MOUNTS_FILE });
    expect(problems).toContainEqual({
      line: 4,
      column: 3,
      key: "a",
      reason: "occurs a second time here",
    });
  });

  test("a file of any form is parsed in linear time", () => {
    const names = Array.from({ length: 80_000 }, (_, at) => `n${at}: 1`);
    for (const text of [names.join("\n"), `mounts: '${"${".repeat(400_000)}'`])
      expect(parse(text, { form: MOUNTS_FILE }).problems).not.toEqual([]);
  });
});
