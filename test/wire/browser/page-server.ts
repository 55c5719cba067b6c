import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");

/** Locations of the packages that the page imports without a bundler. */
const packages: Readonly<Record<string, string>> = {
  "@bufbuild/protobuf": "@bufbuild/protobuf/dist/esm/index.js",
  "@bufbuild/protobuf/codegenv2": "@bufbuild/protobuf/dist/esm/codegenv2/index.js",
  "@bufbuild/protobuf/reflect": "@bufbuild/protobuf/dist/esm/reflect/index.js",
  "@bufbuild/protobuf/wire": "@bufbuild/protobuf/dist/esm/wire/index.js",
  "@bufbuild/protobuf/wkt": "@bufbuild/protobuf/dist/esm/wkt/index.js",
  "@connectrpc/connect": "@connectrpc/connect/dist/esm/index.js",
  "@connectrpc/connect/protocol": "@connectrpc/connect/dist/esm/protocol/index.js",
  "@connectrpc/connect/protocol-connect": "@connectrpc/connect/dist/esm/protocol-connect/index.js",
  "@connectrpc/connect/protocol-grpc-web":
    "@connectrpc/connect/dist/esm/protocol-grpc-web/index.js",
  "@connectrpc/connect-web": "@connectrpc/connect-web/dist/esm/index.js",
};

const imports = Object.fromEntries(
  Object.entries(packages).map(([name, path]) => [name, `/node_modules/${path}`]),
);

const PAGE = `<!doctype html>
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>A page of another origin</title>
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module" src="/test/wire/browser/page.js"></script>`;

/** Serves the page and the modules of this repository that it imports. */
export interface PageServer {
  readonly origin: string;
  readonly close: () => void;
}

export async function startPageServer(): Promise<PageServer> {
  const server = createServer(async ({ url = "/" }, response) => {
    if (url === "/") return void response.setHeader("content-type", "text/html").end(PAGE);
    const path = normalize(join(ROOT, url));
    const text = path.startsWith(ROOT) && path.endsWith(".js") ? await readText(path) : undefined;
    if (text === undefined) return void response.writeHead(404).end();
    response.setHeader("content-type", "text/javascript").end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function readText(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
