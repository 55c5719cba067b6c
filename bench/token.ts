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
  return { mooring: await startMooring(lab, { ...options, folder }), token };
}

/** Copies of the one token that a database has, of the same principal, with ids and secrets of their own. */
function copyTokens(file: string, count: number): void {
  const db = new SQLite(file);
  try {
    db.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
      insert into access_token
      select printf('%012d', i), principal_id, substr(hex(randomblob(32)), 1, 43), scopes, limits,
        'copy ' || i, created_at, created_by, expires_at, not_after, replaced_by, revoked_at,
        revoked_by, version
      from n, (select * from access_token limit 1)`,
    ).run(count);
  } finally {
    db.close();
  }
}
