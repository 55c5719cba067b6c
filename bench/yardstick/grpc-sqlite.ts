// Yardstick: grpc-js with one method that writes a row and its history to SQLite, with one commit
// for concurrent calls. It neither checks nor decodes requests. Arguments: port, path, database.
import type { sendUnaryData } from "@grpc/grpc-js";
import SQLite from "better-sqlite3";
import { serveMethod } from "./grpc-js.ts";

const [port = "0", path = "", file = ""] = process.argv.slice(2);
const db = new SQLite(file);
db.pragma("journal_mode = WAL");
db.pragma("synchronous = FULL");
db.exec("create table item (key integer primary key, value blob not null)");
db.exec("create table history (revision integer primary key, key integer not null, value blob)");
const upsert = db.prepare(
  "insert into item (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
);
const remember = db.prepare("insert into history (revision, key, value) values (?, ?, ?)");

interface Waiting {
  readonly request: Buffer;
  readonly answer: sendUnaryData<Buffer>;
}

const KEYS = 64;
const reply = Buffer.of(0x08, 0x01);
let waiting: Waiting[] = [];
let revision = 0;
const write = db.transaction((calls: readonly Waiting[]) => {
  for (const { request } of calls) {
    upsert.run(revision % KEYS, request);
    remember.run(revision++, revision % KEYS, request);
  }
});

function commit(): void {
  const calls = waiting;
  waiting = [];
  write(calls);
  for (const { answer } of calls) answer(null, reply);
}

serveMethod(Number(port), path, ({ request }, answer) => {
  if (waiting.length === 0) setImmediate(commit);
  waiting.push({ request, answer });
});
