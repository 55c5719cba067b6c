import { lookup } from "node:dns/promises";
import net from "node:net";
import type { Address } from "./listen.ts";

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
