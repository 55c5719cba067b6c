import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** An address that leads to one of several servers, like a virtual IP. */
export interface Switch {
  readonly port: number;
  /** Number of pieces of data that clients have sent: at least one for each query. */
  sent(): number;
  /** Switches to another port; connections to the previous one are cut. */
  to(port: number): void;
  /** From now on no data is returned on connections that have sent this text; they stay open. */
  silence(text: string): void;
}

/** Opens one; closed with the test. */
export async function openSwitch(first: number): Promise<Switch> {
  let target = first;
  let pieces = 0;
  const sockets = new Set<Socket>();
  const silenced: string[] = [];
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    let sent = "";
    client.on("data", (chunk: Buffer) => {
      pieces += 1;
      sent += chunk.toString("latin1");
    });
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => {
      if (!silenced.some((text) => sent.includes(text))) client.write(chunk);
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    server.close();
    cut();
  });
  return {
    port: (server.address() as AddressInfo).port,
    sent: () => pieces,
    to: (port) => {
      target = port;
      cut();
    },
    silence: (text) => void silenced.push(text),
  };
}
