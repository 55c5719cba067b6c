import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { defineRpcs, type Rpc } from "./contract.ts";
import { echo, echoed, startGateway } from "./gateway-server.ts";

const rest = { reply: "REPLY_ENVELOPE" };
const responseBody = "word";

const LISTS = {
  ...rest,
  query: [
    { name: "groups", field: "numbers", commaSeparated: true },
    { name: "group", field: "numbers" },
    { name: "keys", field: "words", commaSeparated: true },
    { name: "first", field: "text" },
    { name: "second", field: "text" },
    { name: "deep", field: "part.name" },
    { name: "sure", field: "yes" },
  ],
};

const RPCS: Rpc[] = [
  { name: "Plain", http: { get: "/plain", responseBody }, rest },
  { name: "Lists", http: { get: "/lists", responseBody }, rest: LISTS },
  { name: "Path", http: { get: "/path/{part.name}", responseBody }, rest },
  { name: "Field", http: { post: "/field", body: "part", responseBody }, rest },
  { name: "Whole", http: { post: "/whole", body: "*", responseBody }, rest },
  {
    name: "ByText",
    http: { get: "/choice", responseBody },
    rest: { ...rest, requireQuery: ["text"] },
  },
  {
    name: "ByKeys",
    http: { get: "/choice", responseBody },
    rest: {
      ...rest,
      requireQuery: ["keys", "words"],
      query: [
        { name: "keys", field: "words", commaSeparated: true },
        { name: "words", field: "words" },
      ],
    },
  },
  { name: "Nothing", http: { get: "/nothing", responseBody }, rest, input: "Nothing" },
];

const gateway = startedForAll(() => startGateway({ methods: defineRpcs(RPCS).map(echo) }));

test.each<[string, string, unknown]>([
  ["a string", "/plain?text=a", { text: "a" }],
  ["a JSON name", "/plain?partName=a", { part_name: "a" }],
  ["a proto name", "/plain?part_name=a", { part_name: "a" }],
  ["+ as a space", "/plain?text=a+b", { text: "a b" }],
  ["%20 as a space", "/plain?text=a%20b", { text: "a b" }],
  ["%2B as a plus sign", "/plain?text=a%2Bb", { text: "a+b" }],
  ["an equals sign in a value", "/plain?text=a=b", { text: "a=b" }],
  ["characters beyond ASCII", "/plain?text=%E4%BD%A0%F0%9F%98%80", { text: "你😀" }],
  ["a semicolon as text", "/plain?text=a;small=1", { text: "a;small=1" }],
  ["an escaped name", "/plain?%74ext=a", { text: "a" }],
  ["empty pieces", "/plain?&&text=a&", { text: "a" }],
  ["a bool", "/plain?yes=true", { yes: true }],
  ["an enum by name", "/plain?color=COLOR_RED", { color: "COLOR_RED" }],
  ["a wrapped string", "/plain?note=a", { note: "a" }],
  ["a member of a oneof", "/plain?right=0", { right: 0 }],
  ["an optional field at zero", "/plain?expected=0", { expected: "0" }],
  ["all values of a repeated field", "/plain?numbers=1&numbers=2", { numbers: [1, 2] }],
  ["the first value of a singular field", "/plain?text=a&text=b", { text: "a" }],
  ["an empty value as absent", "/plain?text=&small=", {}],
  ["the first value that is not empty", "/plain?text=&text=b", { text: "b" }],
  ["the name of a boolean alone as true", "/plain?yes", { yes: true }],
  ["the name of a boolean alone beside others", "/plain?yes&text=a", { yes: true, text: "a" }],
  ["a boolean by its own parameter alone", "/lists?sure", { yes: true }],
  ["a value without a name as absent", "/plain?=1&text=a", { text: "a" }],
  ["a plus sign in a name as a space", "/plain?te+xt=b&text=a", { text: "a" }],
  ["an unknown name alone as absent", "/plain?nope&text=a", { text: "a" }],
  ["an unknown parameter as absent", "/plain?nope=1&text=a", { text: "a" }],
  ["an unknown parameter with a broken escape as absent", "/plain?nope=%zz", {}],
  ["a map as absent", "/plain?labels=a", {}],
  ["a list of messages as absent", "/plain?parts=a", {}],
  ["a nested field", "/plain?part.name=a&part.size=7", { part: { name: "a", size: "7" } }],
  ["a twice nested field", "/plain?part.part.name=a", { part: { part: { name: "a" } } }],
  ["an unknown nested field as absent", "/plain?part.nope=a", {}],
  ["a field of a scalar as absent", "/plain?text.x=a", {}],
  ["names nested beyond the limit as absent", `/plain?${"part.".repeat(16)}name=a`, {}],
  ["a prototype member's name as absent", "/plain?__proto__=a&constructor=b&toString=c", {}],
  ["a list with commas", "/lists?groups=5,0", { numbers: [5, 0] }],
  ["a list with escaped commas", "/lists?groups=5%2C0", { numbers: [5, 0] }],
  ["several lists with commas", "/lists?keys=a,b&keys=c", { words: ["a", "b", "c"] }],
  ["an empty element of a list of strings", "/lists?keys=a,,b", { words: ["a", "", "b"] }],
  ["the parameter that is listed first", "/lists?group=1&groups=2,3", { numbers: [2, 3] }],
  ["the next parameter when the first is empty", "/lists?groups=&group=1", { numbers: [1] }],
  ["the next parameter of a singular field", "/lists?second=b", { text: "b" }],
  ["the first of two parameters of a singular field", "/lists?second=b&first=a", { text: "a" }],
  ["a parameter for a nested field", "/lists?deep=a", { part: { name: "a" } }],
  ["a value beside an empty one of the same name", "/lists?group=&group=1", { numbers: [1] }],
  ["a field beside those with other names", "/lists?group=1&small=2", { numbers: [1], small: 2 }],
  ["a field of a path variable as absent", "/path/a?part.name.x=b", { part: { name: "a" } }],
  ["a field's own name as absent when it has others", "/lists?numbers=1&text=a", {}],
  [
    "a path variable instead of a parameter",
    "/path/a?part.name=b&part.size=1",
    { part: { name: "a", size: "1" } },
  ],
  ["the first choice", "/choice?words=a&text=b", { words: ["a"], text: "b" }],
  ["the second choice", "/choice?keys=a,b", { words: ["a", "b"] }],
  ["the second choice when the first is empty", "/choice?text=&words=a", { words: ["a"] }],
  ["any parameter of a request without fields", "/nothing?a=%zz&%=1", {}],
])("the query may have %s", async (_, path, expected) => {
  expect(echoed(await gateway.send(path))).toEqual(expected);
});

