import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { serveHttp } from "../loopback.ts";

/** An aria2 that answers when the test allows it. */
export async function patientAria2() {
  const pending: { readonly id: unknown; readonly response: ServerResponse }[] = [];
  const arrivals = new Set<() => void>();
  const server = await serveHttp(async (request, response) => {
    const { id } = JSON.parse(await text(request)) as { id: unknown };
    pending.push({ id, response });
    for (const check of arrivals) check();
  });
  return {
    uri: `http://127.0.0.1:${server.port}/jsonrpc`,
    /** Resolves when this number of calls wait for their reply. */
    arrived: (count: number): Promise<void> =>
      new Promise((resolve) => {
        const check = (): void => {
          if (pending.length >= count) resolve();
        };
        arrivals.add(check);
        check();
      }),
    answer: (): void => {
      for (const { id, response } of pending)
        response.end(JSON.stringify({ id, jsonrpc: "2.0", result: { version: "1.99.0" } }));
    },
  };
}
