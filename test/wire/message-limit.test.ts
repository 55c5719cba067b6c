import { gzipSync } from "node:zlib";
import {
  create,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ImportArchiveRequestSchema } from "../../gen/mooring/v1/backup_service_pb.js";
import {
  RollbackRequestSchema,
  SaveSettingsRequestSchema,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { enveloped } from "./raw/cuttable.ts";
import { type Answer, askHttp2, plainText, saying, textOf } from "./raw/refusal.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);

const RPC = "/mooring.v1.BackupService/ImportArchive";
const SAVE_RPC = "/mooring.v1.SettingService/SaveSettings";
const KEYS_RPC = "/mooring.v1.SettingService/Rollback";

/** A way to send a message: transport, codec and compression. */
interface Way {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly codec: "json" | "proto";
  readonly pack: (bytes: Buffer) => Buffer;
}

const plain = (bytes: Buffer): Buffer => bytes;
const folded = (bytes: Buffer): Buffer => enveloped(gzipSync(bytes), 1);

function way(type: string, pack: Way["pack"], more: Record<string, string> = {}, path = RPC): Way {
  const name = [path === RPC ? type : "REST", ...Object.values(more)].join(" ");
  const headers = { authorization: TOKEN, "content-type": `application/${type}`, ...more };
  return { name, path, headers, codec: type.endsWith("json") ? "json" : "proto", pack };
}

const ways: readonly Way[] = [
  way("json", plain, {}, "/api/admin/backup/import"),
  way("json", plain),
  way("json", gzipSync, { "content-encoding": "gzip" }),
  way("proto", plain),
  way("proto", gzipSync, { "content-encoding": "gzip" }),
  way("grpc-web+json", (bytes) => enveloped(bytes)),
  way("grpc-web+proto", (bytes) => enveloped(bytes)),
  way("grpc-web+proto", folded, { "grpc-encoding": "gzip" }),
  way("grpc", (bytes) => enveloped(bytes)),
  way("grpc", folded, { "grpc-encoding": "gzip" }),
];

const isCompressed = ({ headers }: Way): boolean =>
  "content-encoding" in headers || "grpc-encoding" in headers;

function send({ path, headers, pack }: Way, bytes: Buffer, more = {}): Promise<Answer> {
  const all = { ":method": "POST", ":path": path, ...headers, ...more };
  return askHttp2(service.port, all, pack(bytes));
}

function encode<D extends DescMessage>(
  codec: Way["codec"],
  desc: D,
  request: MessageShape<D>,
): Buffer {
  if (codec === "proto") return Buffer.from(toBinary(desc, request));
  return Buffer.from(JSON.stringify(toJson(desc, request)));
}

function nested(levels: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

const zeros = (count: number): JsonValue => new Array<number>(count).fill(0);

const DOCUMENTS = {
  // One value is the list.
  "too many values": () => ({ a: zeros(400_000) }),
  "many values": () => ({ a: zeros(399_000) }),
  "a long text": () => ({ a: "x".repeat(3 * 2 ** 20) }),
  "many levels": () => ({ a: nested(200) }),
  "some values and levels": () => ({ a: zeros(20_000), b: nested(12) }),
} satisfies Readonly<Record<string, () => JsonObject>>;

const encodings = new Map<string, Buffer>();

/** The request of an import, encoded once for all ways with the codec. */
function encoded(codec: Way["codec"], document: keyof typeof DOCUMENTS): Buffer {
  const name = `${codec} ${document}`;
  const request = () => create(ImportArchiveRequestSchema, { document: DOCUMENTS[document]() });
  const bytes = encodings.get(name) ?? encode(codec, ImportArchiveRequestSchema, request());
  encodings.set(name, bytes);
  return bytes;
}

describe.each(ways.map((one) => [one.name, one] as const))("a message as %s", (_name, one) => {
  const sends = (document: keyof typeof DOCUMENTS) => send(one, encoded(one.codec, document));

  test("with more than 400,000 values is refused with the number of rows", async () => {
    const answer = await sends("too many values");
    expect(textOf(answer)).toMatch(saying("invalid_argument"));
    expect(plainText(answer)).toMatch(
      /holds more than 400000 values: a document has at most 10,000 mounts and 20,000 settings/,
    );
  });

  if (isCompressed(one)) {
    test("whose compression is broken is INVALID_ARGUMENT", async () => {
      const pack = (bytes: Buffer): Buffer =>
        one.headers["grpc-encoding"] ? enveloped(bytes, 1) : bytes;
      const answer = await send({ ...one, pack }, Buffer.from("this is no gzip"));
      expect(textOf(answer)).toMatch(saying("invalid_argument"));
    });
    // The other limits are those of the message that it compresses.
    return;
  }

  // The codec counts them.
  if (one === ways.find(({ codec }) => codec === one.codec))
    test("with fewer values passes that limit", async () => {
      expect(plainText(await sends("many values"))).not.toMatch(/values/);
    });

  test("with more values than the limit of the rpc is refused before it is decoded", async () => {
    const path = one.path === RPC ? KEYS_RPC : "/api/admin/setting/rollback";
    const ask = async (count: number): Promise<string> => {
      const keys = Array.from({ length: count }, (_, at) => `key_${at}`);
      const request = create(RollbackRequestSchema, { to: 0n, only: keys, dryRun: true });
      const body = encode(one.codec, RollbackRequestSchema, request);
      const answer = await send({ ...one, path }, body);
      expect(textOf(answer)).toMatch(saying("invalid_argument"));
      return plainText(answer);
    };
    expect(await ask(2_501)).toMatch(/holds more than 2500 values/);
    // Fewer are decoded, and refused with their field.
    expect(await ask(2_400)).not.toMatch(/values/);
  });

  test("with a document may have texts of any length: the sealed secrets of a backup are one", async () => {
    const answer = await sends("a long text");
    expect(textOf(answer)).toMatch(saying("invalid_argument"));
    expect(plainText(answer)).not.toMatch(/a text of more than/);
  });

  test("without a document has no text of more than twice the longest value", async () => {
    const path = one.path === RPC ? SAVE_RPC : "/api/admin/setting/save";
    const ask = async (length: number): Promise<string> => {
      const settings = [{ key: "site_title", value: "x".repeat(length) }];
      const request = create(SaveSettingsRequestSchema, { settings });
      const body =
        one.path === RPC
          ? encode(one.codec, SaveSettingsRequestSchema, request)
          : Buffer.from(JSON.stringify(settings));
      const answer = await send({ ...one, path }, body);
      expect(textOf(answer)).toMatch(saying("invalid_argument"));
      return plainText(answer);
    };
    expect(await ask(2 ** 21 + 1)).toMatch(/has a text of more than 2097152 bytes/);
    expect(await ask(2 ** 21)).toMatch(/site_title/);
  });

  test("with deep nesting is refused as INVALID_ARGUMENT", async () => {
    const answer = await sends("many levels");
    expect(textOf(answer)).toMatch(saying("invalid_argument"));
    expect(plainText(answer)).toMatch(/is nested deeper than 64 levels/);
  });

  test("with many values and levels is decoded, and refused by the rules", async () => {
    const answer = await sends("some values and levels");
    expect(textOf(answer)).toMatch(saying("invalid_argument"));
    expect(plainText(answer)).not.toMatch(/values|levels/);
  });

  test("that is invalid is INVALID_ARGUMENT, after the token", async () => {
    for (const bytes of broken[one.codec]) {
      const answer = await send(one, bytes);
      expect(textOf(answer), bytes.toString("hex")).toMatch(saying("invalid_argument"));
      const stranger = await send(one, bytes, { authorization: "guessed" });
      expect(textOf(stranger)).toMatch(saying("unauthenticated"));
    }
  });

  if (one.codec === "proto")
    test("with a part that exceeds its parent is refused, at any length", async () => {
      // A setting of three bytes whose key has a declared length of ten.
      const beyond = Buffer.concat([bytes(10, 3, 10, 10), Buffer.from("site_title")]);
      const path = one.path
        .replace("BackupService/ImportArchive", "SettingService/SaveSettings")
        .replace("backup/import", "setting/save");
      const answer = await send({ ...one, path }, beyond);
      expect(textOf(answer)).toMatch(saying("invalid_argument"));
      expect(plainText(answer)).toMatch(/is not a valid message of this method/);
    });
});

const bytes = (...values: number[]): Buffer => Buffer.from(values);

/** Bytes that no decoder accepts. */
const broken = {
  json: [Buffer.from("{"), Buffer.from("[]"), Buffer.from('{"document":1}'), bytes(0xff, 0xfe)],
  proto: [
    bytes(0xff, 0xff, 0xff, 0x01),
    // A length beyond the end, a tag of number 0, a group that never ends, a varint of 11 bytes.
    bytes(0x0a, 0x7f, 0x01),
    bytes(0x00, 0x01),
    bytes(0x0b),
    bytes(0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
    // A string that is not UTF-8, within the document.
    bytes(0x0a, 0x05, 0x0a, 0x03, 0x0a, 0x01, 0xff),
    // A nested message that ends too early.
    bytes(0x0a, 0x02, 0x0a, 0x05),
  ],
} as const;
