import { readFileSync } from "node:fs";
import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  Message,
} from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { createGateway } from "../../src/gateway/gateway.ts";
import { publicMethods } from "../../src/rpc/interceptor/auth.ts";
import type { Method } from "../../src/rpc/method.ts";

const root = new URL("../../", import.meta.url);
const readme = readFileSync(new URL("README.md", root), "utf8");

test("the README's table of routes is the one that the contract makes", () => {
  const table = between("<!-- routes -->", "<!-- /routes -->");
  expect(table).toBe(routeTable());
});

test("every npm command of the README is a script of the package", () => {
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const named = [...readme.matchAll(/npm (?:run (?:-s )?)?(start|test|[a-z]+)\b/g)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "ci" && name !== "from");
  expect(named).toContain("start");
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
});

test("every document and folder that the README links to exists", () => {
  for (const [, path = ""] of readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g))
    expect(() => readFileSync(new URL(path, root)), path).not.toThrow(/ENOENT/);
});

function between(begin: string, end: string): string {
  expect(readme).toContain(begin);
  return readme.slice(readme.indexOf(begin) + begin.length, readme.indexOf(end)).trim();
}

function routeTable(): string {
  const services = [PublicService, DriverService, SettingService];
  const methods = services.flatMap((service) => service.methods.map(unimplemented));
  const { routes } = createGateway({ methods, httpStatus: "envelope" });
  const descs = new Map(methods.map(({ desc }) => [`${desc.parent.typeName}.${desc.name}`, desc]));
  const rows = routes.map(({ httpMethod, path, rpc }) => {
    const desc = descs.get(rpc);
    expect(desc, rpc).toBeDefined();
    const token = desc !== undefined && publicMethods.has(desc) ? "no" : "yes";
    return `| \`${httpMethod} ${path}\` | \`${rpc.replace("mooring.v1.", "")}\` | ${token} |`;
  });
  return ["| Route | Rpc | Token |", "|---|---|---|", ...rows].join("\n");
}

function unimplemented(desc: DescMethod): Method {
  const invoke = async (): Promise<Message> => {
    throw new Error("is never called");
  };
  return desc.methodKind === "unary"
    ? { kind: "unary", desc: desc as DescMethodUnary, invoke }
    : {
        kind: "server_streaming",
        desc: desc as DescMethodServerStreaming,
        invoke: () => ReadableStream.from<Message>([]),
      };
}
