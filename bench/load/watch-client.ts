// Program that opens many watch streams over several connections. It prints "ready" when each has
// received its first message. On the line "stop" it opens connections that never read. It saves any
// other line as a public setting and prints the delays until its arrival as JSON.
import { createInterface } from "node:readline";
import { create } from "@bufbuild/protobuf";
import {
  SaveSettingsRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { callMethod, framed } from "../call.ts";
import { quantile } from "../statistics.ts";
import { grpcHead, type Http2Socket, openHttp2Socket } from "./http2-socket.ts";

/** Configuration of the watch streams. */
export interface WatchJob {
  readonly port: number;
  readonly token: string;
  /** `/package.Service/Method` of the stream. */
  readonly path: string;
  /** The request's message, base64. */
  readonly body: string;
  readonly streams: number;
  readonly connections: number;
  /** Further connections with one stream each that never read. */
  readonly stopped: number;
}

/** Delays of one change, in milliseconds after it was sent. */
export interface Arrival {
  /** Until the save was acknowledged. */
  readonly acknowledged: number;
  /** Until half of the streams had received it. */
  readonly median: number;
  /** Until the last stream had received it. */
  readonly last: number;
}

/** Length of the unique prefix of a value, in bytes. */
const MARKER_LENGTH = 24;

const job = JSON.parse(process.argv[2] ?? "") as WatchJob;
const request = framed(Buffer.from(job.body, "base64"));
const perConnection = Math.ceil(job.streams / job.connections);
/** Streams that have not received the expected message. */
const waiting = new Set<string>();
let notify: () => void = () => {};
let times: number[] = [];
let sent = 0;
/** Content of the expected message, which bookmarks do not have. */
let marker = "";

const all = Array.from({ length: job.streams }, (_, index) => index);
for (let connection = 0; connection < job.connections; connection++) await open(connection);
await everyStream();
process.stdout.write("ready\n");

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "stop") {
    for (let at = 0; at < job.stopped; at++) (await connect("stopped", false)).send(request);
    process.stdout.write("stopped\n");
    continue;
  }
  times = [];
  marker = line.slice(0, MARKER_LENGTH);
  for (const name of all) waiting.add(streamName(name));
  const last = everyStream();
  sent = performance.now();
  await save(line);
  const acknowledged = performance.now() - sent;
  await last;
  process.stdout.write(
    `${JSON.stringify({ acknowledged, median: quantile(times, 0.5), last: Math.max(...times) })}\n`,
  );
}
process.exit(0);

/** Opens a connection with its share of the streams. */
async function open(connection: number): Promise<void> {
  const socket = await connect(String(connection), true);
  for (let at = 0; at < perConnection; at++) {
    const index = connection * perConnection + at;
    if (index >= job.streams) break;
    waiting.add(streamName(index));
    socket.send(request);
  }
}

async function connect(connection: string, reading: boolean): Promise<Http2Socket> {
  const fail = (reason: string) => {
    if (!reading) return;
    process.stderr.write(`watch stream of connection ${connection}: ${reason}\n`);
    process.exit(1);
  };
  const socket = await openHttp2Socket(job.port, grpcHead(job.port, job.path), {
    data: (stream, body) => arrived(`${connection}/${stream}`, body),
    end: () => fail("the server ended it"),
    close: fail,
  });
  if (!reading) socket.pause();
  return socket;
}

function streamName(index: number): string {
  return `${Math.floor(index / perConnection)}/${(index % perConnection) * 2 + 1}`;
}

/** A long message counts as received at its first frame, which contains the marker. */
function arrived(name: string, body: Buffer): void {
  if (!body.includes(marker) || !waiting.delete(name)) return;
  times.push(performance.now() - sent);
  if (waiting.size === 0) notify();
}

function everyStream(): Promise<void> {
  return new Promise((resolve) => {
    notify = resolve;
    if (waiting.size === 0) resolve();
  });
}

async function save(value: string): Promise<void> {
  const settings = [{ key: "announcement", value }];
  const message = create(SaveSettingsRequestSchema, { settings });
  await callMethod(SettingService.method.saveSettings, message, job);
}
