import { create, type DescMethod, type MessageShape, toBinary, toJson } from "@bufbuild/protobuf";
import { afterAll, describe, expect, test } from "vitest";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { enveloped } from "./raw/cuttable.ts";
import { askHttp2, plainText, saying, textOf } from "./raw/refusal.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);

/** Encoding of a request, and its limit when it has keys or one value. */
const forms = [
  ["rest", "application/json"],
  ["Connect JSON", "application/json"],
  ["Connect binary", "application/proto"],
  ["gRPC-Web", "application/grpc-web+proto"],
  ["gRPC", "application/grpc"],
] as const;
type Form = (typeof forms)[number][0];

const SMALL = 2 ** 20 + 65_536;
const LARGE = 8 * 2 ** 20;
const { setAria2, rollback, saveSettings } = SettingService.method;
const { importArchive } = BackupService.method;
const paths: Readonly<Record<string, string>> = {
  SetAria2: "/api/admin/setting/set_aria2",
  Rollback: "/api/admin/setting/rollback",
  SaveSettings: "/api/admin/setting/save",
  ImportArchive: "/api/admin/backup/import",
};

function bytesOf(
  form: Form,
  message: MessageShape<DescMethod["input"]>,
  method: DescMethod,
): Buffer {
  if (form !== "rest" && form !== "Connect JSON")
    return Buffer.from(toBinary(method.input, message));
  const json = toJson(method.input, message) as { settings?: unknown };
  const isArray = form === "rest" && method.name === "SaveSettings";
  return Buffer.from(JSON.stringify(isArray ? json.settings : json));
}

async function send(form: Form, method: DescMethod, bytes: Buffer) {
  const path =
    form === "rest" ? (paths[method.name] ?? "") : `/${method.parent.typeName}/${method.name}`;
  const type = forms.find(([name]) => name === form)?.[1] ?? "";
  const headers = { ":method": "POST", ":path": path, "content-type": type, authorization: TOKEN };
  const body = form.startsWith("gRPC") ? enveloped(bytes) : bytes;
  return askHttp2(service.port, headers, body);
}

/** Requests that were made: forms with the same encoding share them. */
const filledBefore = new Map<string, Buffer>();
afterAll(() => filledBefore.clear());

/** The same request with a text that gives it this length. */
function filled(
  form: Form,
  method: DescMethod,
  length: number,
  make: (text: string) => MessageShape<DescMethod["input"]>,
): Buffer {
  const text = (size: number) => bytesOf(form, make("x".repeat(size)), method);
  const name = `${method.name} ${length} ${text(1).toString("latin1")}`;
  const before = filledBefore.get(name);
  if (before !== undefined) return before;
  const beside = text(length - 1_000).length - (length - 1_000);
  const bytes = text(length - beside);
  expect(bytes.length).toBe(length);
  filledBefore.set(name, bytes);
  return bytes;
}

const aria2 = (secret: string) => create(setAria2.input, { uri: "no address", secret });
const saved = (help: string) =>
  create(saveSettings.input, { dryRun: true, settings: [{ key: "k", value: "v", help }] });
const imported = (padding: string) =>
  create(importArchive.input, { dryRun: true, document: { padding } });

/** The bound of a message in an envelope is that of the message, or of both. */
const larger = (form: Form, limit: number): RegExp =>
  new RegExp(`larger than ${form.startsWith("gRPC") ? limit + 5 : limit} bytes`);

describe.each(forms)("a request over %s", (form) => {
  test("that has one value is accepted at its bound, and refused above it", async () => {
    const refused = await send(form, setAria2, filled(form, setAria2, SMALL + 1, aria2));
    expect(textOf(refused)).toMatch(saying("resource_exhausted"));
    expect(plainText(refused)).toMatch(larger(form, SMALL));
    const read = await send(form, setAria2, filled(form, setAria2, SMALL, aria2));
    expect(textOf(read)).toMatch(saying("invalid_argument"));
  });

  test("that has a thousand of the longest keys is accepted", async () => {
    const keys = Array.from(
      { length: 1_000 },
      (_, at) => `${"\u{20000}".repeat(251)}${1_000 + at}`,
    );
    const message = create(rollback.input, { to: 1n, only: keys, reason: "r".repeat(500) });
    const answer = await send(form, rollback, bytesOf(form, message, rollback));
    expect(textOf(answer)).not.toMatch(saying("resource_exhausted"));
    // The first of the keys that no revision has.
    expect(plainText(answer)).toMatch(/\u{20000}|revision/u);
  });

  test.each([
    ["a save", saveSettings, saved],
    ["an import", importArchive, imported],
  ] as const)("that is %s may have 8 MiB, and no more", async (_name, method, make) => {
    const read = await send(form, method, filled(form, method, LARGE, make));
    expect(textOf(read)).toMatch(saying("invalid_argument"));
    // It is refused by its length, whatever its content.
    const refused = await send(form, method, Buffer.alloc(LARGE + 1, " "));
    expect(textOf(refused)).toMatch(saying("resource_exhausted"));
    expect(plainText(refused)).toMatch(larger(form, LARGE));
  });
});
