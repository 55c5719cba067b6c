// A program: sends a large body with a wrong token, forty times, and prints each reply's code or how it
// failed. Arguments: port, the header Connection.
import { http1Sender } from "../wire/door/http.ts";

const [port = "0", connection = "close"] = process.argv.slice(2);
const send = http1Sender(Number(port));
const headers = { authorization: "wrong", connection, "content-type": "application/json" };
const body = Buffer.alloc(5_000_000, " ");
const replies: unknown[] = [];
for (let turn = 0; turn < 40; turn += 1) {
  const reply = send("/api/admin/setting/save", { method: "POST", headers, body });
  replies.push(await reply.then(({ json }) => (json as { code: number }).code, String));
}
process.stdout.write(JSON.stringify(replies));
