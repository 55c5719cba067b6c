import { isIP } from "node:net";
import { quote } from "./complaint.ts";
import type { Parser } from "./value.ts";

/** What stands for whoever connects to a Unix socket. */
const UNIX = "unix";

/** Proxies whose word about the client's address is taken: IP addresses, networks, or `unix`. */
export const proxyList: Parser<readonly string[]> = (text) => {
  const entries = text.split(",").map((entry) => entry.trim());
  const wrong = entries.find((entry) => entry !== UNIX && !isNetwork(entry));
  return wrong === undefined
    ? { value: entries }
    : {
        complaint: `names ${quote(wrong)}, which is no IP address, no network such as 10.0.0.0/8 and not ${UNIX}`,
      };
};

function isNetwork(text: string): boolean {
  const [, address = "", length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(length ?? 0) <= (family === 4 ? 32 : 128);
}
