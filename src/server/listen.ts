import { once } from "node:events";
import type { Server } from "node:net";
import { type Address, formatAddress } from "../config/address.ts";

/**
 * Listens at an address.
 *
 * @param variable where the address was configured, for the message.
 * @returns the address with the real port.
 * @throws Error naming the address, the variable and what to do.
 */
export async function listen(server: Server, at: Address, variable: string): Promise<Address> {
  try {
    server.listen("path" in at ? at : { ...at, ...(at.host === "" ? { host: "::" } : {}) });
    await once(server, "listening");
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

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : "";
  if (code === "EADDRINUSE")
    return "another program listens there; stop it, or choose another port";
  if (code === "EACCES") return "this process may not; ports below 1024 need a privilege";
  if (code === "EADDRNOTAVAIL") return "this machine has no such address";
  return error instanceof Error ? error.message : String(error);
}
