import { describe, expect, test } from "vitest";
import { renderTemplate } from "../../../src/incidents/webhook/format/render.ts";

const incidents = Array.from({ length: 20 }, (_, at) => ({ title: `i${at}`, site: "home" }));
const view = { title: "T <", site: "home", count: 20, incidents, json: "x".repeat(50_000) };
const render = (template: string, data: Readonly<Record<string, unknown>> = view): string =>
  renderTemplate(template, data, (value) => `[${String(value)}]`);

test("names, sections, inverted sections and dotted names have the values of the data", () => {
  expect(render("{{title}} {{{title}}} {{missing}}{{^missing}}none{{/missing}}")).toBe(
    "[T <] T < none",
  );
  expect(render("{{#incidents}}{{title}}@{{site}},{{/incidents}}").slice(0, 20)).toBe(
    "[i0]@[home],[i1]@[ho",
  );
  expect(render("{{a.b.c}}{{#a}}{{b.c}}{{/a}}{{a.b.x}}", { a: { b: { c: 1 } } })).toBe("[1][1]");
  expect(render("{{#list}}{{.}};{{/list}}", { list: ["a", 2] })).toBe("[a];[2];");
  expect(render("{{#count}}{{count}}{{/count}}", { count: 3 })).toBe("[3]");
});

describe("a template has no names but those of the data", () => {
  test.each([
    "{{constructor}}",
    "{{{__proto__}}}",
    "{{#constructor.prototype}}{{#__defineGetter__}}polluted{{/__defineGetter__}}{{/constructor.prototype}}",
    "{{#toString}}x{{/toString}}",
    "{{incidents.length.constructor}}{{title.constructor.constructor}}",
    "{{#incidents.pop}}x{{/incidents.pop}}{{incidents.reverse}}",
    "{{#hasOwnProperty}}{{/hasOwnProperty}}{{valueOf}}{{__lookupGetter__}}",
  ])("%s", (template) => {
    expect(render(template)).toBe("");
    expect("polluted" in {}).toBe(false);
    expect(incidents).toHaveLength(20);
  });
});

describe("a text that would be too long is refused before it is made", () => {
  const nested = (inner: string): string =>
    `${"{{#incidents}}".repeat(3)}${inner}${"{{/incidents}}".repeat(3)}`;
  test.each([
    ["repeated values", "{{{json}}}".repeat(390)],
    ["repeated escaped values", "{{json}}".repeat(390)],
    ["repeated text", nested("x".repeat(3_900))],
    ["repeated values in sections", nested("{{{json}}}".repeat(380))],
    ["repeated empty parts", nested("{{a}}".repeat(780))],
    ["repeated empty sections", nested("{{#a}}{{/a}}".repeat(300))],
  ])("%s", (_what, template) => {
    expect(() => render(template)).toThrow("too long");
  });
});
