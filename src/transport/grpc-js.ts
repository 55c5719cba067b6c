import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { duplexPair } from "node:stream";
import type { ConnectionInjector } from "@grpc/grpc-js";

/** Server of grpc-js without a port. */
export interface LoadedGrpcJs {
  readonly injector: Pick<ConnectionInjector, "injectConnection">;
  /** Ends its connections with their streams. */
  close(): void;
}

/** Server of grpc-js for streams of clients. */
export interface GrpcJs {
  /** Serves a stream. */
  pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void;
  /** Ends its connections with their streams. */
  close(): void;
}

/**
 * Passes streams to grpc-js. Its public interface takes connections, not streams, and would answer
 * all other protocols of a connection with 415: so each client's connection that has a stream for
 * grpc-js gets one to it, within the process. A client that does not read delays its own streams only.
 *
 * @param load called by the first stream: most processes never need the library, which takes 2 MB.
 */
export function createGrpcJs(load: () => Promise<LoadedGrpcJs>): GrpcJs {
  let loading: Promise<LoadedGrpcJs> | undefined;
  let loaded: LoadedGrpcJs | undefined;
  let pass: PassStream | undefined;
  const open = async (): Promise<PassStream> => {
    loading ??= load();
    loaded = await loading;
    pass ??= passTo(loaded.injector);
    return pass;
  };
  return {
    pass: (stream, headers) => {
      if (pass !== undefined) return pass(stream, headers);
      open().then(
        (ready) => ready(stream, headers),
        () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
      );
    },
    close: () => loaded?.close(),
  };
}

type PassStream = GrpcJs["pass"];

function passTo(injector: LoadedGrpcJs["injector"]): PassStream {
  const sessions = new WeakMap<Http2Session, ClientHttp2Session>();
  const open = (client: Http2Session): ClientHttp2Session => {
    const [near, far] = duplexPair();
    injector.injectConnection(far);
    const session = connect("http://grpc-js", { createConnection: () => near });
    // No-op: it fails with its streams, which are closed then.
    session.on("error", ignore);
    client.once("close", () => session.destroy());
    sessions.set(client, session);
    return session;
  };
  return (stream, headers) => {
    const client = stream.session;
    if (client === undefined || stream.destroyed || stream.closed) return;
    const known = sessions.get(client);
    const isUsable = known !== undefined && !known.closed && !known.destroyed;
    const session = isUsable ? known : open(client);
    let passed: ClientHttp2Stream;
    try {
      passed = session.request(passedOn(headers));
    } catch {
      // A header that Node accepts from a client and does not send itself.
      stream.respond({ [constants.HTTP2_HEADER_STATUS]: 400 }, { endStream: true });
      return;
    }
    join(stream, passed);
  };
}

/** Headers of the client's connection or body, which the connection to grpc-js does not have. */
const NOT_PASSED = new Set([
  "connection",
  "content-length",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade",
]);

/** Path, content type and metadata of a call. */
function passedOn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const metadata = Object.entries(headers).filter(
    ([name]) => !name.startsWith(":") && !NOT_PASSED.has(name),
  );
  return {
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: headers[":path"],
    te: "trailers",
    ...Object.fromEntries(metadata),
  };
}

/** Connects a stream of a client with the one to grpc-js: bodies, headers, trailers and resets. */
function join(client: ServerHttp2Stream, server: ClientHttp2Stream): void {
  let trailers: IncomingHttpHeaders = {};
  server.on("response", (headers, flags) => {
    if (client.destroyed || client.closed) return;
    const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    client.respond(headers, isWhole ? { endStream: true } : { waitForTrailers: true });
    // Not before: a write without headers would send others.
    server.pipe(client);
  });
  server.on("trailers", (received) => {
    trailers = received;
  });
  client.on("wantTrailers", () => client.sendTrailers(trailers));
  client.pipe(server);
  // No-op: an error closes its stream, and so the other one.
  server.on("error", ignore);
  client.on("close", () => server.close(client.rstCode));
  server.on("close", () => {
    if (!client.headersSent || server.rstCode !== constants.NGHTTP2_NO_ERROR)
      client.close(server.rstCode);
  });
}

const ignore = (): void => undefined;
