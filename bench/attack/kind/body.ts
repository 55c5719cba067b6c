// Bodies that never end, or take much more time than their size suggests.
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { SaveSettingsRequestSchema } from "../../../gen/mooring/v1/setting_service_pb.js";
import { createRandom } from "../../../test/random.ts";
import { type Attack, add, pause, type Tally, type Target, writeAll } from "../target.ts";

const IMPORT = "/mooring.v1.BackupService/ImportArchive";
const SAVE = "/mooring.v1.SettingService/SaveSettings";

/** Number of streams, spread over connections with a limit of streams each. */
const STREAMS = 1_000;
const PER_CONNECTION = 250;
/** Maximum size of a body and of one piece, in bytes. */
const BODY = 1_000_000;
const PIECE = 16_384;

function open(target: Target): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${target.port}`);
  session.on("error", () => undefined);
  return session;
}

function start(
  session: ClientHttp2Session,
  { token }: Target,
  headers: Readonly<Record<string, string>>,
): ClientHttp2Stream | undefined {
  if (session.closed || session.destroyed) return undefined;
  const authorization = token === undefined ? {} : { authorization: token };
  const stream = session.request({ ":method": "POST", ...authorization, ...headers });
  stream.on("error", () => undefined).resume();
  return stream;
}

/** Headers of requests with a body, by transport. */
const TRANSPORTS: readonly Readonly<Record<string, string>>[] = [
  { ":path": SAVE, "content-type": "application/grpc", te: "trailers" },
  { ":path": SAVE, "content-type": "application/json" },
  { ":path": SAVE, "content-type": "application/proto" },
  { ":path": "/api/admin/setting/save", "content-type": "application/json" },
];

/** Streams with bodies that grow up to their limit and never end. */
export const unfinishedBodies: Attack = async (target, signal) => {
  const tally: Tally = { streams: 0, refused: 0, "MB sent": 0 };
  const piece = Buffer.alloc(PIECE, " ");
  const sending: Promise<void>[] = [];
  for (let at = 0; at < STREAMS; at += PER_CONNECTION) {
    const session = open(target);
    for (let count = 0; count < PER_CONNECTION; count += 1) {
      const stream = start(session, target, TRANSPORTS[count % TRANSPORTS.length] ?? {});
      if (stream === undefined) break;
      add(tally, "streams");
      stream.once("close", () => add(tally, "refused"));
      sending.push(fill(stream, piece, tally, signal));
    }
  }
  await Promise.all(sending);
  await pause(60_000, signal);
  return tally;
};

async function fill(
  stream: ClientHttp2Stream,
  piece: Buffer,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  for (let sent = 0; sent < BODY; sent += piece.length) {
    if (!(await writeAll(stream, piece, signal))) return;
    add(tally, "MB sent", piece.length / 1e6);
  }
}

/**
 * 300 bodies of a megabyte of spaces, aborted before their end, which a server must not mistake for
 * a complete body.
 */
export const spaces: Attack = async (target, signal) => {
  const tally: Tally = { streams: 0, "MB sent": 0 };
  const piece = Buffer.alloc(PIECE, " ");
  for (let round = 0; round < 3 && !signal.aborted; round += 1) {
    const session = open(target);
    const filling: Promise<void>[] = [];
    for (let count = 0; count < 100; count += 1) {
      const stream = start(session, target, {
        ":path": "/api/admin/setting/save",
        "content-type": "application/json",
      });
      if (stream === undefined) break;
      add(tally, "streams");
      filling.push(fill(stream, piece, tally, signal));
    }
    await Promise.race([Promise.all(filling), pause(1_500, signal)]);
    session.destroy();
  }
  return tally;
};

/** Repeats a request, a fixed number at a time. */
function repeated(headers: Readonly<Record<string, string>>, makeBody: (target: Target) => Buffer) {
  return (async (target, signal) => {
    const tally: Tally = { requests: 0, refused: 0 };
    const body = makeBody(target);
    const session = open(target);
    const asking = async (): Promise<void> => {
      while (!signal.aborted) {
        const stream = start(session, target, headers);
        if (stream === undefined) return;
        add(tally, "requests");
        let status = 0;
        stream.once("response", (head) => {
          status = Number(head[":status"]);
        });
        stream.end(body);
        await once(stream, "close", { signal }).catch(() => undefined);
        if (status >= 400) add(tally, "refused");
      }
    };
    await Promise.all([asking(), asking(), asking(), asking()]);
    return tally;
  }) satisfies Attack;
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
