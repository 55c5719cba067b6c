import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import type { Binding } from "../../src/gateway/binding.ts";
import { createRequestMemory } from "../../src/gateway/request-memory.ts";

const message = create(EmptySchema);

function bindingOf(request: object = {}, kept = true): Binding {
  return { request, reply: { kept } } as Binding;
}

test("the same query at the same path is remembered", () => {
  const memory = createRequestMemory();
  const [bindings, others] = [[bindingOf()], [bindingOf()]];
  memory.keep({ bindings, query: "key=a" }, bindings[0] as Binding, message);
  expect(memory.find({ bindings, query: "key=a" })?.message).toBe(message);
  expect(memory.find({ bindings, query: "key=b" })).toBeUndefined();
  expect(memory.find({ bindings: others, query: "key=a" })).toBeUndefined();
});

test("what depends on more than path and query is not, nor what changes something", () => {
  const memory = createRequestMemory();
  const parts = { raw: ["a"], text: ["a"] };
  for (const binding of [
    bindingOf({ ifMatch: {} }),
    bindingOf({ lastEventId: {} }),
    bindingOf({}, false),
  ]) {
    const routed = { bindings: [binding], query: "" };
    memory.keep(routed, binding, message);
    expect(memory.find(routed)).toBeUndefined();
  }
  const routed = { bindings: [bindingOf()], query: "", parts };
  memory.keep(routed, routed.bindings[0] as Binding, message);
  expect(memory.find(routed)).toBeUndefined();
});

test("no client can fill the memory", () => {
  const memory = createRequestMemory();
  const bindings = [bindingOf()];
  const routed = (query: string) => ({ bindings, query });
  for (let at = 0; at < 1_000; at += 1)
    memory.keep(routed(`key=${at}`), bindings[0] as Binding, message);
  memory.keep(routed("k".repeat(500)), bindings[0] as Binding, message);
  const known = Array.from({ length: 1_000 }, (_, at) => memory.find(routed(`key=${at}`)));
  expect(known.filter((one) => one !== undefined)).toHaveLength(256);
  // What is asked now is what it keeps.
  expect(known.at(-1)).toBeDefined();
  expect(memory.find(routed("k".repeat(500)))).toBeUndefined();
});
