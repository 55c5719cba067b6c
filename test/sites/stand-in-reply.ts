import type { IncomingMessage, ServerResponse } from "node:http";
import { receive } from "./stand-in-file.ts";

/** A body as the site decodes it: without the JSON type it is empty. */
export async function json(request: IncomingMessage): Promise<unknown> {
  const { body } = await receive(request);
  if (!/^application\/json/.test(request.headers["content-type"] ?? "")) return undefined;
  return JSON.parse(body.toString("utf8"));
}

/** Answers with the envelope of all replies of the API. */
export function envelope(
  response: ServerResponse,
  { code, message, data = null }: { code: number; message: string; data?: unknown },
): void {
  const body = JSON.stringify({ code, message, data });
  response
    .writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "content-length": String(Buffer.byteLength(body)),
    })
    .end(body);
}
