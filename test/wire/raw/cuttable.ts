import {
  create,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { TOKEN } from "../service.ts";

const { saveSettings, watchSettings, resetToken } = SettingService.method;

/** A request that could be executed before it has ended. */
export interface Cuttable {
  readonly name: string;
  /** Name of the transport in the log. */
  readonly transport: "rest" | "connect" | "grpc-web" | "grpc";
  readonly http: readonly ("1.1" | "2")[];
  readonly rpc: DescMethod;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Its bytes. `first` has all that a request needs, or ends at a field boundary: a server that
   * accepts it as complete executes another request.
   */
  readonly body: { readonly first: Buffer; readonly rest: Buffer };
  /** Effect of the complete request. */
  readonly does: "save" | "preview" | "reset" | "stream";
}

/** The title that the requests save. */
export const TITLE = "cut in half";

const settings = [{ key: "site_title", value: TITLE }];
const nothing = Buffer.alloc(0);
const space = Buffer.from(" \n");
const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
const proto = <D extends DescMessage>(desc: D, value: MessageInitShape<NoInfer<D>>): Buffer =>
  Buffer.from(toBinary(desc, create(desc, value)));

const savedInJson = { first: json({ settings }), rest: space };
const saved = {
  first: proto(saveSettings.input, { settings }),
  rest: proto(saveSettings.input, { reason: "a test" }),
};
const previewed = {
  first: saved.first,
  rest: proto(saveSettings.input, { dryRun: true, reason: "a test" }),
};
const everything = { first: nothing, rest: proto(watchSettings.input, { keys: ["site_title"] }) };
const noMembers = { first: json({}), rest: space };
/** A field that no reset request has. */
const unknown = { first: nothing, rest: saved.rest };

/** Bytes in an envelope: flags and length (gRPC, gRPC-Web and streams of Connect alike). */
export function enveloped(bytes: Buffer, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

function framed({ first, rest }: Cuttable["body"]): Cuttable["body"] {
  const all = enveloped(Buffer.concat([first, rest]));
  return { first: all.subarray(0, 5 + first.length), rest: all.subarray(5 + first.length) };
}

const BOTH = ["1.1", "2"] as const;

function rest(
  rpc: DescMethod,
  does: Cuttable["does"],
  [method, path]: readonly [string, string],
  body: Cuttable["body"],
): Cuttable {
  const headers = { authorization: TOKEN, "content-type": "application/json" };
  const name = `REST ${rpc.name}`;
  return { name, transport: "rest", http: BOTH, rpc, does, method, path, headers, body };
}

function call(
  transport: Exclude<Cuttable["transport"], "rest">,
  type: string,
  rpc: DescMethod,
  does: Cuttable["does"],
  body: Cuttable["body"],
): Cuttable {
  return {
    name: `${rpc.name} (${does}) as ${type}`,
    transport,
    http: transport === "grpc" ? ["2"] : BOTH,
    rpc,
    does,
    method: "POST",
    path: `/${rpc.parent.typeName}/${rpc.name}`,
    headers: {
      authorization: TOKEN,
      "content-type": `application/${type}`,
      ...(transport === "grpc" ? { te: "trailers" } : {}),
    },
    body: transport === "connect" && does !== "stream" ? body : framed(body),
  };
}

/** Requests that change something or open a stream, over every transport and in every codec. */
export const cuttables: readonly Cuttable[] = [
  rest(saveSettings, "save", ["POST", "/api/admin/setting/save"], {
    first: json(settings),
    rest: space,
  }),
  rest(resetToken, "reset", ["POST", "/api/admin/setting/reset_token"], noMembers),
  rest(watchSettings, "stream", ["GET", "/api/admin/setting/watch"], noMembers),
  call("connect", "json", saveSettings, "save", savedInJson),
  call("connect", "proto", saveSettings, "save", saved),
  call("connect", "proto", saveSettings, "preview", previewed),
  call("connect", "json", resetToken, "reset", noMembers),
  call("connect", "proto", resetToken, "reset", unknown),
  call("connect", "connect+json", watchSettings, "stream", noMembers),
  call("connect", "connect+proto", watchSettings, "stream", everything),
  call("grpc-web", "grpc-web+json", saveSettings, "save", savedInJson),
  call("grpc-web", "grpc-web+proto", saveSettings, "save", saved),
  call("grpc-web", "grpc-web+proto", saveSettings, "preview", previewed),
  call("grpc-web", "grpc-web+proto", resetToken, "reset", unknown),
  call("grpc-web", "grpc-web+json", watchSettings, "stream", noMembers),
  call("grpc-web", "grpc-web+proto", watchSettings, "stream", everything),
  call("grpc", "grpc", saveSettings, "save", saved),
  call("grpc", "grpc+proto", saveSettings, "preview", previewed),
  call("grpc", "grpc", resetToken, "reset", unknown),
  call("grpc", "grpc", watchSettings, "stream", everything),
];

/** Fields in addition to those of a request; undefined: without that one. */
type Fields = Readonly<Record<string, string | undefined>>;

/** The head of a request over HTTP/1.1, with the field that frames its body. */
export function headOf(one: Cuttable, framing: string, more: Fields = {}): string {
  const fields = Object.entries(merged(one, more)).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${one.method} ${one.path} HTTP/1.1\r\nhost: a\r\n${fields.join("")}${framing}\r\n\r\n`;
}

/** The fields of a request over HTTP/2. */
export function fieldsOf(one: Cuttable, more: Fields = {}): Record<string, string> {
  const pseudo = { ":method": one.method, ":scheme": "http", ":authority": "a", ":path": one.path };
  return { ...pseudo, ...merged(one, more) };
}

function merged({ headers }: Cuttable, more: Fields): Record<string, string> {
  const all = Object.entries({ ...headers, ...more });
  return Object.fromEntries(
    all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
