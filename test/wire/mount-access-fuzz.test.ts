import {
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  ScalarType,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { requirementOf } from "../../src/access/requirement.ts";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give, jsonOf } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { invoke, type Transport } from "./transport/transport.ts";

// Requests of every unary method of MountService, generated from the descriptors of its messages: a
// new field is set automatically.

/** Part of every name, path and value that the limited token must not get. */
const OUTSIDE = "forbidden";
const SECRETS = ["inside-secret-1", "inside-secret-2", "inside-token-1", "inside-token-2"];
/**
 * Placeholder for one of the stored secrets; each request is also sent with another value in its
 * place.
 */
const GUESS = "\u{1F511}";
const ROUNDS = 40;
/** Requests with a guess of a secret. */
const GUESSES = 150;

const methods = MountService.methods.filter(
  (desc): desc is DescMethodUnary & typeof desc => desc.methodKind === "unary",
);

const sites = [startedForAll(startWholeSite), startedForAll(startWholeSite)];
const service = startedForAll(startService);
let limited: string;
let writer: string;

beforeAll(async () => {
  const root = as(service.port);
  for (const [at, { url, token }] of sites.entries())
    await root.sites.createSite({ site: { name: `site${at}`, url, token: token() } });
  const { mounts } = root;
  const dav = (name: string, path: string, password: string) => ({
    name,
    mountPath: path,
    driver: "WebDav",
    sites: { all: true },
    config: { address: `https://${name}.example`, username: name, password },
  });
  const drive = (name: string, path: string, tokens: readonly [string, string]) => ({
    name,
    mountPath: path,
    driver: "PikPak",
    sites: { all: true },
    config: { username: name, password: tokens[0], refresh_token: tokens[0] },
    overrides: { site1: { config: { refresh_token: tokens[1] } } },
  });
  const [one = "", two = "", three = "", four = ""] = SECRETS;
  await mounts.saveMounts({
    mounts: [
      dav("in_a", "/team/a", one),
      { ...dav("in_b", "/team/b", two), overrides: { site0: { config: { password: one } } } },
      drive("in_c", "/team/c", [three, four]),
      dav(`${OUTSIDE}_a`, `/${OUTSIDE}/a`, one),
      drive(`${OUTSIDE}_c`, `/${OUTSIDE}/c`, [`${OUTSIDE}-1`, `${OUTSIDE}-2`]),
      // Outside by its path on one site alone.
      { ...dav(`${OUTSIDE}_o`, "/team/o", two), overrides: { site0: { mountPath: "/else/o" } } },
    ],
    reason: `${OUTSIDE} reason`,
  });
  await mounts.saveMounts({ mounts: [dav(`${OUTSIDE}_gone`, "/team/gone", two)] });
  await mounts.saveMounts({
    mounts: [{ name: `${OUTSIDE}_gone`, mountPath: `/${OUTSIDE}/gone` }],
  });
  await mounts.deleteMounts({ names: [`${OUTSIDE}_gone`] });
  const scopes = ["mounts:read", "mounts:write"];
  limited = (await give(root, scopes, ["mount:/team/*"], "limited")).text;
  writer = (await give(root, scopes, [], "writer")).text;
});
const names = ["in_a", "in_b", "in_c", "in_new", `${OUTSIDE}_a`, `${OUTSIDE}_c`, `${OUTSIDE}_o`];
const paths = ["/team/a", "/team/new", "/team/o", `/${OUTSIDE}/a`, "/elsewhere"];
const value = fc.oneof(
  fc.constant(GUESS),
  fc.constantFrom("wrong", "", "********", "https://x.example", "/srv", 3, true),
);
const item = fc.constantFrom(
  "address",
  "username",
  "password",
  "refresh_token",
  "root_folder_path",
  "order",
  "remark",
);
const values = fc.dictionary(item, value, { maxKeys: 3 });
/** Texts by the name of their field; other fields get all of these. */
const texts: Readonly<Record<string, fc.Arbitrary<string>>> = {
  name: fc.constantFrom(...names),
  names: fc.constantFrom(...names),
  new_name: fc.constantFrom(...names),
  mount_path: fc.constantFrom(...paths),
  driver: fc.constantFrom("WebDav", "PikPak", "Local", "Nothing"),
  item,
  value: fc.constantFrom(GUESS, "wrong"),
  site: fc.constantFrom("", "site0", "site1", "nowhere"),
  sites: fc.constantFrom("site0", "site1", "nowhere"),
};
const anyText = fc.constantFrom("", ...names, ...paths, "site0");

/** Requests of a message, by the descriptors of its fields. Texts of a set of sites are sites. */
function messageOf(desc: DescMessage): fc.Arbitrary<object> {
  if (desc.typeName === "google.protobuf.Struct") return values;
  if (desc.typeName === "mooring.v1.SiteChoice")
    return fc.oneof(
      fc.record({ names: fc.uniqueArray(texts["sites"] ?? anyText, { maxLength: 2 }) }),
      fc.constantFrom({ all: true }, { none: true }),
    );
  return fc.record(Object.fromEntries(desc.fields.map((field) => [field.localName, of(field)])), {
    requiredKeys: desc.fields
      .filter(({ name }) => name === "name" || name === "dry_run")
      .map(({ localName }) => localName),
  });
}

