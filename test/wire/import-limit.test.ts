// Imports of mounts have one limit in every codec: 10,000 rows.
import type { JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { startedForAll } from "../started.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);

/** Rows as servers list them, with every member. */
const rows = (count: number): JsonObject[] =>
  Array.from({ length: count }, (_, at) => ({
    id: at + 1,
    mount_path: `/m/${at}`,
    order: at,
    driver: "WebDav",
    cache_expiration: 30,
    status: "work",
    addition: JSON.stringify({ address: "https://dav.example", username: "u", password: "p" }),
    remark: "",
    modified: "2026-01-02T03:04:05.678Z",
    disabled: false,
    disable_index: false,
    enable_sign: false,
    order_by: "name",
    order_direction: "asc",
    extract_folder: "",
    web_proxy: true,
    webdav_policy: "native_proxy",
    proxy_range: false,
    down_proxy_url: "",
    disable_proxy_sign: false,
    custom_cache_policies: "",
  }));

type Send = (document: JsonObject) => Promise<number | string>;

const grpc: Send = async (document) => {
  const baseUrl = `http://127.0.0.1:${service.port}`;
  const client = createClient(BackupService, createGrpcTransport({ baseUrl }));
  const headers = { authorization: TOKEN };
  const reply = await client.importArchive({ document, dryRun: true }, { headers });
  return reply.results.filter(({ outcome }) => outcome === "created").length;
};

const rest: Send = async (document) => {
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/backup/import`, {
    method: "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    body: JSON.stringify({ document, dry_run: true }),
  });
  const { data, message } = (await reply.json()) as {
    data: { results?: { outcome: string }[] } | null;
    message: string;
  };
  return data?.results?.filter(({ outcome }) => outcome === "created").length ?? message;
};

// A codec each: messages are counted in JSON and in bytes.
test.each<[string, Send]>([
  ["REST", rest],
  ["gRPC", grpc],
])("10,000 mounts are imported over %s", async (_name, send) => {
  expect(await send({ storages: rows(10_000) })).toBe(10_000);
});

test("one more is refused in rows", async () => {
  expect(await rest({ storages: rows(10_001) })).toMatch(/has 10001 mounts; the limit is 10000/);
});
