import { handler } from "./handler.mjs";

const { url } = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: handler });
process.stdout.write(`${url.origin}\n`);
