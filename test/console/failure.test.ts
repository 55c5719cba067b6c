import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeAll, expect, test, vi } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";

/** Loaded by its path: the types of the console need those of browsers. */
const FILE = join(import.meta.dirname, "../../src/console/api/failure.ts");
let failureOf: (thrown: unknown) => { readonly violations: readonly unknown[] };
let problemOf: (thrown: unknown) => string;

beforeAll(async () => {
  vi.stubGlobal("document", { documentElement: {} });
  ({ failureOf, problemOf } = await import(FILE));
  vi.unstubAllGlobals();
});

const errorOf = (...fields: readonly (readonly [field: string, description: string])[]) =>
  new ConnectError("mounts[0].config.root is required (and 1 more)", Code.InvalidArgument, {}, [
    {
      desc: BadRequestSchema,
      value: { fieldViolations: fields.map(([field, description]) => ({ field, description })) },
    },
  ]);

test.each([
  ["mounts[0].config.root", "mounts[0].config.root is required", "is required"],
  ["sites[2].url", "sites[2].url：无效", "无效"],
  ["name", "name must have 1 to 64 characters", "must have 1 to 64 characters"],
  ["settings[0].value", "page_size: must be a number", "page_size: must be a number"],
  ["page", "page_size: must be a number", "page_size: must be a number"],
  ["page_size", "page_size：必须是整数", "必须是整数"],
])("the problem of %s is shown without its path", (field, description, shown) => {
  expect(failureOf(errorOf([field, description])).violations).toEqual([
    { field, description: shown },
  ]);
});

test("all problems of a failed call are listed", () => {
  const failed = errorOf(
    ["mounts[0].config.root", "mounts[0].config.root is required"],
    ["mounts[0].name", "mounts[0].name is too long"],
  );
  expect(problemOf(failed)).toBe("config.root: is required; name: is too long");
});
