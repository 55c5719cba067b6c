// The same contract for every kind of place, on real servers.
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { SECRET, startS3, startWebdav, type TargetServer } from "./target-server.ts";

const { signal } = new AbortController();
const text = (content: Buffer | undefined): string | undefined => content?.toString("utf8");

const SERVERS = [
  ["S3", "go", startS3],
  ["WebDAV", "rclone", startWebdav],
] as const;

describe.each(SERVERS)("%s", (_kind, program, start) => {
  let server: TargetServer;
  beforeEach(needs(program));
  beforeAll(async () => {
    if (spawnSync(program, ["version"]).error === undefined) server = await start();
  }, 600_000);
  afterAll(() => server?.stop());

  test("is empty before the first backup", async () => {
    expect(await server.target.list(signal)).toEqual([]);
    expect(await server.target.read("none.json", signal)).toBeUndefined();
    await server.target.remove("none.json", signal);
  });

  test("a file is written, read, renamed and removed", async () => {
    const { target } = server;
    const content = Buffer.from(`{"name": "Häfen"}${" ".repeat(100_000)}`);
    await target.write("a.json.part", content, signal);
    expect(await target.list(signal)).toEqual([{ name: "a.json.part", size: content.length }]);
    expect(text(await target.read("a.json.part", signal))).toBe(text(content));
    await target.rename("a.json.part", "a.json", signal);
    expect(await target.list(signal)).toEqual([{ name: "a.json", size: content.length }]);
    expect(text(await target.read("a.json", signal))).toBe(text(content));
    expect(await server.files()).toEqual(["a.json"]);
    await target.remove("a.json", signal);
    expect(await target.list(signal)).toEqual([]);
  });

  test("lists more files than one page has", async () => {
    const { target } = server;
    const names = Array.from({ length: 1_010 }, (_, at) => `b-${String(at).padStart(4, "0")}`);
    for (let from = 0; from < names.length; from += 20)
      await Promise.all(
        names.slice(from, from + 20).map((name) => target.write(name, Buffer.from(name), signal)),
      );
    const listed = (await target.list(signal)).map(({ name }) => name).sort();
    expect(listed).toEqual(names);
  }, 120_000);

  test("a refusal names the status and no secret", async () => {
    const failure = await server.refused.list(signal).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ message: expect.stringMatching(/HTTP 40[13]/) });
    expect(JSON.stringify(failure)).not.toContain(SECRET);
    expect(server.target.place).not.toContain(SECRET);
  });
});
