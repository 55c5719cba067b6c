import { createHash, createHmac, hkdfSync } from "node:crypto";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import SQLite from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { type Follower, startFollower } from "../sites/follower.ts";
import { newDatabaseFolder } from "../store/folder.ts";

const NO_KEY = { MOORING_SECRET_KEY: "" };
const OTHER = "fedcba9876543210".repeat(4);
const GUESSES = ["aria2-of-before", "aria2-of-now", "never-one"];

/** All texts of a database, with those in JSON. */
function textsOf(path: string): readonly string[] {
  const db = new SQLite(path, { readonly: true });
  const tables = db.prepare("select name from sqlite_schema where type = 'table'").pluck().all();
  const texts = tables.flatMap((name) => db.prepare(`select * from "${name}"`).raw().all().flat());
  db.close();
  return texts
    .filter((text) => typeof text === "string")
    .flatMap((text) => [text, ...inJson(text)]);
}

/** Texts in a JSON object, such as those of the secret parts of a record. */
function inJson(text: string): readonly string[] {
  if (!text.startsWith("{")) return [];
  return Object.values(JSON.parse(text)).filter((value) => typeof value === "string");
}

/** Guesses that the database confirms, with any key that is stored in it. */
function confirmed(path: string): readonly string[] {
  const texts = textsOf(path);
  const all = texts.join("\n");
  const keys = [...new Set(texts.filter((text) => text.length >= 8 && text.length <= 128))].flatMap(
    (text) => [Buffer.from(text), Buffer.from(text, "base64url")],
  );
  const derived = keys.map((key) =>
    Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), "mooring secret fingerprint v1", 32)),
  );
  const hashes = (text: string): readonly Buffer[] => [
    createHash("sha256").update(text).digest(),
    ...[...keys, ...derived].map((key) => createHmac("sha256", key).update(text).digest()),
  ];
  return GUESSES.filter((guess) => {
    const forms = hashes(guess).flatMap((hash) => [
      hash.toString("base64url"),
      hash.toString("base64"),
      hash.toString("hex"),
    ]);
    return all.includes(guess) || forms.some((form) => all.includes(form));
  });
}

async function folder(): Promise<string> {
  const path = newDatabaseFolder();
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A stolen copy of the database, with the log. */
async function copyOf(from: string): Promise<string> {
  const to = await folder();
  await cp(from, to, { recursive: true });
  return join(to, "mooring.db");
}

async function fill(follower: Follower): Promise<void> {
  await follower.save("aria2_secret", "aria2-of-before");
  await follower.save("aria2_secret", "aria2-of-now");
}

test("a database without a sealing key confirms guesses, which proves the search", async () => {
  const path = await folder();
  const follower = await startFollower({ folder: path, env: NO_KEY });
  await fill(follower);
  await follower.close();
  expect(confirmed(await copyOf(path))).toEqual(["aria2-of-before", "aria2-of-now"]);
});

test("a copy of a sealed database confirms no guess of a secret, past ones included", async () => {
  const path = await folder();
  const follower = await startFollower({ folder: path });
  await fill(follower);
  await follower.close();
  expect(confirmed(await copyOf(path))).toEqual([]);
});

test("a database that was sealed later, or with another key, confirms none either, and its history continues", async () => {
  const path = await folder();
  const clear = await startFollower({ folder: path, env: NO_KEY });
  await fill(clear);
  await clear.close();
  const sealed = await startFollower({ folder: path });
  expect(confirmed(await copyOf(path))).toEqual([]);
  await sealed.save("aria2_secret", "aria2-of-before");
  // It has the value of two revisions ago again.
  const { revision } = sealed.settings.ledger.snapshot();
  expect(await sealed.settings.history.diff(revision - 2, revision)).toEqual([]);
  await sealed.close();
  const rotated = await startFollower({
    folder: path,
    env: { MOORING_SECRET_KEY: `${OTHER},${"0123456789abcdef".repeat(4)}` },
  });
  expect(confirmed(await copyOf(path))).toEqual([]);
  const hashes = textsOf(join(path, "mooring.db")).filter((text) => text.startsWith("hmac"));
  expect(hashes.length).toBeGreaterThan(3);
  expect(new Set(hashes.map((hash) => hash.slice(0, "hmac2:0123456789ab:".length))).size).toBe(1);
  await rotated.close();
});