function of(field: DescField): fc.Arbitrary<unknown> {
  // Only dry runs: each request is made twice, and its base must not change.
  if (field.name === "dry_run") return fc.constant(true);
  if (field.name === "document")
    return fc.record({
      storages: fc.array(
        fc.record({
          mount_path: fc.constantFrom(...paths),
          driver: texts["driver"] ?? anyText,
          addition: values,
        }),
        { maxLength: 2 },
      ),
    });
  switch (field.fieldKind) {
    case "message":
      return messageOf(field.message);
    case "map":
      return fc.dictionary(
        texts["sites"] ?? anyText,
        contentOf(field.mapKind === "message" ? field.message : undefined),
        { maxKeys: 2 },
      );
    case "list":
      return fc.array(
        contentOf(field.listKind === "message" ? field.message : undefined, texts[field.name]),
        { maxLength: 3 },
      );
    case "enum":
      return fc.constantFrom(...field.enum.values.map(({ number }) => number));
    default:
      if (field.scalar === ScalarType.STRING) return texts[field.name] ?? anyText;
      if (field.scalar === ScalarType.BOOL) return fc.boolean();
      if (field.scalar === ScalarType.INT64) return fc.integer({ min: 0, max: 6 }).map(BigInt);
      return fc.integer({ min: -1, max: 5 });
  }
}

function contentOf(desc: DescMessage | undefined, text = anyText): fc.Arbitrary<unknown> {
  return desc === undefined ? text : messageOf(desc);
}

/** Whether a method changes nothing, or nothing in a dry run. */
function isDry({ idempotency, input }: DescMethodUnary): boolean {
  return idempotency !== undefined && idempotency !== 0
    ? true
    : input.fields.some(({ name }) => name === "dry_run");
}

const requestsOf = (some: readonly DescMethodUnary[]) =>
  fc.oneof(...some.map((desc) => messageOf(desc.input).map((members) => [desc, members] as const)));

/** Changes of secrets of existing mounts, without another invalid field. */
const secretChanges = fc
  .constantFrom(["in_b", ["password"]] as const, ["in_c", ["password", "refresh_token"]] as const)
  .chain(([name, items]) => {
    const config = fc.dictionary(fc.constantFrom(...items), fc.constantFrom(GUESS, "wrong"));
    const overrides = fc.dictionary(
      fc.constantFrom("site0", "site1"),
      config.map((own) => ({ config: own })),
    );
    return fc.record({ name: fc.constant(name), config, overrides }, { requiredKeys: ["name"] });
  })
  .map((mount) => [MountService.method.saveMounts, { mounts: [mount], dryRun: true }] as const);

test("every field of every request is set", () => {
  for (const desc of methods) {
    const filled = new Set(
      fc.sample(messageOf(desc.input), { numRuns: 200, seed: 1 }).flatMap(Object.keys),
    );
    expect([...filled].sort(), desc.name).toEqual(
      desc.input.fields.map(({ localName }) => localName).sort(),
    );
  }
});

describe.each(sharedPortTransports)("over $name", ({ open }) => {
  test("a token limited to a path gets nothing from outside, no secret, and changes nothing outside", async () => {
    const before = await outside();
    const transport = open(service);
    const logged = service.log().length;
    await fc.assert(
      fc.asyncProperty(requestsOf(methods), async ([desc, members]) => {
        if (!transport.carries(desc)) return;
        const received = await answer(transport, desc, members, {
          token: limited,
          guess: "wrong-guess",
        });
        expect(withoutEcho(received, members)).not.toMatch(OUTSIDE);
        for (const secret of SECRETS) expect(received).not.toContain(secret);
        if (!requirementOf(desc).limited) expect(received).toContain('"kind":"failure"');
      }),
      { numRuns: ROUNDS },
    );
    transport.close();
    expect(service.log().slice(logged)).not.toMatch(new RegExp(SECRETS.join("|")));
    expect(await outside()).toEqual(before);
  });
});

test("without mounts:reveal a reply does not depend on whether a secret in the request is right", async () => {
  const transport = grpcTransport("gRPC", service.port);
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(requestsOf(methods.filter(isDry)), secretChanges),
      fc.constantFrom(...SECRETS),
      async ([desc, members], secret) => {
        const ask = (guess: string) => answer(transport, desc, members, { token: writer, guess });
        // The status of a mount may change between two calls; what the secret decides stays different.
        await expect
          .poll(async () => {
            const right = await ask(secret);
            const wrong = await ask("g".repeat(secret.length));
            return right === wrong ? undefined : { right, wrong };
          })
          .toBeUndefined();
      },
    ),
    { numRuns: GUESSES },
  );
  transport.close();
}, 120_000);

/** Mounts outside the limits of the token, with their secrets. */
async function outside() {
  const { mounts } = await as(service.port).mounts.listMounts({ reveal: true });
  return mounts
    .filter(({ name }) => name.startsWith(OUTSIDE))
    .map(({ status: _, ...mount }) => mount);
}

async function answer(
  transport: Transport,
  desc: DescMethodUnary,
  members: object,
  { token, guess }: { readonly token: string; readonly guess: string },
): Promise<string> {
  const filled = withGuess(members, guess) as object;
  const outcome = await invoke(transport, desc, filled, { authorization: token });
  return JSON.stringify({ ...outcome, requestId: "" });
}

/** The members with a value in place of the guess. */
function withGuess(members: unknown, guess: string): unknown {
  if (members === GUESS) return guess;
  if (Array.isArray(members)) return members.map((each) => withGuess(each, guess));
  if (members === null || typeof members !== "object") return members;
  return Object.fromEntries(
    Object.entries(members).map(([name, each]) => [name, withGuess(each, guess)]),
  );
}

/** Values that the client has sent itself. */
function withoutEcho(received: string, members: object): string {
  let rest = received;
  for (const text of new Set(jsonOf(members).match(/[\w/]*forbidden[\w/]*/g) ?? []))
    rest = rest.replaceAll(text, "");
  return rest;
}
