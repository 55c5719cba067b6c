// A program: posts a large body that nobody wants, forty times, and prints each reply's status or how it
// failed. Arguments: port, path, headers as JSON, names and values in turn.
import { request } from "node:http";

const [port = "0", path = "/", headers = "[]"] = process.argv.slice(2);
const body = Buffer.alloc(5_000_000, " ");
const replies: unknown[] = [];

function send(): Promise<unknown> {
  return new Promise((resolve) => {
    const outgoing = request({
      ...{ host: "127.0.0.1", port, path, method: "POST", agent: false },
      headers: [...JSON.parse(headers), "Content-Length", String(body.length)],
    });
    outgoing.on("error", (error) => resolve(String(error)));
    outgoing.on("response", (reply) => {
      reply.on("error", (error) => resolve(String(error)));
      reply.on("end", () => resolve(reply.statusCode)).resume();
    });
    outgoing.end(body);
  });
}

for (let turn = 0; turn < 40; turn += 1) replies.push(await send());
process.stdout.write(JSON.stringify(replies));
