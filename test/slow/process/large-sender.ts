// A program: posts large bodies that are refused, each twenty times, and prints the statuses of the
// replies or the failures. Arguments: port, and as JSON a list of paths and headers, these as names
// and values in turn.
import { request } from "node:http";

const [port = "0", requests = "[]"] = process.argv.slice(2);
const body = Buffer.alloc(5_000_000, " ");

function send(path: string, headers: readonly string[]): Promise<unknown> {
  return new Promise((resolve) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method: "POST",
      agent: false,
      headers: [...headers, "Content-Length", String(body.length)],
    });
    outgoing.on("error", (error) => resolve(String(error)));
    outgoing.on("response", (reply) => {
      reply.on("error", (error) => resolve(String(error)));
      reply.on("end", () => resolve(reply.statusCode)).resume();
    });
    outgoing.end(body);
  });
}

const replies: unknown[][] = [];
for (const [path, headers] of JSON.parse(requests) as [string, string[]][]) {
  const ofOne: unknown[] = [];
  for (let turn = 0; turn < 20; turn += 1) ofOne.push(await send(path, headers));
  replies.push(ofOne);
}
process.stdout.write(JSON.stringify(replies));
