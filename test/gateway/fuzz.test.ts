import type { JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonErrorText } from "../../src/json-error.ts";
import { startedForAll } from "../started.ts";
import { defineRpc, defineRpcs, type Rpc } from "./contract.ts";
import { echo, gatewayOfTest, type Reply, startGateway, unary } from "./gateway-server.ts";

const rest = { reply: "REPLY_ENVELOPE" };

const RPCS: Rpc[] = [
  { name: "Get", http: { get: "/get/{text}", responseBody: "word" }, rest },
  { name: "Post", http: { post: "/post", body: "*", responseBody: "word" }, rest },
  { name: "List", http: { post: "/list", body: "parts", responseBody: "word" }, rest },
];

const reported: unknown[] = [];
const report = (error: unknown): void => void reported.push(error);
const methods = defineRpcs(RPCS).map(echo);
const gateway = startedForAll(() => startGateway({ methods, report }));

function expectEnvelope(reply: Reply): void {
  expect(Object.keys(reply.json as object)).toEqual(["code", "message", "data"]);
  expect([200, 400, 404, 405]).toContain((reply.json as { code: number }).code);
  expect(reply.text).not.toMatch(/\bat .*:\d+:\d+|cannot decode|Cannot read/);
  expect(reported).toEqual([]);
}

const FIELDS = defineRpc({}).input.fields.map((field) => field.name);

const name = fc.oneof(fc.constantFrom(...FIELDS, "part.name", "part.part.size"), fc.string());

const urlText = fc.oneof(
  fc.stringMatching(/^[!-"$-~]*$/),
  fc.string().map(encodeURIComponent),
  fc.constantFrom("%", "%zz", "%ff", "1", "-1", "true", "", "9223372036854775808", "NaN"),
);

test("any query is answered with an envelope", async () => {
  const pair = fc.tuple(name.map(encodeURIComponent), urlText).map((parts) => parts.join("="));
  const query = fc.array(fc.oneof(pair, urlText)).map((parts) => parts.join("&"));
  await fc.assert(
    fc.asyncProperty(query, async (text) => expectEnvelope(await gateway.send(`/get/x?${text}`))),
    { numRuns: 100 },
  );
});

test("any path is answered with an envelope", async () => {
  await fc.assert(
    fc.asyncProperty(urlText, async (text) => expectEnvelope(await gateway.send(`/get/${text}`))),
    { numRuns: 100 },
  );
});

const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, 0, -1, 1.5, 2 ** 53, "", "1", "true", "COLOR_RED", "aGk=", "a"),
    fc.string(),
    fc.double({ noNaN: true }),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.oneof(name, fc.constantFrom("partName", "size", "name", "__proto__")),
      tie("value"),
    ),
  ) as fc.Arbitrary<JsonValue>,
})).value;

test("any JSON body is answered with an envelope, with the gateway's own messages", async () => {
  await fc.assert(
    fc.asyncProperty(json, fc.constantFrom("/post", "/list"), async (body, path) => {
      const reply = await gateway.send(path, { method: "POST", body: JSON.stringify(body) });
      expectEnvelope(reply);
      expect(reply.text).not.toContain("does not match the request message");
    }),
    { numRuns: 300 },
  );
});

test("any bytes as body are answered with an envelope", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1 }), async (bytes) => {
      expectEnvelope(await gateway.send("/post", { method: "POST", body: Buffer.from(bytes) }));
    }),
    { numRuns: 100 },
  );
});

test("the JSON of a reply is accepted as a request: round trip", async () => {
  const desc = defineRpc({
    name: "Post",
    http: { post: "/echo", body: "*", responseBody: "thing" },
    rest,
  });
  const one = await gatewayOfTest({ methods: [unary(desc, (thing) => ({ thing }))] });
  const thing = fc.record({
    text: fc.string(),
    small: fc.maxSafeInteger().map((value) => value | 0),
    big: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(String),
    huge: fc.bigInt(0n, 2n ** 64n - 1n).map(String),
    yes: fc.boolean(),
    ratio: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant("NaN")),
    numbers: fc.array(fc.nat()),
    labels: fc.dictionary(fc.string(), fc.string()),
  });
  await fc.assert(
    fc.asyncProperty(thing, async (sent) => {
      const reply = await one.send("/echo", { method: "POST", body: sent });
      const { data } = reply.json as { data: Record<string, unknown> };
      expect(JSON.stringify(data)).toContain(JSON.stringify(sent.text));
      const again = await one.send("/echo", { method: "POST", body: data });
      expect(again.json).toEqual(reply.json);
    }),
    { numRuns: 100 },
  );
});

test("an error is found in exactly the texts that JSON.parse refuses, at its beginning", () => {
  const broken = fc
    .tuple(
      json.map((value) => JSON.stringify(value, null, 1)),
      fc.nat(),
      fc.constantFrom("", "}", "]", ",", '"', "x", "0", "\\"),
    )
    .map(([text, at, insert]) => {
      const index = at % (text.length + 1);
      return text.slice(0, index) + insert + text.slice(index + (insert === "" ? 1 : 0));
    });
  fc.assert(
    fc.property(broken, (text) => {
      const offset = parseErrorOffset(text);
      if (offset === undefined) return;
      const lines = text.slice(0, offset).split("\n");
      const column = [...(lines.at(-1) ?? "")].length + 1;
      expect(jsonErrorText(text)).toContain(`line ${lines.length}, column ${column}: `);
    }),
    { numRuns: 2_000 },
  );
});

/** Position at which JSON.parse refuses a text; undefined if it is unknown or in content. */
function parseErrorOffset(text: string): number | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const found = /at position (\d+)/.exec(String(error));
    // Within a number or an escape the engine reports its beginning.
    return found && !/number|escape/i.test(String(error)) ? Number(found[1]) : undefined;
  }
}
