import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { serveHttp } from "../downloaders/loopback.ts";

/** An aria2 that answers when the test allows it. */
export async function patientAria2() {
  const held: { readonly id: unknown; readonly response: ServerResponse }[] = [];
  const arrivals = new Set<() => void>();
  const server = await serveHttp(async (request, response) => {
    const { id } = JSON.parse(await text(request)) as { id: unknown };
    held.push({ id, response });
    for (const look of arrivals) look();
  });
  return {
    uri: `http://127.0.0.1:${server.port}/jsonrpc`,
    /** Resolves when this number of calls wait for their reply. */
    asked: (count: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (held.length >= count) resolve();
        };
        arrivals.add(look);
        look();
      }),
    answer: (): void => {
      for (const { id, response } of held)
        response.end(JSON.stringify({ id, jsonrpc: "2.0", result: { version: "1.99.0" } }));
    },
  };
}
