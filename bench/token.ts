import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import SQLite from "better-sqlite3";
import { AccessService, CreateTokenRequestSchema } from "../gen/mooring/v1/access_service_pb.js";
import { callMethod } from "./grpc-call.ts";
import type { Lab } from "./lab.ts";
import { type Mooring, type MooringOptions, startMooring } from "./mooring.ts";

/** Makes a token. @returns its text. */
export async function makeToken(
  mooring: Mooring,
  scopes: readonly string[],
  limits: readonly string[] = [],
): Promise<string> {
  const request = { principal: "bench", scopes: [...scopes], limits: [...limits] };
  const reply = await callMethod(
    AccessService.method.createToken,
    create(CreateTokenRequestSchema, request),
    mooring,
  );
  return reply.secret;
}

/** Starts a server on a database that has so many tokens, and gives one of them. */
export async function startWithTokens(
  lab: Lab,
  count: number,
  options: MooringOptions = {},
): Promise<{ readonly mooring: Mooring; readonly token: string }> {
  const folder = lab.stage.folder();
  const first = await startMooring(lab, { folder });
  const token = await makeToken(first, ["settings:read"]);
  await first.server.stop();
  copyTokens(join(folder, "mooring.db"), count - 1);
  const again = { ...options, folder, token: first.token };
  return { mooring: await startMooring(lab, again), token };
}

/** What a copy has of its own; all else is as in the token that it is made of. */
const OWN: Readonly<Record<string, string>> = {
  id: "printf('%012d', i)",
  hash: "substr(hex(randomblob(32)), 1, 43)",
  comment: "'copy ' || i",
};

/** Copies of the one token that a database has, of the same principal, with ids and secrets of their own. */
function copyTokens(file: string, count: number): void {
  const db = new SQLite(file);
  try {
    const columns = db.prepare("select name from pragma_table_info('access_token')").pluck().all();
    const names = columns.map(String);
    db.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
      insert into access_token (${names.join(", ")})
      select ${names.map((name) => OWN[name] ?? name).join(", ")}
      from n, (select * from access_token limit 1)`,
    ).run(count);
  } finally {
    db.close();
  }
}