test.each<[string, string, string]>([
  ["text for a number", "/plain?small=a", 'query parameter "small": expected a whole number from'],
  ["spaces around a number", "/plain?small=+1", 'got " 1"'],
  ["the name of text alone", "/plain?text", 'query parameter "text": a value is missing'],
  ["the name of a number alone", "/plain?expected", "a value is missing; expected a whole number"],
  ["the name of a list alone", "/plain?numbers", 'query parameter "numbers": a value is missing'],
  ["the name of a list with commas alone", "/lists?groups", "a value is missing"],
  ["the name of an enum alone", "/plain?color", "a value is missing; expected one of"],
  ["the name of a time alone", "/plain?at", "a value is missing; expected a time"],
  ["an empty boolean", "/plain?yes=", 'query parameter "yes": expected true or false, got ""'],
  ["an empty boolean with its own parameter", "/lists?sure=", "expected true or false"],
  ["an invalid time", "/plain?at=today", "expected a time such as 2026-01-31T08:00:00Z"],
  ["a nested value of the wrong type", "/plain?part.size=a", 'query parameter "part.size"'],
  ["a part of a list", "/lists?groups=5,a", 'query parameter "groups": expected a whole number'],
  ["an empty part of a list of numbers", "/lists?groups=5,", 'got ""'],
  ["a space in a list of numbers", "/lists?groups=5,%200", 'got " 0"'],
  ["a list for a single value", "/lists?group=1,2", 'query parameter "group"'],
  ["a broken escape", "/plain?text=%zz", 'query parameter "text": broken % escape in "%zz"'],
  ["an escape cut short", "/plain?text=50%", "write a percent sign as %25"],
  ["an escape that is not UTF-8", "/plain?text=%ff", 'query parameter "text": broken % escape'],
  ["a broken escape in a name", "/plain?%zz=1", "parameter name with a broken % escape"],
  ["no parameter to choose by", "/choice", "give one of the query parameters text, keys, words"],
  ["empty parameters to choose by", "/choice?text=&keys=", "give one of the query parameters"],
  ["a value cut at 64 characters", `/plain?small=${"9".repeat(99)}`, `"${"9".repeat(64)}…"`],
  ["too many parameters", `/plain?${"a&".repeat(1_001)}`, "more than 1000 parameters"],
  ["too long a list", `/lists?groups=${"1,".repeat(1_000)}1`, "a list of more than 1000 elements"],
])("400 is sent for %s", async (_, path, message) => {
  const reply = await gateway.send(path);
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({ code: 400, message: expect.stringContaining(message), data: null });
});

test("the number of parameters and list elements is limited", async () => {
  const list = Array.from({ length: 1_000 }, (_, index) => index);
  expect(echoed(await gateway.send(`/lists?groups=${list.join()}`))).toEqual({ numbers: list });
  const query = list.map((number) => `numbers=${number}`).join("&");
  expect(echoed(await gateway.send(`/plain?${query}`))).toEqual({ numbers: list });
});

test("beside a body of one field the query sets the other fields", async () => {
  const sent = { method: "POST", body: { name: "a" } };
  const reply = await gateway.send("/field?text=b&part.name=c&part=d", sent);
  expect(echoed(reply)).toEqual({ part: { name: "a" }, text: "b" });
});

test("beside a whole body the query is ignored", async () => {
  const reply = await gateway.send("/whole?text=b", { method: "POST", body: { small: 1 } });
  expect(echoed(reply)).toEqual({ small: 1 });
});
