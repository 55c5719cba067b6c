import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { chmod, lstat, unlink } from "node:fs/promises";
import net, { connect, type Server } from "node:net";
import { errorText } from "../error-text.ts";

/**
 * Listening address. Either form can be passed to `net.Server.listen`. An empty host means all
 * interfaces, IPv6 and IPv4, as in `listen`; an IPv6 host has no brackets; with port 0 the system
 * chooses.
 */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

/** Source of the address, and permissions of a Unix socket. */
export interface ListenOptions {
  /** For error messages. */
  readonly variable: string;
  /** Permission bits of a Unix socket. Default 0o600: this process's user alone. */
  readonly socketMode?: number;
}

/**
 * Listens at an address. A Unix socket that a killed process has left is replaced.
 *
 * @returns the address with the real port.
 * @throws Error naming the address, the variable and what to do.
 */
export async function listen(
  server: Server,
  at: Address,
  { variable, socketMode = 0o600 }: ListenOptions,
): Promise<Address> {
  try {
    await bind(server, at, socketMode).catch(async (error: unknown) => {
      if (!("path" in at) || !(await isAbandoned(at.path))) throw error;
      await unlink(at.path);
      await bind(server, at, socketMode);
    });
    if ("path" in at) await chmod(at.path, socketMode);
  } catch (error) {
    throw new Error(`cannot listen at ${formatAddress(at)} (${variable}): ${reasonOf(error)}`, {
      cause: error,
    });
  }
  const bound = server.address();
  return typeof bound === "object" && bound !== null && "host" in at
    ? { host: at.host, port: bound.port }
    : at;
}

async function bind(server: Server, at: Address, socketMode: number): Promise<void> {
  if ("path" in at) withMode(socketMode, () => server.listen(at));
  else server.listen({ ...at, ...(at.host === "" ? { host: "::" } : {}) });
  await once(server, "listening");
}

/** Creates a file with these permissions from the beginning. */
function withMode(mode: number, make: () => void): void {
  const before = process.umask(umaskFor(mode));
  try {
    make();
  } finally {
    process.umask(before);
  }
}

/** Umask that gives a socket this mode. */
export function umaskFor(mode: number): number {
  return 0o777 & ~mode;
}

/** Reports whether a path is a socket left by a killed process. */
async function isAbandoned(path: string): Promise<boolean> {
  const isSocket = await lstat(path).then(
    (found) => found.isSocket(),
    () => false,
  );
  if (!isSocket) return false;
  const socket = connect({ path });
  try {
    await once(socket, "connect");
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
  } finally {
    socket.destroy();
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : "";
  if (code === "EADDRINUSE")
    return "another program listens at this address; stop it, or choose another port";
  if (code === "EACCES") return "permission denied; ports below 1024 need a privilege";
  if (code === "EADDRNOTAVAIL") return "this machine has no such address";
  return errorText(error);
}

/** Text form of an address, as the configuration reads it. */
export function formatAddress(value: Address): string {
  if ("path" in value) {
    return `unix:${value.path}`;
  }
  // Only IPv6 addresses have a colon. `isIPv6` compiles a long expression at its first call, 10 ms.
  const host = value.host.includes(":") ? `[${value.host}]` : value.host;
  return `${host}:${value.port}`;
}

/**
 * Lets the system choose the port of an address with port 0, and reserves it while this process
 * lives: workers and their replacements listen there, also after all have ended. Other addresses
 * are returned unchanged, and so is an unavailable one: listening reports the reason.
 */
export async function holdPort(at: Address): Promise<Address> {
  // Other systems do not permit two sockets on one port, even if only one of them listens.
  if ("path" in at || at.port !== 0 || process.platform !== "linux") return at;
  try {
    const { address: host } = await lookup(at.host || "::");
    // Since Node 26.4.
    const held = new net.BoundSocket({ host, port: 0 });
    return { host: at.host, port: held.address().port };
  } catch {
    return at;
  }
}
