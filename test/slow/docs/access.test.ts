import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startService, TOKEN } from "../../cli/service.ts";
import { needs } from "../../downloaders/program.ts";
import { startedForAll } from "../../started.ts";
import { makeAuthority } from "../../wire/certificate.ts";
import { runInBash } from "./shell.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/access.md"), "utf8");

/** The commands of a section, of its blocks or of its sentences. */
const section = (title: string): string =>
  page.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
const blockOf = (text: string): string[] =>
  (/```sh\n([\s\S]*?)```/.exec(text)?.[1] ?? "")
    .replace(/\\\n */g, "")
    .trim()
    .split("\n");
const inlineOf = (text: string): string[] =>
  [...text.matchAll(/`(mooring [^`]+)`/g)].map(([, command = ""]) => command);

const forOthers = section("Tokens for others");
const atTheEnd = section("Expiry, rotation, and leaked tokens");

const service = startedForAll(() => startService());
beforeEach(needs("bash"));

/** Runs a command of the page in bash, on the service in this process. */
const bash = (command: string, token = TOKEN, env: Record<string, string> = {}) =>
  runInBash(command, service.folder, {
    MOORING_ADDRESS: service.address,
    MOORING_TOKEN: token,
    ...env,
  });

/** Runs a command without a shell. */
const cli = (command: string, token = TOKEN) =>
  service.cli(command.split(" ").slice(1), { env: { MOORING_TOKEN: token } });

/** Error of a command for which a token has no right. */
const REFUSED = { code: 5 };
const DONE = { code: 0 };

describe("docs/access.md", () => {
  const tokens: Record<string, string> = {};
  const idOf = (name: string): string => tokens[name]?.slice(4, 16) ?? "";

  test.each(blockOf(forOthers))("%s", async (command) => {
    const made = await bash(command);
    expect(made).toMatchObject(DONE);
    const [, name = ""] = /token create (\w+)/.exec(command) ?? [];
    const [, file] = /--output (\S+)/.exec(command) ?? [];
    const text = file === undefined ? made.out : readFileSync(join(service.folder, file), "utf8");
    tokens[name] = text.trim();
    expect(tokens[name]).toMatch(/^mrg_\w{62}$/);
    const whoami = await cli("mooring whoami", tokens[name]);
    expect(whoami.out).toContain(`principal  ${name}`);
  });

  test.each<[string, string, object]>([
    ["nightly", "mooring export", DONE],
    ["nightly", "mooring export --secrets clear", REFUSED],
    ["nightly", "mooring list", REFUSED],
    ["dashboard", "mooring list", DONE],
    ["dashboard", "mooring history", DONE],
    ["dashboard", "mooring set site_title=x", REFUSED],
    ["files", "mooring set --new s3_mine=1", DONE],
    ["files", "mooring set site_title=x", REFUSED],
    ["files", "mooring get site_title", REFUSED],
    ["anna", "mooring set site_title=Harbour", DONE],
    ["anna", "mooring rollback 1 --yes", DONE],
    ["anna", "mooring site list", DONE],
    ["anna", "mooring token list", REFUSED],
    ["anna", "mooring token reset --yes", REFUSED],
  ])("%s: %s", async (name, command, outcome) => {
    expect(await cli(command, tokens[name])).toMatchObject(outcome);
  });

  test.each(inlineOf(page))("%s", async (command) => {
    const line = command
      .replace("PRINCIPAL/TOKEN-ID", `files/${idOf("files")}`)
      .replace("TOKEN-ID", idOf("files"));
    // Her tokens are prompted for.
    if (line.includes("disable"))
      expect(await cli(`${line.replace("anna", "nobody")} --yes`)).toMatchObject({ code: 3 });
    else expect(await cli(line)).toMatchObject({ code: 0, err: "" });
  });

  test("rotation, expiry and reset have the described effect", async () => {
    const [rotate = "", now = "", revoke = "", reset = "", ...rest] = blockOf(atTheEnd);
    expect(rest).toEqual([]);
    const works = async (name: string) => (await cli("mooring whoami", tokens[name])).code;
    // On a terminal these commands ask.
    const confirmed = (command: string) => `${command.replace(/ *#.*$/, "")} --yes`;
    expect(await bash(rotate.replace("TOKEN-ID", idOf("nightly")))).toMatchObject(DONE);
    expect(await works("nightly")).toBe(0);
    tokens["next"] = readFileSync(join(service.folder, "next.token"), "utf8").trim();
    expect(await works("next")).toBe(0);
    const rotated = await bash(now.replace("TOKEN-ID", idOf("dashboard")));
    expect(rotated).toMatchObject(DONE);
    tokens["after"] = rotated.out;
    expect([await works("dashboard"), await works("after")]).toEqual([5, 0]);
    expect(await bash(confirmed(revoke.replace("TOKEN-ID", idOf("files"))))).toMatchObject(DONE);
    expect(await works("files")).toBe(5);
    const disable = inlineOf(atTheEnd).find((command) => command.includes("disable")) ?? "";
    expect(await bash(confirmed(disable))).toMatchObject(DONE);
    expect(await works("anna")).toBe(5);
    const again = await bash(confirmed(reset));
    expect(again).toMatchObject(DONE);
    expect((await cli("mooring list")).code).toBe(5);
    expect((await cli("mooring list", again.out)).code).toBe(0);
  });

  test("two variables enable TLS", async (context) => {
    needs("openssl", "curl")(context);
    const authority = await makeAuthority();
    onTestFinished(() => authority.remove());
    const { certificate, key } = await authority.issue("served");
    const exports = blockOf(section("TLS")).map((line) =>
      line.replace("/etc/mooring/tls.pem", certificate).replace("/etc/mooring/tls.key", key),
    );
    const env = Object.fromEntries(exports.map((line) => line.replace("export ", "").split("=")));
    const own = await startService(env);
    onTestFinished(() => own.remove());
    const address = own.address.replace("127.0.0.1", "localhost");
    const overTls = await bash("mooring get site_title", TOKEN, {
      MOORING_ADDRESS: `https://${address}`,
      NODE_EXTRA_CA_CERTS: authority.certificate,
    });
    expect(overTls).toMatchObject({ code: 0, out: "OpenList" });
  });
});
