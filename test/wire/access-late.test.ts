import { describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { type Cuttable, cuttables, fieldsOf, headOf } from "./raw/cuttable.ts";
import { dial } from "./raw/line.ts";
import { askHttp2, saying, textOf } from "./raw/refusal.ts";
import { Witness } from "./raw/witness.ts";

const witness = startedForAll(() => Witness.start());
const refused = saying("unauthenticated");

/** Sends headers and a part of the body. @returns a function that sends the rest and reads the reply. */
type Begin = (request: Cuttable, token: string) => Promise<() => Promise<string>>;

const http1: Begin = async (request, authorization) => {
  const { first, rest } = request.body;
  const line = await dial(witness.service.port);
  const length = first.length + rest.length;
  line.socket.write(headOf(request, `content-length: ${length}`, { authorization }));
  line.socket.write(first);
  return async () => {
    line.socket.write(rest);
    return String(await line.until((received) => refused.test(`${received}`)));
  };
};

const http2: Begin = async (request, authorization) => {
  const late = Promise.withResolvers<Buffer>();
  async function* parts() {
    yield request.body.first;
    yield await late.promise;
  }
  const fields = fieldsOf(request, { authorization });
  const answer = askHttp2(witness.service.port, fields, parts());
  return () => {
    late.resolve(request.body.rest);
    return answer.then(textOf);
  };
};

const cases = cuttables
  .filter(({ does }) => does !== "reset")
  .flatMap((one) => one.http.map((http) => [one.name, http, one] as const));

describe("a call whose body arrives after its token was revoked", () => {
  test.each(cases)(
    "%s over HTTP/%s is refused, and nothing is changed",
    async (_name, http, one) => {
      const root = as(witness.service.port);
      const { text, id } = await give(root, ["settings:write"]);
      const end = await (http === "2" ? http2 : http1)(one, text);
      // Its headers have arrived, as far as a client can detect.
      for (let round = 0; round < 5; round += 1) await root.access.whoAmI({});
      const before = await witness.state();
      await root.access.revokeToken({ id });
      expect(await end()).toMatch(refused);
      expect(await witness.state()).toEqual(before);
      root.close();
    },
  );
});
