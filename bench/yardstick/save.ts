// Yardstick: a Fastify route that writes a row and its history to SQLite, with one commit for
// concurrent calls, as durable as Mooring. Arguments: port, path, database file.
import SQLite from "better-sqlite3";
import fastify from "fastify";

interface Setting {
  readonly key: string;
  readonly value: string;
}

const [port = "0", path = "", file = ""] = process.argv.slice(2);
const db = new SQLite(file);
db.pragma("journal_mode = WAL");
db.pragma("synchronous = FULL");
db.exec("create table item (key text primary key, value text not null)");
db.exec("create table history (revision integer primary key, key text not null, value text)");
const upsert = db.prepare(
  "insert into item (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
);
const remember = db.prepare("insert into history (key, value) values (?, ?)");
const write = db.transaction((settings: readonly Setting[]) => {
  for (const { key, value } of settings) {
    upsert.run(key, value);
    remember.run(key, value);
  }
});

/** Settings of the next commit, which ends the event-loop tick of the first one. */
let waiting: Setting[] = [];
let committed: Promise<void> | undefined;

function commit(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => {
      write(waiting);
      waiting = [];
      committed = undefined;
      resolve();
    });
  });
}

const app = fastify();
app.post<{ readonly Body: readonly Setting[] }>(path, async ({ body }) => {
  waiting.push(...body);
  committed ??= commit();
  await committed;
  return { code: 200, message: "success", data: null };
});
await app.listen({ port: Number(port), host: "127.0.0.1" });
