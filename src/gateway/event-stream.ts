import type { ServerResponse } from "node:http";
import type { Message } from "@bufbuild/protobuf";
import { readState, type TagPrefix } from "./entity-tag.ts";
import { jsonText } from "./envelope.ts";
import { replyJson } from "./reply-body.ts";
import type { ReplyRule } from "./reply-rule.ts";
import { isGone } from "./rest-call.ts";

/** Open event streams, and what keeps them alive. */
export interface EventStreams {
  /**
   * Sends messages as text/event-stream until the iteration or the connection ends. The headers go
   * out with the first message, or after a while without one (`patience`).
   *
   * @throws what the iteration throws. Nothing was sent if `response.headersSent` is still false.
   */
  send(events: EventSource, response: ServerResponse): Promise<void>;
}

/** The messages of one stream. */
export interface EventSource {
  readonly headers: readonly string[];
  readonly messages: AsyncIterable<Message>;
  readonly encode: (message: Message) => Buffer;
}

/** Times of event streams, in milliseconds. */
export interface EventStreamOptions {
  /** Between two comments that keep proxies from closing an idle stream. Default 15,000. */
  readonly heartbeat?: number;
  /**
   * How long a stream waits for its first message, and so may still fail with an ordinary envelope,
   * before the client hears that it is open. Default 1,000.
   */
  readonly patience?: number;
}

/** The events of a binding's messages; the same message is encoded once for all its readers. */
export function createEventEncoder(
  rule: ReplyRule,
  prefix: TagPrefix,
): (message: Message) => Buffer {
  const kept = new WeakMap<Message, Buffer>();
  return (message) => {
    const known = kept.get(message);
    if (known) return known;
    const state = readState(rule, message, prefix);
    const id = state === undefined ? "" : `id: ${state}\n`;
    const frame = Buffer.from(`${id}data: ${jsonText(replyJson(rule, message))}\n\n`);
    kept.set(message, frame);
    return frame;
  };
}

/** The event that tells a client why its stream ends; `json` is the failure's envelope. */
export function errorEvent(json: string): Buffer {
  return Buffer.from(`event: error\ndata: ${json}\n\n`);
}

const COMMENT = ":\n\n";

interface Stream {
  readonly response: ServerResponse;
  /** Something was written since the last beat. */
  active: boolean;
}

/** Makes the keeper of event streams; one timer serves all of them. */
export function createEventStreams(options: EventStreamOptions = {}): EventStreams {
  const { heartbeat = 15_000, patience = 1_000 } = options;
  const beating = createHeartbeat(heartbeat);
  return {
    send: async (events, response) => {
      const stream: Stream = { response, active: true };
      const open = (): void => {
        if (response.headersSent || isGone(response)) return;
        // The server's idle time-out is for requests; the heartbeat watches over streams.
        response.setTimeout(0);
        response.writeHead(200, [...events.headers]).flushHeaders();
        beating.add(stream);
      };
      const timer = setTimeout(open, patience);
      try {
        await pump(stream, events, open);
        open();
        response.end();
      } finally {
        clearTimeout(timer);
        beating.delete(stream);
      }
    },
  };
}

async function pump(stream: Stream, events: EventSource, open: () => void): Promise<void> {
  const { response } = stream;
  for await (const message of events.messages) {
    open();
    if (isGone(response)) return;
    stream.active = true;
    if (!response.write(events.encode(message))) await drained(response);
  }
}

/** Until the client has read what is buffered, or has gone away. */
function drained(response: ServerResponse): Promise<void> {
  if (isGone(response)) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => {
    response.off("drain", done).off("close", done);
    resolve();
  };
  response.on("drain", done).on("close", done);
  return promise;
}

interface Heartbeat {
  add(stream: Stream): void;
  delete(stream: Stream): void;
}

function createHeartbeat(interval: number): Heartbeat {
  const streams = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;
  const start = (): NodeJS.Timeout => setInterval(() => streams.forEach(beat), interval).unref();
  return {
    add: (stream) => {
      streams.add(stream);
      timer ??= start();
    },
    delete: (stream) => {
      streams.delete(stream);
      if (streams.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}

function beat(stream: Stream): void {
  const { response } = stream;
  if (stream.active) stream.active = false;
  // Nothing could be written since the last beat: this client doesn't read, and holds memory.
  else if (response.writableNeedDrain) response.destroy();
  else response.write(COMMENT);
}
