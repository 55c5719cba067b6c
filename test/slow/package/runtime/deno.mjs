import { handler } from "./handler.mjs";

const onListen = ({ port }) => process.stdout.write(`http://127.0.0.1:${port}\n`);
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, (request) => handler(request));
