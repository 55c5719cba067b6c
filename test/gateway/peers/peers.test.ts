import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DescMethod, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { restHandler } from "../../../src/gateway/fetch.ts";
import { createBindings } from "../../../src/gateway/rest/binding.ts";
import { defineRpc, defineRpcs } from "../contract.ts";
import { unary } from "../gateway-server.ts";
import { compileProtos } from "../openapi/contract.ts";

// Cases of the test suites of grpc-gateway, vanguard and the library of Envoy's transcoder, with their
// results or a documented difference.

const ROOT = join(import.meta.dirname, "../../..");
const cases = JSON.parse(readFileSync(join(import.meta.dirname, "cases.json"), "utf8")) as Cases;
const differences = readFileSync(join(ROOT, "test/slow/gateway/differences.md"), "utf8");

interface Difference {
  /** Section of differences.md. */
  readonly differs?: string;
}

interface Cases {
  readonly templates: readonly (Difference & {
    readonly template: string;
    readonly valid: boolean;
    readonly mine?: boolean;
  })[];
  readonly routes: readonly (Difference &
    Result & {
      readonly rules: readonly string[];
      readonly method: string;
      readonly path: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly mine?: Result;
    })[];
  readonly queries: readonly (Difference & {
    readonly query: string;
    readonly request: JsonValue | null;
    readonly mine?: Result;
  })[];
  readonly masks: readonly (Difference & {
    readonly body: JsonValue;
    readonly paths: readonly string[];
    readonly mine?: readonly string[];
  })[];
}

/** The rule and the request of a call, or the status of a refusal. */
interface Result {
  readonly rule?: string;
  readonly request?: JsonValue;
  readonly refused?: number;
}

const all = [...cases.templates, ...cases.routes, ...cases.queries, ...cases.masks];

test("differences are those that differences.md explains", () => {
  const named = new Set(all.flatMap(({ differs }) => differs ?? []));
  const explained = new Set([...differences.matchAll(/^#+ (\S+)$/gm)].map(([, name]) => name));
  expect([...named].filter((name) => !explained.has(name))).toEqual([]);
  const own = differences.split("\n# ")[1] ?? "";
  const onlyHere = [...own.matchAll(/^### (\S+)$/gm)].map(([, name]) => name);
  expect(onlyHere.filter((name) => !named.has(name ?? ""))).toEqual([]);
  for (const one of all) expect([one, "mine" in one]).toEqual([one, "differs" in one]);
});

test.each(cases.templates)("template $template", ({ template, valid, mine = valid }) => {
  const bind = () => createBindings(unary(defineRpc({ http: { get: template } }), () => ({})));
  if (mine) expect(bind()).toHaveLength(1);
  else expect(bind).toThrow("test.v1.ThingService.GetThing");
});

/** Sends a request to these rpcs; the result is the request that reached one of them. */
async function resultOf(
  descs: readonly DescMethod[],
  request: Request,
  options: Partial<Parameters<typeof restHandler>[0]> = {},
): Promise<
  { readonly desc: DescMethod; readonly message: Message } | { readonly refused: number }
> {
  let reached: { readonly desc: DescMethod; readonly message: Message } | undefined;
  const methods = descs.map((desc) =>
    unary(desc, (message) => {
      reached = { desc, message };
      return {};
    }),
  );
  const handler = restHandler({ methods, connect: false, grpcWeb: false, ...options });
  const { status } = await handler(request);
  return reached ?? { refused: status };
}

test.each(cases.routes)("$method $path of $rules", async (one) => {
  const { rules, method, path, headers = {} } = one;
  const descs = defineRpcs(
    rules.map((rule, index) => {
      const [httpMethod = "", template = ""] = rule.split(" ");
      return { name: `Rule${index}`, http: { [httpMethod.toLowerCase()]: template } };
    }),
  );
  const result = await resultOf(descs, new Request(`http://localhost${path}`, { method, headers }));
  const { refused, rule, request } = one.mine ?? one;
  if (rule === undefined) expect(result).toEqual({ refused });
  else {
    if ("refused" in result) throw new Error(`refused ${result.refused}`);
    expect(rules[descs.indexOf(result.desc)]).toBe(rule);
    const json = toJson(result.desc.input, result.message) as object;
    expect(json).toEqual(withoutEmpty(request));
  }
});

/** JSON of a message has no members that are empty. */
function withoutEmpty(request: JsonValue | undefined): object {
  return Object.fromEntries(
    Object.entries((request ?? {}) as object).filter(([name, value]) => {
      // It has presence.
      return value !== "" || name === "seen";
    }),
  );
}

describe("with the contract of the differential run", () => {
  let descs: readonly DescMethod[] = [];
  const find = (name: string): DescMethod => {
    const found = descs.find((desc) => desc.name === name);
    if (found === undefined) throw new Error(name);
    return found;
  };
  beforeAll(() => {
    const folder = join(ROOT, "test/slow/gateway/differential/proto");
    descs = compileProtos(folder).registry.getService("peer.v1.PeerService")?.methods ?? [];
  });

  test.each(cases.queries)("query $query", async ({ query, request, mine }) => {
    const result = await resultOf(
      [find("Query")],
      new Request(`http://localhost/v1/query?${query}`),
      { mapParameters: true },
    );
    const json = "refused" in result ? result : toJson(result.desc.input, result.message);
    const expected = mine?.request ?? request;
    if (mine?.refused !== undefined || expected === null) expect(json).toEqual({ refused: 400 });
    else expect(json).toEqual(expected);
  });

  test.each(cases.masks)("mask of $body", async ({ body, paths, mine = paths }) => {
    const headers = { "content-type": "application/json" };
    const result = await resultOf(
      [find("Update")],
      new Request("http://localhost/v1/things/a", {
        method: "PATCH",
        headers,
        body: JSON.stringify(body),
      }),
      { fillUpdateMask: true },
    );
    if ("refused" in result) throw new Error(`refused ${result.refused}`);
    const { updateMask } = result.message as unknown as {
      readonly updateMask?: { readonly paths: readonly string[] };
    };
    expect(updateMask?.paths ?? []).toEqual(mine);
  });
});
