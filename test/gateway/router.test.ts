import { fastify } from "fastify";
import { expect, test } from "vitest";
import { restGateway } from "../../src/gateway/gateway.ts";
import { createBindings } from "../../src/gateway/rest/binding.ts";
import { matchesPath, splitPath } from "../../src/gateway/rest/path.ts";
import { createRouter } from "../../src/gateway/rest/router.ts";
import { defineRpcs, type Rpc } from "./contract.ts";
import { echo } from "./gateway-server.ts";

function bindingsOf(paths: readonly string[]) {
  const rpcs = paths.map((path, index) => ({ name: `Rpc${index}`, http: { get: path } }));
  return defineRpcs(rpcs)
    .map(echo)
    .flatMap((method) => createBindings(method));
}

/** All combinations of this number of segments. */
function combine(segments: readonly string[], length: number): string[] {
  if (length === 0) return [""];
  const shorter = combine(segments, length - 1);
  return shorter.flatMap((path) => segments.map((segment) => `${path}/${segment}`));
}

const LENGTHS = [1, 2, 3];

test("lookup returns exactly the matching templates, the most specific one first", () => {
  const templates = LENGTHS.flatMap((length) => combine(["a", "b", "*", "**"], length))
    .filter((path) => path.split("**").length <= 2)
    .flatMap((path) => [path, `${path}:go`]);
  const bindings = bindingsOf(templates);
  const { search } = createRouter(bindings);
  const rank = (path: string): string =>
    path.replaceAll("**", "3").replaceAll("*", "2").replace(/[ab]/g, "1");
  for (const path of LENGTHS.flatMap((length) =>
    combine(["a", "b", "x", "a:go", "x:no"], length),
  )) {
    const cut = path.endsWith(":go") ? path.slice(0, -3) : undefined;
    const matching = bindings.filter(({ template: { segments, verb } }) => {
      const parts = verb === "" ? path : cut;
      return parts !== undefined && matchesPath(segments, splitPath(parts));
    });
    const found = search(path, "GET")?.bindings?.[0];
    expect([path, matching.includes(found as never)]).toEqual([path, matching.length > 0]);
    const shapes = matching.map(({ template }) => rank(template.source.replace(":go", "")));
    if (found === undefined) continue;
    expect([path, rank(found.template.source.replace(":go", ""))]).toEqual([
      path,
      shapes.sort()[0],
    ]);
    const rival = `${found.template.source}:go`;
    expect(matching.some(({ template }) => template.source === rival)).toBe(false);
  }
});

test("many paths are indexed by their first segment, and each is found", async () => {
  const paths = Array.from({ length: 5 }, (_, index) => `/v1/kind${index}/{text}`);
  const app = fastify();
  const urls = new Set<string>();
  app.addHook("onRoute", ({ url }) => void urls.add(url));
  const rpcs = [...paths, "/v2", "/v3:all"].map(
    (get, index): Rpc => ({ name: `Rpc${index}`, http: { get, responseBody: "word" } }),
  );
  const methods = defineRpcs(rpcs).map(echo);
  await app.register(restGateway, { methods, maxRoutes: 4, connect: false, grpcWeb: false });
  // The last two are for other methods of known paths.
  expect([...urls].sort()).toEqual(["/", "/*", "/v1/*", "/v2", "/v3::all"]);
  for (const path of ["/v1/kind0/a", "/v1/kind4/a"]) {
    const reply = await app.inject(path);
    expect([reply.statusCode, JSON.parse(reply.json())]).toEqual([200, { text: "a" }]);
  }
  for (const path of ["/v2", "/v3:all"]) expect((await app.inject(path)).statusCode).toBe(200);
  expect((await app.inject("/v1/other/a")).statusCode).toBe(404);
  await app.close();
});
