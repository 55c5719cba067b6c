import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForEach } from "../started.ts";
import { addSite, service, useService } from "./service.ts";

useService();

const home = startedForEach(() => startStandIn());
const hut = startedForEach(() => startStandIn());
const cli = (args: readonly string[], options?: Parameters<typeof service.cli>[1]) =>
  service.cli(["user", ...args], options);
const COPY = ["copy", "home", "hut"] as const;
let passwordFile: string;
let passwordsFile: string;

beforeAll(async () => {
  passwordFile = join(service.folder, "password");
  await writeFile(passwordFile, "one for all\n");
  passwordsFile = join(service.folder, "passwords");
  await writeFile(passwordsFile, "ann:of:ann\n\nbob:of bob\n");
});

beforeEach(async () => {
  for (const [name, site] of Object.entries({ home, hut })) {
    await service.cli(["site", "remove", name, "--yes"]);
    await addSite(name, site);
  }
  home.users.add({ username: "ann", base_path: "/films", permission: 0b1001 });
});

test("list prints names, folders, roles, states and permissions", async () => {
  const { code, out } = await cli(["list", "home"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^NAME +FOLDER +ROLES +STATE +PERMISSIONS$/m);
  expect(out).toMatch(/^guest +\/ +guest +disabled$/m);
  expect(out).toMatch(/^ann +\/films +general +enabled +see_hidden,write$/m);
});

test("compare prints both values of what differs", async () => {
  hut.users.add({ username: "ann", base_path: "/" });
  const { code, out } = await cli(["compare", "home", "hut"]);
  expect(code).toBe(0);
  expect(out).toMatch(
    /ann +differs +base_path: \/films -> \/; permissions: see_hidden,write -> none/,
  );
  expect(out).toContain("1 user differs between home and hut");
  expect((await cli(["compare", "home", "hut", "--all"])).out).toMatch(/^admin +same$/m);
});

test("copy prints a random password once, and exits with 4 for what is not copied", async () => {
  const { code, out, err } = await cli([...COPY, "--random-passwords"]);
  expect(code).toBe(4);
  const [, password] = /^ann +created +(\S{20})$/m.exec(out) ?? [];
  expect(hut.users.named("ann")?.hidden.password).toBe(password);
  expect(out).toMatch(/^not copied: its password, .* \(ann\)$/m);
  expect(err).toContain("shown only here");
  expect(err).toContain("not copied as a whole: ann");
});

test("copy with --accept-loss exits with 0", async () => {
  const args = [...COPY, "--password-file", passwordFile, "--accept-loss"];
  expect(await cli(args)).toMatchObject({ code: 0 });
  expect(hut.users.named("ann")?.hidden.password).toBe("one for all");
});

test("copy with a dry run changes nothing and needs no password", async () => {
  const { code, out } = await cli([...COPY, "--dry-run", "--accept-loss"]);
  expect(code).toBe(0);
  expect(out).toContain("dry run on hut: 1 user created, 0 updated");
  expect(hut.users.named("ann")).toBeUndefined();
});

test("copy reads a password for each user", async () => {
  home.users.add({ username: "bob" });
  const args = [...COPY, "--passwords-file", passwordsFile, "--accept-loss"];
  expect(await cli(args)).toMatchObject({ code: 0 });
  expect(hut.users.named("ann")?.hidden.password).toBe("of:ann");
  expect(hut.users.named("bob")?.hidden.password).toBe("of bob");
});

test("copy reads the password from standard input", async () => {
  const args = [...COPY, "--password-file", "-", "--accept-loss"];
  expect(await cli(args, { stdin: "typed elsewhere\n" })).toMatchObject({ code: 0 });
  expect(hut.users.named("ann")?.hidden.password).toBe("typed elsewhere");
});

describe("copy without a terminal", () => {
  test("needs a password", async () => {
    const { code, err } = await cli([...COPY]);
    expect(code).toBe(2);
    expect(err).toContain("--random-passwords");
    expect((await cli([...COPY, "--yes"])).code).toBe(2);
    expect(hut.users.named("ann")).toBeUndefined();
  });

  test("replaces a user only with --yes", async () => {
    hut.users.add({ username: "ann", base_path: "/mine" });
    const args = [...COPY, "--update", "ann"];
    const refused = await cli(args);
    expect(refused.code).toBe(4);
    expect(refused.err).toContain("1 user of hut would be replaced; --yes confirms it");
    expect(refused.err).toContain("ann: base_path, permissions");
    expect(hut.users.named("ann")?.base_path).toBe("/mine");
    const done = await cli([...args, "--yes", "--accept-loss"]);
    expect(done).toMatchObject({ code: 0 });
    expect(done.out).toMatch(/^not copied: its passkeys there/m);
    expect(hut.users.named("ann")?.base_path).toBe("/films");
  });
});

describe("copy on a terminal", () => {
  test("shows the plan, asks, and asks for a password that is not shown", async () => {
    const terminal = { terminal: 100, answers: ["y", "typed", "typed"] };
    const { code, out, err } = await cli([...COPY, "--accept-loss"], terminal);
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(err).toContain("On hut, create 1 user?");
    expect(out + err).not.toContain("typed");
    expect(hut.users.named("ann")?.hidden.password).toBe("typed");
  });

  test("changes nothing when the answer is no", async () => {
    const { code } = await cli([...COPY], { terminal: 100, answers: ["n"] });
    expect(code).toBe(1);
    expect(hut.users.named("ann")).toBeUndefined();
  });
});

test.each([
  [["copy", "home"], 2, "TO is missing"],
  [["copy", "home", "home", "--random-passwords"], 4, "the same site"],
  [["copy", "home", "hut", "zed", "--random-passwords"], 3, "home has no user zed"],
  [["list", "hom"], 3, "Did you mean"],
  [["copy", "home", "hut", "admin", "--random-passwords"], 4, "not copied: admin"],
  [["list", "home", "--yes"], 2, "--yes goes with user copy only"],
])("%j ends with %i", async (args, code, text) => {
  const ended = await cli(args);
  expect(ended.code).toBe(code);
  expect(ended.err + ended.out).toContain(text);
});
