// Bodies that never end, or take much more time than their size suggests.
import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { BackupService } from "../../../gen/mooring/v1/backup_service_pb.js";
import {
  SaveSettingsRequestSchema,
  SettingService,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { createRandom } from "../../../test/random.ts";
import { pathOf } from "../../call.ts";
import { answered, openSession } from "../request/send.ts";
import { type Attack, add, pause, type Tally, type Target, writeAll } from "../target.ts";

const IMPORT = pathOf(BackupService.method.importArchive);
const SAVE = pathOf(SettingService.method.saveSettings);

/** Number of streams, spread over connections with a limit of streams each. */
const STREAMS = 1_000;
const PER_CONNECTION = 250;
/** Maximum size of a body and of one piece, in bytes. */
const BODY = 1_000_000;
const PIECE = Buffer.alloc(16_384, " ");

/** Headers of requests with a body, by transport. */
const TRANSPORTS: readonly OutgoingHttpHeaders[] = [
  { ":path": SAVE, "content-type": "application/grpc", te: "trailers" },
  { ":path": SAVE, "content-type": "application/json" },
  { ":path": SAVE, "content-type": "application/proto" },
  { ":path": "/api/admin/setting/save", "content-type": "application/json" },
];

/** Streams with bodies that grow up to their limit and never end. */
export const unfinishedBodies: Attack = async (target, signal) => {
  const tally: Tally = { streams: 0, refused: 0, "MB sent": 0 };
  const sending: Promise<void>[] = [];
  for (let at = 0; at < STREAMS; at += PER_CONNECTION) {
    const session = openSession(target.port);
    for (let count = 0; count < PER_CONNECTION && !session.destroyed; count += 1) {
      const headers = TRANSPORTS[count % TRANSPORTS.length];
      const stream = session.request({ ":method": "POST", ...authorization(target), ...headers });
      stream.on("error", () => undefined).resume();
      stream.once("close", () => add(tally, "refused"));
      add(tally, "streams");
      sending.push(fill(stream, tally, signal));
    }
  }
  await Promise.all(sending);
  await pause(60_000, signal);
  return tally;
};

function authorization({ token }: Target): OutgoingHttpHeaders {
  return token === "" ? {} : { authorization: token };
}

async function fill(stream: ClientHttp2Stream, tally: Tally, signal: AbortSignal): Promise<void> {
  for (let sent = 0; sent < BODY; sent += PIECE.length) {
    if (!(await writeAll(stream, PIECE, signal))) return;
    add(tally, "MB sent", PIECE.length / 1e6);
  }
}

/** Repeats a request, four at a time. */
function repeated(headers: OutgoingHttpHeaders, makeBody: (target: Target) => Buffer): Attack {
  return async (target, signal) => {
    const tally: Tally = { requests: 0, refused: 0 };
    const body = makeBody(target);
    const session = openSession(target.port);
    const wire = { headers: { ":method": "POST", ...authorization(target), ...headers }, body };
    const asking = async (): Promise<void> => {
      while (!signal.aborted && !session.destroyed) await answered(session, wire, tally, signal);
    };
    await Promise.all([asking(), asking(), asking(), asking()]);
    return tally;
  };
}

/** 1,390,000 empty lists in four kilobytes. */
export const gzipBomb = repeated(
  { ":path": IMPORT, "content-type": "application/json", "content-encoding": "gzip" },
  () => gzipSync(`{"document":{"a":[${"[],".repeat(1_390_000)}[]]}}`, { level: 9 }),
);

/** Four megabytes of small values, which take more memory than their bytes. */
export const wideJson = repeated(
  { ":path": IMPORT, "content-type": "application/json" },
  ({ seed }) => {
    const random = createRandom(seed);
    const members = Array.from({ length: 250_000 }, (_, index) => {
      const key = `${index.toString(36)}${random.below(1e6).toString(36)}`;
      return `"${key}":[0]`;
    });
    return Buffer.from(`{"document":{${members.join(",")}}}`);
  },
);

export const wideProto = repeated({ ":path": SAVE, "content-type": "application/proto" }, () => {
  const settings = Array.from({ length: 400_000 }, (_, index) => ({ key: index.toString(36) }));
  return Buffer.from(
    toBinary(SaveSettingsRequestSchema, create(SaveSettingsRequestSchema, { settings })),
  );
});
