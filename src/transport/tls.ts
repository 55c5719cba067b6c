import { constants } from "node:crypto";
import type { Socket } from "node:net";
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from "node:tls";

/** Credentials of the port, and certificate authorities for clients. */
export interface Credentials {
  /** Certificate chain in PEM. */
  readonly cert: string;
  /** Private key in PEM. */
  readonly key: string;
  /** Authorities of clients, in PEM; undefined: clients need no certificate. */
  readonly ca?: string | undefined;
}

/** Suites of TLS 1.2 that RFC 9325, section 4.2 recommends: forward secrecy and authenticated encryption. */
const SUITES_12 = ["ECDSA", "RSA"].flatMap((signature) =>
  ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].map(
    (cipher) => `ECDHE-${signature}-${cipher}`,
  ),
);
/** All suites of TLS 1.3 except CCM, which is for constrained devices. */
const SUITES_13 = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
];

function contextOf({ cert, key, ca }: Credentials): SecureContextOptions {
  return {
    cert,
    key,
    ...(ca === undefined ? {} : { ca }),
    minVersion: "TLSv1.2",
    ciphers: [...SUITES_13, ...SUITES_12].join(":"),
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_CIPHER_SERVER_PREFERENCE,
  };
}

/** A server of TLS connections. */
export interface TlsServer {
  readonly server: Server;
  /** Sets the credentials of new connections. */
  renew(credentials: Credentials): void;
  /** Closes connections with an unfinished handshake. */
  closeSilent(): void;
}

/**
 * Creates a server for TLS 1.2 and 1.3.
 *
 * @param options.handshakeMs time limit of a handshake, in milliseconds; then its connection is
 * closed.
 * @param onConnection called with each connection after its handshake.
 */
export function createTlsServer(
  credentials: Credentials,
  options: { readonly handshakeMs: number },
  onConnection: (socket: TLSSocket) => void,
): TlsServer {
  const asked = credentials.ca !== undefined;
  const handshakes = new Map<string, Socket>();
  const server = createServer({
    ...contextOf(credentials),
    ALPNProtocols: ["h2", "http/1.1"],
    requestCert: asked,
    rejectUnauthorized: asked,
    handshakeTimeout: options.handshakeMs,
    noDelay: true,
  });
  server.prependListener("connection", (socket: Socket) => {
    const name = nameOf(socket);
    handshakes.set(name, socket);
    socket.once("close", () => handshakes.delete(name));
  });
  // Not an error of the server. Node closes the socket of a failed handshake, but not of a late
  // one.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.on("secureConnection", (socket) => {
    handshakes.delete(nameOf(socket));
    onConnection(socket);
  });
  return {
    server,
    renew: (next) => server.setSecureContext(contextOf(next)),
    closeSilent: () => {
      for (const socket of handshakes.values()) socket.destroy();
    },
  };
}

/** The same key for a connection and its TLS socket. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
