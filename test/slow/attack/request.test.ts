import { type DescMethod, toBinary, toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ACCEPTED, formsOf, wholeSize } from "../../../bench/attack/request/form.ts";
import { nameOf, TRANSPORTS, wireOf } from "../../../bench/attack/request/send.ts";
import { servedServices } from "../../../src/app/routes.ts";

// Whole requests of megabytes.
const methods = servedServices.flatMap((service): DescMethod[] => service.methods);

test.each(methods.map((method) => [nameOf(method), method] as const))(
  "each costly request of %s fits the limit in each size, and can be sent over every transport",
  (_name, method) => {
    for (const form of formsOf(method))
      for (const size of [wholeSize(method), ACCEPTED]) {
        const message = form.build(size);
        expect(toBinary(method.input, message).length, form.path).toBeLessThan(8 * 2 ** 20);
        expect(() => toJson(method.input, message), form.path).not.toThrow();
        for (const transport of TRANSPORTS)
          expect(() => wireOf(method, message, transport, "token"), transport).not.toThrow();
      }
  },
);
