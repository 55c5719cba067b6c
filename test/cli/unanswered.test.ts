// Commands whose service ends, or does not answer, in the middle of a call.
import { writeFile } from "node:fs/promises";
import { createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { newDatabaseFolder } from "../store/folder.ts";
import { run } from "./world.ts";

/** A server of HTTP/2 that closes the connection when it has received a call, or never answers. */
async function startSilent() {
  const sessions = new Set<ServerHttp2Session>();
  const folder = newDatabaseFolder();
  await writeFile(join(folder, "token"), "a token of a server\n");
  await writeFile(
    join(folder, "archive.json"),
    JSON.stringify({
      format: "mooring-archive",
      version: 1,
      settings: [{ key: "site_title", value: "x" }],
    }),
  );
  const server = createServer();
  const silent = { closes: true, folder, address: "", stop: async () => undefined as unknown };
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.resume().on("end", () => {
      if (silent.closes) stream.session?.destroy();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  silent.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  silent.stop = async () => {
    for (const session of sessions) session.destroy();
    await new Promise((done) => server.close(done));
  };
  return silent;
}

const silent = startedForAll(startSilent);

const cases: readonly [line: string, note: string][] = [
  [
    "token create ci --scopes settings:read",
    'a change may have been made nevertheless: "mooring h',
  ],
  ["site add home http://127.0.0.1:1 --site-token-file token", "a change may have been made"],
  ["mount delete films --yes", "a change may have been made nevertheless"],
  ["import archive.json --yes", "the same command with --dry-run shows what is left"],
  ["backup restore archive.json --yes", "the same command with --dry-run shows what is left"],
  ["backup create", '"mooring backup list" shows whether it was stored before'],
  ["site sync home", '"mooring site compare" shows what is left'],
];

test.each([true, false])(
  "a change without an answer says what may have been done (closed: %s)",
  async (closes) => {
    silent.closes = closes;
    const env = { MOORING_ADDRESS: silent.address, MOORING_TOKEN: "t".repeat(32) };
    const runs = cases.map(async ([line, note]) => {
      const args = [...line.split(" "), ...(closes ? [] : ["--timeout", "250ms"])];
      const { code, out, err } = await run(args, { env, cwd: silent.folder });
      expect([code, out], line).toEqual([6, ""]);
      expect(err, line).toContain(note);
      expect(err, line).toContain(
        closes ? "the connection was closed" : "not answer within 250 ms;",
      );
    });
    // Each waits for its time.
    await Promise.all(runs);
  },
);

test.each([true, false])(
  "a read without an answer mentions no change (closed: %s)",
  async (closes) => {
    silent.closes = closes;
    const env = { MOORING_ADDRESS: silent.address, MOORING_TOKEN: "t".repeat(32) };
    const lines = [
      "list",
      "get site_title",
      "export",
      "history",
      "site list",
      "mount delete films --dry-run",
    ];
    const runs = lines.map(async (line) => {
      const args = [...line.split(" "), ...(closes ? [] : ["--timeout", "250ms"])];
      const { code, err } = await run(args, { env, cwd: silent.folder });
      expect(code, line).toBe(6);
      expect(err, line).not.toContain("a change may");
    });
    await Promise.all(runs);
  },
);
