import type { IncomingMessage } from "node:http";

/** Whether a request says twice where it goes: two opinions of that (RFC 9112, section 3.2). */
export function hasTwoHosts({ rawHeaders, httpVersionMajor }: IncomingMessage): boolean {
  if (httpVersionMajor !== 1) return false;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === "host") hosts += 1;
  return hosts > 1;
}
