import { describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { type Cuttable, cuttables } from "./raw/cuttable.ts";
import { RawHttp2 } from "./raw/http2.ts";
import { dial, type Line } from "./raw/line.ts";
import { saying } from "./raw/refusal.ts";
import { Witness } from "./raw/witness.ts";

const witness = startedForAll(Witness.start);

/** A call whose headers and part of its body have been sent, and a function that sends the rest. */
type Begin = (request: Cuttable, token: string) => Promise<readonly [Line, () => void]>;

const http1: Begin = async ({ method, path, headers, body: { first, rest } }, authorization) => {
  const line = await dial(witness.service.port);
  const fields = Object.entries({ ...headers, authorization }).map((field) => field.join(": "));
  const length = `content-length: ${first.length + rest.length}`;
  line.socket.write(
    [`${method} ${path} HTTP/1.1`, "host: a", ...fields, length, "\r\n"].join("\r\n"),
  );
  line.socket.write(first);
  return [line, () => line.socket.write(rest)];
};

const http2: Begin = async ({ method, path, headers, body: { first, rest } }, authorization) => {
  const client = await RawHttp2.open(witness.service.port);
  const head = { ":method": method, ":scheme": "http", ":authority": "a", ":path": path };
  client.headers(1, { ...head, ...headers, authorization });
  client.data(1, first);
  await client.settled();
  return [client.line, () => client.data(1, rest, true)];
};

// Also the status of gRPC, which is in the headers.
const refused = (bytes: Buffer): boolean =>
  saying("unauthenticated").test(`${bytes}`) ||
  (bytes.includes("grpc-status") && bytes.includes("16"));

const cases = cuttables
  .filter(({ does }) => does !== "reset")
  .flatMap((one) => one.http.map((http) => [one.name, http, one] as const));

describe("a call whose body arrives after its token was revoked", () => {
  test.each(cases)(
    "%s over HTTP/%s is refused, and nothing is changed",
    async (_name, http, one) => {
      const root = as(witness.service.port);
      const { text, id } = await give(root, ["settings:write"]);
      const [line, end] = await (http === "2" ? http2 : http1)(one, text);
      // Its headers have arrived, as far as a client can detect.
      for (let round = 0; round < 5; round += 1) await root.access.whoAmI({});
      const before = await witness.state();
      await root.access.revokeToken({ id });
      end();
      await line.until(refused);
      expect(await witness.state()).toEqual(before);
      root.close();
    },
  );
});
